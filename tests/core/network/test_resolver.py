"""A name is asked for once, and all that it answers is judged."""

import pytest

from studio.core.network.resolver import Refused, Rules, Unresolved


def answering(*lists: list[str]):
    """A name service that gives these answers one after another."""
    left = list(lists)

    async def lookup(host: str, port: int) -> list[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    return lookup


async def test_one_bad_address_refuses_the_name():
    rules = Rules.of([], answering(["8.8.8.8", "10.0.0.1"]))

    with pytest.raises(Refused, match=r"example\.com is at 10\.0\.0\.1"):
        await rules.vetted("example.com", 443)


async def test_what_was_vetted_is_what_is_given():
    rules = Rules.of([], answering(["8.8.8.8", "2606:4700::1"], ["127.0.0.1"]))

    assert await rules.vetted("example.com", 443) == ["8.8.8.8", "2606:4700::1"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "0x7f000001", "127.0.0.1."])
async def test_an_allowed_place_is_reached_however_it_is_written(host):
    assert await Rules.of(["127.0.0.1:8123"]).vetted(host, 8123) == ["127.0.0.1"]


@pytest.mark.parametrize("host,port", [("127.0.0.1", 8124), ("localhost", 8123), ("127.2", 8123)])
async def test_only_the_very_place_is_allowed(host, port):
    with pytest.raises(Refused):
        await Rules.of(["127.0.0.1:8123"]).vetted(host, port)


async def test_an_ipv6_place_is_allowed_in_brackets():
    assert await Rules.of(["[::1]:80"]).vetted("::1", 80) == ["::1"]


async def test_a_local_name_is_not_even_asked_for():
    async def never(host: str, port: int) -> list[str]:
        raise AssertionError(host)

    for name in ("localhost", "LOCALHOST.", "a.b.localhost", "metadata.google.internal"):
        with pytest.raises(Refused):
            await Rules.of([], never).vetted(name, 80)


@pytest.mark.parametrize("port", [22, 25, 6379 - 379, 587])
async def test_a_port_of_another_protocol_is_not_asked(port):
    with pytest.raises(Refused, match="another protocol"):
        await Rules.of([], answering(["8.8.8.8"])).vetted("example.com", port)
    assert await Rules.of([f"example.com:{port}"], answering(["8.8.8.8"])).vetted(
        "example.com", port
    )


async def test_a_name_without_an_address_is_said_in_words():
    with pytest.raises(Unresolved, match="could not be resolved"):
        await Rules.of([]).vetted("no-such-host.invalid", 80)
    with pytest.raises(Unresolved, match="has no address"):
        await Rules.of([], answering([])).vetted("empty.example", 80)
