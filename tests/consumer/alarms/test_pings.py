"""Pings of jobs: a service elsewhere hears of a start, and of an end once its result is stored."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import NoReturn

import pytest
from sqlmodel import select

from consumer.alarms.outbound import NotSentError
from consumer.alarms.outbound import post as receiver_post
from consumer.alarms.pings import Pings, check_pings, setting_of
from consumer.facts.installation import Installation
from consumer.facts.settings import ConfigError
from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick
from consumer.job_table import job_table
from consumer.jobs.schedule import Job, JobIncompleteError, JobStoppedError, run_due
from tests.consumer.alarms.conftest import MakeSettings, Receiver

NOW = datetime(2026, 10, 9, 6, 20, tzinfo=UTC)


def run_night(store: Store, pings: Pings, error: Exception | None = None) -> None:
    def run(_on: date) -> str:
        if error is not None:
            raise error
        return "done"

    run_due(
        Job("nightly:main", time(3, 15), "America/Santiago", run), store, worker="w", clock=lambda: NOW, pings=pings
    )


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (None, "/x?"),
        (JobIncompleteError("some"), "/x/3?"),
        (KeyError("a fault"), "/x/1?"),
        (JobStoppedError(), None),
    ],
)
def test_a_job_pings_when_it_starts_and_when_its_result_is_stored(
    store: Store, alarmed: MakeSettings, receiver: Receiver, error: Exception | None, end: str | None
) -> None:
    """The end bears the exit status of the same command; start and end are joined by one id."""
    settings = alarmed(ping_url_nightly=f"{receiver.url}/x")
    states: list[str] = []

    def send(url: str, body: bytes, headers: Mapping[str, str]) -> None:
        with store.reading() as session:
            states.append(session.exec(select(Tick.state)).one())
        receiver_post(url, body, headers)

    run_night(store, Pings(settings.ping_urls, send=send), error)

    asked = [got.path for got in receiver.got]
    runs = {path.partition("rid=")[2] for path in asked}
    assert [path.partition("rid=")[0] for path in asked] == ["/x/start?", *([end] if end else [])]
    assert len(runs) == 1
    assert states[0] == "running"
    assert "running" not in states[1:]


def test_a_ping_that_fails_hinders_no_job(store: Store, alarmed: MakeSettings) -> None:
    """Without an answer the night is as complete as ever."""

    def refuse(*_given: object) -> NoReturn:
        raise NotSentError("channel.no_answer", host="hc.test", error="ConnectError")

    run_night(store, Pings(alarmed(ping_url_nightly="https://hc.test/x").ping_urls, send=refuse))

    with store.reading() as session:
        assert session.exec(select(Tick.state)).one() == "complete"


def test_an_address_for_no_job_stops_the_start(alarmed: MakeSettings) -> None:
    """A misspelt job would never be called; one line says which there are."""
    with pytest.raises(ConfigError) as refused:
        check_pings(alarmed(ping_url_nigthly="https://hc.test/x"))
    assert str(refused.value) == (
        "CUADRE_PING_URL_NIGTHLY: there is no such job; there are ALARMS, BACKUP, BANKING_CUT, DIGEST, ENDPOINT, "
        "FISCAL, NIGHTLY, RETENTION"
    )
    with pytest.raises(ConfigError, match="CUADRE_PING_URL_NIGHTLY: must be an http or https address"):
        alarmed(ping_url_nightly="hc.test/x")


def test_every_job_can_have_an_address(store: Store, alarmed: MakeSettings) -> None:
    """No job of the table is without its setting."""
    settings = alarmed(alert_digest_at="08:00", link_tokens="link_a_token_b")

    def no_work(*_given: object) -> NoReturn:
        raise AssertionError

    jobs = job_table(Installation(settings, store), night=no_work, cut=no_work, backup=no_work)
    for job in jobs:
        check_pings(alarmed(**{f"ping_url_{setting_of(job.name)}": "https://hc.test/x"}))
    assert len(jobs) >= 5
