"""Recording events once: whichever source comes first is kept, the rest are duplicates or conflicts."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import groupby
from operator import attrgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from consumer.facts.tables.inbox import Event, EventConflict
from consumer.inbox.arrivals import Arrival, UnusableEvent, read_arrival

__all__ = ["Arrival", "UnusableEvent", "Verdict", "read_arrival", "record_all"]

_EVENT: sa.Table = Event.__table__  # type: ignore[attr-defined]
_CONFLICT: sa.Table = EventConflict.__table__  # type: ignore[attr-defined]
# SQLite allows 32,766 variables in a statement.
_KEYS_A_STATEMENT = 5_000

Key = tuple[str, str]


class Verdict(StrEnum):
    STORED = "stored"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"


def record_all(connection: Connection, arrivals: Sequence[Arrival]) -> list[Verdict]:
    """Record a batch in the caller's transaction and say of each arrival what it was, in the order given.

    The first arrival of an id wins, in the batch as in the table. Keys are taken in sorted order, so two batches
    that share ids wait for each other and never deadlock.
    """
    by_key = _by_key(arrivals)
    firsts = [same[0] for _, same in sorted(by_key.items())]
    new = _insert(connection, firsts)
    known = _known(connection, [first for first in firsts if first.key not in new])
    known |= {key: (by_key[key][0].meaning_sha256, by_key[key][0].raw_sha256) for key in new}
    verdicts: list[Verdict] = []
    unseen = set(new)
    for arrival in arrivals:
        if arrival.key in unseen:
            unseen.discard(arrival.key)
            verdicts.append(Verdict.STORED)
        elif arrival.meaning_sha256 == known[arrival.key][0]:
            verdicts.append(Verdict.DUPLICATE)
        else:
            verdicts.append(Verdict.CONFLICT)
    judged = list(zip(arrivals, verdicts, strict=True))
    _count(connection, [arrival for arrival, verdict in judged if verdict is not Verdict.STORED])
    others = [arrival for arrival, verdict in judged if verdict is Verdict.CONFLICT]
    _record_conflicts(connection, others, {key: raw for key, (_, raw) in known.items()})
    return verdicts


def _by_key(arrivals: Iterable[Arrival]) -> dict[Key, list[Arrival]]:
    grouped: dict[Key, list[Arrival]] = {}
    for arrival in arrivals:
        grouped.setdefault(arrival.key, []).append(arrival)
    return grouped


def _insert(connection: Connection, arrivals: Sequence[Arrival]) -> set[Key]:
    if not arrivals:
        return set()
    result = connection.execute(_INSERTS[connection.dialect.name], [_to_row(arrival) for arrival in arrivals])
    return {(row[0], row[1]) for row in result}


def _insert_statement(insert: Any) -> Any:
    statement = insert(_EVENT).on_conflict_do_nothing(index_elements=[_EVENT.c.connection, _EVENT.c.id])
    return statement.returning(_EVENT.c.connection, _EVENT.c.id)


_INSERTS = {"sqlite": _insert_statement(sqlite.insert), "postgresql": _insert_statement(postgresql.insert)}


def _to_row(arrival: Arrival) -> dict[str, Any]:
    return {
        "connection": arrival.connection,
        "id": arrival.id,
        "type": arrival.type,
        "mode": arrival.mode,
        "created_at": arrival.created_at,
        "received_at": arrival.received_at,
        "source": arrival.source.value,
        "state": arrival.state.value,
        "resource_id": arrival.resource_id,
        "body": arrival.body,
        "raw_sha256": arrival.raw_sha256,
        "meaning_sha256": arrival.meaning_sha256,
        "arrivals": 1,
        "last_arrival_at": arrival.received_at,
        "attempts": 0,
        "error": arrival.error,
    }


def _known(connection: Connection, arrivals: Sequence[Arrival]) -> dict[Key, tuple[str, str]]:
    """Read and lock what is stored under these ids: meaning and raw digest."""
    found: dict[Key, tuple[str, str]] = {}
    columns = (_EVENT.c.connection, _EVENT.c.id, _EVENT.c.meaning_sha256, _EVENT.c.raw_sha256)
    for name, group in groupby(arrivals, key=attrgetter("connection")):
        ids = [arrival.id for arrival in group]
        for start in range(0, len(ids), _KEYS_A_STATEMENT):
            some = ids[start : start + _KEYS_A_STATEMENT]
            statement = sa.select(*columns).where(_EVENT.c.connection == name, _EVENT.c.id.in_(some))
            for row in connection.execute(statement.order_by(_EVENT.c.id).with_for_update()):
                found[row[0], row[1]] = (row[2], row[3])
    return found


def _count(connection: Connection, arrivals: Sequence[Arrival]) -> None:
    if not arrivals:
        return
    statement = (
        sa.update(_EVENT)
        .where(_EVENT.c.connection == sa.bindparam("of_connection"), _EVENT.c.id == sa.bindparam("of_id"))
        .values(
            arrivals=_EVENT.c.arrivals + sa.bindparam("more"),
            last_arrival_at=sa.case(
                (
                    _EVENT.c.last_arrival_at < sa.bindparam("at", type_=_EVENT.c.last_arrival_at.type),
                    sa.bindparam("at"),
                ),
                else_=_EVENT.c.last_arrival_at,
            ),
        )
    )
    rows = [
        {
            "of_connection": key[0],
            "of_id": key[1],
            "more": len(same),
            "at": max(arrival.received_at for arrival in same),
        }
        for key, same in sorted(_by_key(arrivals).items())
    ]
    connection.execute(statement, rows)


def _record_conflicts(connection: Connection, arrivals: Sequence[Arrival], first_raw: dict[Key, str]) -> None:
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    for arrival in sorted(arrivals, key=lambda other: (other.key, other.meaning_sha256)):
        row = {
            "connection": arrival.connection,
            "id": arrival.id,
            "meaning_sha256": arrival.meaning_sha256,
            "first_sha256": first_raw[arrival.key],
            "other_sha256": arrival.raw_sha256,
            "source": arrival.source.value,
            "seen_at": arrival.received_at,
            "times": 1,
            "body": arrival.body,
        }
        connection.execute(
            insert(_CONFLICT)
            .values(row)
            .on_conflict_do_update(
                index_elements=[_CONFLICT.c.connection, _CONFLICT.c.id, _CONFLICT.c.meaning_sha256],
                set_={"times": _CONFLICT.c.times + 1},
            )
        )
