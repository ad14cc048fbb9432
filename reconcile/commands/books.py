"""Commands of the merchant's books: invoice files in, with a preview, and what the books hold."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from consumer.commands.terminal import (
    CommandError,
    Connections,
    format_count,
    json_option,
    leave,
    limit_option,
    on_connection,
    on_connections,
    print_rows,
    say,
)
from consumer.facts.clock import format_instant
from consumer.facts.installation import Connection, Installation
from consumer.facts.money import format_decimal
from consumer.facts.work import Completion
from reconcile.books.documents import NO_LINE
from reconcile.books.invoices import ChangedField, ImportOutcome, import_invoices
from reconcile.books.payout_reports import ReportOutcome, import_payout_report
from reconcile.books.tax_files import is_tax_path
from reconcile.commands import tax_documents
from reconcile.commands.decisions import find_key
from reconcile.commands.files import (
    TOTAL_KEYS,
    make_undo,
    print_files,
    say_columns,
    show_rejects,
    status_of,
    to_total_row,
)
from reconcile.desk.removals import Kind
from reconcile.kept import records
from reconcile.tables.books import LocalInvoice

FILE_KEYS = (
    "connection", "file", "accepted", "imported", "rows", "added", "changed", "unchanged", "repeated", "encoding",
    "separator", "columns", "totals", "totals_accepted", "rejects", "notes", "changes",
)  # fmt: skip
CHANGE_KEYS = ("doc_key", "field", "before", "after", "closed")
REPORT_KEYS = ("connection", "file", "accepted", "payout_id", "rows", "fee_total", "currency", "rejects")


@click.group()
def invoices() -> None:
    """The merchant's invoices and credit notes."""


@invoices.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--mapping", help="A saved mapping of columns, mappings/NAME.toml in the data folder.")
@click.option("--dry-run", is_flag=True, help="Read and show totals and rejects; keep nothing.")
@click.option("--accept-totals", is_flag=True, help="Take documents in whose parts do not add up to their total.")
@on_connection
@json_option
def import_files(
    installation: Installation, connection: Connection, *, files: tuple[Path, ...], mapping: str | None, dry_run: bool,
    accept_totals: bool, as_json: bool,
) -> None:  # fmt: skip
    """Bring invoices into the books: sheets (CSV or XLSX), each whole or not at all, and tax documents (XML).

    Tax documents come alone, in ZIPs or in folders, and each is judged by itself.
    """
    of_tax = [path for path in files if is_tax_path(path)]
    outcomes = [
        import_invoices(installation, connection, path, mapping=mapping, dry_run=dry_run, accept_totals=accept_totals)
        for path in files
        if path not in of_tax
    ]
    if as_json:
        print_rows([to_file_row(connection.name, outcome) for outcome in outcomes], FILE_KEYS, as_json=True)
    else:
        for outcome in outcomes:
            _show(outcome, dry_run=dry_run)
    endings = [status_of([outcome]) for outcome in outcomes]
    if of_tax:
        found = tax_documents.bring_in(installation, connection, of_tax, dry_run=dry_run, as_json=as_json)
        endings.append(found.status)
    leave(endings[0] if len(set(endings)) == 1 else Completion.PARTLY_DONE)


@invoices.command("list")
@on_connections
@limit_option
@json_option
def list_invoices(installation: Installation, connections: Connections, *, limit: int | None, as_json: bool) -> None:
    """The documents of the books, newest first."""
    with installation.store.reading() as session:
        rows = [
            row for found in connections for row in records.invoices(session, found.name)
        ]  # fmt: skip
    rows.sort(key=lambda row: row["issue_date"], reverse=True)
    print_rows(rows[:limit], records.INVOICE_KEYS, as_json=as_json)


@invoices.command("history")
@click.argument("document")
@on_connection
@json_option
def show_history(installation: Installation, connection: Connection, *, document: str, as_json: bool) -> None:
    """What later files changed of one document, field by field; it is named by key, folio, order or UUID."""
    with installation.store.reading() as session:
        doc_key = find_key(session, connection, document)
        found = session.get(LocalInvoice, (connection.name, doc_key))
        if found is None:
            raise CommandError(f"there is no document {document} in connection {connection.name}: cuadre invoices list")
        rows = list(records.document_history(session, found))
    if rows or as_json:
        print_rows(rows, records.HISTORY_KEYS, as_json=as_json)
    else:
        say(f"{doc_key}: nothing changed since it came in at {format_instant(found.updated_at)}")


invoices.add_command(
    make_undo(Kind.INVOICES, "Take a FILE (its name or digest) out of the books whole, while nothing rests on it.")
)


