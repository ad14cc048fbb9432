"""Rows that appear while somebody is paging: harmless ones, so that no sum changes."""

from sandbox.clock import to_iso
from sandbox.world import World

# A status in which the new row means no money.
HARMLESS = {
    "payment_intents": "expired",
    "charges": "canceled",
    "refunds": "canceled",
    "payouts": "canceled",
    "checkout_sessions": "expired",
    "payment_links": "canceled",
    "customers": None,
}


def insert_while_paging(world: World, *, mode: str, key: str, path: str) -> None:
    """Put a copy of the newest row, under a new id, in front of the list that is being read."""
    name = path.rsplit("/", 1)[-1]
    source = "payment_intents" if name == "events" else name
    if source not in HARMLESS or not world.faults.strikes("insert-while-paging", key, path=path):
        return
    newest = next(world.collection(mode, source).newest_first(), None)
    if newest is None:
        return
    status = {} if HARMLESS[source] is None else {"status": HARMLESS[source]}
    id_ = world.new_id(newest["id"].partition("_")[0])
    copy = {**newest, **status, "id": id_, "created_at": to_iso(world.now())}
    world.keep(source, copy, event="payment_intent.expired" if name == "events" else None)
