"""How importing files ends: partly done if some were refused, not done if all were."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import click

from consumer.commands.terminal import CommandError, json_option, on_connection, print_rows, say
from consumer.facts.installation import Connection, Installation
from consumer.facts.money import format_decimal
from consumer.facts.work import Completion
from reconcile.books.documents import AMOUNTS
from reconcile.books.headers import ReadColumn
from reconcile.books.reading import ControlTotal
from reconcile.commands.decisions import author_option, signature
from reconcile.desk import removals
from reconcile.desk.removals import Kind, Removal, RemovalError

REJECT_KEYS = ("line", "column", "value", "reason")
TOTAL_KEYS = ("doc_type", "currency", "count", *AMOUNTS)
REMOVAL_KEYS = ("connection", "file", "sha256", "removed", "gone", "restored", "reasons")


class FileOutcome(Protocol):
    """What every import says of one file."""

    @property
    def accepted(self) -> bool: ...


def status_of(outcomes: Sequence[FileOutcome]) -> Completion:
    """Return the exit status: partly done if some files were refused, not done if all were."""
    refused = sum(not outcome.accepted for outcome in outcomes)
    if not refused:
        return Completion.DONE
    return Completion.NOTHING_DONE if refused == len(outcomes) else Completion.PARTLY_DONE


def print_files(rows: Sequence[Mapping[str, Any]], keys: Sequence[str], *, as_json: bool) -> None:
    """Print a row for each file; people read its rejects as a table of their own."""
    if as_json:
        print_rows(rows, keys, as_json=True)
        return
    shown = [{**row, "rejects": len(row["rejects"])} for row in rows]
    print_rows(shown, keys, as_json=False)
    rejects = [{"file": row["file"], **reject} for row in rows for reject in row["rejects"]]
    if rejects:
        show_rejects(rejects, ("file", *REJECT_KEYS))


def show_rejects(rejects: Iterable[Mapping[str, Any]], keys: Sequence[str] = REJECT_KEYS) -> None:
    """Print what is wrong in a file; what is wrong with the file as a whole stands on no line of it."""
    print_rows([{**reject, "line": reject["line"] or None} for reject in rejects], keys, as_json=False)


def to_total_row(total: ControlTotal) -> dict[str, object]:
    """Return control totals for people and programs, amounts in major units."""
    amounts = {name: format_decimal(getattr(total, name), total.currency) for name in AMOUNTS}
    return {"doc_type": total.doc_type, "currency": total.currency, "count": total.count} | amounts


def say_columns(file: str, columns: Sequence[ReadColumn]) -> Iterator[str]:
    """Say which columns of a file were read as what, and which were left out."""
    if not columns:
        return
    yield f"{file}: read " + ", ".join(f"{one.field} from {one.name!r}" for one in columns if one.field)
    if left_out := ", ".join(repr(one.name) for one in columns if not one.field):
        yield f"{file}: left out {left_out}"


def make_undo(kind: Kind, words: str) -> click.Command:
    """Return the command that takes a file of a kind back whole."""

    @click.command("undo", help=words)
    @click.argument("file")
    @click.option("--reason", help="Why; not needed to look.")
    @click.option("--dry-run", is_flag=True, help="Say what would go and what rests on the file; change nothing.")
    @author_option
    @on_connection
    @json_option
    def command(
        installation: Installation, connection: Connection, *, file: str, reason: str | None, author: str | None,
        dry_run: bool, as_json: bool,
    ) -> None:  # fmt: skip
        if not (reason or dry_run):
            raise CommandError("say why with --reason, or look with --dry-run", Completion.MISUSED)
        opened = installation.store.reading() if dry_run else installation.store.transaction()
        try:
            with opened as session:
                found = removals.find_file(session, connection.name, kind, file)
                if dry_run:
                    removal = removals.look(session, found)
                else:
                    removal = removals.take_back(session, found, signature(author, reason or ""))
        except RemovalError as error:
            for why in error.reasons:
                say(str(why))
            raise CommandError(str(error)) from None
        print_rows([_to_removal_row(removal, is_done=not dry_run)], REMOVAL_KEYS, as_json=as_json)

    return command


def _to_removal_row(removal: Removal, *, is_done: bool) -> dict[str, object]:
    file, reasons = removal.file, [*map(str, removal.reasons)]
    return {
        "connection": file.connection, "file": file.name, "sha256": file.sha256, "removed": is_done,
        "gone": removal.gone, "restored": removal.restored, "reasons": reasons,
    }  # fmt: skip
