"""The command that shows what is scheduled and how the last ticks ended."""

from collections.abc import Callable, Sequence

import click
from sqlmodel import col, select

from consumer.facts.clock import utc_now
from consumer.facts.house import House, OpenHouse
from consumer.facts.tables.jobs import Tick
from consumer.facts.terminal import json_option, limit_option, print_rows
from consumer.jobs.schedule import Job

KEYS = ("job", "planned_at", "state", "worker", "started_at", "finished_at", "outcome")


def commands(job_table: Callable[[House], Sequence[Job]]) -> tuple[click.Command, ...]:
    """Make the commands of this room; the table of jobs is known to `app.py` alone."""

    @click.command()
    @limit_option
    @json_option
    @click.pass_obj
    def jobs(open_house: OpenHouse, *, limit: int | None, as_json: bool) -> None:
        """Show what is scheduled, the last ticks and how they ended."""
        house = open_house()
        now = utc_now()
        rows = [
            dict.fromkeys(KEYS) | {"job": job.name, "planned_at": job.next_planned(now), "state": "planned"}
            for job in job_table(house)
        ]
        with house.store.reading() as session:
            past = session.exec(select(Tick).order_by(col(Tick.planned_at).desc(), Tick.job).limit(limit)).all()
        print_rows([*rows, *(tick.model_dump() for tick in past)], KEYS, as_json=as_json)

    return (jobs,)
