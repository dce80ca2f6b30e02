"""Every way to write an address that is not public is refused; what is public or allowed passes."""

import ipaddress

import pytest

from studio.core.network import addresses

DENIED = """
0.0.0.0 0.0.0.1 0.255.255.255 10.0.0.0 10.1.2.3 10.255.255.255 100.64.0.0 100.64.0.1
100.100.100.200 100.127.255.255 127.0.0.0 127.0.0.1 127.0.1.1 127.127.127.127 127.255.255.255
168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 169.254.255.255 172.16.0.0 172.16.0.1
172.20.10.1 172.31.255.255 192.0.0.0 192.0.0.1 192.0.0.8 192.0.0.9 192.0.0.170 192.0.0.192
192.0.0.255 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.168.255.255
192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1 224.0.0.251
239.255.255.250 240.0.0.1 255.255.255.254 255.255.255.255
:: ::1 ::2 ::127.0.0.1 ::10.0.0.1 ::8.8.8.8 ::ffff:0:0 ::ffff:127.0.0.1 ::ffff:10.0.0.1
::ffff:169.254.169.254 ::ffff:7f00:1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
64:ff9b::7f00:1 64:ff9b::127.0.0.1 64:ff9b::a00:1 64:ff9b::8.8.8.8 64:ff9b:1::1
64:ff9b:1:7f00:0:100:: 100::1 100:0:0:1::1 1::1 1fff:ffff::1 2001::1 2001:0:7f00:1::1
2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1
2001:30::1 2001:1ff:ffff::1 2001:db8::1 2001:db8:ffff::1 2002:: 2002:7f00:1:: 2002:a00:1::
2002:a9fe:a9fe:: 2002:808:808::1 2620:4f:8000::1 3fff::1 3fff:fff::1 4000::1 5f00::1
fc00::1 fc00:1::1 fd00::1 fd00:ec2::254 fdff:ffff::1 fe00::1 fe80::1 fe80::1%1 febf::1
2606:4700::5efe:127.0.0.1 2606:4700::200:5efe:a00:1 fec0::1 feff::1
ff00::1 ff01::1 ff02::1 ff02::fb ff05::1:3 ff0e::1 2606:4700::1%1
""".split()

PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
168.63.129.15 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0
192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
2001:200::1 2001:4860:4860::8888 2003::1 2606:4700:4700::1111 2a00::1 3ffe::1
""".split()


@pytest.mark.parametrize("address", DENIED)
def test_an_address_that_is_not_public_is_refused(address):
    assert addresses.problem(address) is not None


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_passes(address):
    assert addresses.problem(address) is None


@pytest.mark.parametrize("text", ["", "example.com", "127.0.0.1:80", "[::1]", "1.2.3", " ::1"])
def test_what_is_not_an_address_is_refused(text):
    assert addresses.problem(text) == "not an address"


def test_both_ends_of_every_network_in_the_table_are_refused():
    for network in addresses._DENIED:
        for address in (network[0], network[-1]):
            assert addresses.problem(str(address)) is not None
    assert ipaddress.ip_network("127.0.0.0/8") in addresses._DENIED
