"""Totals, counts and whole reports with the decisions that wait for the next run, as it will say them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.store import batches
from reconcile.kept import extracts
from reconcile.kept.records import read_summary
from reconcile.rules.at_risk import AtRisk, Stake, Total, add_up_risks
from reconcile.rules.outcomes import SEVERITIES
from reconcile.runs.pending import Pending
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import Run
from reports.pages.pending import pending_now
from reports.queries import cases, standing
from reports.queries.standing import CodeTotal, StatusCount
from reports.shapes import build
from reports.shapes.build import Report
from reports.shapes.spans import Row

# Reports whose rows change, and what identifies a row.
_KEYS = {"payout-summary": "payout_id", "documents": "doc_key", "receivables": "doc_key"}
_Kind = tuple[str, str, str]


def known_now(connections: Sequence[str]) -> dict[str, Pending]:
    """Return by connection what waits, where it is known what it changes."""
    return {name: one for name, one in pending_now().items() if one.is_known and name in connections}


def on_statuses(session: Session, runs: Sequence[Run], statuses: Sequence[StatusCount]) -> list[StatusCount]:
    """Count payouts and their differences as they will stand."""
    found = {(one.connection, one.status): one for one in statuses}

    def move(connection: str, row: Row, sign: int) -> None:
        key = (connection, row["status_recon"])
        found[key] = found.get(key, StatusCount(*key, 0)).move(row["difference"] or 0, sign)

    known = known_now([run.connection for run in runs])
    for run in runs:
        later = known[run.connection].payouts if run.connection in known else {}
        for payout_id, row in standing.find_payouts(session, [run], later.keys()).items():
            move(run.connection, row, -1)
            move(run.connection, later[payout_id], 1)
    return [found[key] for key in sorted(found) if found[key].payouts]


def on_codes(session: Session, connections: Sequence[str], codes: Sequence[CodeTotal]) -> list[CodeTotal]:
    """Count open exceptions by code as they will stand, in the order of Today."""
    found = {(one.code, one.severity, one.currency): one for one in codes}
    for connection, waiting in known_now(connections).items():
        gone, come, days = _find_moves(session, connection, waiting)
        for key in sorted(gone.keys() | come.keys()):
            before = found.get(key, CodeTotal(*key, 0, 0, days.get(key)))
            more = len(come.get(key, ())) - len(gone.get(key, ()))
            risk = _add_up(come.get(key, ()), key) - _add_up(gone.get(key, ()), key)
            found[key] = replace(before, count=before.count + more, at_risk=before.at_risk + risk)
    left = (one for one in found.values() if one.count)
    return sorted(left, key=lambda one: (SEVERITIES.index(one.severity), -one.at_risk, one.code))


def _find_moves(
    session: Session, connection: str, waiting: Pending
) -> tuple[dict[_Kind, list[Stake]], dict[_Kind, list[Stake]], dict[_Kind, date | None]]:
    """Return what stops and what begins to count as open, by code, severity and currency, and days of new ones."""
    gone: dict[_Kind, list[Stake]] = {}
    come: dict[_Kind, list[Stake]] = {}
    days: dict[_Kind, date | None] = {}
    for one in waiting.opened.values():
        key = (one.code, one.severity, one.currency)
        come.setdefault(key, []).append(to_stake(one))
        days.setdefault(key, one.fact_on)
    for row in _read_changed(session, connection, waiting):
        later = waiting.changed[row.id]
        if row.resolved_on is None:
            gone.setdefault((row.code, row.severity, row.currency), []).append(to_stake(row))
        if later.get("resolved_on", row.resolved_on) is None:
            key = (row.code, later.get("severity", row.severity), later.get("currency", row.currency))
            come.setdefault(key, []).append(
                to_stake(row)._replace(**{name: later[name] for name in later.keys() & set(Stake._fields)})
            )
            days.setdefault(key, row.aged_from)
    return gone, come, days


def _read_changed(session: Session, connection: str, waiting: Pending) -> Iterator[ExceptionRow]:
    for some in batches(sorted(waiting.changed)):
        mine = (col(ExceptionRow.connection) == connection, col(ExceptionRow.id).in_(some))
        yield from session.scalars(sa.select(ExceptionRow).where(*mine))


def to_stake(one: AtRisk) -> Stake:
    return Stake(**{name: getattr(one, name) for name in Stake._fields})


def _add_up(stakes: Sequence[Stake], key: _Kind) -> int:
    return add_up_risks(stakes).get(key[2], Total(0, 0)).amount


def on_risk(connection: str, at_risk: Mapping[str, Total]) -> Mapping[str, Total]:
    """Return the total at risk of a connection as it will be."""
    waiting = known_now([connection]).get(connection)
    if waiting is None:
        return at_risk
    return {name: Total(one["amount"], one["exceptions"]) for name, one in waiting.at_risk.items()}


def on_report(report: Report, runs: Sequence[Run] = ()) -> Report:
    """Return a report as it will be; the same one where nothing of it changes.

    Documents that will have a balance again join what is owed; those without one stay, so that people see what became
    of them.
    """
    name = report.definition.name
    if name not in _KEYS or not (known := known_now([run.connection for run in runs])):
        return report
    table, key = report.table, _KEYS[name]
    later = pa.concat_tables(_list_later(report, known[run.connection], run) for run in runs if run.connection in known)
    places = _to_places(table, key)
    at = [places.get(place) for place in _to_places(later, key)]
    order = np.arange(table.num_rows + at.count(None))
    order[table.num_rows :] = table.num_rows + np.flatnonzero([place is None for place in at])
    for number, place in enumerate(at):
        if place is not None:
            order[place] = table.num_rows + number
    return replace(report, table=pa.concat_tables([table, later]).take(pa.array(order))) if at else report


def _to_places(table: pa.Table, key: str) -> dict[tuple[str, str], int]:
    keys = zip(table["connection"].to_pylist(), table[key].to_pylist(), strict=True)
    return {place: number for number, place in enumerate(keys)}


def _list_later(report: Report, waiting: Pending, run: Run) -> pa.Table:
    """Return the rows of one connection that will be otherwise, as the report has them."""
    name = report.definition.name
    if name == "payout-summary":
        table = extracts.payouts_of([(key, json.dumps(row)) for key, row in waiting.payouts.items()])
    else:
        table = pa.Table.from_pylist(_list_documents(report, waiting, run.connection))
        for column in (one for one in ("issue_date", "due_date") if table.num_rows):
            table = table.set_column(table.column_names.index(column), column, table[column].cast(pa.date32()))
        if name == "receivables" and table.num_rows:
            table = build.receivables(table, read_summary(run)["tolerances"]["due_days"], as_of=report.as_of)
    return build.in_parts(report.definition, [(run.connection, table)])


def _list_documents(report: Report, waiting: Pending, connection: str) -> list[Row]:
    """Return documents to be, of what is owed with the last payment of each: those there, and those owed again."""
    if report.definition.name == "documents":
        return list(waiting.documents.values())
    here = pc.and_(
        pc.equal(report.table["connection"], connection),
        pc.is_in(report.table["doc_key"], value_set=pa.array(list(waiting.documents), pa.string())),
    )
    table = report.table.filter(here)
    before = dict(zip(table["doc_key"].to_pylist(), table["last_payment_id"].to_pylist(), strict=True))
    return [
        {**row, "last_payment_id": _find_last(waiting, key, before.get(key))}
        for key, row in waiting.documents.items()
        if key in before or row["balance"] > 0
    ]


def _find_last(waiting: Pending, doc_key: str, before: str | None) -> str | None:
    """Return the last payment of a document: the one before unless that changes, else of those that change the last."""
    if before is not None and before not in waiting.lines:
        return before
    lines = (line for own in waiting.lines.values() for line in own)
    paid = [
        (line["occurred_at_utc"] or "", line["resource_id"])
        for line in lines
        if line["doc_key"] == doc_key and line["applied_amount"] and line["resource_type"] in cases.PAYMENTS
    ]
    return max(paid)[1] if paid else None
