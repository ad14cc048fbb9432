"""Commands people decide with: the work list of exceptions, and match, unmatch, decline."""

import getpass
import json
from collections.abc import Callable
from datetime import date
from typing import Any, TypeVar

import click
from sqlmodel import Session

from consumer.facts.bankdays import calendar_of
from consumer.facts.clock import local_date, utc_now
from consumer.facts.house import Connection, House, OpenHouse
from consumer.facts.money import MoneyError, to_minor
from consumer.facts.terminal import (
    Exit,
    Refusal,
    connection_option,
    json_option,
    limit_option,
    print_rows,
)
from reconcile import decisions, records
from reconcile.decisions import DecisionError, Pair, Signature
from reconcile.tables import Decision, ExceptionRow

CHANGE_KEYS = ("at", "author", "change", "before", "after")
DECISION_KEYS = ("connection", "decision_id", "kind", "resource_id", "doc_key", "amount", "reason", "author", "at")
SHOWN_KEYS = (*records.EXCEPTION_KEYS, "note", "version")
Command = TypeVar("Command", bound=Callable[..., Any])


def _signed(command: Command) -> Command:
    """Who decides, and the version that was looked at."""
    command = click.option("--version", type=int, help="The row version you looked at; refused if it is older.")(
        command
    )
    return click.option("--author", default=None, help="Who decides (default: your login name).")(command)


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise Refusal("this machine does not say who you are: give --author", Exit.USAGE) from None


def _signature(author: str | None, reason: str) -> Signature:
    return Signature(author or _login_name(), reason, utc_now())


@click.group()
def exceptions() -> None:
    """What needs a person: the work list that runs keep."""


@exceptions.command("list")
@click.option("--state", type=click.Choice(["open", "resolved"]))
@click.option("--code")
@click.option("--severity", type=click.Choice(["high", "medium", "low", "info"]))
@click.option("--owner")
@connection_option(None)
@limit_option
@json_option
@click.pass_obj
def list_exceptions(
    open_house: OpenHouse, /, *, connection_name: str | None, limit: int | None, as_json: bool, **filters: str | None
) -> None:
    """Every exception, newest first."""
    house = open_house()
    rows: list[dict[str, Any]] = []
    with house.store.reading() as session:
        for connection in house.connections(connection_name):
            on, calendar = reference_day(session, connection), calendar_of(connection.country_code)
            found = records.exceptions(session, connection.name, filters)
            rows += [records.to_exception_row(row, on, calendar) for row in found]
    rows.sort(key=lambda row: row["opened_on"], reverse=True)
    print_rows(rows[:limit], records.EXCEPTION_KEYS, as_json=as_json)


def reference_day(session: Session, connection: Connection) -> date:
    """The day ages count to: that of the newest run, since a list and its run must agree; today before any run."""
    last = records.last_run(session, connection.name)
    return last.as_of if last else local_date(utc_now(), connection.country.zone)


@exceptions.command("show")
@click.argument("exception_id")
@connection_option("main")
@json_option
@click.pass_obj
def show_exception(open_house: OpenHouse, *, exception_id: str, connection_name: str, as_json: bool) -> None:
    """One exception with its evidence and its history."""
    house = open_house()
    connection = house.settings.connection(connection_name)
    with house.store.reading() as session:
        row = session.get(ExceptionRow, (connection.name, exception_id))
        if row is None:
            raise Refusal(f"there is no exception {exception_id} in connection {connection.name}")
        on = reference_day(session, connection)
        shown = records.to_exception_row(row, on, calendar_of(connection.country_code))
        shown |= {"note": row.note, "version": row.version}
        changes = [
            {name: getattr(change, name) for name in CHANGE_KEYS}
            for change in decisions.history(session, connection.name, exception_id)
        ]
    if as_json:
        plain = [change | {"at": change["at"].isoformat()} for change in changes]
        whole = shown | {"evidence": json.loads(shown["evidence"]), "history": plain}
        print_rows([whole], (*SHOWN_KEYS, "history"), as_json=True)
        return
    print_rows([{"field": key, "value": shown[key]} for key in SHOWN_KEYS], ("field", "value"), as_json=False)
    print_rows(changes, CHANGE_KEYS, as_json=False)


@exceptions.command("assign")
@click.argument("exception_id")
@click.argument("owner")
@click.option("--reason", default="assigned")
@_signed
@connection_option("main")
@json_option
@click.pass_obj
def assign_exception(  # noqa: PLR0913 - one argument per option
    open_house: OpenHouse, *, exception_id: str, owner: str, reason: str, author: str | None, version: int | None,
    connection_name: str, as_json: bool,
) -> None:  # fmt: skip
    """Give an exception to an owner; an empty owner takes it away."""
    house = open_house()

    def edit(session: Session, connection: str) -> ExceptionRow:
        signed = _signature(author, reason)
        return decisions.assign(session, connection, exception_id, signed, owner=owner, version=version)

    _edit(house, connection_name, edit, as_json=as_json)


