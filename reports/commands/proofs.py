"""`cuadre proof`: one payout, one customer or some days as a sealed PDF for an auditor."""

from datetime import date
from pathlib import Path

import click

from consumer.commands.terminal import CommandError, LocalDate, check_range, on_connection
from consumer.facts.clock import local_date, utc_now
from consumer.facts.durable import write_durably
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import LANGUAGES
from consumer.facts.work import Completion
from reports.packs.proofs import Asked, Subject, prove
from reports.queries import frames
from reports.queries.names import Reader
from reports.search.customers import find_customer
from reports.shapes.spans import Span


@click.command("proof")
@click.option("--payout", "payout_id", default="", help="One payout.")
@click.option("--customer", default="", help="One customer: RUT or RFC, name, or a folio of theirs.")
@click.option("--from", "since", type=LocalDate(), help="First local business date.")
@click.option("--to", "until", type=LocalDate(), help="Last local business date, included.")
@click.option("--language", type=click.Choice(LANGUAGES), help="Default: the country's.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Default: a file in the current folder.")
@on_connection
def proof_command(
    installation: Installation, connection: Connection, *, payout_id: str, customer: str, since: date | None,
    until: date | None, language: str | None, out: Path | None,
) -> None:  # fmt: skip
    """One payout, one customer or some days as a sealed PDF: every line, its evidence, who decided, and hashes."""
    check_range(since, until, "--from/--to")
    if bool(payout_id) + bool(customer) > 1 or not (payout_id or customer or since or until):
        raise CommandError("give --payout, --customer, or --from and --to", Completion.MISUSED)
    today = local_date(utc_now(), connection.country.zone)
    with installation.store.reading() as session:
        runs = frames.latest_runs(session, [connection.name], today=today)
        if not runs:
            raise CommandError("no finished run: cuadre reconcile")
        read_in = language or connection.country.language
        reader = Reader(read_in, lambda _name: connection.country.zone, today=today)
        tax_id = find_customer(session, connection, customer, reader) if customer else ""
        subject = Subject(payout_id, tax_id, Span(since, until))
        asked = Asked(subject, read_in, utc_now())
        content = prove(installation, session, runs[0], connection, asked)
    path = out or Path(f"proof_{connection.name}_{subject.name()}.pdf")
    with write_durably(path) as file:
        file.write(content)
    click.echo(str(path))
