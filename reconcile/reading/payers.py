"""Payers' rules as runs read them: those accepted now, and of ended ones the days that were closed with them."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby

import sqlalchemy as sa
from pandas import DataFrame

from consumer.facts.tables.types import core_of
from reconcile.rules.inputs import PAYERS, Row, empty_frame, to_types
from reconcile.tables.desk import PayerRule, PayerRuleChange

ACCEPTED = "accepted"
Stretch = tuple[datetime | None, datetime | None]


def read_payers(database: sa.Connection, connection: str) -> DataFrame:
    rules, changes = core_of(PayerRule).c, core_of(PayerRuleChange).c
    names = (rules.id, rules.kind, rules.subject, rules.object)
    asked = (
        sa.select(*names, changes.before, changes.after, changes.closed_until)
        .join(core_of(PayerRuleChange), changes.rule_id == rules.id)
        .where(rules.connection == connection)
        .order_by(rules.id, changes.id)
    )
    asked = asked.where(sa.or_(changes.before == ACCEPTED, changes.after == ACCEPTED))
    found = [
        (*rule, *stretch)
        for rule, own in groupby(database.execute(asked).all(), key=lambda row: tuple(row[:4]))
        for stretch in _list_stretches(own)
    ]
    return to_types(DataFrame(found, columns=list(PAYERS)), PAYERS) if found else empty_frame(PAYERS)


def _list_stretches(changes: Iterable[Row]) -> Iterator[Stretch]:
    """Yield from when until when a rule holds; one that ended before days were closed with it never did."""
    since: datetime | None = None
    is_accepted = False
    for change in changes:
        if is_accepted and change.closed_until is not None and (since is None or change.closed_until > since):
            yield since, change.closed_until
        is_accepted, since = change.after == ACCEPTED, change.closed_until
    if is_accepted:
        yield since, None
