"""Lists declared as data: which collection, which filters, and pages by number or by cursor."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Protocol

from sandbox.api.call import Answer, Call, Operation, Route
from sandbox.state.clock import to_day, to_moment
from sandbox.state.refusal import RefusalError, invalid, invalid_enum
from sandbox.state.store import Collection, Keep, Object

# The parameters of numbered pages (v1), of pages by cursor (v2), of a range of time, and of a link.
OFFSETS, CURSORS, RANGE = ("page", "per_page"), ("limit", "starting_after", "ending_before"), ("since", "until")
OF_LINK = ("link_token",)
DEFAULT_SIZE = 30
LARGEST_SIZE = 300
WHOLE = re.compile(r"[0-9]{1,18}")
ALMOST_A_DAY = timedelta(days=1) - timedelta(microseconds=1)
View = Callable[[Object], Object]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of a list: the parameters it reads, and what it makes of a call's values."""

    params: tuple[str, ...]
    choose: Callable[[Call], Keep | None]


@dataclass(frozen=True, slots=True)
class List:
    """The operation that lists a collection."""

    collection: str
    paging: tuple[str, ...]  # OFFSETS or CURSORS
    filters: tuple[Filter, ...] = ()
    view: View | None = None

    @property
    def query(self) -> tuple[str, ...]:
        """Return the parameters it reads."""
        return (*(param for part in self.filters for param in part.params), *self.paging)

    def __call__(self, call: Call) -> Answer:
        rows, keep = self._select(call)
        if self.paging == OFFSETS:
            page = offset_page(call, rows.choose(call.question, keep))
        else:
            page = cursor_page(call, rows, keep or (lambda _: True))
        if self.view and isinstance(page.body, list):
            return replace(page, body=[self.view(row) for row in page.body])
        return page

    def _select(self, call: Call) -> tuple[Collection, Keep | None]:
        """Return the part of the collection that is asked for, and what else its objects must be."""
        rows = call.world.collection(call.mode, self.collection)
        keeps = [keep for keep in (part.choose(call) for part in self.filters) if keep]
        for keep in keeps:
            if isinstance(keep, Between) and keep.field == "created_at":
                rows = rows.within(keep.since, keep.until)
        return rows, (lambda row: all(keep(row) for keep in keeps)) if keeps else None


def offset_list(collection: str, *filters: Filter, view: View | None = None) -> List:
    """Return a v1 list: numbered pages and a total."""
    return List(collection, OFFSETS, filters, view)


def cursor_list(collection: str, *filters: Filter) -> List:
    """Return a v2 list: pages found by cursor."""
    return List(collection, CURSORS, filters)


def get_one(collection: str) -> Operation:
    """Return the operation that gets one object of the caller's mode, or answers 404."""
    return lambda call: Answer(call.get(collection))


def read_routes(path: str, one: str, listed: List, *, many: str = "") -> tuple[Route, Route]:
    """Return the routes that list a collection and get one of its objects."""
    return (
        Route("GET", path, f"list {many or one + 's'}", listed),
        Route("GET", f"{path}/{{id}}", f"get {one}", get_one(listed.collection)),
    )


# -- filters


def exactly(param: str, *, field: str | None = None) -> Filter:
    """Choose objects whose field is the text given; dots lead into objects."""
    path = (field or param).split(".")

    def choose(call: Call) -> Keep | None:
        wanted = call.query.get(param)
        return None if wanted is None else lambda row: _dig(row, path) == wanted

    return Filter((param,), choose)


def one_of(param: str, allowed: tuple[str, ...]) -> Filter:
    """Choose objects whose field is any of the values given, as `status=a&status=b`, `status[]=a` or `status=a,b`."""

    def choose(call: Call) -> Keep | None:
        wanted = read_values(call, param)
        for value in wanted:
            if value not in allowed:
                raise invalid_enum(param, value, allowed)
        return (lambda row: row.get(param) in wanted) if wanted else None

    return Filter((param,), choose)


def is_true(param: str) -> Filter:
    """Choose objects whose boolean field is as given."""

    def choose(call: Call) -> Keep | None:
        wanted = read_boolean(call, param)
        return None if wanted is None else lambda row: row.get(param) is wanted

    return Filter((param,), choose)


def between(field: str = "created_at") -> Filter:
    """Choose objects from `since` to `until`, both included; a calendar date is the whole UTC day."""

    def choose(call: Call) -> Keep | None:
        since, until = read_since(call), read_until(call)
        return None if since is None and until is None else Between(field, since, until)

    return Filter(RANGE, choose)


@dataclass(frozen=True, slots=True)
class Between:
    """Whether a moment of an object lies in a stretch of time, both ends included."""

    field: str
    since: datetime | None
    until: datetime | None

    def __call__(self, row: Object) -> bool:
        text = row.get(self.field)
        if text is None:
            return False
        at = to_moment(text)
        return (self.since is None or at >= self.since) and (self.until is None or at <= self.until)


def read_values(call: Call, param: str) -> list[str]:
    """Return the values of a parameter that may be repeated."""
    given = call.query.getlist(param) + call.query.getlist(f"{param}[]")
    return [value for text in given for value in text.split(",") if value]


