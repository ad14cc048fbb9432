"""Tax documents at the terminal: a row for each file that is read, and counts of what became of them."""

from collections.abc import Sequence
from pathlib import Path

from rich.progress import MofNCompleteColumn, TimeRemainingColumn

from consumer.commands.terminal import format_count, print_rows, say, show_progress
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import word
from reconcile.books.tax_files import count_members
from reconcile.books.tax_intake import TaxOutcome, import_tax_files
from reconcile.books.tax_judging import Found, Verdict
from reconcile.commands.files import TOTAL_KEYS, to_total_row

KEYS = ("connection", "file", "verdict", "doc_key", "reason")


def bring_in(
    installation: Installation, connection: Connection, paths: Sequence[Path], *, dry_run: bool, as_json: bool
) -> TaxOutcome:
    """Read files of tax documents and say what became of each: for programs every one, for people the refused ones."""

    def print_found(found: Found) -> None:
        print_rows([found.to_row(connection.name)], KEYS, as_json=True)

    if as_json:
        return import_tax_files(installation, connection, paths, dry_run=dry_run, on_found=print_found)
    columns = (MofNCompleteColumn(), TimeRemainingColumn())
    with show_progress("files", *columns, count=lambda: count_members(paths)) as move:
        outcome = import_tax_files(
            installation, connection, paths, dry_run=dry_run, on_found=lambda _found: move(advance=1)
        )
    verb = "would come in" if dry_run else "came in"
    known = outcome.unchanged + outcome.counts[Verdict.KNOWN]
    counts = f"{outcome.added} new, {outcome.changed} changed, {known} as known"
    say(f"{outcome.name}: {format_count(outcome.kept, 'document')} {verb}: {counts}")
    print_rows(
        [{"verdict": word("tax_verdict", one.value, "en"), "count": outcome.counts[one]} for one in Verdict
         if outcome.counts[one]], ("verdict", "count"), as_json=False,
    )  # fmt: skip
    if outcome.amounts:
        print_rows(map(to_total_row, outcome.totals), TOTAL_KEYS, as_json=False)
    if one := outcome.passed_over:
        say(f"{one.file}: {one.reason}")
    if outcome.listed:
        print_rows([one.to_row(connection.name) for one in outcome.listed], KEYS[1:], as_json=False)
    if outcome.refused > len(outcome.listed):
        say(f"and {outcome.refused - len(outcome.listed)} more: cuadre invoices import … --json lists every file")
    return outcome
