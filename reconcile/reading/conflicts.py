"""Events that arrived under one id with two meanings, with the amount that is in doubt; pure."""

from collections.abc import Iterable
from typing import Any

import msgspec
from pandas import DataFrame

from reconcile.rules.inputs import CONFLICTS, typed


class _Envelope(msgspec.Struct):
    data: Any = None


def conflicting_amounts(rows: Iterable[Any]) -> DataFrame:
    """Build one row per event in conflict; the amount is that of the body which was kept, where it still is."""
    found = [(row.id, row.resource_id, _amount(row.body)) for row in rows]
    frame = DataFrame(found, columns=list(CONFLICTS))
    return typed(frame.sort_values("event_id", ignore_index=True), CONFLICTS)


def _amount(body: bytes | None) -> int | None:
    if body is None:
        return None
    try:
        data = msgspec.json.decode(body, type=_Envelope).data
    except msgspec.DecodeError:
        return None
    amount = data.get("amount") if isinstance(data, dict) else None
    return amount if isinstance(amount, int) else None
