"""Provider JSON to table rows: one kind per table, found by its own name and never by an id's prefix.

The provider reuses words: `invoice` is a billing or a fiscal one, `movement` and `account` belong to a business
account or to a link. The caller knows which, from the event's family or the stream it reads.
"""

from datetime import datetime
from functools import partial
from typing import Any

from consumer.facts import observed
from consumer.facts.observed import KEPT, Known, register
from consumer.facts.tables.provider import ProviderObject
from consumer.provider.rows import accounts, billing, endpoints, fields, fiscal, links, payments, payouts
from consumer.provider.rows.fields import Data, UnusableObject
from consumer.provider.rows.kind import Kind, Observation
from consumer.provider.rows.payouts import to_payout_item

__all__ = ["KINDS", "Kind", "Observation", "UnusableObject", "observe", "to_payout_item", "to_row"]

KINDS: dict[str, Kind] = {
    **payments.KINDS,
    **payouts.KINDS,
    **billing.KINDS,
    **accounts.KINDS,
    **links.KINDS,
    **fiscal.KINDS,
    **endpoints.KINDS,
}
_OBJECTS = {name for kind in KINDS.values() for name in kind.objects}


def to_row(name: str, data: Data, seen: Observation) -> ProviderObject:
    """Turn one observed object into its row, or raise UnusableObject with the field that stands in the way."""
    return observed.to_row(observe(name, data, seen))


def observe(name: str, data: Data, seen: Observation) -> Known:
    """As `to_row`, but ready to be merged without the cost of a row object."""
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


def _check_shape(name: str, kind: Kind, data: Data, seen: Observation) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise UnusableObject(f"a {name} must be a JSON object")
    mode = data.get("mode")
    if mode is not None and mode != seen.mode:
        raise UnusableObject(f"mode of the {name} is not {seen.mode}")
    claimed = data.get("object")
    if isinstance(claimed, str) and claimed in _OBJECTS and claimed not in kind.objects:
        raise UnusableObject(f"object is {claimed}, not {name}")
    body = fields.kept(data)
    body.pop(KEPT, None)
    if seen.account_id is not None:
        body.setdefault("account_id", seen.account_id)
    return body


def _columns(kind: Kind, body: Data) -> dict[str, Any]:
    times = {"created_at": fields.instant(body, "created_at"), "updated_at": fields.instant(body, "updated_at")}
    return kind.columns(body) | times


def _reached_at(kind: Kind, column: str, body: Data, status: str | None, seen: Observation) -> datetime | None:
    """When a state was reached: the object's own word, else the event that carried it, else its last update."""
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
