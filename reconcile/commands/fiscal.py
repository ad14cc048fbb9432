"""Commands of the tax control: registers of tax authorities, what was declared, and how both tie out."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import click
import sqlalchemy as sa
from sqlmodel import col, select

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
    say,
)
from consumer.facts.bankdays import read_calendar
from consumer.facts.clock import local_date, utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import translate
from consumer.facts.money import format_decimal
from consumer.facts.work import Completion
from reconcile.books.register_files import RegisterOutcome, import_registers
from reconcile.books.tax_registers import SIDES, YEAR
from reconcile.commands.files import print_files, status_of
from reconcile.fiscal.calendar import find_levers, is_period, list_due, month_before
from reconcile.fiscal.comparing import Tie, count_cancelled, count_missing
from reconcile.fiscal.declared import FILE, TYPED, DeclaredError, Wish, declare, list_declared, read_file
from reconcile.fiscal.fees import lacks_issuer
from reconcile.fiscal.reading import read_world
from reconcile.fiscal.tie_out import tie_out
from reconcile.tables.fiscal import DECLARED_KEYS, REGISTER_KEYS, RegisterFile

FILE_KEYS = ("connection", "file", "accepted", "imported", "side", "section", "period", "rows", "rejects")
TIE_KEYS = (
    "connection", "period", "figure", "witness_a", "amount_a", "witness_b", "amount_b", "difference", "explained",
    "rest", "verdict", "as_of_a", "as_of_b", "causes",
)  # fmt: skip


@click.group()
def register() -> None:
    """The tax office's register as a witness of its own, apart from the books."""