def read_boolean(call: Call, param: str) -> bool | None:
    """Return a parameter that is true or false. Raise `invalid_boolean` for another text."""
    text = call.query.get(param)
    if text not in {None, "true", "false"}:
        raise invalid("boolean", param, "true or false")
    return None if text is None else text == "true"


def read_since(call: Call, param: str = "since") -> datetime | None:
    """Return the moment a range begins. Raise `invalid_date` if the text is no date."""
    text = call.query.get(param)
    if text is None:
        return None
    try:
        return to_moment(text)
    except ValueError:
        raise invalid("date", param, "a calendar date or an ISO 8601 datetime") from None


def read_until(call: Call) -> datetime | None:
    """Return the last moment of a range. Raise `invalid_date` if the text is no date."""
    moment = read_since(call, "until")
    if moment is None:
        return None
    return moment + ALMOST_A_DAY if to_day(call.query["until"]) else moment


def _dig(row: Object, path: list[str]) -> object:
    value: object = row
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


# -- pages, with the provider's `Link` and `X-Total-Count`


class Walkable(Protocol):
    """Objects that can be walked from either side of one of them."""

    def newest_first(self) -> Iterator[Object]: ...

    def older_than(self, id_: str) -> Iterator[Object]: ...

    def newer_than(self, id_: str) -> Iterator[Object]: ...


class Countable(Protocol):
    """Objects whose number is known before any of them is looked at."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> list[Object]: ...


def read_number(call: Call, name: str, default: int, *, largest: int | None = None) -> int:
    """Return a whole number above 0. Raise `invalid_positive_integer` for another text."""
    text = call.query.get(name)
    if text is None:
        return default
    if not WHOLE.fullmatch(text) or int(text) < 1 or (largest and int(text) > largest):
        raise invalid("positive_integer", name, f"a whole number from 1 to {largest}" if largest else "1 or more")
    return int(text)


def offset_page(call: Call, rows: Countable) -> Answer:
    """Return one page of a v1 list: numbered, with the total and links to its neighbours."""
    page = read_number(call, "page", 1)
    size = read_number(call, "per_page", DEFAULT_SIZE, largest=LARGEST_SIZE)
    last = max(1, -(-len(rows) // size))
    following = page if _strikes_once(call, "duplicate-page") else page + 1
    places = [("first", 1), ("prev", page - 1), ("next", following), ("last", last)]
    shown = rows[(page - 1) * size : page * size]
    if _strikes_once(call, "empty-page"):
        shown, places[2] = [], ("next", page)
    links = [f'<{call.link(page=number)}>; rel="{rel}"' for rel, number in places if _exists(rel, number, page, last)]
    return Answer(shown, headers={"Link": ", ".join(links), "X-Total-Count": str(len(rows))})


def _exists(rel: str, number: int, page: int, last: int) -> bool:
    if rel == "next":
        return page < last or number == page
    return rel != "prev" or page > 1


def cursor_page(call: Call, rows: Walkable, keep: Keep) -> Answer:
    """Return one page of a v2 list: newest first, a link to the next page, an empty `Link` on the last."""
    size = read_number(call, "limit", DEFAULT_SIZE, largest=LARGEST_SIZE)
    after, before = call.query.get("starting_after"), call.query.get("ending_before")
    if after and before:
        message = "Give starting_after or ending_before, not both"
        raise RefusalError(400, "invalid_params", message, param="ending_before")
    found = list(islice(filter(keep, _walk(call, rows, after, before)), size + 1))
    if before:
        return _cursor_answer(call, found[:size][::-1], has_more=True)
    return _cursor_answer(call, found[:size], has_more=len(found) > size)


def _walk(call: Call, rows: Walkable, after: str | None, before: str | None) -> Iterator[Object]:
    cursor = after or before
    if not cursor:
        return rows.newest_first()
    refusal = RefusalError(400, "missing_cursor", f"No object to page from: {cursor}",
                           param="starting_after" if after else "ending_before")  # fmt: skip
    if call.world.faults.strikes("pruned-cursor", call.key, path=call.path):
        raise refusal
    try:
        return rows.older_than(cursor) if after else rows.newer_than(cursor)
    except KeyError:
        raise refusal from None


def _cursor_answer(call: Call, shown: list[Object], *, has_more: bool) -> Answer:
    here = {key: call.query[key] for key in ("starting_after", "ending_before") if key in call.query}
    if _strikes_once(call, "empty-page"):
        return Answer([], headers={"Link": _next(call, here)})
    if not shown or not has_more:
        return Answer(shown, headers={"Link": ""})
    following = here if _strikes_once(call, "duplicate-page") else {"starting_after": shown[-1]["id"]}
    return Answer(shown, headers={"Link": _next(call, following)})


def _next(call: Call, place: dict[str, str]) -> str:
    return f'<{call.link(**place)}>; rel="next"'


def _strikes_once(call: Call, name: str) -> bool:
    # Never on two requests for one address in a row: a reader that follows the link must get on.
    return call.turn % 2 == 1 and call.world.faults.strikes(name, call.key, path=call.path) is not None
