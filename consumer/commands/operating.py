"""The commands of who operates this: the database, the doctor, the jobs."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from datetime import date
from typing import NoReturn, Unpack

import click
from sqlmodel import col, select

from consumer.commands.terminal import (
    connection_option,
    json_option,
    leave,
    limit_option,
    print_findings,
    print_rows,
    say,
)
from consumer.facts import schema
from consumer.facts.clock import utc_now
from consumer.facts.embedded import INSTALL, UnsafeJournalError
from consumer.facts.installation import Connection, Installation, OpenInstallation
from consumer.facts.messages import say_all_stored
from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick, to_shown
from consumer.facts.work import Completion
from consumer.health import disk
from consumer.health.disk import KEYS, Check, Verdict
from consumer.health.doctor import Questions, examine
from consumer.job_table import job_table


def doctor_command(**questions: Unpack[Questions]) -> click.Command:
    """Make the command of what it may not import: what runs withhold and leave out, who came, which files are lost."""

    @click.command()
    @connection_option()
    @json_option
    @click.pass_obj
    def doctor(open_installation: OpenInstallation, *, connection_name: str | None, as_json: bool) -> None:
        """Look at everything that could be wrong and say what to do."""
        try:
            checks = list(examine(open_installation(), connection_name, **questions))
        except UnsafeJournalError as error:
            checks = [Check("", disk.DATABASE, Verdict.FAILURE, str(error), INSTALL)]
        if as_json:
            print_rows([asdict(check) for check in checks], KEYS, as_json=True)
        else:
            print_findings(_to_sentence(check) for check in checks)
        if any(check.verdict is Verdict.FAILURE for check in checks):
            leave(Completion.NOTHING_DONE)

    return doctor


def _to_sentence(check: Check) -> tuple[str, str, str]:
    whose = f"{check.connection} " if check.connection else ""
    return check.verdict, f"{whose}{check.check}: {check.found}", check.advice or ""


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
        """Say whether the tables are those of this version, and whether an SQLite file is whole."""
        with closing(open_store()) as store:
            disk.refuse_damaged(store)
            schema.check_migrated(store)
        say("the database is at this version")

    return db


JOB_KEYS = ("job", "planned_at", "state", "worker", "started_at", "finished_at", "outcome")


@click.command()
@limit_option
@json_option
@click.pass_obj
def jobs(open_installation: OpenInstallation, *, limit: int | None, as_json: bool) -> None:
    """Show what is scheduled, the last ticks and how they ended."""
    installation = open_installation()
    now = utc_now()
    rows = [
        dict.fromkeys(JOB_KEYS) | {"job": job.name, "planned_at": job.next_planned(now), "state": "planned"}
        for job in job_table(installation, night=_not_here, cut=_not_here, backup=_not_here, fill=lambda _i, _c: 0)
    ]
    with installation.store.reading() as session:
        past = session.exec(select(Tick).order_by(col(Tick.planned_at).desc(), Tick.job).limit(limit)).all()
    rows += [{name: say_all_stored(value) for name, value in to_shown(tick, now=now).items()} for tick in past]
    print_rows(rows, JOB_KEYS, as_json=as_json)


def _not_here(_installation: Installation, _connection: Connection, _on: date) -> NoReturn:
    raise AssertionError("who lists the jobs runs none")
