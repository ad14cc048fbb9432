"""Commands of closing: close the books up to a day, open them again, and what later facts changed."""

from datetime import date

import click

from consumer.commands.terminal import (
    CommandError,
    Connections,
    LocalDate,
    asking,
    json_option,
    on_connection,
    on_connections,
    print_rows,
    say,
)
from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.money import format_decimal
from reconcile.closing import periods
from reconcile.closing.checklist import CHECK_KEYS
from reconcile.commands.decisions import author_option, signature
from reconcile.commands.printed import in_english
from reconcile.runs import close_period as closing
from reconcile.tables.closing import PERIOD_KEYS, Period

ADJUSTMENT_KEYS = ("period", "run_id", "found_at", "kind", "subject", "before", "after")


@click.group("periods")
def period_group() -> None:
    """Days whose books are closed."""


def make_period_group(pack: click.Command) -> click.Group:
    """Return the commands of periods with the one of the archive, which stands on the reports."""
    period_group.add_command(pack)
    return period_group


@period_group.command("close")
@click.option("--to", "until", type=LocalDate(), required=True, help="The last day to close.")
@click.option("--as-of", type=LocalDate(), help="The day of the run that stands for it (default today).")
@click.option("--reason", help="Why the days are closed; needed to close them.")
@click.option("--checklist", is_flag=True, help="Only show what to look at first and what closing freezes.")
@author_option
@on_connection
@json_option
def close_period(
    installation: Installation, connection: Connection, *, until: date, as_of: date | None, reason: str | None,
    checklist: bool, author: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Close every day up to one: decisions about it are refused, later facts become adjustment lines."""
    if not checklist and reason is None:
        raise click.UsageError("Missing option '--reason'.")
    if checklist:
        show_checklist(installation, connection, until, as_json=as_json)
        return
    assert reason is not None
    with asking(installation, reason):
        signed = signature(author, reason)
        period = closing.close_period(installation, connection, until=until, as_of=as_of, signed=signed)
    row = _to_row(period, 0)
    print_rows([row], PERIOD_KEYS, as_json=as_json)


def show_checklist(installation: Installation, connection: Connection, until: date, *, as_json: bool) -> None:
    """Print one row a check, and on standard error what closing would freeze."""
    with installation.store.reading() as session:
        checks, frozen = closing.look_before_closing(session, installation, connection, until=until, now=utc_now())
    rows = [
        {name: getattr(one, name) for name in CHECK_KEYS}
        | {"amount": None if one.amount is None else format_decimal(one.amount, one.currency)}
        for one in checks
    ]
    print_rows(rows, CHECK_KEYS, as_json=as_json)
    days = f"from {frozen.since} to {frozen.until}" if frozen.since else f"up to {frozen.until}"
    say(f"closing freezes {frozen.payouts} payouts and {frozen.documents} documents {days}")


@period_group.command("reopen")
@click.option("--reason", required=True)
@author_option
@on_connection
@json_option
def reopen_period(
    installation: Installation, connection: Connection, *, reason: str, author: str | None, as_json: bool
) -> None:
    """Open the newest closed period again; the closing stays in the history."""
    with installation.store.transaction() as session:
        period = periods.reopen(session, connection.name, signature(author, reason))
        row = _to_row(period, len(periods.adjustments(session, period)))
    print_rows([row], PERIOD_KEYS, as_json=as_json)


@period_group.command("list")
@on_connections
@json_option
def list_periods(installation: Installation, connections: Connections, *, as_json: bool) -> None:
    """Every closing, newest first, with how many adjustment lines later runs added."""
    with installation.store.reading() as session:
        rows = [
            _to_row(period, len(periods.adjustments(session, period)))
            for connection in connections
            for period in periods.history(session, connection.name)
        ]
    print_rows(rows, PERIOD_KEYS, as_json=as_json)


@period_group.command("show")
@click.argument("period", type=int)
@on_connection
@json_option
def show_period(installation: Installation, connection: Connection, *, period: int, as_json: bool) -> None:
    """The adjustment lines of one period: what later runs found otherwise, before and after."""
    with installation.store.reading() as session:
        found = session.get(Period, period)
        if found is None or found.connection != connection.name:
            raise CommandError(f"there is no period {period} in connection {connection.name}: cuadre periods list")
        rows = [
            {name: getattr(line, name) for name in ADJUSTMENT_KEYS if name != "period"} | {"period": period}
            for line in periods.adjustments(session, found)
        ]
    print_rows(list(map(in_english, rows)), ADJUSTMENT_KEYS, as_json=as_json)


def _to_row(period: Period, adjustments: int) -> dict[str, object]:
    own = {name: getattr(period, name) for name in PERIOD_KEYS if hasattr(period, name)}
    return own | {"period": period.id, "adjustments": adjustments}
