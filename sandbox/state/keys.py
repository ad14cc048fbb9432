"""The organization's secret keys, up to ten of them, and the addresses they may be used from."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sandbox.state.refusal import RefusalError, UnauthenticatedError

KEYS = {"sk_test_sandbox": "test", "sk_live_sandbox": "live"}
MOST_KEYS = 10
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Key:
    """A secret key: it decides the mode, and may end some day."""

    secret: str
    mode: str
    name: str
    expires_at: datetime | None = None


class Keyring:
    """The keys there are. Both of the sandbox's own are among them from the beginning."""

    def __init__(self) -> None:
        self._keys = {secret: Key(secret, mode, f"sandbox {mode}") for secret, mode in KEYS.items()}
        self.networks: tuple[Network, ...] = ()  # none: from anywhere

    def add(self, key: Key) -> None:
        if len(self._keys) >= MOST_KEYS:
            raise RefusalError(409, "api_key_limit_reached", f"An organization holds up to {MOST_KEYS} secret keys")
        self._keys[key.secret] = key

    def revoke(self, secret: str) -> None:
        """Forget the key; one that is not known changes nothing."""
        self._keys.pop(secret, None)

    def authenticate(self, header: str | None, now: datetime) -> str:
        """The mode of the key, with or without the word Bearer. Raises `invalid_api_key` or `expired_api_key`."""
        secret = (header or "").strip()
        if secret.lower().startswith("bearer "):
            secret = secret[len("bearer ") :].strip()
        key = self._keys.get(secret)
        if key is None:
            raise UnauthenticatedError
        if key.expires_at is not None and key.expires_at <= now:
            raise UnauthenticatedError("expired_api_key", "The API key has expired")
        return key.mode

    def check_address(self, address: str | None) -> None:
        """Raise the provider's 403 where the organization allows other addresses only."""
        if self.networks and not _is_within(address, self.networks):
            code = "allowed_cidr_blocks_does_not_contain_ip"
            raise RefusalError(403, code, "Requests from this address are not allowed")


def _is_within(address: str | None, networks: Iterable[Network]) -> bool:
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        return False
    return any(found in network for network in networks)


def read_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Blocks of addresses as 10.0.0.0/8. Raises ValueError."""
    return tuple(ipaddress.ip_network(text) for text in texts)
