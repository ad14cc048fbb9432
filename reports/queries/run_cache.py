"""What was counted in published runs, whose rows do not change: kept in this process for the next reader."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlmodel import Session

from reconcile.tables.runs import Run

Found = TypeVar("Found")
_MOST = 100
_lock = threading.Lock()
_kept: WeakKeyDictionary[sa.Engine, OrderedDict[tuple[object, ...], object]] = WeakKeyDictionary()


def of_runs(session: Session, name: str, runs: Sequence[Run], count: Callable[[], Found]) -> Found:
    """Return what `count` finds in the rows of these runs, which it is asked once; rows that were dropped are none."""
    key = (name, *((run.connection, run.id, run.finished_at, run.pruned_at) for run in runs))
    with _lock:
        shelf = _kept.setdefault(session.get_bind().engine, OrderedDict())
        if key in shelf:
            shelf.move_to_end(key)
            return cast("Found", shelf[key])
    found = count()
    with _lock:
        shelf[key] = found
        while len(shelf) > _MOST:
            shelf.popitem(last=False)
    return found
