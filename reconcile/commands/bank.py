"""Commands of the merchant's own bank: its files in, with a preview, and what they hold."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click
from sqlmodel import col, select

from consumer.commands.terminal import (
    Connections,
    format_count,
    json_option,
    leave,
    limit_option,
    on_connection,
    on_connections,
    print_rows,
    print_wrapped,
    say,
)
from consumer.facts.installation import Connection, Installation
from consumer.facts.money import format_decimal
from reconcile.books.bank_files import BankOutcome, import_bank_file
from reconcile.books.bank_statements import LAST_DIGITS, Statement, account_digits
from reconcile.books.dialects import DIALECTS
from reconcile.books.rates import HOME_RATE, RATED_CURRENCIES, import_rates
from reconcile.commands.files import make_undo, print_files, say_columns, show_rejects, status_of
from reconcile.desk.removals import Kind
from reconcile.tables.books import BANK_LINE_KEYS, BankLine

FILE_KEYS = (
    "connection", "file", "accepted", "imported", "format", "account_last4", "rows", "added", "known", "statements",
    "rejects", "notes", "columns", "proposal",
)  # fmt: skip
STATEMENT_KEYS = (
    "currency", "since", "until", "lines", "opening", "inbound", "outbound", "closing", "closing_stated",
)  # fmt: skip
FORMAT_KEYS = ("name", "bank", "country", "forms", "holds", "learned", "real_file_seen")
RATE_KEYS = ("connection", "file", "currency", "accepted", "rates", "rejects")


@click.group()
def bank() -> None:
    """The merchant's own bank accounts: files count together with the movements that the provider shows."""


@bank.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--account", required=True, help="The whole number of the account the files are of.")
@click.option("--mapping", help="A saved mapping of columns, mappings/NAME.toml in the data folder.")
@click.option("--new-account", "is_new_account", is_flag=True, help="The number is right though no payout goes there.")
@click.option("--dry-run", is_flag=True, help="Read and show balances and rejects; keep nothing.")
@on_connection
@json_option
def import_files(
    installation: Installation, connection: Connection, *, files: tuple[Path, ...], account: str, mapping: str | None,
    is_new_account: bool, dry_run: bool, as_json: bool,
) -> None:  # fmt: skip
    """Bring bank files (sheets, OFX, MT940, camt) in, each whole or not at all."""
    outcomes = [
        import_bank_file(
            installation,
            connection,
            path,
            account=account,
            mapping=mapping,
            is_new_account=is_new_account,
            dry_run=dry_run,
        )
        for path in files
    ]
    if as_json:
        print_rows([_to_row(connection.name, one, account) for one in outcomes], FILE_KEYS, as_json=True)
    else:
        for outcome in outcomes:
            _show(outcome, dry_run=dry_run)
    leave(status_of(outcomes))


@bank.command("list")
@on_connections
@limit_option
@json_option
def list_lines(installation: Installation, connections: Connections, *, limit: int | None, as_json: bool) -> None:
    """The lines of the merchant's own bank files, newest first."""
    names = [connection.name for connection in connections]
    newest = select(BankLine).where(col(BankLine.connection).in_(names))
    with installation.store.reading() as session:
        found = session.exec(newest.order_by(col(BankLine.booked_on).desc(), col(BankLine.id)).limit(limit)).all()
    rows = [
        {name: getattr(line, name) for name in BANK_LINE_KEYS if hasattr(line, name)}
        | {"account_last4": line.account[-LAST_DIGITS:], "amount": format_decimal(line.amount, line.currency)}
        for line in found
    ]
    print_rows(rows, BANK_LINE_KEYS, as_json=as_json)


@bank.command("formats")
@json_option
def list_formats(*, as_json: bool) -> None:
    """The bank files that are known, where each was learned, and if a real one was seen."""
    rows = [
        {
            "name": one.name, "bank": one.bank, "country": one.country, "forms": " ".join(one.forms),
            "holds": one.holds.value, "learned": one.learned, "real_file_seen": one.is_real_seen,
        }
        for one in DIALECTS
    ]  # fmt: skip
    if as_json:
        print_rows(rows, FORMAT_KEYS, as_json=True)
        return
    for one in DIALECTS:
        seen = "a real file was seen" if one.is_real_seen else "no real file was seen"
        print_wrapped(f"{one.name:<20} {one.bank} ({one.country}), {one.holds.value}: {' '.join(one.forms)}", indent=21)
        print_wrapped(f"{'':21}{one.learned}; {seen}", indent=23)


