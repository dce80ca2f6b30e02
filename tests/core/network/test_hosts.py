"""One host, however it is written; and addresses to call that are no addresses."""

# ruff: noqa: RUF001 - characters that look like others are what is tested

import re

import pytest

from studio.core.network import hosts

SAME = {
    "127.0.0.1": "127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7F.1 017700000001 0177.0.0.1"
    " 127.0.0.1. 0x7f.0x0.0x0.0x1 00000177.1 0x0000007f.1 127.0.1. 0177.0x0.1",
    "169.254.169.254": "169.254.169.254 2852039166 0xA9FEA9FE 0251.0376.0251.0376 169.16689662",
    "0.0.0.0": "0 0x 0x0 0.0 00000000 0.0.0.0",
    "::1": "::1 0:0:0:0:0:0:0:1 0000::0001",
    "::ffff:7f00:1": "::ffff:127.0.0.1 ::FFFF:7F00:1 0:0:0:0:0:ffff:7f00:1",
    "example.com": "example.com EXAMPLE.com example.com.",
    "xn--bcher-kva.example": "bücher.example BÜCHER.example xn--bcher-kva.example",
    "a_b-c.example": "a_b-c.example",
}
ODD = """
1.2.3.4.5 256.1.1.1 1.256.1 4294967296 0x100000000 1..2 127.0.0.08 0x7g.1 example..com
..  . -a.example a-.example a%2eb.example *.example a,b a;b a'b (x) [::1] ::1%1 fe80::1%eth0
::1%25lo 1::2::3 g::1 ::ffff:1.2.3.400 １２７.0.0.1 ①②⑦.0.0.1 ｌocalhost 127。0。0。1 127．0．0．1
ｅxample.com exam­ple.com ⁷.example xn--a.exämple.. ☃.example
""".split()


@pytest.mark.parametrize(
    "written,read", [(text, one) for one, texts in SAME.items() for text in texts.split()]
)
def test_one_host_has_one_form(written, read):
    assert hosts.read(written) == read


@pytest.mark.parametrize("host", [*ODD, "", "a" * 64 + ".example", "a." * 140 + "example"])
def test_what_is_no_host_is_refused_in_words(host):
    with pytest.raises(hosts.BadHost, match=r"\.$"):
        hosts.read(host)


@pytest.mark.parametrize("name", ["localhost", "a.localhost", "ip6-loopback", "metadata.goog"])
def test_some_names_are_local_whatever_is_said_of_them(name):
    assert hosts.local(name)
    assert hosts.local(f"x-{name}.example") is None


@pytest.mark.parametrize(
    "url",
    [
        "https://x.example/a/{b}?c={d}", "http://8.8.8.8:8080", "https://[2606:4700::1]:443/x",
        "http://bücher.example/", "https://x.example/@a:b", "http://127.1/",
    ],
)  # fmt: skip
def test_an_address_to_call_passes(url):
    assert hosts.url_problem(url) is None


@pytest.mark.parametrize(
    "url,words",
    [
        ("ftp://x.example", "http or https"),
        ("//x.example/a", "http or https"),
        ("http:///a", "http or https"),
        ("http://x.example:0/", "http or https"),
        ("http://x.example:99999/", "cannot be read"),
        ("http://x.example:８０/", "cannot be read"),
        ("http://good.example@127.0.0.1/", "no user"),
        ("http://good.example:80@127.0.0.1/", "no user"),
        ("http://@127.0.0.1/", "no user"),
        ("http://good.example\\@127.0.0.1/", "“\\\\”"),
        ("http://127.0.0.1\t/", "control"),
        ("http://127.0.0.1/\nx", "control"),
        ("http://x.example/#a", "no user"),
        ("http://{host}/", "only in path"),
        ("http://a%2eb/", "host that is neither"),
        ("http://[::1%25lo]/", "network card"),
        ("http://[::1/", "cannot be read"),
        ("http://[v1.x]/", "cannot be read|brackets|IPv6|neither"),
        ("http://１２７.0.0.1/", "stand for others"),
    ],
)
def test_what_cannot_be_called_is_said(url, words):
    assert re.search(words, hosts.url_problem(url) or "")


def test_what_is_shown_is_what_is_called():
    assert hosts.shown("https://x.example/a b") == "https://x.example/a b"
    assert hosts.shown("http://127.1:80/{a}") == "http://127.0.0.1:80/{a}"
    assert hosts.shown("http://bücher.example/") == "http://xn--bcher-kva.example/"
    assert hosts.shown("http://[::FFFF:127.0.0.1]/") == "http://[::ffff:7f00:1]/"


def test_an_allow_list_is_read_like_an_address():
    assert hosts.allowed("127.1:80") == "127.0.0.1:80"
    assert hosts.allowed("[::1]:80") == hosts.allowed("[0::1]:80") == "[::1]:80"
    assert hosts.allowed("Names.Example:80") == "names.example:80"
    assert hosts.allowed("nonsense") == "nonsense"
