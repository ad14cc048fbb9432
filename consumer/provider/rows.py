"""Provider JSON to table rows: one kind per table, found by its own name and never by an id's prefix.

The provider reuses words: `invoice` is a billing or a fiscal one, `movement` and `account` belong to a business
account or to a link. The caller knows which, from the event's family or the stream it reads.
"""

from datetime import datetime
from functools import partial

import msgspec

from consumer.facts.meaning import JsonObject
from consumer.facts.store import Row
from consumer.facts.tables.provider import PayoutItem
from consumer.facts.versions import KEPT, Known, register
from consumer.provider import fields
from consumer.provider.fields import Data, UnusableObjectError
from consumer.provider.kinds import KINDS, Kind

__all__ = ["KINDS", "Kind", "Observation", "UnusableObjectError", "observe", "to_payout_item"]

_OBJECTS = {name for kind in KINDS.values() for name in kind.objects}


class Observation(msgspec.Struct, frozen=True):
    """Where and when an object was seen: in an event (its id and created_at) or in a read (the answer's Date)."""

    connection: str
    mode: str
    seen_at: datetime
    event_id: str = ""
    account_id: str | None = None


def observe(name: str, data: Data, seen: Observation) -> Known:
    """Convert one observed object for `merge_all`; raise UnusableObjectError with the field that stands in the way."""
    kind = KINDS[name]
    body = _check_shape(name, kind, data, seen)
    columns = _columns(kind, body)
    status = columns.get("status")
    version = (columns["updated_at"] or seen.seen_at, kind.rank(status), seen.event_id)
    return Known(
        table=kind.table,
        connection=seen.connection,
        id=fields.identifier(body),
        mode=seen.mode,
        version=version,
        body=body,
        kept={},
        reached={column: _reached_at(kind, column, body, status, seen) for column in kind.reached},
        gone_at=None,
        ready=(columns, fields.body_text(body)),
    )


def to_payout_item(data: Data, seen: Observation, *, payout_id: str, resource_type: str) -> PayoutItem:
    """Convert one row of a payout's resources into the fact that the payout carries it."""
    return PayoutItem(
        connection=seen.connection,
        payout_id=payout_id,
        resource_type=resource_type,
        resource_id=fields.identifier(data),
        mode=seen.mode,
        amount=fields.required_amount(data),
        currency=fields.required_currency(data),
        body=fields.body_text(fields.kept(data)),
    )


def _check_shape(name: str, kind: Kind, data: Data, seen: Observation) -> JsonObject:
    if not isinstance(data, dict):
        raise UnusableObjectError(f"a {name} must be a JSON object")
    mode = data.get("mode")
    if mode is not None and mode != seen.mode:
        raise UnusableObjectError(f"mode of the {name} is not {seen.mode}")
    claimed = data.get("object")
    if isinstance(claimed, str) and claimed in _OBJECTS and claimed not in kind.objects:
        raise UnusableObjectError(f"object is {claimed}, not {name}")
    body = fields.kept(data)
    body.pop(KEPT, None)
    if seen.account_id is not None:
        body.setdefault("account_id", seen.account_id)
    return body


def _columns(kind: Kind, body: Data) -> Row:
    times = {"created_at": fields.instant(body, "created_at"), "updated_at": fields.instant(body, "updated_at")}
    return kind.columns(body) | times


def _reached_at(kind: Kind, column: str, body: Data, status: str | None, seen: Observation) -> datetime | None:
    """Return when a state was reached: the object's own word, else the event that carried it, else its last update."""
    reached = kind.reached[column]
    own = [fields.instant(body, name) for name in reached.named]
    known = [moment for moment in own if moment is not None]
    if known:
        return min(known)
    if status not in reached.states:
        return None
    return seen.seen_at if seen.event_id else fields.instant(body, "updated_at")


for _kind in KINDS.values():
    register(_kind.table, partial(_columns, _kind), tuple(_kind.reached))
