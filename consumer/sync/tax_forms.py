"""The monthly F29: a rectified form replaces the one before, so of each taxpayer and month one is in force."""

import json
from collections import defaultdict

import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.settings import Connection
from consumer.facts.tables.business import TaxStatement
from consumer.facts.tables.columns import core_of
from consumer.provider import fields
from consumer.sync.findings import Finding

_IN_FORCE = "vigente"


def forms_in_force(session: Session, connection: Connection) -> list[Finding]:
    """Name each month of a taxpayer of which more than one form says that it is in force."""
    core = core_of(TaxStatement)
    mine = (core.c.connection == connection.name) & core.c.gone_at.is_(None) & core.c.period.is_not(None)
    asked = sa.select(core.c.id, core.c.period, core.c.document_number, core.c.body).where(mine).order_by(core.c.id)
    in_force: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in session.execute(asked):
        body = json.loads(row.body)
        if str(body.get("status")).lower() == _IN_FORCE:
            taxpayer = fields.part(body, "taxpayer").get("id")
            in_force[str(taxpayer), row.period].append(row.document_number or row.id)
    return [
        Finding(" ".join((period, *numbers)), _told(period, numbers))
        for (_, period), numbers in sorted(in_force.items())
        if len(numbers) > 1
    ]


def _told(period: str, numbers: list[str]) -> str:
    return f"F29 of {period}: {len(numbers)} forms are in force: {', '.join(numbers)}"
