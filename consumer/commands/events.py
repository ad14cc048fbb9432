"""`cuadre events`: what arrived, what became of it, what contradicts, what is set aside, and applying it again."""

import getpass
import json
from collections.abc import Iterator
from datetime import date, datetime
from itertools import chain
from typing import Any

import click

from consumer.commands.terminal import (
    Command,
    CommandError,
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
)
from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.store import Row
from consumer.facts.tables.inbox import CONFLICT_KEYS, EVENT_KEYS, Event, EventState
from consumer.facts.taxids import mask_accounts
from consumer.facts.work import Completion
from consumer.inbox.events import KEYS as REPLAY_KEYS
from consumer.inbox.events import Filter, Name, Replay, Replayed, find_event, list_conflicts, list_events, names_of


def filter_options(command: Command) -> Command:
    for option in (
        click.option("--until", type=Moment(), help="Created before this date or time."),
        click.option("--since", type=Moment(), help="Created at or after this date or time."),
        click.option("--state", type=click.Choice([state.value for state in EventState])),
        click.option("--type", "type_", metavar="TYPE", help="One event type, such as refund.succeeded."),
    ):
        command = option(command)
    return command


def to_filter(
    *, type_: str | None, state: str | None, since: date | datetime | None, until: date | datetime | None
) -> Filter:
    check_range(since, until, "--since and --until")
    return Filter(type_, state, since, until)


@click.group()
def events() -> None:
    """The inbox: every event, once."""


@events.command("list")
@on_connections
@filter_options
@limit_option
@json_option
def list_(
    installation: Installation,
    connections: Connections,
    /,
    *,
    limit: int | None,
    as_json: bool,
    **filters: Any,
) -> None:
    """List events, newest first."""
    wanted = to_filter(**filters)
    with installation.store.reading() as session:
        rows = list_events(session, connections, wanted, limit)
        print_rows(rows, EVENT_KEYS, as_json=as_json)


@events.command()
@on_connections
@limit_option
@click.option("--check", is_flag=True, help="Exit 3 where an event is set aside.")
@json_option
def quarantine(
    installation: Installation, connections: Connections, *, limit: int | None, check: bool, as_json: bool
) -> None:
    """List the events that were set aside, with the reason."""
    with installation.store.reading() as session:
        rows = list_events(session, connections, Filter(state="quarantined"), limit)
        _print_found(rows, EVENT_KEYS, check=check, as_json=as_json)


@events.command()
@on_connections
@limit_option
@click.option("--check", is_flag=True, help="Exit 3 where there is a conflict.")
@json_option
def conflicts(
    installation: Installation, connections: Connections, *, limit: int | None, check: bool, as_json: bool
) -> None:
    """List what arrived under a known id with another meaning."""
    with installation.store.reading() as session:
        rows = list_conflicts(session, connections, limit)
        _print_found(rows, CONFLICT_KEYS, check=check, as_json=as_json)


def _print_found(rows: Iterator[Row], keys: tuple[str, ...], *, check: bool, as_json: bool) -> None:
    """Print the rows; with `check`, exit 3 where there is one."""
    first = next(rows, None)
    print_rows(rows if first is None else chain([first], rows), keys, as_json=as_json)
    if check and first is not None:
        leave(Completion.PARTLY_DONE)


@events.command()
@click.argument("event_id", metavar="ID")
@on_connection
@json_option
def show(installation: Installation, connection: Connection, event_id: str, *, as_json: bool) -> None:
    """Show one event with its body; account numbers by their last digits."""
    with installation.store.reading() as session:
        event = find_event(session, connection.name, event_id)
    if event is None:
        raise CommandError(f"there is no event {event_id!r} in connection {connection.name}: cuadre events list")
    body = mask_accounts(to_body(event))
    line = {key: getattr(event, key) for key in EVENT_KEYS} | {"body": body, "deliveries": event.arrivals}
    if as_json:
        print_rows([line], list(line), as_json=True)
        return
    shown = line | {"body": json.dumps(line["body"], ensure_ascii=False, indent=2)}
    print_rows([{"key": key, "value": value} for key, value in shown.items()], ["key", "value"], as_json=False)


def to_body(event: Event) -> object:
    """The body as JSON; none once retention has pruned it."""
    if event.body is None:
        return None
    try:
        return json.loads(event.body)
    except ValueError:
        # An integer of thousands of digits is JSON, and more than Python converts.
        return event.body.decode()


@events.command()
@click.argument("event_ids", metavar="[ID]...", nargs=-1)
@on_connection
@filter_options
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@json_option
def replay(
    installation: Installation,
    connection: Connection,
    /,
    event_ids: tuple[str, ...],
    *,
    dry_run: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """Apply events again, named by id or by filters."""
    wanted = to_filter(**filters)
    if bool(event_ids) == (not wanted.is_empty):
        raise CommandError(
            "name events by id, or by --type, --state, --since and --until: one of the two", Completion.MISUSED
        )
    names = _find_names(installation, connection, event_ids, wanted)
    replaying = Replay(installation.store, installation.settings, utc_now, getpass.getuser())
    done = list(replaying.preview(names) if dry_run else replaying.run(names))
    print_rows((one.to_line() for one in done), REPLAY_KEYS, as_json=as_json)
    _conclude(names, done, dry_run=dry_run)


def _find_names(
    installation: Installation, connection: Connection, event_ids: tuple[str, ...], wanted: Filter
) -> list[Name]:
    with installation.store.reading() as session:
        if not event_ids:
            return names_of(session, wanted.condition((connection,)))
        unknown = [one for one in event_ids if find_event(session, connection.name, one) is None]
    if unknown:
        raise CommandError(
            f"there is no event {', '.join(unknown)} in connection {connection.name}: nothing was replayed"
        )
    return [(connection.name, one) for one in dict.fromkeys(event_ids)]


def _conclude(names: list[Name], done: list[Replayed], *, dry_run: bool) -> None:
    """Failing to apply is 3; a dry run finds and does not fail."""
    held = len(names) - len(done)
    if held:
        say(f"{held} of {len(names)} events are in a worker's hands just now; replay them later")
    troubled = sum(one.error is not None for one in done)
    if troubled:
        say(f"{troubled} of {len(names)} events cannot be applied; the column error says why")
    if not dry_run and held + troubled:
        leave(Completion.PARTLY_DONE)
