"""One request as the operations see it, and what they answer: nothing of the web framework goes further in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from werkzeug.datastructures import FileStorage, Headers, MultiDict

from sandbox.refusal import invalid, missing_parameter
from sandbox.world import World


@dataclass(frozen=True, slots=True)
class Call:
    """A request that has been let in."""

    world: World
    mode: str
    method: str
    address: str  # scheme, host and path, without the query
    path: str
    version: str
    params: Mapping[str, str]
    query: MultiDict[str, str]
    headers: Headers
    turn: int  # how often this address was asked for, this time included
    body: dict[str, Any] = field(default_factory=dict)
    files: MultiDict[str, FileStorage] = field(default_factory=MultiDict)

    @property
    def is_later_page(self) -> bool:
        """Whether the caller is in the middle of a list."""
        return "starting_after" in self.query or self.query.get("page", "1") != "1"

    @property
    def key(self) -> str:
        """Names this request among all: what decides whether a fault hits it."""
        return f"{self.method} {self.path}?{urlencode(sorted(self.query.items(multi=True)))}#{self.turn}"

    def link(self, **changes: str | int) -> str:
        """The list's address at another place: filters and page size stay."""
        places = {"page", "starting_after", "ending_before"}
        kept = [(key, value) for key, value in self.query.items(multi=True) if key not in places]
        return f"{self.address}?{urlencode([*kept, *changes.items()])}"

    def require(self, name: str) -> Any:
        """A field of the body that must be there. Raises the provider's refusal."""
        value = self.body.get(name)
        if value is None:
            raise missing_parameter(name)
        return value

    def require_amount(self, name: str = "amount") -> int:
        amount = self.require(name)
        if not isinstance(amount, int) or isinstance(amount, bool) or amount <= 0:
            raise invalid("amount", name, "a whole number above 0, in the smallest unit of the currency")
        return amount


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: JSON, a status and headers of its own."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Operation = Callable[[Call], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation of the provider's API."""

    method: str
    path: str  # as the spec writes it: /v1/payouts/{id}
    name: str
    operation: Operation
    since_version: str | None = None
    needs_jws: bool = False
    needs_link_token: bool = False
