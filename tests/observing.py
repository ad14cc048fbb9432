"""A provider object as the row it becomes, and what a run reads, for tests that look at columns."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from sqlmodel import Session

from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.tables.provider import ProviderObject
from consumer.facts.versions import to_values
from consumer.provider.rows import Observation, observe
from reconcile.kept import snapshots
from reconcile.kept.snapshots import Scope, Snapshot
from reconcile.reading.frames import read_inputs, read_transfers


def to_row(kind: str, data: Mapping[str, object], seen: Observation) -> ProviderObject:
    known = observe(kind, data, seen)
    return known.table(**to_values(known))


def columns(row: ProviderObject) -> dict[str, Any]:
    return row.model_dump(exclude={"body", "written_at"})


def take_snapshot(
    session: Session, installation: Installation, connection: Connection, *, as_of: date, scope: Scope
) -> Snapshot:
    """Return what a whole run of a day reads."""
    inputs = read_inputs(session, connection, installation.settings, as_of=as_of, now=utc_now())
    return snapshots.take(
        inputs, read_transfers(session, connection), scope, tariff=installation.settings.tariff,
        chosen_rules=installation.settings.rules,
    )  # fmt: skip
