"""The commands that read the provider, with how far they are, and the one that lists what is still missing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from textwrap import fill

import click
from rich.progress import MofNCompleteColumn, TextColumn, TimeRemainingColumn

from consumer.commands.terminal import (
    Connections,
    Moment,
    check_range,
    json_option,
    leave,
    limit_option,
    on_connection,
    on_connections,
    print_rows,
    say,
    show_progress,
)
from consumer.facts.clock import to_utc, utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.tables.sync import GAP_KEYS, Window, WindowState, to_gap
from consumer.facts.work import Completion
from consumer.inbox.apply import drain
from consumer.jobs.worker import worker_name
from consumer.sync.backfill import backfill as run_backfill
from consumer.sync.drift import drift as run_drift
from consumer.sync.outcomes import RESULT_KEYS, OnPage, OnRead, Outcome, StreamResult, StreamState
from consumer.sync.pull import pull as run_pull
from consumer.sync.reach import MOST_NAMED, short_of_today
from consumer.sync.streams import ALL, STREAMS
from consumer.sync.windows import unclosed_windows


@contextmanager
def show_pages() -> Iterator[OnPage]:
    """Draw a bar of closed windows with the events that were new and the time that is left."""
    columns = (MofNCompleteColumn(), TextColumn("{task.fields[added]} new"), TimeRemainingColumn())
    with show_progress("events", *columns, added=0) as move:

        def on_page(window: Window, windows: int, added: int) -> None:
            move(total=windows, added=added, advance=1 if window.state == WindowState.CLOSED else 0)

        yield on_page


@contextmanager
def show_streams(count: int) -> Iterator[OnRead]:
    """Draw a bar of streams with the one that is read and how much of it came."""
    columns = (MofNCompleteColumn(), TextColumn("{task.fields[objects]} objects, {task.fields[pages]} pages"))
    with show_progress("streams", *columns, count=lambda: count, objects=0, pages=0) as move:
        seen: list[str] = []

        def on_read(stream: str, pages: int, objects: int) -> None:
            if stream not in seen:
                seen.append(stream)
            move(description=stream, completed=len(seen) - 1, pages=pages, objects=objects)

        yield on_read


DRIFT_KEYS = ("connection", "stream", "id", "kind", "field", "ours", "theirs")

_SINCE = click.option("--since", type=Moment(), help="From here on: a date or a time.")
_UNTIL = click.option("--until", type=Moment(), help="Up to here, not included.")


@click.command()
@on_connection
@_SINCE
@_UNTIL
@json_option
def backfill(
    installation: Installation, connection: Connection, *, since: date | datetime | None, until: date | datetime | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Read the event log until no event is missing and apply it; without dates, all of it and later what is new."""
    first, last = _to_range(connection, since, until)
    with show_pages() as on_page:
        outcome = run_backfill(installation, connection, since=first, until=last, on_page=on_page)
    # Where no worker runs, events that only wait would leave the facts older than the log.
    drain(installation.store, installation.settings, worker=worker_name())
    _report(outcome, as_json=as_json)


@click.command(
    help=f"Fetch and keep what the provider lists: STREAM is a name of the list below, or all.\n\n{' '.join(STREAMS)}"
)
@click.argument("streams", metavar="STREAM...", nargs=-1, required=True, type=click.Choice([*STREAMS, ALL]))
@on_connection
@_SINCE
@_UNTIL
@json_option
def pull(
    installation: Installation, connection: Connection, *, streams: Sequence[str], since: date | datetime | None,
    until: date | datetime | None, as_json: bool,
) -> None:  # fmt: skip
    """Fetch and keep what the provider lists."""
    first, last = _to_range(connection, since, until)
    wanted = [name for name in STREAMS if name in streams or ALL in streams]
    with show_streams(len(wanted)) as on_read:
        outcome = run_pull(installation, connection, wanted, since=first, until=last, on_read=on_read)
    _report(outcome, as_json=as_json)


@click.command()
@on_connection
@click.option("--days", type=click.IntRange(min=1), default=7, show_default=True, help="How far back to compare.")
@click.option("--repair", is_flag=True, help="Read what differs again and mend it; exit 3 where something is left.")
@click.option("--check", is_flag=True, help="Exit 3 where something differs.")
@limit_option
@json_option
def drift(
    installation: Installation, connection: Connection, *, days: int, repair: bool, check: bool,
    limit: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Hold our mirror against the provider, for every object touched in the last days."""
    with show_streams(len(STREAMS)) as on_read:
        outcome = run_drift(installation, connection, days=days, repair=repair, on_read=on_read)
    rows = [
        {
            "connection": connection.name,
            "stream": stream,
            "id": difference.id,
            "kind": difference.kind.value,
            "field": difference.field,
            "ours": difference.ours,
            "theirs": difference.theirs,
        }
        for stream, difference in outcome.found
    ]
    print_rows(rows[:limit], DRIFT_KEYS, as_json=as_json)
    for result in outcome.results:
        say(_to_comparison(result))
    if outcome.status is not Completion.DONE:
        leave(outcome.status)
    if check and outcome.left:
        leave(Completion.PARTLY_DONE)


def _to_range(
    connection: Connection, since: date | datetime | None, until: date | datetime | None
) -> tuple[datetime | None, datetime | None]:
    zone = connection.country.zone
    first, last = to_utc(since, zone), to_utc(until, zone)
    check_range(first, last, "--since/--until")
    return first, last


def _to_comparison(result: StreamResult) -> str:
    reason = f": {result.reason}" if result.reason else ""
    differ = "1 difference" if result.changed == 1 else f"{result.changed} differences"
    return f"{result.connection}: {result.stream}: {result.state}, {result.read} compared, {differ}{reason}"


def _report(outcome: Outcome, *, as_json: bool) -> None:
    """Print a row for each stream; people also get each failure as a sentence."""
    rows = [{key: getattr(result, key) for key in RESULT_KEYS} for result in outcome.results]
    print_rows([row | {"state": str(row["state"])} for row in rows], RESULT_KEYS, as_json=as_json)
    if outcome.status is Completion.DONE:
        return
    failed = [result for result in outcome.results if result.state is StreamState.INCOMPLETE]
    what = "cuadre gaps lists what is missing" if outcome.started else "nothing was read: cuadre doctor"
    say(f"not complete: {len(failed)} of {len(outcome.results)} streams; {failed[0].reason}; {what}")
    leave(outcome.status)


_WIDTH, _UNDER = 100, "  "


@click.command()
@on_connections
@limit_option
@click.option("--check", is_flag=True, help="Exit 3 where there is a gap.")
@json_option
def gaps(
    installation: Installation, connections: Connections, *, limit: int | None, check: bool, as_json: bool
) -> None:
    """List what was asked of the provider and is not read to its end, newest first."""
    names, now = {connection.name for connection in connections}, utc_now()
    with installation.store.reading() as session:
        windows = [window for window in unclosed_windows(session) if window.connection in names]
        short = [(one.name, short) for one in connections for short in short_of_today(session, one, now=now)]
    print_rows(map(to_gap, windows[:limit]), GAP_KEYS, as_json=as_json)
    for name, streams in short:
        say(f"{name}: {streams}")
        if len(streams.streams) > MOST_NAMED:
            say(fill(" ".join(streams.streams), _WIDTH, initial_indent=_UNDER, subsequent_indent=_UNDER,
                     break_on_hyphens=False))  # fmt: skip
    if check and windows:
        leave(Completion.PARTLY_DONE)
