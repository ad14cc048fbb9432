"""Commands of the report room: make a report, and say who may log in or download."""

import sys
from datetime import date
from pathlib import Path
from typing import Any

import click
import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.clock import local_date, utc_now
from consumer.facts.house import OpenHouse
from consumer.facts.terminal import (
    Exit,
    LocalDate,
    Refusal,
    check_range,
    connection_option,
    json_option,
    leave,
    limit_option,
    print_rows,
    say,
)
from reports import catalogue, files
from reports.build import Report
from reports.catalogue import NoRunError
from reports.export import Format
from reports.files import Shape
from reports.people import PeopleError, Role, add_user, disable_user, new_password, to_user
from reports.query import Query
from reports.spans import Span
from reports.tables import User
from reports.tokens import Scope, create_token, revoke_token
from reports.workbook import TooManyRowsError

_ROLES = click.Choice([role.value for role in Role])


@click.command()
@click.argument("name", type=click.Choice(catalogue.AVAILABLE))
@click.option("--from", "since", type=LocalDate(), help="First local business date.")
@click.option("--to", "until", type=LocalDate(), help="Last local business date, included.")
@click.option("--as-of", type=LocalDate(), help="The day that decides what is due (default today).")
@click.option("--payout", "payout_id", help="One payout only, in payout-summary and payout-detail.")
@click.option("--format", "file_format", default="csv", help="csv, xlsx or parquet; several with commas.")
@click.option("--profile", default="machine", help="machine, cl or mx.")
@click.option("--language", help="es-CL, es-MX or en (default: the profile's own).")
@click.option("--out", help="A file, a folder, or - for standard output.")
@connection_option(None)
@click.pass_obj
def report(  # noqa: PLR0913 - one parameter an option
    open_house: OpenHouse,
    *,
    name: str,
    since: date | None,
    until: date | None,
    as_of: date | None,
    payout_id: str | None,
    file_format: str,
    profile: str,
    language: str | None,
    out: str | None,
    connection_name: str | None,
) -> None:
    """Make any report of the catalogue as a file."""
    check_range(since, until, "--from/--to")
    shapes = _shapes(file_format, profile, language)
    if out == "-" and len(shapes) > 1:
        raise Refusal("standard output takes one format", Exit.USAGE)
    house = open_house()
    connections = house.connections(connection_name)
    today = local_date(utc_now(), connections[0].country.zone)
    query = Query(name, connections, today, Span(since, until), as_of, payout_id)
    try:
        with_sheets = any(shape.format is Format.XLSX for shape in shapes)
        made = catalogue.make_sheets(house, query) if with_sheets else [catalogue.make(house, query)]
        if payout_id is not None and not made[0].table.num_rows:
            raise Refusal(f"{name} holds no payout {payout_id}")
        for shape in shapes:
            _deliver(made, shape, out)
    except (NoRunError, TooManyRowsError) as error:
        raise Refusal(str(error)) from None
    _finish(made[0])


def _shapes(formats: str, profile: str, language: str | None) -> list[Shape]:
    try:
        return [files.to_shape(part.strip(), profile, language) for part in formats.split(",")]
    except ValueError as error:
        raise Refusal(str(error), Exit.USAGE) from None


def _deliver(made: list[Report], shape: Shape, out: str | None) -> None:
    if out == "-":
        stream = sys.stdout.buffer
        for piece in files.pieces(made, shape):
            stream.write(piece)
        stream.flush()
        return
    path = Path(out) if out else Path(files.name_of(made[0], shape.format))
    if path.is_dir():
        path /= files.name_of(made[0], shape.format)
    elif out and path.suffix != f".{shape.format}":
        path = path.with_name(f"{path.name}.{shape.format}")
    try:
        files.write(path, files.pieces(made, shape))
    except OSError as error:
        raise Refusal(f"{path} cannot be written: {error.strerror}") from None
    click.echo(str(path))


