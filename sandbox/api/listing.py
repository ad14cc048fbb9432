"""Lists and gets declared as data: which collection, which pages, which filters."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sandbox.api.call import Answer, Call, Operation
from sandbox.api.paging import cursor_page, offset_page
from sandbox.state.clock import to_day, to_moment
from sandbox.state.collection import Collection, Keep, Object
from sandbox.state.refusal import invalid, invalid_enum

Filter = Callable[[Call], Keep | None]
View = Callable[[Object], Object]
ALMOST_A_DAY = timedelta(days=1) - timedelta(microseconds=1)


def offset_list(collection: str, *filters: Filter, view: View | None = None) -> Operation:
    """A v1 list: numbered pages and a total."""

    def operation(call: Call) -> Answer:
        rows, keep = _select(call, collection, filters)
        return _shown(offset_page(call, rows.chosen(call.question, keep)), view)

    return operation


def cursor_list(collection: str, *filters: Filter, view: View | None = None) -> Operation:
    """A v2 list: pages found by cursor."""

    def operation(call: Call) -> Answer:
        rows, keep = _select(call, collection, filters)
        return _shown(cursor_page(call, rows, keep or _any), view)

    return operation


def get_one(collection: str, *, view: View | None = None, param: str = "id") -> Operation:
    """One object of the caller's mode, or 404."""

    def operation(call: Call) -> Answer:
        found = call.world.get(call.mode, collection, call.params[param])
        return Answer(view(found) if view else found)

    return operation


def _shown(page: Answer, view: View | None) -> Answer:
    return page if view is None else replace(page, body=[view(row) for row in page.body])


def _select(call: Call, collection: str, filters: tuple[Filter, ...]) -> tuple[Collection, Keep | None]:
    """The part of the collection that is asked for, and what else its objects must be."""
    rows = call.world.collection(call.mode, collection)
    keeps = [keep for keep in (made(call) for made in filters) if keep]
    for keep in keeps:
        if isinstance(keep, Between) and keep.field == "created_at":
            rows = rows.within(keep.since, keep.until)
    return rows, (lambda row: all(keep(row) for keep in keeps)) if keeps else None


def _any(_: Object) -> bool:
    return True


def exactly(param: str, *, field: str | None = None) -> Filter:
    """Objects whose field is the text given; dots lead into objects."""
    path = (field or param).split(".")

    def made(call: Call) -> Keep | None:
        wanted = call.query.get(param)
        return None if wanted is None else lambda row: _dig(row, path) == wanted

    return made


def one_of(param: str, allowed: tuple[str, ...]) -> Filter:
    """Objects whose field is any of the values given, as `status=a&status=b`, `status[]=a` or `status=a,b`."""

    def made(call: Call) -> Keep | None:
        wanted = read_values(call, param)
        for value in wanted:
            if value not in allowed:
                raise invalid_enum(param, value, allowed)
        return (lambda row: row.get(param) in wanted) if wanted else None

    return made


def read_values(call: Call, param: str) -> list[str]:
    """The values of a parameter that may be repeated."""
    given = call.query.getlist(param) + call.query.getlist(f"{param}[]")
    return [value for text in given for value in text.split(",") if value]


def is_true(param: str) -> Filter:
    """Objects whose boolean field is as given."""

    def made(call: Call) -> Keep | None:
        wanted = read_boolean(call, param)
        return None if wanted is None else lambda row: row.get(param) is wanted

    return made


def read_boolean(call: Call, param: str) -> bool | None:
    text = call.query.get(param)
    if text not in {None, "true", "false"}:
        raise invalid("boolean", param, "true or false")
    return None if text is None else text == "true"


def between(field: str = "created_at") -> Filter:
    """Objects from `since` to `until`, both included; a calendar date is the whole UTC day."""

    def made(call: Call) -> Keep | None:
        since, until = read_since(call), read_until(call)
        if since is None and until is None:
            return None
        return Between(field, since, until)

    return made


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


def read_since(call: Call, param: str = "since") -> datetime | None:
    """The moment a range begins. Raises `invalid_date`."""
    text = call.query.get(param)
    if text is None:
        return None
    try:
        return to_moment(text)
    except ValueError:
        raise invalid("date", param, "a calendar date or an ISO 8601 datetime") from None


def read_until(call: Call, param: str = "until") -> datetime | None:
    """The last moment of a range. Raises `invalid_date`."""
    moment = read_since(call, param)
    if moment is None:
        return None
    return moment + ALMOST_A_DAY if to_day(call.query[param]) else moment


def _dig(row: Object, path: list[str]) -> object:
    value: object = row
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