@register.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--kind", default="sales,purchases", show_default=True, help="Which registers: sales, purchases or both.")
@click.option("--period", default="", help="The month, YYYY-MM, where the name of the file does not say it.")
@on_connection
@json_option
def import_paths(
    installation: Installation, connection: Connection, *, paths: tuple[Path, ...], kind: str, period: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Bring registers in (RCV files, summaries, lists of the SAT; ZIPs and folders too), each whole or not at all."""
    sides = frozenset(part.strip() for part in kind.split(","))
    if not sides or not sides <= SIDES:
        raise CommandError("--kind takes sales, purchases, or both with a comma between", Completion.MISUSED)
    outcomes = [
        outcome
        for path in _list_files(paths)
        for outcome in import_registers(installation, connection, path, period=period, sides=sides)
    ]
    if not outcomes:
        raise CommandError("there is no file in the folder")
    print_files([_to_row(connection.name, outcome) for outcome in outcomes], FILE_KEYS, as_json=as_json)
    for outcome in outcomes:
        if outcome.earlier:
            say(f"{outcome.name}: {outcome.earlier}")
    leave(status_of(outcomes))


def _list_files(paths: tuple[Path, ...]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith("."))
        else:
            yield path


def _to_row(connection: str, outcome: RegisterOutcome) -> dict[str, object]:
    reading = outcome.reading
    return {
        "connection": connection, "file": outcome.name, "accepted": outcome.accepted, "imported": outcome.kept,
        "side": reading.side, "section": reading.section, "period": " ".join(reading.periods),
        "rows": len(reading.rows), "rejects": [reject.to_row() for reject in outcome.rejects],
    }  # fmt: skip


@register.command("list")
@on_connections
@limit_option
@json_option
def list_registers(installation: Installation, connections: Connections, *, limit: int | None, as_json: bool) -> None:
    """The files of registers that came in, newest first."""
    names = [found.name for found in connections]
    asked = select(RegisterFile).where(col(RegisterFile.connection).in_(names))
    with installation.store.reading() as session:
        found = session.exec(asked.order_by(sa.desc(col(RegisterFile.imported_at)), col(RegisterFile.sha256))).all()
        rows = [file.model_dump() for file in found]
    print_rows(rows[:limit], REGISTER_KEYS, as_json=as_json)


@click.group()
def declared() -> None:
    """What was declared to the tax office, in versions."""


@declared.command("set", context_settings={"ignore_unknown_options": True})  # an amount below zero is no option
@click.argument("period")
@click.argument("code")
@click.argument("amount")
@click.option("--author", help="Who says so (default: the name you are logged in with).")
@on_connection
@json_option
def set_figure(
    installation: Installation, connection: Connection, *, period: str, code: str, amount: str, author: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """State a figure of a month (2026-10) or of an annual return (2026) as it was declared."""
    _declare(installation, connection, [Wish(period, code, amount)], author, TYPED, as_json=as_json)


@declared.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--author", help="Who says so (default: the name you are logged in with).")
@on_connection
@json_option
def import_declared(
    installation: Installation, connection: Connection, *, file: Path, author: str | None, as_json: bool
) -> None:
    """State figures from a CSV file with the columns period, code and amount (a currency may follow), all or none."""
    try:
        wishes = read_file(file.read_bytes())
    except OSError as error:
        raise CommandError(f"{file.name}: cannot be read ({error.strerror})") from None
    except DeclaredError as error:
        raise CommandError(f"{file.name}: {error}") from None
    _declare(installation, connection, wishes, author, FILE, as_json=as_json)


def _declare(
    installation: Installation, connection: Connection, wishes: list[Wish], author: str | None, source: str, *,
    as_json: bool,
) -> None:  # fmt: skip
    with installation.store.transaction() as session:
        kept = declare(session, connection, wishes, author=author or login_name(), at=utc_now(), source=source)
    if as_json:
        print_rows([{"connection": connection.name, "kept": kept}], ("connection", "kept"), as_json=True)
    else:
        say(f"{kept} new, {len(wishes) - kept} as known")


@declared.command("list")
@on_connections
@limit_option
@json_option
def list_figures(installation: Installation, connections: Connections, *, limit: int | None, as_json: bool) -> None:
    """Every version of every declared figure, newest period first; those of pulled forms have version 0."""
    with installation.store.reading() as session:
        rows = [
            {
                **one.model_dump(),
                "amount": format_decimal(one.amount, one.currency) if one.currency else str(one.amount),
            }
            for found in connections
            for one in list_declared(session, found)
        ]
    print_rows(rows[:limit], DECLARED_KEYS, as_json=as_json)


@click.command("tie-out")
@click.option("--period", help="A month, YYYY-MM, or a year (default: last month).")
@click.option("--check", is_flag=True, help="Exit 3 where a rest is left.")
@on_connections
@json_option
def tie_out_command(
    installation: Installation, connections: Connections, *, period: str | None, check: bool, as_json: bool
) -> None:
    """What the tax office will compute of a month, against books, money and what was declared."""
    if period is not None and not is_period(period):
        raise CommandError("--period takes a month as 2026-10, or a year", Completion.MISUSED)
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    is_open = False
    with installation.store.reading() as session:
        for connection in connections:
            today = local_date(utc_now(), connection.country.zone)
            month = period or month_before(today)
            world = read_world(session, connection, today=today, periods=[month])
            ties = tie_out(world, month)
            rows += [_to_tie_row(tie, connection) for tie in ties]
            is_open |= any(tie.rest for tie in ties if tie.withheld is None)
            notes += _list_notes(installation, connection, month, ties, today)
            missing, listed = count_missing(world.register.papers, world.xml.papers, month)
            if world.xml.is_known and missing:
                notes.append(f"{connection.name} {month}: XML missing for {missing} of {listed}")
            if lacks_issuer(world, month):
                notes.append(f"{connection.name} {month}: fees are not tied: set provider_tax_id, who bills them")
            if cancelled := count_cancelled(ties):
                notes.append(f"{connection.name} {month}: {cancelled} cancelled at the tax office, alive in your books")
            if not (YEAR.fullmatch(month) or world.register.is_known or world.xml.is_known or world.declared):
                notes.append(f"{connection.name}: {translate('tax.page_empty', 'en')}")
    shown = rows if as_json else [_to_words(row) for row in rows]
    keys = TIE_KEYS if as_json else tuple(key for key in TIE_KEYS if key not in {"as_of_a", "as_of_b", "explained"})
    print_rows(shown, keys, as_json=as_json)
    for note in notes:
        say(note)
    if check and is_open:
        leave(Completion.PARTLY_DONE)


def _list_notes(
    installation: Installation, connection: Connection, month: str, ties: list[Tie], today: date
) -> Iterator[str]:  # fmt: skip
    """Yield what is still due for a month, and the causes on which most VAT depends."""
    if YEAR.fullmatch(month):
        return
    named, country = f"{connection.name} {month}", connection.country_code
    calendar = read_calendar(installation.settings.files_dir, country)
    for due in list_due(country, month, calendar, today):
        if due.days_left >= 0:
            yield f"{named}: {translate(f'tax_duty.{due.duty.code}', 'en')} due on {due.on}, {due.days_left} days left"
    for lever in find_levers(ties):
        money = f"{format_decimal(lever.tax, connection.country.currency)} {connection.country.currency}"
        yield f"{named}: {money} of VAT depend on {lever.documents} documents: {lever.cause}"


def _to_words(row: dict[str, Any]) -> dict[str, object]:
    causes = ", ".join(f"{cause} {amount}" for cause, amount in row["causes"].items())
    return {**row, "verdict": translate(f"verdict.{row['verdict']}", "en"), "causes": causes}


def _to_tie_row(tie: Tie, connection: Connection) -> dict[str, Any]:
    currency, sums = connection.country.currency, dict[str, int]()
    for part in tie.parts:
        sums[part.cause] = sums.get(part.cause, 0) + part.amount
    amounts = {
        "amount_a": tie.a.amount, "amount_b": tie.b.amount, "difference": tie.difference, "explained": tie.explained,
        "rest": tie.rest,
    }  # fmt: skip
    return {
        "connection": connection.name, "period": tie.period, "figure": tie.figure, "witness_a": tie.a.witness.value,
        "witness_b": tie.b.witness.value, "verdict": tie.verdict.value, "as_of_a": tie.a.as_of,
        "as_of_b": tie.b.as_of, "causes": {cause: format_decimal(sums[cause], currency) for cause in sorted(sums)},
        **{name: None if amount is None else format_decimal(amount, currency) for name, amount in amounts.items()},
    }  # fmt: skip