def _finish(made: Report) -> None:
    if made.facts["incomplete"]:
        again = "cuadre backfill, cuadre pull all, cuadre reconcile"
        say(f"the run of {made.facts['incomplete']} is incomplete, its DATA_GAP says why: {again}")
    if made.facts["missing"]:
        say(f"no finished run of {made.facts['missing']}: cuadre reconcile")
        leave(Exit.PARTLY_DONE)


@click.group()
def users() -> None:
    """People who may log in."""


@users.command("add")
@click.argument("email")
@click.option("--role", type=_ROLES, default=Role.VIEWER.value, show_default=True)
@click.option("--password-file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_obj
def users_add(open_house: OpenHouse, *, email: str, role: str, password_file: Path | None) -> None:
    """Add a person; the password comes from a file or a prompt, or is made up and printed once."""
    password, is_made_up = _password(password_file)
    try:
        user = to_user(email, password, Role(role), now=utc_now())
        with open_house().store.transaction() as session:
            add_user(session, user)
    except PeopleError as error:
        raise Refusal(str(error)) from None
    say(f"{user.email} may log in as {role}")
    if is_made_up:
        click.echo(password)


def _password(file: Path | None) -> tuple[str, bool]:
    if file is not None:
        return file.read_text(encoding="utf-8").strip("\r\n"), False
    if sys.stdin.isatty():
        prompt = "Password (empty: one is made up)"
        given: str = click.prompt(prompt, hide_input=True, default="", show_default=False, err=True)
        if given:
            return given, False
    return new_password(), True


@users.command("list")
@json_option
@limit_option
@click.pass_obj
def users_list(open_house: OpenHouse, *, as_json: bool, limit: int | None) -> None:
    """List people, newest first."""
    with open_house().store.reading() as session:
        newest = sa.select(User).order_by(col(User.created_at).desc(), col(User.id).desc()).limit(limit)
        rows = [_user_row(user) for user in session.scalars(newest)]
    print_rows(rows, ("email", "role", "created_at", "disabled_at", "locked_until"), as_json=as_json)


def _user_row(user: User) -> dict[str, Any]:
    return {
        "email": user.email,
        "role": str(user.role),
        "created_at": user.created_at,
        "disabled_at": user.disabled_at,
        "locked_until": user.locked_until,
    }


@users.command("disable")
@click.argument("email")
@click.pass_obj
def users_disable(open_house: OpenHouse, *, email: str) -> None:
    """Shut a person out, at once and also where they are logged in."""
    try:
        with open_house().store.transaction() as session:
            disable_user(session, email, now=utc_now())
    except PeopleError as error:
        raise Refusal(str(error)) from None
    say(f"{email} can no longer log in")


@click.group()
def tokens() -> None:
    """Keys with which programs download reports."""


@tokens.command("create")
@click.argument("name")
@click.option("--role", type=_ROLES, default=Role.VIEWER.value, show_default=True)
@click.option(
    "--scope", "scopes", multiple=True, type=click.Choice(list(Scope)), help="What it opens; repeat (default all)."
)
@click.pass_obj
def tokens_create(open_house: OpenHouse, *, name: str, role: str, scopes: tuple[str, ...]) -> None:
    """Make a token and print it; it cannot be shown again."""
    wanted = tuple(map(Scope, scopes)) or tuple(Scope)
    try:
        with open_house().store.transaction() as session:
            token = create_token(session, name, Role(role), now=utc_now(), scopes=wanted)
    except PeopleError as error:
        raise Refusal(str(error)) from None
    say("keep this token now: it is not shown again")
    click.echo(token)


@tokens.command("revoke")
@click.argument("name")
@click.pass_obj
def tokens_revoke(open_house: OpenHouse, *, name: str) -> None:
    """End a token at once."""
    try:
        with open_house().store.transaction() as session:
            revoke_token(session, name, now=utc_now())
    except PeopleError as error:
        raise Refusal(str(error)) from None
    say(f"token {name} no longer works")


COMMANDS: tuple[click.Command, ...] = (report, users, tokens)