@click.group("payout-report")
def payout_report() -> None:
    """The provider's own report of a payout, for fees per resource."""


@payout_report.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--payout", "payout_id", help="The payout of the file; found by its rows where it is not said.")
@on_connection
@json_option
def import_reports(
    installation: Installation, connection: Connection, *, files: tuple[Path, ...], payout_id: str | None, as_json: bool
) -> None:
    """Bring payout reports (CSV) in, each whole or not at all."""
    if payout_id is not None and len(files) > 1:
        raise CommandError("--payout names the payout of one file", Completion.MISUSED)
    outcomes = [import_payout_report(installation, connection, path, payout_id=payout_id) for path in files]
    print_files([_to_report_row(connection.name, outcome) for outcome in outcomes], REPORT_KEYS, as_json=as_json)
    for outcome in outcomes:
        if outcome.earlier or outcome.note:
            say(f"{outcome.name}: {outcome.earlier or outcome.note}")
    leave(status_of(outcomes))


def _to_report_row(connection: str, outcome: ReportOutcome) -> dict[str, object]:
    fees = format_decimal(outcome.fee_total, outcome.currency) if outcome.currency else None
    return {
        "connection": connection, "file": outcome.name, "accepted": outcome.accepted, "payout_id": outcome.payout_id,
        "rows": outcome.rows, "fee_total": fees, "currency": outcome.currency,
        "rejects": [reject.to_row() for reject in outcome.rejects],
    }  # fmt: skip


def to_file_row(connection: str, outcome: ImportOutcome) -> dict[str, object]:
    reading = outcome.reading
    return {
        "connection": connection, "file": outcome.name, "accepted": outcome.accepted, "imported": outcome.kept,
        "rows": reading.rows, "added": outcome.added, "changed": outcome.changed, "unchanged": outcome.unchanged,
        "repeated": reading.repeated, "encoding": reading.encoding, "separator": reading.separator,
        "columns": [*map(asdict, reading.columns)],
        "totals": [to_total_row(total) for total in reading.totals],
        "totals_accepted": outcome.totals_accepted,
        "rejects": [reject.to_row() for reject in outcome.rejects],
        "notes": [*map(str, filter(None, [outcome.earlier, *reading.notes]))],
        "changes": [] if outcome.kept else [*map(_to_change_row, outcome.changes)],
    }  # fmt: skip


def _to_change_row(one: ChangedField) -> dict[str, object]:
    """Return what would change of a document, amounts in major units; `closed` where its day is."""
    before, after = (
        format_decimal(side, one.currency) if isinstance(side, int) else str(side or "")
        for side in (one.before, one.after)
    )
    return {"doc_key": one.doc_key, "field": one.field, "before": before, "after": after, "closed": one.is_closed}


def _show(outcome: ImportOutcome, *, dry_run: bool) -> None:
    for line in _lines(outcome, dry_run=dry_run):
        say(line)
    if outcome.rejects and not _is_of_file(outcome):
        show_rejects(reject.to_row() for reject in outcome.rejects)
    elif outcome.reading.totals:
        print_rows([to_total_row(total) for total in outcome.reading.totals], TOTAL_KEYS, as_json=False)
    if dry_run and outcome.changes:
        print_rows(map(_to_change_row, outcome.changes), CHANGE_KEYS, as_json=False)


def _is_of_file(outcome: ImportOutcome) -> bool:
    """Return True if the file as a whole was refused, for one reason."""
    return len(outcome.rejects) == 1 and outcome.rejects[0].line == NO_LINE


def _lines(outcome: ImportOutcome, *, dry_run: bool) -> Iterator[str]:
    reading = outcome.reading
    if outcome.earlier:
        yield f"{outcome.name}: {outcome.earlier}"
    elif _is_of_file(outcome):
        yield f"{outcome.name}: refused, nothing of it is in the books: {outcome.rejects[0].reason}"
    elif not outcome.accepted:
        yield f"{outcome.name}: refused, nothing of it is in the books ({format_count(len(outcome.rejects), 'reason')})"
        if reading.may_accept_totals:
            yield f"{outcome.name}: correct them where the file was made, or take them in with --accept-totals"
    else:
        verb = "would come in" if dry_run else "came in"
        counts = f"{outcome.added} new, {outcome.changed} changed, {outcome.unchanged} as known"
        yield f"{outcome.name}: {format_count(reading.rows, 'row')} {verb}: {counts} ({reading.encoding})"
    for remark in reading.notes:
        yield f"{outcome.name}: {remark}"
    yield from say_columns(outcome.name, reading.columns)
