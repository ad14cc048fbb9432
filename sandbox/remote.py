"""A small client that drives a sandbox: its clock, its faults, its files and its endpoints."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

import httpx
import msgspec

from sandbox.state.happening import Truth
from sandbox.state.store import Object

TEST_KEY = "sk_test_sandbox"


class Attempt(msgspec.Struct, frozen=True):
    """One try at delivering an event."""

    endpoint_id: str
    event_id: str
    attempt: int
    at: str
    response_code: int | None
    response_body: str


class Summary(msgspec.Struct, frozen=True):
    """How much was announced and how much of it arrived."""

    events: int
    deliveries: int
    delivered_events: int
    dropped_events: int


class Steer:
    """Drives one sandbox over HTTP. Every refusal raises `httpx.HTTPStatusError`."""

    def __init__(self, url: str, *, transport: httpx.BaseTransport | None = None, timeout: float = 600) -> None:
        self._client = httpx.Client(base_url=url, transport=transport, timeout=timeout, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    # -- driving

    def now(self) -> str:
        """Return the sandbox's moment, as the provider writes it."""
        return str(self._ask("GET", "/_sandbox/clock").json()["now"])

    def advance(self, seconds: float) -> str:
        """Let time pass; the moment it is then."""
        return str(self._ask("POST", "/_sandbox/clock/advance", {"seconds": seconds}).json()["now"])

    def switch_on(self, name: str, probability: float = 1.0, **options: object) -> None:
        """Switch on a fault, perhaps with a `seed`, `times`, `seconds`, `path` and so on."""
        self._ask("POST", "/_sandbox/faults", {"name": name, "probability": probability, **options})

    def switch_off(self, name: str | None = None) -> None:
        """Switch off one fault, or all."""
        self._ask("DELETE", "/_sandbox/faults", {"name": name} if name else None)

    def begin(
        self,
        name: str,
        *,
        seed: int = 1,
        scale: float = 1.0,
        damages: Mapping[str, float] | None = None,
        signed_transfers: bool | None = None,
    ) -> None:
        """Start over with another scenario; endpoints and faults stay."""
        wishes = {"damages": damages, "signed_transfers": signed_transfers}
        body = {"name": name, "seed": seed, "scale": scale, **wishes}
        self._ask("POST", "/_sandbox/scenario", body)

    def create_endpoint(self, url: str, enabled_events: list[str], *, key: str = TEST_KEY) -> Object:
        """Open a webhook endpoint; the answer bears its secret."""
        body = {"url": url, "enabled_events": enabled_events}
        return dict(self._ask("POST", "/v1/webhook_endpoints", body, key=key).json())

    # -- looking

    def credentials(self) -> Object:
        return dict(self._ask("GET", "/_sandbox/credentials").json())

    def tariff(self) -> Object:
        return dict(self._ask("GET", "/_sandbox/tariff").json())

    def truth(self) -> list[Truth]:
        return msgspec.json.Decoder(Truth).decode_lines(self._ask("GET", "/_sandbox/truth").content)

    def deliveries(self) -> list[Attempt]:
        return msgspec.json.decode(self._ask("GET", "/_sandbox/deliveries").content, type=list[Attempt])

    def summary(self) -> Summary:
        return msgspec.json.decode(self._ask("GET", "/_sandbox/summary").content, type=Summary)

    def invoices(self) -> bytes:
        """Return the merchant's books as a file."""
        return self._ask("GET", "/_sandbox/invoices.csv").content

    def bank(self) -> bytes:
        """Return the merchant's bank lines as a file."""
        return self._ask("GET", "/_sandbox/bank.csv").content

    def payout_report(self, payout_id: str) -> bytes:
        """Return the provider's report of one payout as a file."""
        return self._ask("GET", f"/_sandbox/payouts/{payout_id}.csv").content

    def _ask(self, method: str, path: str, body: object = None, *, key: str | None = None) -> httpx.Response:
        headers = {"Authorization": key} if key else {}
        answer = self._client.request(method, path, json=body, headers=headers)
        return answer.raise_for_status()
