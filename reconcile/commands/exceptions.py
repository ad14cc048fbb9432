"""Commands of the work list: exceptions shown, assigned, noted, resolved, and their sheet out and in."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import partial
from pathlib import Path

import click
from sqlmodel import Session

from consumer.commands.terminal import (
    CommandError,
    Connections,
    json_option,
    leave,
    limit_option,
    login_name,
    on_connection,
    on_connections,
    print_rows,
)
from consumer.facts.bankdays import BankCalendar, read_calendar
from consumer.facts.clock import local_date, utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.money import format_decimal
from consumer.facts.store import Row
from consumer.facts.work import Completion
from reconcile.commands import printed
from reconcile.commands.decisions import add_signature, author_option, signature
from reconcile.desk import decisions, worklist
from reconcile.desk.decisions import Signature
from reconcile.desk.worklist import CheckOwner
from reconcile.exceptions.life import State
from reconcile.kept import records
from reconcile.kept.records import evidence_of
from reconcile.rules.outcomes import SEVERITIES, Code
from reconcile.tables.desk import ExceptionChange, ExceptionRow

ROW_KEYS = ("line", "exception_id", "changed", "refused")
CHANGE_KEYS = ("at", "author", "change", "before", "after")
GLANCE_KEYS = ("exception", "code", "at risk", "days", "state", "owner", "about")
_STATES = tuple(state.value for state in State)
_RUNS = ("run_first", "run_last")
_OF_AMOUNTS = ("opened", "amount")
SHOWN_KEYS = (*records.EXCEPTION_KEYS, "note", "version")


@click.group()
def exceptions() -> None:
    """What needs a person: the work list that runs keep."""


@exceptions.command("list")
@click.option("--state", type=click.Choice(_STATES))
@click.option("--code", type=click.Choice([str(code) for code in Code]))
@click.option("--severity", type=click.Choice(SEVERITIES))
@click.option("--owner")
@on_connections
@limit_option
@json_option
def list_exceptions(
    installation: Installation, connections: Connections, /, *, limit: int | None, as_json: bool,
    **filters: str | None,
) -> None:  # fmt: skip
    """Every exception, open ones first, newest first."""
    rows: list[Row] = []
    with installation.store.reading() as session:
        for connection in connections:
            on, calendar = reference_day(session, connection), _calendar(installation, connection)
            found = records.exceptions(session, connection.name, filters)
            rows += [records.to_exception_row(row, on, calendar) | {"subject": row.subject} for row in found]
    rows.sort(key=lambda row: row["opened_on"], reverse=True)
    rows.sort(key=lambda row: bool(row["state"] != State.OPEN))
    if as_json:
        print_rows(rows[:limit], records.EXCEPTION_KEYS, as_json=True)
        return
    print_rows([_to_glance(row) for row in rows[:limit]], GLANCE_KEYS, as_json=False)


def _calendar(installation: Installation, connection: Connection) -> BankCalendar:
    return read_calendar(installation.settings.files_dir, connection.country_code)


def _to_glance(row: Row) -> Row:
    """What fits a terminal's line; `exceptions show` says the rest."""
    return {
        "exception": row["exception_id"], "code": row["code"], "at risk": f"{row['amount_at_risk']} {row['currency']}",
        "days": row["age_business_days"], "state": row["state"], "owner": row["owner"], "about": printed.about(row),
    }  # fmt: skip


def reference_day(session: Session, connection: Connection) -> date:
    """The day ages count to: that of the newest run, since a list and its run must agree; today before any run."""
    today = local_date(utc_now(), connection.country.zone)
    last = records.last_run(session, connection.name, today=today)
    return last.as_of if last else today


@exceptions.command("show")
@click.argument("exception_id")
@on_connection
@json_option
def show_exception(installation: Installation, connection: Connection, *, exception_id: str, as_json: bool) -> None:
    """One exception with its evidence and its history."""
    with installation.store.reading() as session:
        row = session.get(ExceptionRow, (connection.name, exception_id))
        if row is None:
            raise CommandError(f"there is no exception {exception_id} in connection {connection.name}")
        on = reference_day(session, connection)
        shown = records.to_exception_row(row, on, _calendar(installation, connection))
        shown |= {"note": row.note, "version": row.version, "subject": row.subject}
        changes = [
            {name: getattr(change, name) for name in CHANGE_KEYS} | _in_major(change, row.currency)
            for change in decisions.history(session, connection.name, exception_id)
        ]
        numbers = {run.id: run.number for run in records.runs(session, connection.name)}
    if as_json:
        plain = [change | {"at": change["at"].isoformat()} for change in changes]
        whole = shown | {"evidence": json.loads(shown["evidence"]), "history": plain}
        print_rows([whole], (*SHOWN_KEYS, "subject", "history"), as_json=True)
        return
    for name in _RUNS:
        shown[name] = _by_number(shown[name], numbers)
    print_rows(list(_fields(shown)), ("field", "value"), as_json=False)
    print_rows(
        [change | {"author": _by_number(change["author"], numbers)} for change in changes], CHANGE_KEYS, as_json=False
    )


def _by_number(text: str, numbers: Mapping[str, int]) -> str:
    """Name a run by its number, as every list does; a person or a run that is gone stays as it is."""
    number = numbers.get(text.removeprefix("run "))
    return text if number is None else f"run {number}"


def _in_major(change: ExceptionChange, currency: str) -> dict[str, str]:
    """Both sides of a change of the amount at risk."""
    if change.change not in _OF_AMOUNTS:
        return {}
    sides = {"before": change.before, "after": change.after}
    return {name: text and format_decimal(int(text), currency) for name, text in sides.items()}


