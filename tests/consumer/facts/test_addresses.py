"""Where a request comes from, seen through the proxies that are trusted and no others."""

import ipaddress

import pytest

from consumer.facts.addresses import client_address, is_forwarded, is_secure, network_of

TRUSTED = tuple(ipaddress.ip_network(text) for text in ("127.0.0.0/8", "::1", "10.0.0.0/8"))


@pytest.mark.parametrize(
    ("remote", "passed", "client"),
    [
        ("203.0.113.9", None, "203.0.113.9"),
        ("203.0.113.9", "198.51.100.7", "203.0.113.9"),
        ("127.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("127.0.0.1", "192.0.2.66, 198.51.100.7, 10.1.2.3", "198.51.100.7"),
        ("127.0.0.1", "192.0.2.66, not an address, 10.1.2.3", "10.1.2.3"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", "10.1.2.3", "10.1.2.3"),
        ("127.0.0.1", "198.51.100.7:4711", "198.51.100.7"),
        ("::1", "[2001:db8::1]:4711", "2001:db8::1"),
        ("::ffff:127.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("", "198.51.100.7", ""),
    ],
)
def test_the_rightmost_address_that_is_not_trusted_counts(remote: str, passed: str | None, client: str) -> None:
    """What a client claims itself stands further left, and is believed only behind trusted proxies alone."""
    environ = {"REMOTE_ADDR": remote} | ({} if passed is None else {"HTTP_X_FORWARDED_FOR": passed})
    assert client_address(environ, TRUSTED) == client


@pytest.mark.parametrize(
    ("address", "network"),
    [("203.0.113.9", "203.0.113.9"), ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"), ("", ""), ("shop", "")],
)
def test_an_address_of_version_six_is_counted_with_its_home(address: str, network: str) -> None:
    """One of version 4 counts alone."""
    assert network_of(address) == network


@pytest.mark.parametrize(
    "name", ["X_FORWARDED_FOR", "FORWARDED", "X_REAL_IP", "X_FORWARDED_HOST", "X_FORWARDED_PROTO", "VIA"]
)
def test_any_header_of_a_proxy_tells_a_forwarded_request(name: str) -> None:
    """Proxies differ in what they add."""
    assert is_forwarded({f"HTTP_{name}": "x"})
    assert not is_forwarded({"HTTP_HOST": "x"})


@pytest.mark.parametrize(
    ("remote", "proto", "found"),
    [("10.0.0.1", "https", 1), ("10.0.0.1", "http", 0), ("192.0.2.1", "https", 0), ("10.0.0.1", "", 0)],
)
def test_only_a_trusted_proxy_says_that_the_reader_came_encrypted(remote: str, proto: str, found: int) -> None:
    """Anybody else may claim it."""
    assert is_secure({"REMOTE_ADDR": remote, "HTTP_X_FORWARDED_PROTO": proto}, TRUSTED) == found
