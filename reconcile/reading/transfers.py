"""Transfers of the provider, and those whose money went back."""

from collections.abc import Iterable, Mapping

import msgspec
import pandas as pd
from pandas import DataFrame

from consumer.facts.clock import format_instant, local_date, to_instant
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import MOMENT, MONEY, TEXT, Finding, Row, Schema, rows_of, to_types
from reconcile.rules.outcomes import Code

TRANSFERS: Schema = {
    "transfer_id": TEXT,
    "direction": TEXT,
    "status": TEXT,
    "amount": MONEY,
    "currency": TEXT,
    "return_code": TEXT,
    "return_reason": TEXT,
    "returned_at": MOMENT,
}
WENT_BACK = ("returned", "reversed")
_MOMENTS = ("returned_at", "reversed_at")
_OPPOSITE = {"inbound": "outbound", "outbound": "inbound"}
_decode = msgspec.json.Decoder(dict[str, object]).decode
INBOUND = "inbound"


def to_transfers(rows: Iterable[Row], movements: Iterable[str] = ()) -> DataFrame:
    """Return the frame of transfers that went back; `movements` are bodies of account movements.

    Money went back when the movement that returned it was made; without that movement, when the transfer says.
    """
    returned = _read_return_moments(movements)
    found = []
    for row in rows:
        code, reason, said_at = _read_reason(row.body)
        returned_at = returned.get((row.id, _OPPOSITE.get(row.direction, "")), said_at)
        found.append((row.id, row.direction, row.status, row.amount, row.currency, code, reason, returned_at))
    frame = DataFrame(found, columns=list(TRANSFERS)).sort_values("transfer_id", ignore_index=True)
    return to_types(frame, TRANSFERS)


def _read_return_moments(movements: Iterable[str]) -> dict[tuple[str, str], pd.Timestamp]:
    """Return when each movement of a returned pair was made, by its transfer and direction."""
    bodies = {body["id"]: body for body in map(_decode, movements)}
    moments = {}
    for body in bodies.values():
        pair, direction = _text(body, "return_pair_id"), _text(body, "direction")
        transfer = _text(body, "resource_id") or _text(bodies.get(pair, {}), "resource_id")
        made_at = _moment(body.get("transaction_date"))
        if pair and transfer and direction and made_at is not None:
            moments[transfer, direction] = made_at
    return moments


def _read_reason(body: str) -> tuple[str | None, str | None, pd.Timestamp | None]:
    data = _decode(body)
    moments = [moment for name in _MOMENTS if (moment := _moment(data.get(name))) is not None]
    returned_at = moments[0] if moments else None
    return _text(data, "return_reason_code"), _text(data, "return_reason"), returned_at


def _moment(value: object) -> pd.Timestamp | None:
    """Read a moment, None if it has no zone or is none: the return itself is what counts."""
    try:
        return pd.Timestamp(to_instant(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def _text(data: Mapping[str, object], name: str) -> str | None:
    value = data.get(name)
    return value if isinstance(value, str) else None


def find_returned(transfers: DataFrame, zone: str) -> list[Finding]:
    """Return one finding per transfer. The code decides: the words of a reason differ between API versions."""
    return [_to_finding(row, zone) for row in rows_of(transfers)]


def _to_finding(row: Row, zone: str) -> Finding:
    returned_at = None if pd.isna(row.returned_at) else row.returned_at.to_pydatetime()
    evidence = {
        "direction": row.direction,
        "status": row.status,
        "return_code": _to_text(row.return_code),
        "return_reason": _to_text(row.return_reason),
        "returned_at": returned_at and format_instant(returned_at),
    }
    about = About(
        subject=f"transfer:{row.transfer_id}",
        currency=str(row.currency),
        resource_id=str(row.transfer_id),
        evidence=evidence,
        fact_on=returned_at and local_date(returned_at, zone),
    )
    return to_finding(Code.TRANSFER_RETURNED, about, at_risk=int(row.amount))


def _to_text(value: str | float) -> str | None:
    return value if isinstance(value, str) else None
