"""Allow-lists: what an entry holds, and which entries cannot be meant."""

import pytest

from studio.core.sandboxes.egress.allowing import AllowList, BadPlace


def holds(entry: str, host: str, port: int = 443) -> bool:
    return AllowList.of([(entry, [443])]).holds(host, port)


@pytest.mark.parametrize(
    "entry,host,held",
    [
        ("api.example.com", "api.example.com", True),
        ("API.example.com.", "api.example.com", True),
        ("api.example.com", "x.api.example.com", False),
        ("*.example.com", "api.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "badexample.com", False),
        ("*.example.com", "example.com.evil.org", False),
        ("bücher.example", "xn--bcher-kva.example", True),
        ("93.184.216.34", "93.184.216.34", True),
        ("[2606:4700::1]", "2606:4700::1", True),
        ("2606:4700:0::1", "2606:4700::1", True),
    ],
)
def test_an_entry_holds_what_it_says(entry, host, held):
    assert holds(entry, host) is held


def test_a_port_is_part_of_an_entry():
    listed = AllowList.of([("a.example", [443, 8443]), ("b.example", [80])])

    assert listed.holds("a.example", 8443)
    assert not listed.holds("a.example", 80)
    assert listed.holds("b.example", 80)


def test_an_empty_list_holds_nothing():
    assert not AllowList()
    assert not AllowList().holds("example.com", 443)


@pytest.mark.parametrize(
    "host,ports,words",
    [
        ("*", [443], "neither an address nor a name"),
        ("*.com", [443], "too much"),
        ("*.127.0.0.1", [443], "too much"),
        ("a.*.example", [443], "neither"),
        ("a b", [443], "neither"),
        ("", [443], "missing"),
        ("a.example", [], "no port"),
        ("a.example", [0], "1 to 65535"),
        ("a.example", [70_000], "1 to 65535"),
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused(host, ports, words):
    with pytest.raises(BadPlace, match=words):
        AllowList.of([(host, ports)])
