"""Network addresses of those who ask: read through proxies that are trusted, and counted by network."""

import ipaddress
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias
from urllib.parse import urlsplit

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
# Whoever has one address of version 6 has all of these at least.
_HOME_BITS = 64
_FORWARDING = (
    "HTTP_X_FORWARDED_FOR",
    "HTTP_FORWARDED",
    "HTTP_X_REAL_IP",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_VIA",
)


def client_address(environ: Mapping[str, object], trusted: Sequence[Network]) -> str:
    """Return where a request comes from: the rightmost address that is no trusted proxy; empty if it is unknown."""
    here = _read(str(environ.get("REMOTE_ADDR") or ""))
    passed = str(environ.get("HTTP_X_FORWARDED_FOR") or "").split(",")
    while here is not None and _is_in(here, trusted) and passed:
        before = _read(passed.pop())
        if before is None:
            break
        here = before
    return "" if here is None else str(here)


def is_trusted(address: str, trusted: Sequence[Network]) -> bool:
    read = _read(address)
    return read is not None and _is_in(read, trusted)


def is_on_this_machine(url: str) -> bool:
    """Return True if an address of the web is of the machine itself, where a sandbox listens."""
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def is_forwarded(environ: Mapping[str, object]) -> bool:
    """Return True if any header says that a proxy passed the request on."""
    return any(name in environ for name in _FORWARDING)


def is_secure(environ: Mapping[str, object], trusted: Sequence[Network]) -> bool:
    """Return True if the reader's own connection is encrypted, as a trusted proxy says."""
    here = _read(str(environ.get("REMOTE_ADDR") or ""))
    if here is None or not _is_in(here, trusted):
        return False
    return str(environ.get("HTTP_X_FORWARDED_PROTO") or "").rpartition(",")[2].strip().lower() == "https"


def network_of(address: str) -> str:
    """Return what is counted together: an address of version 4 alone, one of version 6 with its home network."""
    read = _read(address)
    if isinstance(read, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((read, _HOME_BITS), strict=False))
    return "" if read is None else str(read)


def _read(text: str) -> Address | None:
    """Read one address, with or without brackets and a port; one of version 4 in the form of 6 is the former."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    with suppress(ValueError):
        address = ipaddress.ip_address(text.partition("%")[0])
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return mapped or address
    return None


def _is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)
