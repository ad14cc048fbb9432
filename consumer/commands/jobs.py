"""The command that shows what is scheduled and how the last ticks ended."""

from datetime import date
from typing import NoReturn

import click
from sqlmodel import col, select

from consumer.commands.terminal import json_option, limit_option, print_rows
from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation, OpenInstallation
from consumer.facts.tables.jobs import Tick, to_shown
from consumer.job_table import job_table

KEYS = ("job", "planned_at", "state", "worker", "started_at", "finished_at", "outcome")


@click.command()
@limit_option
@json_option
@click.pass_obj
def jobs(open_installation: OpenInstallation, *, limit: int | None, as_json: bool) -> None:
    """Show what is scheduled, the last ticks and how they ended."""
    installation = open_installation()
    now = utc_now()
    rows = [
        dict.fromkeys(KEYS) | {"job": job.name, "planned_at": job.next_planned(now), "state": "planned"}
        for job in job_table(installation, night=_not_here, cut=_not_here)
    ]
    with installation.store.reading() as session:
        past = session.exec(select(Tick).order_by(col(Tick.planned_at).desc(), Tick.job).limit(limit)).all()
    print_rows([*rows, *(to_shown(tick, now=now) for tick in past)], KEYS, as_json=as_json)


def _not_here(_installation: Installation, _connection: Connection, _on: date) -> NoReturn:
    raise AssertionError("who lists the jobs runs none")
