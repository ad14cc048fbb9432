"""The command that makes a report."""

import sys
from datetime import date
from pathlib import Path

import click

from consumer.commands.terminal import CommandError, Connections, LocalDate, check_range, leave, on_connections, say
from consumer.facts.clock import local_date, utc_now
from consumer.facts.installation import Installation
from consumer.facts.messages import translate
from consumer.facts.work import Completion
from reports.making import catalogue
from reports.output import files
from reports.output.export import Format
from reports.output.files import Shape
from reports.queries.query import Query
from reports.shapes.build import Report
from reports.shapes.spans import Span

_PROFILES_OF = {"es-CL": "cl", "es-MX": "mx"}
_OF_TAX = frozenset({"tax-tie-out", "tax-causes"})


@click.command()
@click.argument("name", type=click.Choice(catalogue.AVAILABLE))
@click.option("--from", "since", type=LocalDate(), help="First local business date.")
@click.option("--to", "until", type=LocalDate(), help="Last local business date, included.")
@click.option("--as-of", type=LocalDate(), help="The day that decides what is due (default today).")
@click.option("--payout", "payout_id", help="One payout only, in payout-summary and payout-detail.")
@click.option(
    "--format", "formats", help="csv, xlsx or parquet; several with commas (default: as --out ends, else csv)."
)
@click.option("--profile", help="machine, cl or mx (default machine).")
@click.option("--language", help="es-CL, es-MX or en (default: the profile's own).")
@click.option("--out", help="A file, a folder, or - for standard output (default: a file in the current folder).")
@on_connections
def report(
    installation: Installation,
    connections: Connections,
    *,
    name: str,
    since: date | None,
    until: date | None,
    as_of: date | None,
    payout_id: str | None,
    formats: str | None,
    profile: str | None,
    language: str | None,
    out: str | None,
) -> None:
    """Make any report of the catalogue as a file, and print where it is."""
    check_range(since, until, "--from/--to")
    shapes = _shapes(_formats(formats, out), profile, language)
    if out == "-" and len(shapes) > 1:
        raise CommandError("standard output takes one format", Completion.MISUSED)
    today = local_date(utc_now(), connections[0].country.zone)
    query = Query(name, connections, today, Span(since, until), as_of, payout_id)
    with_sheets = any(shape.format is Format.XLSX for shape in shapes)
    made = catalogue.make_sheets(installation, query) if with_sheets else [catalogue.make(installation, query)]
    if payout_id is not None and not made[0].table.num_rows:
        raise CommandError(f"{name} holds no payout {payout_id}")
    for shape in shapes:
        _deliver(made, shape, out)
    if with_sheets and profile is None:
        own = connections[0].country.profile
        say(f"headings and words are those for programs; a workbook for people: --profile {own}")
    _finish(made[0])


def _formats(asked: str | None, out: str | None) -> str:
    """Take the format from the file's name where it is not said; a name that says another is refused."""
    path = Path(out or "-")
    ending = path.suffix.removeprefix(".").lower()
    ending_format = ending if ending in set(Format) and not path.is_dir() else None
    if asked is None:
        return ending_format or Format.CSV
    if ending_format is not None and asked.strip() != ending_format:
        raise CommandError(
            f"--format {asked} and a file that ends in .{ending} do not agree: {out}", Completion.MISUSED
        )
    return asked


def _shapes(formats: str, profile: str | None, language: str | None) -> list[Shape]:
    if language is not None and (profile or "machine") == "machine":
        own = _PROFILES_OF.get(language, "cl or mx")
        raise CommandError(f"--language is for people's files: add --profile {own}", Completion.MISUSED)
    try:
        return [files.to_shape(part.strip(), profile, language) for part in formats.split(",")]
    except ValueError as error:
        raise CommandError(str(error), Completion.MISUSED) from None


def _deliver(made: list[Report], shape: Shape, out: str | None) -> None:
    if out == "-":
        stream = sys.stdout.buffer
        for piece in files.pieces(made, shape):
            stream.write(piece)
        stream.flush()
        return
    path = Path(out) if out else Path.cwd() / files.name_of(made[0], shape.format)
    if path.is_dir():
        path /= files.name_of(made[0], shape.format)
    elif out and path.suffix.lower() != f".{shape.format}":
        path = path.with_name(f"{path.name}.{shape.format}")
    try:
        files.write(path, files.pieces(made, shape))
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from None
    click.echo(str(path))


def _finish(made: Report) -> None:
    if made.definition.name in _OF_TAX and not made.table.num_rows:
        say(translate("tax.page_empty", "en"))
    if made.facts["incomplete"]:
        again = "cuadre backfill, cuadre pull all, cuadre reconcile"
        say(f"the run of {made.facts['incomplete']} is incomplete, its DATA_GAP says why: {again}")
    if made.facts["missing"]:
        say(f"no finished run of {made.facts['missing']}: cuadre reconcile")
        leave(Completion.PARTLY_DONE)
