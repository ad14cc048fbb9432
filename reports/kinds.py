"""Exceptions by code and currency, gravest and dearest first: how many, what they are worth, since when."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from reconcile.rules.at_risk import Stake, totals_at_risk

RANKS = {"high": 0, "medium": 1, "low": 2}
_ITEM_OF_A_PAYOUT = "resource:%@%"


@dataclass(frozen=True, slots=True)
class Kind:
    """Exceptions of one code in one currency; `oldest` is the day of the oldest fact where it was asked for."""

    code: str
    severity: str
    currency: str
    count: int
    at_risk: int
    oldest: date | None


def kinds(
    session: Session,
    table: Any,
    conditions: Sequence[sa.ColumnElement[bool]],
    oldest: sa.ColumnElement[Any],
) -> list[Kind]:
    """Sum up exceptions by code, each subject once.

    Subjects of one code differ from each other but where an item is in several payouts, so that the database may add
    up all other codes: tens of thousands of rows would have to be read for each look otherwise.
    """
    keys = (table.severity, table.code, table.currency)
    several = sa.func.sum(sa.case((table.subject.like(_ITEM_OF_A_PAYOUT), 1), else_=0))
    counted = sa.select(*keys, sa.func.count(), sa.func.sum(table.amount_at_risk), sa.func.min(oldest), several)
    rows = session.execute(counted.where(*conditions).group_by(*keys)).all()
    once = _read_once(session, table, conditions, sorted({row[1] for row in rows if row[6]}))
    found = [
        Kind(code, severity, currency, count, once.get((severity, code, currency), int(amount)), first)
        for severity, code, currency, count, amount, first, _ in rows
    ]
    return sorted(found, key=lambda one: (RANKS.get(one.severity, len(RANKS)), -one.at_risk, one.code))


def _read_once(
    session: Session, table: Any, conditions: Sequence[sa.ColumnElement[bool]], codes: Sequence[str]
) -> dict[tuple[str, str, str], int]:
    """Add up the codes of which one item may stand in several rows; connections share no item."""
    stakes: dict[tuple[str, str], list[Stake]] = defaultdict(list)
    columns = (table.connection, table.severity, table.code, table.subject, table.currency, table.amount_at_risk)
    for connection, severity, *row in session.execute(sa.select(*columns).where(*conditions, table.code.in_(codes))):
        stakes[connection, severity].append(Stake(*row))
    sums: dict[tuple[str, str, str], int] = defaultdict(int)
    for (_, severity), rows in stakes.items():
        for code in {one.code for one in rows}:
            for currency, total in totals_at_risk(one for one in rows if one.code == code).items():
                sums[severity, code, currency] += total.amount
    return sums
