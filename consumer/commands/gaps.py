"""The command that lists what is still missing; it reads nothing from the provider."""

from textwrap import fill

import click

from consumer.commands.terminal import connection_option, json_option, leave, limit_option, print_rows, say
from consumer.facts.clock import utc_now
from consumer.facts.installation import OpenInstallation
from consumer.facts.tables.sync import GAP_KEYS, to_gap
from consumer.facts.work import Completion
from consumer.sync.watch import MOST_NAMED, short_of_today
from consumer.sync.windows import unclosed_windows

_WIDTH, _UNDER = 100, "  "


@click.command()
@connection_option(None)
@limit_option
@click.option("--check", is_flag=True, help="Exit 3 where there is a gap.")
@json_option
@click.pass_obj
def gaps(
    open_installation: OpenInstallation, *, connection_name: str | None, limit: int | None, check: bool, as_json: bool
) -> None:
    """List what was asked of the provider and is not read to its end, newest first."""
    installation = open_installation()
    connections = installation.connections(connection_name)
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
