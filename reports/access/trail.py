"""The trail of who did what, and how it is handed on to a SIEM: each entry one line of JSON, at least once."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, TypeAlias

import sqlalchemy as sa
import structlog

from consumer.facts.clock import format_instant
from consumer.facts.installation import Installation
from consumer.facts.store import Store, insert_once
from consumer.facts.tables.inbox import EventReplay
from consumer.facts.tables.types import core_of
from consumer.facts.trails import Sink, SinkError, open_sink
from reconcile.tables.books import RemovedFile
from reconcile.tables.desk import Decision, ExceptionChange
from reports.tables import AuditEntry, Identity, TrailMark, User

log = structlog.get_logger("cuadre.trail")

TRAIL_KEYS = ("at", "who", "action", "subject", "address")
IDENTITY = "identity"
REST_SECONDS = 30.0
_LEASE = timedelta(minutes=2)
# A transaction that took a lower number may commit after one that took a higher; none lasts so long.
_HELD = timedelta(minutes=1)
_LINES = 500
_MARK = core_of(TrailMark)
Part: TypeAlias = sa.Select[Any]


def trail_parts() -> Mapping[str, Part]:
    """Return what the trail is made of: entries, decisions, changes of exceptions, files taken back, replays.

    Each has a number and the columns of TRAIL_KEYS. What runs change of an exception is no person's doing.
    """
    space, nowhere = sa.literal(" "), sa.literal("")
    one, decision = core_of(AuditEntry).c, core_of(Decision).c
    change, replay = core_of(ExceptionChange).c, core_of(EventReplay).c
    pair = decision.connection + space + decision.resource_id + space + decision.doc_key
    about = sa.literal("exception ") + change.connection + space + change.exception_id
    event = sa.literal("event ") + replay.connection + space + replay.event_id
    file = core_of(RemovedFile).c
    taken = file.connection + space + file.kind + space + file.name
    kind, again = sa.literal("change ") + change.change, sa.literal("replay")
    return {
        "entry": _select(one.id, one.at, one.who, one.action, one.subject, one.address),
        "decision": _select(decision.id, decision.at, decision.author, decision.kind, pair, nowhere),
        "change": _select(change.id, change.at, change.author, kind, about, nowhere).where(
            ~change.author.startswith("run ")
        ),
        "removal": _select(file.id, file.removed_at, file.removed_by, sa.literal("take file back"), taken, nowhere),
        "replay": _select(replay.id, replay.replayed_at, replay.replayed_by, again, event, nowhere),
    }


def _select(*columns: sa.ColumnElement[Any]) -> Part:
    return sa.select(*(column.label(name) for name, column in zip(("id", *TRAIL_KEYS), columns, strict=True)))


def identity_of(who: sa.ColumnElement[str]) -> sa.Label[str]:
    """Return the column with issuer and subject of who comes from the identity provider."""
    person, known = core_of(User).c, core_of(Identity).c
    identity = sa.select(known.issuer + " " + known.subject).where(known.person_id == person.id, person.email == who)
    return identity.scalar_subquery().label(IDENTITY)


def hand_on(installation: Installation, *, now: datetime) -> int:
    """Hand on what is new of each part, in the order of its numbers; return how many lines.

    1. Claim the part for two minutes: of several workers one hands it on.
    2. Write up to 500 lines, entries of the last minute left for later.
    3. Write down how far it came. A crash before that hands the same lines on once more, each with its own id.
    """
    url = installation.settings.trail_url
    if url is None:
        return 0
    count = 0
    for name, part in trail_parts().items():
        last = _claim(installation.store, name, now)
        if last is None:
            continue
        lines = _read(installation.store, name, part, last, now)
        values: dict[str, Any] = {"claimed_until": None}
        try:
            if lines:
                with open_sink(url.get_secret_value()) as sink:
                    _write(sink, [line for _, line in lines], now)
                values["last_id"] = lines[-1][0]
            values["failed_since"] = None
            count += len(lines)
        except SinkError as error:
            log.warning("trail not handed on", part=name, why=str(error))
            values["failed_since"] = sa.func.coalesce(_MARK.c.failed_since, sa.literal(now, _MARK.c.failed_since.type))
        with installation.store.connection() as connection:
            connection.execute(_MARK.update().where(_MARK.c.part == name).values(values))
    return count


def _write(sink: Sink, lines: Sequence[str], now: datetime) -> None:
    for line in lines:
        sink.write(line, now)


def _claim(store: Store, name: str, now: datetime) -> int | None:
    """Return the number up to which a part was handed on, or None where another worker is at it."""
    is_free = sa.or_(_MARK.c.claimed_until.is_(None), _MARK.c.claimed_until <= now)
    taken = _MARK.update().where(_MARK.c.part == name, is_free).values(claimed_until=now + _LEASE)
    with store.connection() as connection:
        insert_once(connection, TrailMark, [{"part": name, "last_id": 0}], keys=["part"])
        return connection.execute(taken.returning(_MARK.c.last_id)).scalar_one_or_none()


def _read(store: Store, name: str, part: Part, last: int, now: datetime) -> list[tuple[int, str]]:
    number = part.selected_columns["id"]
    asked = part.add_columns(identity_of(part.selected_columns["who"]))
    asked = asked.where(number > last).order_by(number).limit(_LINES)
    with store.reading() as session:
        rows = session.connection().execute(asked).all()
    old = takewhile(lambda row: row.at <= now - _HELD, rows)
    return [(row.id, _to_line(name, row)) for row in old]


def _to_line(name: str, row: sa.Row[Any]) -> str:
    own = {"id": f"{name}-{row.id}", "at": format_instant(row.at)}
    whose = {} if row.identity is None else {"identity": row.identity}
    return json.dumps(own | {key: getattr(row, key) for key in TRAIL_KEYS[1:]} | whose, ensure_ascii=False)
