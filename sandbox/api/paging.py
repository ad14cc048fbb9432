"""Offset and cursor pages with the provider's `Link` and `X-Total-Count`."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Protocol

from sandbox.api.call import Answer, Call
from sandbox.state.collection import Keep, Object
from sandbox.state.refusal import RefusalError, invalid

DEFAULT_SIZE = 30
LARGEST_SIZE = 300
WHOLE = re.compile(r"[0-9]{1,18}")


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
    text = call.query.get(name)
    if text is None:
        return default
    if not WHOLE.fullmatch(text) or int(text) < 1 or (largest and int(text) > largest):
        raise invalid("positive_integer", name, f"a whole number from 1 to {largest}" if largest else "1 or more")
    return int(text)


def offset_page(call: Call, rows: Countable) -> Answer:
    """One page of a v1 list: numbered, with the total and links to its neighbours."""
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
    """One page of a v2 list: newest first, a link to the next page, an empty `Link` on the last."""
    size = read_number(call, "limit", DEFAULT_SIZE, largest=LARGEST_SIZE)
    after, before = call.query.get("starting_after"), call.query.get("ending_before")
    if after and before:
        raise RefusalError(
            400, "invalid_params", "Give starting_after or ending_before, not both", param="ending_before"
        )
    found = list(islice(filter(keep, _walk(call, rows, after, before)), size + 1))
    if before:
        return _cursor_answer(call, found[:size][::-1], has_more=True)
    return _cursor_answer(call, found[:size], has_more=len(found) > size)


def _walk(call: Call, rows: Walkable, after: str | None, before: str | None) -> Iterator[Object]:
    if not after and not before:
        return rows.newest_first()
    param, cursor = ("starting_after", after) if after else ("ending_before", before)
    assert cursor
    if call.world.faults.strikes("pruned-cursor", call.key, path=call.path):
        raise missing_cursor(param, cursor)
    try:
        return rows.older_than(cursor) if after else rows.newer_than(cursor)
    except KeyError:
        raise missing_cursor(param, cursor) from None


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


def missing_cursor(param: str, cursor: str) -> RefusalError:
    return RefusalError(400, "missing_cursor", f"No object to page from: {cursor}", param=param)


def _strikes_once(call: Call, name: str) -> bool:
    # Never on two requests for one address in a row: the reader who follows the link must get on.
    return call.turn % 2 == 1 and call.world.faults.strikes(name, call.key, path=call.path) is not None
