"""One request as the operations see it, and what they answer: the web framework ends here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from werkzeug.datastructures import FileStorage, Headers, MultiDict

from sandbox.engine.world import World
from sandbox.state.store import Json, Object


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
    body: Object = field(default_factory=dict)
    files: MultiDict[str, FileStorage] = field(default_factory=MultiDict)

    @property
    def is_later_page(self) -> bool:
        """Return whether the caller is in the middle of a list."""
        return "starting_after" in self.query or self.query.get("page", "1") != "1"

    @property
    def key(self) -> str:
        """Names this request among all: what decides whether a fault hits it."""
        return f"{self.method} {self.path}?{urlencode(sorted(self.query.items(multi=True)))}#{self.turn}"

    @property
    def question(self) -> tuple[object, ...]:
        """Return what is asked for, whichever page of it."""
        asked = (pair for pair in self.query.items(multi=True) if pair[0] not in {"page", "per_page"})
        return (self.path, *sorted(asked))

    def link(self, **changes: str | int) -> str:
        """Return the list's address at another place: filters and page size stay."""
        places = {"page", "starting_after", "ending_before"}
        kept = [(key, value) for key, value in self.query.items(multi=True) if key not in places]
        return f"{self.address}?{urlencode([*kept, *changes.items()])}"

    def draft(self, prefix: str, kind: str, **fields: object) -> Object:
        """Return a new object of the caller's mode, not stored yet."""
        return self.world.draft(self.mode, prefix, kind, **fields)

    def get(self, collection: str, param: str = "id") -> Object:
        """Return the object the path names, or the provider's 404."""
        return self.world.get(self.mode, collection, self.params[param])


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: JSON, a status and headers of its own."""

    body: Json
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
    takes_jws: bool = False  # checked where it comes, needed where the scenario asks for it
    query: tuple[str, ...] = ()  # the parameters it reads, where it is no `List`
