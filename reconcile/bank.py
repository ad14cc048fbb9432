"""What arrived at the bank, as the rules read it: inbound movements of the accounts that payouts are sent to; pure."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any

import msgspec
from pandas import DataFrame

from consumer.facts.clock import local_date, to_instant
from reconcile.rules.inputs import BANK, typed

LAST_DIGITS = 4
_DAY = len("2026-10-31")
_INBOUND, _CONFIRMED = "inbound", "confirmed"
_TEXTS = ("comment", "description", "reference_id", "resource_id")


def bank_lines(*, own: Iterable[Any], linked: Iterable[Any], numbers: Mapping[str, str], zone: str) -> DataFrame:
    """Build the bank's lines; a business account says the direction in a word, a linked account in the sign."""
    arrived = [row for row in own if row.direction == _INBOUND]
    arrived += [row for row in linked if row.amount is not None and row.amount > 0 and row.status == _CONFIRMED]
    frame = DataFrame(list(_lines(arrived, numbers, zone)), columns=list(BANK))
    return typed(frame.sort_values("movement_id", ignore_index=True), BANK)


def _lines(rows: Iterable[Any], numbers: Mapping[str, str], zone: str) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        body = msgspec.json.decode(row.body)
        booked_on = _booked_on(body, row.created_at, zone)
        if booked_on is None:
            continue
        texts = [body[name] for name in _TEXTS if isinstance(body.get(name), str)]
        last4 = numbers[row.account_id][-LAST_DIGITS:]
        yield row.id, last4, row.amount, row.currency, booked_on, "\n".join(texts) or None


def _booked_on(body: Mapping[str, Any], created_at: datetime | None, zone: str) -> date | None:
    """The local day of the transaction; a posting is a day already, which the provider writes as midnight UTC."""
    traded, posted = body.get("transaction_date"), body.get("post_date")
    if isinstance(traded, str) and traded:
        return local_date(to_instant(traded), zone)
    if isinstance(posted, str) and posted:
        return date.fromisoformat(posted[:_DAY])
    return None if created_at is None else local_date(created_at, zone)