bank.add_command(
    make_undo(Kind.BANK, "Take a bank FILE (its name or digest) and its lines out whole, while nothing rests on it.")
)


def _to_row(connection: str, outcome: BankOutcome, account: str) -> dict[str, object]:
    reading = outcome.reading
    return {
        "connection": connection, "file": outcome.name, "accepted": outcome.accepted, "imported": outcome.kept,
        "format": reading.file_format, "account_last4": account_digits(account)[-LAST_DIGITS:], "rows": outcome.rows,
        "added": outcome.added, "known": outcome.known,
        "statements": [_to_statement_row(statement) for statement in reading.statements],
        "rejects": [reject.to_row() for reject in outcome.rejects], "notes": list(_remarks(outcome)),
        "columns": [*map(asdict, reading.columns)],
        "proposal": dict(outcome.proposal.guesses) if outcome.proposal else {},
    }  # fmt: skip


def _to_statement_row(statement: Statement) -> dict[str, object]:
    """Control totals as the bank's own screen shows them; amounts are empty where the file states none."""
    since, until = statement.days
    inbound = sum(row.amount for row in statement.rows if row.amount > 0)
    outbound = sum(row.amount for row in statement.rows if row.amount < 0)
    opening = statement.opening.amount if statement.opening else None
    amounts = {
        "opening": opening, "inbound": inbound, "outbound": outbound,
        "closing": None if opening is None else opening + inbound + outbound,
        "closing_stated": statement.closing.amount if statement.closing else None,
    }  # fmt: skip
    shown = {
        name: None if amount is None else format_decimal(amount, statement.currency) for name, amount in amounts.items()
    }
    own: dict[str, object] = {"currency": statement.currency, "since": since.isoformat(), "until": until.isoformat()}
    return own | {"lines": len(statement.rows)} | shown


def _remarks(outcome: BankOutcome) -> Iterator[str]:
    yield from map(str, filter(None, [outcome.earlier]))
    yield from map(str, (*outcome.reading.notes, *outcome.notes))


def _show(outcome: BankOutcome, *, dry_run: bool) -> None:
    if not outcome.accepted:
        say(f"{outcome.name}: refused, nothing of it is kept ({format_count(len(outcome.rejects), 'reason')})")
        show_rejects(reject.to_row() for reject in outcome.rejects)
        for line in say_columns(outcome.name, outcome.reading.columns):
            say(line)
        if outcome.proposal:
            guesses = ", ".join(f"{field} = {name!r}" for field, name in outcome.proposal.guesses.items())
            say(f"{outcome.name}: its columns may be {guesses}: confirm them on the page Books, or save a mapping")
        return
    if not outcome.earlier:
        verb = "would come in" if dry_run else "came in"
        counts = f"{outcome.added} new, {outcome.known} as known"
        say(f"{outcome.name}: {format_count(outcome.rows, 'line')} {verb}: {counts} ({outcome.reading.file_format})")
    for remark in _remarks(outcome):
        say(f"{outcome.name}: {remark}")
    for line in say_columns(outcome.name, outcome.reading.columns):
        say(line)
    rows = [_to_statement_row(statement) for statement in outcome.reading.statements]
    print_rows(rows, STATEMENT_KEYS, as_json=False)


@click.group()
def rates() -> None:
    """Rates of currencies that documents are priced in."""


@rates.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--currency", type=click.Choice(RATED_CURRENCIES), default=HOME_RATE, show_default=True)
@on_connection
@json_option
def import_rate_files(
    installation: Installation, connection: Connection, *, files: tuple[Path, ...], currency: str, as_json: bool
) -> None:
    """Bring rates in (CSV or XLSX with fecha and valor), each file whole or not at all."""
    outcomes = [import_rates(installation, connection, path, currency=currency) for path in files]
    rows = [
        {
            "connection": connection.name, "file": one.name, "currency": currency, "accepted": one.accepted,
            "rates": len(one.rates), "rejects": [reject.to_row() for reject in one.rejects],
        }
        for one in outcomes
    ]  # fmt: skip
    print_files(rows, RATE_KEYS, as_json=as_json)
    leave(status_of(outcomes))