def _fields(shown: Row) -> Iterator[Row]:
    """An exception field by field, its amount with its currency, its evidence fact by fact; what is empty is not."""
    for name in (*SHOWN_KEYS, "subject"):
        if name == "evidence":
            evidence = evidence_of(shown["code"], shown["currency"], shown["evidence"])
            yield from ({"field": f"evidence: {fact.name}", "value": printed.to_words(fact)} for fact in evidence)
        elif name == "amount_at_risk":
            yield {"field": name, "value": f"{shown[name]} {shown['currency']}"}
        elif name != "currency" and shown[name] not in (None, ""):
            yield {"field": name, "value": shown[name]}


@exceptions.command("note")
@click.argument("exception_id")
@click.argument("text")
@add_signature
@on_connection
@json_option
def note_exception(
    installation: Installation, connection: Connection, *, exception_id: str, text: str, author: str | None,
    version: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Write the note of an exception."""
    signed = signature(author, "noted")
    edit = partial(decisions.note, text=text, version=version)
    _edit(installation, connection, exception_id, signed, edit, as_json=as_json)


@exceptions.command("resolve")
@click.argument("exception_id")
@click.option("--reason", required=True, help="Why it needs no more work.")
@add_signature
@on_connection
@json_option
def resolve_exception(
    installation: Installation, connection: Connection, *, exception_id: str, reason: str, author: str | None,
    version: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Close an exception; it opens again when what is at risk changes."""
    signed = signature(author, reason)
    with installation.store.reading() as session:
        on = reference_day(session, connection)
    edit = partial(decisions.resolve, on=on, version=version)
    _edit(installation, connection, exception_id, signed, edit, as_json=as_json)


@exceptions.command("export")
@click.option("--state", type=click.Choice(_STATES), default=State.OPEN.value, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), default="-", show_default=True)
@on_connection
def export_exceptions(installation: Installation, connection: Connection, *, state: str, out: Path) -> None:
    """The work list as a CSV sheet: fill in owner, note, state and resolution, and import it."""
    with installation.store.reading() as session:
        on, calendar = reference_day(session, connection), _calendar(installation, connection)
        found = records.exceptions(session, connection.name, {"state": state})
        rows = [
            records.to_exception_row(row, on, calendar)
            | {worklist.MATCH: None, "note": row.note, "version": row.version}
            for row in found
        ]
    if str(out) == "-":
        click.echo(worklist.to_csv(rows), nl=False)
    else:
        out.write_bytes(worklist.to_csv(rows).encode("utf-8-sig"))


def make_group(check_owner: CheckOwner) -> click.Group:
    """Return the commands of the work list; `check_owner` says who may be an owner."""
    for command in (_make_assign(check_owner), _make_import(check_owner)):
        exceptions.add_command(command)
    return exceptions


def _make_assign(check_owner: CheckOwner) -> click.Command:
    @click.command("assign")
    @click.argument("exception_id")
    @click.argument("owner")
    @click.option("--reason", default="assigned")
    @add_signature
    @on_connection
    @json_option
    def assign_exception(
        installation: Installation, connection: Connection, *, exception_id: str, owner: str, reason: str,
        author: str | None, version: int | None, as_json: bool,
    ) -> None:  # fmt: skip
        """Give an exception to an owner, the login of a person; an empty owner takes it away."""

        def edit(session: Session, name: str, identity: str, signed: Signature) -> ExceptionRow:
            row = session.get(ExceptionRow, (name, identity))
            check_owner(session, name, owner.strip(), row.owner if row else "")
            return decisions.assign(session, name, identity, signed, owner=owner, version=version)

        _edit(installation, connection, exception_id, signature(author, reason), edit, as_json=as_json)

    return assign_exception


def _make_import(check_owner: CheckOwner) -> click.Command:
    @click.command("import")
    @click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
    @author_option
    @on_connection
    @json_option
    def import_exceptions(
        installation: Installation, connection: Connection, *, file: Path, author: str | None, as_json: bool
    ) -> None:
        """Take an exported sheet back, row by row; a row that was changed meanwhile is refused alone."""
        with installation.store.reading() as session:
            on = reference_day(session, connection)
        try:
            rows = worklist.read_sheet(file.read_bytes())
        except worklist.WorklistError as error:
            raise CommandError(f"{file.name}: {error}") from None
        who = author or login_name()
        taken = list(
            worklist.take_back(
                installation.store, connection.name, rows, author=who, on=on, at=utc_now(), check_owner=check_owner
            )
        )
        shown = [
            {
                "line": row.line,
                "exception_id": row.exception_id,
                "changed": ", ".join(row.changed),
                "refused": str(row.refused or ""),
            }
            for row in taken
            if row.changed or row.refused
        ]
        print_rows(shown, ROW_KEYS, as_json=as_json)
        refused = sum(bool(row.refused) for row in taken)
        if refused:
            leave(Completion.NOTHING_DONE if refused == len(taken) else Completion.PARTLY_DONE)

    return import_exceptions


def _edit(
    installation: Installation, connection: Connection, exception_id: str, signed: Signature,
    edit: Callable[[Session, str, str, Signature], ExceptionRow], *, as_json: bool,
) -> None:  # fmt: skip
    with installation.store.transaction() as session:
        row = edit(session, connection.name, exception_id, signed)
        on = reference_day(session, connection)
        shown = records.to_exception_row(row, on, _calendar(installation, connection))
    shown |= {"note": row.note, "version": row.version}
    print_rows([shown], SHOWN_KEYS, as_json=as_json)
