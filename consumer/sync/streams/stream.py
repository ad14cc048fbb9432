"""What a stream is: the lists it reads, the kind of object they hold, and how much of them a later pull asks again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto

from pydantic import SecretStr
from sqlmodel import Session

from consumer.config import Connection
from consumer.facts.clock import format_instant
from consumer.provider.client import Provider
from consumer.provider.errors import Unreadable
from consumer.provider.routes import Collection
from consumer.provider.rows.reading import identity
from consumer.sync.findings import Finding

_DAY = timedelta(days=1)


LookOver = Callable[[Session, Connection], list[Finding]]


def nothing_to_find(_session: Session, _connection: Connection) -> list[Finding]:
    return []


class Again(Enum):
    """How a pull after the first one asks for less than everything."""

    EVERYTHING = auto()  # a short list of long-lived objects
    DAYS = auto()  # the list takes calendar dates
    MOMENTS = auto()  # the list takes times
    NEWEST = auto()  # the list takes no time; it is newest first and is left where it gets old


@dataclass(frozen=True, slots=True)
class Part:
    """One list of a stream; the name is kept in the ledger and so holds no secret.

    Of optional lists a provider may lack some; their names are single words.
    """

    name: str
    collection: Collection
    ids: Mapping[str, str] = field(default_factory=dict)
    link: SecretStr | None = None
    account_id: str | None = None
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Stream:
    """A name of `cuadre pull`; `lookback` is how long its objects still change after they were created.

    `dated` is the field the list's filter reads, `unstable` are fields that change without meaning, and `elsewhere`
    holds objects of the kind that this stream's lists leave out. `look_over` says what in it does not add up.
    """

    name: str
    kind: str
    parts: Callable[[Provider], list[Part]]
    again: Again = Again.EVERYTHING
    lookback: timedelta = timedelta(days=14)
    by_link: bool = False
    query: Mapping[str, str] = field(default_factory=dict)
    dated: str = "created_at"
    unstable: frozenset[str] = frozenset()
    elsewhere: tuple[Collection, ...] = ()
    look_over: LookOver = nothing_to_find

    def to_query(self, since: datetime | None, until: datetime | None) -> dict[str, str]:
        """Write the list's own filter, wider than asked: nobody says whether its bounds are included."""
        query = dict(self.query)
        if self.again is Again.DAYS:
            query |= {} if since is None else {"since": (since - _DAY).date().isoformat()}
            query |= {} if until is None else {"until": (until + _DAY).date().isoformat()}
        elif self.again is Again.MOMENTS:
            query |= {} if since is None else {"since": format_instant(_whole(since) - timedelta(seconds=1))}
            query |= {} if until is None else {"until": format_instant(_whole(until) + timedelta(seconds=1))}
        return query


def lists(*collections: Collection) -> Callable[[Provider], list[Part]]:
    """Read these lists as they are."""
    parts = [Part(collection.name, collection) for collection in collections]
    return lambda _provider: parts


def of_each_link(collection: Collection) -> Callable[[Provider], list[Part]]:
    """Read a list once per link token; links are numbered because their tokens are secret."""

    def parts(provider: Provider) -> list[Part]:
        tokens = provider.connection.link_tokens
        return [Part(f"link {number}", collection, link=token) for number, token in enumerate(tokens, start=1)]

    return parts


def ids_of(provider: Provider, part: Part) -> list[str]:
    """Read a list for its ids alone, each once."""
    found: dict[str, None] = {}
    for page in provider.pages(part.collection, link=part.link):
        for raw in page.items:
            id_, _ = identity(raw)
            if id_ is None:
                raise Unreadable(f"{part.name}: the list holds an object without id")
            found[id_] = None
    return list(found)


def _whole(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)