@exceptions.command("note")
@click.argument("exception_id")
@click.argument("text")
@_signed
@connection_option("main")
@json_option
@click.pass_obj
def note_exception(  # noqa: PLR0913 - one argument per option
    open_house: OpenHouse, *, exception_id: str, text: str, author: str | None, version: int | None,
    connection_name: str, as_json: bool,
) -> None:  # fmt: skip
    """Write the note of an exception."""
    house = open_house()

    def edit(session: Session, connection: str) -> ExceptionRow:
        signed = _signature(author, "noted")
        return decisions.note(session, connection, exception_id, signed, text=text, version=version)

    _edit(house, connection_name, edit, as_json=as_json)


@exceptions.command("resolve")
@click.argument("exception_id")
@click.option("--reason", required=True, help="Why it needs no more work.")
@_signed
@connection_option("main")
@json_option
@click.pass_obj
def resolve_exception(  # noqa: PLR0913 - one argument per option
    open_house: OpenHouse, *, exception_id: str, reason: str, author: str | None, version: int | None,
    connection_name: str, as_json: bool,
) -> None:  # fmt: skip
    """Close an exception; it opens again when what is at risk changes."""
    house = open_house()

    def edit(session: Session, connection: str) -> ExceptionRow:
        on = reference_day(session, house.settings.connection(connection))
        signed = _signature(author, reason)
        return decisions.resolve(session, connection, exception_id, signed, on=on, version=version)

    _edit(house, connection_name, edit, as_json=as_json)


def _edit(house: House, name: str, edit: Callable[[Session, str], ExceptionRow], *, as_json: bool) -> None:
    connection = house.settings.connection(name)
    try:
        with house.store.transaction() as session:
            row = edit(session, connection.name)
            on = reference_day(session, connection)
            shown = records.to_exception_row(row, on, calendar_of(connection.country_code))
    except DecisionError as error:
        raise Refusal(str(error)) from None
    shown |= {"note": row.note, "version": row.version}
    print_rows([shown], SHOWN_KEYS, as_json=as_json)


def _pair_command(name: str, words: str, decide: Callable[..., Decision], *, with_amount: bool) -> click.Command:
    """One of the three commands that decide about a payment and a document, given in either order."""

    @click.command(name, help=words)
    @click.argument("one")
    @click.argument("other", required=with_amount, default="")
    @click.option("--reason", required=True)
    @click.option("--seen", type=int, help="The newest decision about the payment you looked at; 0 for none.")
    @click.option("--author", default=None, help="Who decides (default: your login name).")
    @connection_option("main")
    @json_option
    @click.pass_obj
    def command(  # noqa: PLR0913 - one argument per option
        open_house: OpenHouse, *, one: str, other: str, reason: str, seen: int | None, author: str | None,
        connection_name: str, as_json: bool, amount: str | None = None,
    ) -> None:  # fmt: skip
        house = open_house()
        connection = house.settings.connection(connection_name)
        resource_id, doc_key = (other, one) if is_doc_key(one) else (one, other)
        pair, signed = Pair(connection.name, resource_id, doc_key), _signature(author, reason)
        extra = {"amount": _to_amount(amount, connection.country.currency)} if with_amount else {}
        try:
            with house.store.transaction() as session:
                decision = decide(session, pair, signed, seen=seen, **extra)
        except DecisionError as error:
            raise Refusal(str(error)) from None
        print_rows([_to_decision_row(decision)], DECISION_KEYS, as_json=as_json)

    if with_amount:
        option = click.option("--amount", help="How much of the payment, in major units; default: what fits.")
        command = option(command)
    return command


def is_doc_key(text: str) -> bool:
    return text.startswith(("cl:", "mx:"))


def _to_amount(text: str | None, currency: str) -> int | None:
    if text is None:
        return None
    try:
        return to_minor(text, currency)
    except MoneyError as error:
        raise Refusal(f"--amount {error}", Exit.USAGE) from None


def _to_decision_row(decision: Decision) -> dict[str, Any]:
    own = {name: getattr(decision, name) for name in DECISION_KEYS if name != "decision_id"}
    return own | {"decision_id": decision.id}


COMMANDS: tuple[click.Command, ...] = (
    exceptions,
    _pair_command("match", "Bind a payment and a document.", decisions.match, with_amount=True),
    _pair_command(
        "unmatch", "Keep a payment and a document apart, or a payment unmatched.", decisions.unmatch, with_amount=False
    ),
    _pair_command("decline", "Turn down a suggested pair.", decisions.decline, with_amount=False),
)
