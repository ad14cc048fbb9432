"""Commands of the tax control: registers of tax authorities, what was declared, and how both tie out."""

from collections.abc import Iterator
from pathlib import Path

import click
import sqlalchemy as sa
from sqlmodel import col, select

from consumer.commands.terminal import (
    CommandError,
    connection_option,
    json_option,
    leave,
    limit_option,
    on_connection,
    print_rows,
    say,
)
from consumer.facts.installation import Connection, Installation, OpenInstallation
from consumer.facts.work import Completion
from reconcile.books.register_files import RegisterOutcome, import_register
from reconcile.books.tax_registers import SIDES
from reconcile.commands.files import print_files, status_of
from reconcile.tables.fiscal import REGISTER_KEYS, RegisterFile

FILE_KEYS = ("connection", "file", "accepted", "imported", "side", "section", "period", "rows", "rejects")


@click.group()
def register() -> None:
    """The tax office's register as a witness of its own, beside the books."""


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
    """Bring registers in (RCV files and their summaries, lists of the SAT; folders too), each whole or not at all."""
    sides = frozenset(part.strip() for part in kind.split(","))
    if not sides or not sides <= SIDES:
        raise CommandError("--kind takes sales, purchases, or both with a comma between", Completion.MISUSED)
    outcomes = [
        import_register(installation, connection, path, period=period, sides=sides) for path in _list_files(paths)
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
@connection_option(None)
@limit_option
@json_option
@click.pass_obj
def list_registers(
    open_installation: OpenInstallation, *, connection_name: str | None, limit: int | None, as_json: bool
) -> None:
    """The files of registers that came in, newest first."""
    installation = open_installation()
    names = [found.name for found in installation.connections(connection_name)]
    asked = select(RegisterFile).where(col(RegisterFile.connection).in_(names))
    with installation.store.reading() as session:
        found = session.exec(asked.order_by(sa.desc(col(RegisterFile.imported_at)), col(RegisterFile.sha256))).all()
        rows = [file.model_dump() for file in found]
    print_rows(rows[:limit], REGISTER_KEYS, as_json=as_json)
