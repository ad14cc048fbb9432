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
    Moment,
    check_range,
    connection_option,
    json_option,
    leave,
    limit_option,
    print_rows,
    say,
)
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation, OpenInstallation
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
@connection_option(None)
@filter_options
@limit_option
@json_option
@click.pass_obj
def list_(
    open_installation: OpenInstallation,
    /,
    *,
    connection_name: str | None,
    limit: int | None,
    as_json: bool,
    **filters: Any,
) -> None:
    """List events, newest first."""
    installation = open_installation()
    wanted = to_filter(**filters)
    with installation.store.reading() as session:
        rows = list_events(session, installation.connections(connection_name), wanted, limit)
        print_rows(rows, EVENT_KEYS, as_json=as_json)


@events.command()
@connection_option(None)
@limit_option
@click.option("--check", is_flag=True, help="Exit 3 where an event is set aside.")
@json_option
@click.pass_obj
def quarantine(
    open_installation: OpenInstallation, *, connection_name: str | None, limit: int | None, check: bool, as_json: bool
) -> None:
    """List the events that were set aside, with the reason."""
    installation = open_installation()
    with installation.store.reading() as session:
        rows = list_events(session, installation.connections(connection_name), Filter(state="quarantined"), limit)
        _print_found(rows, EVENT_KEYS, check=check, as_json=as_json)


@events.command()
@connection_option(None)
@limit_option
@click.option("--check", is_flag=True, help="Exit 3 where there is a conflict.")
@json_option
@click.pass_obj
def conflicts(
    open_installation: OpenInstallation, *, connection_name: str | None, limit: int | None, check: bool, as_json: bool
) -> None:
    """List what arrived under a known id with another meaning."""
    installation = open_installation()
    with installation.store.reading() as session:
        rows = list_conflicts(session, installation.connections(connection_name), limit)
        _print_found(rows, CONFLICT_KEYS, check=check, as_json=as_json)


def _print_found(rows: Iterator[Row], keys: tuple[str, ...], *, check: bool, as_json: bool) -> None:
    """Print the rows; with `check`, exit 3 where there is one."""
    first = next(rows, None)
    print_rows(rows if first is None else chain([first], rows), keys, as_json=as_json)
    if check and first is not None:
        leave(Completion.PARTLY_DONE)


@events.command()
@click.argument("event_id", metavar="ID")
@connection_option("main")
@json_option
@click.pass_obj
def show(open_installation: OpenInstallation, event_id: str, *, connection_name: str, as_json: bool) -> None:
    """Show one event with its body; account numbers by their last digits."""
    installation = open_installation()
    name = installation.settings.connection(connection_name).name
    with installation.store.reading() as session:
        event = find_event(session, name, event_id)
    if event is None:
        raise CommandError(f"there is no event {event_id!r} in connection {name}: cuadre events list")
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
@connection_option("main")
@filter_options
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@json_option
@click.pass_obj
def replay(
    open_installation: OpenInstallation,
    /,
    event_ids: tuple[str, ...],
    *,
    connection_name: str,
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
    installation = open_installation()
    names = _find_names(installation, connection_name, event_ids, wanted)
    replaying = Replay(installation.store, installation.settings, utc_now, getpass.getuser())
    done = list(replaying.preview(names) if dry_run else replaying.run(names))
    print_rows((one.to_line() for one in done), REPLAY_KEYS, as_json=as_json)
    _conclude(names, done, dry_run=dry_run)


def _find_names(
    installation: Installation, connection_name: str, event_ids: tuple[str, ...], wanted: Filter
) -> list[Name]:
    connection = installation.settings.connection(connection_name)
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
