"""The commands of this room: the database, the doctor, and those of the rooms inside it."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any

import click
import sqlalchemy as sa

import consumer.inbox.commands
import consumer.provider.commands
import consumer.provider.write_commands
import consumer.sync.commands
from consumer.config import ConfigError
from consumer.doctor import KEYS, Verdict, examine
from consumer.facts import schema
from consumer.facts.house import House, OpenHouse
from consumer.facts.store import Store
from consumer.facts.terminal import Exit, Refusal, connection_option, json_option, leave, print_rows, say
from consumer.jobs.commands import commands as job_commands
from consumer.jobs.schedule import Job
from consumer.provider.errors import ProviderError


class OneLine(click.Group):
    """Turns what can go wrong anywhere into one line and the exit status a script can rely on."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            raise Refusal(str(error), Exit.USAGE) from None
        except (schema.SchemaError, ProviderError) as error:
            raise Refusal(str(error)) from None
        except sa.exc.OperationalError as error:
            reason = str(error.orig).strip().splitlines()[0]
            raise Refusal(f"the database cannot be used: {reason}") from None


@click.command()
@connection_option(None)
@json_option
@click.pass_obj
def doctor(open_house: OpenHouse, *, connection_name: str | None, as_json: bool) -> None:
    """Look at everything that could be wrong and say what to do."""
    checks = list(examine(open_house(), connection_name))
    print_rows([asdict(check) for check in checks], KEYS, as_json=as_json)
    if any(check.verdict is Verdict.FAILURE for check in checks):
        leave(Exit.NOTHING_DONE)


def database_commands(open_store: Callable[[], Store]) -> click.Group:
    """Make the group that migrates; it must open a database of any version."""

    @click.group()
    def db() -> None:
        """Bring the database's tables to this version, or check that they are."""

    @db.command()
    def upgrade() -> None:
        """Run the migrations that are missing."""
        with closing(open_store()) as store:
            schema.upgrade(store)
        say("the database is at this version")

    @db.command()
    def check() -> None:
        """Say whether the tables are those of this version."""
        with closing(open_store()) as store:
            schema.check_migrated(store)
        say("the database is at this version")

    return db


def commands(
    *, open_store: Callable[[], Store], job_table: Callable[[House], Sequence[Job]]
) -> tuple[click.Command, ...]:
    """Gather the room's commands; how to open a store and which jobs there are is known to `app.py`."""
    return (
        database_commands(open_store),
        doctor,
        *consumer.inbox.commands.COMMANDS,
        *consumer.provider.commands.COMMANDS,
        *consumer.provider.write_commands.COMMANDS,
        *consumer.sync.commands.COMMANDS,
        *job_commands(job_table),
    )
