"""The table of jobs: what is planned when in both countries, and how each job says what came of it."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from consumer.facts.installation import Connection, Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.job_table import job_table
from consumer.jobs.schedule import Job, JobIncompleteError
from tests.merchant import settings_of

sqlite_only = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


@dataclass
class Ended:
    complete: bool = True
    lines: list[str] = field(default_factory=lambda: ["main: all of it"])


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A merchant in Chile, with fiscal links, and in Mexico."""
    mexico = {"mx": {"api_key": "sk_test_mexico", "country": "mx"}}
    return settings_of("http://127.0.0.1:9", tmp_path, link_tokens="link_a_token_b", overrides={"connections": mexico})


@pytest.fixture
def jobs(settings: Settings, store: Store) -> Callable[..., dict[str, Job]]:
    def build(ended: Ended | None = None, done: list[tuple[str, str, date]] | None = None) -> dict[str, Job]:
        def work(name: str) -> Callable[[Installation, Connection, date], Ended]:
            def run(_installation: Installation, connection: Connection, on: date) -> Ended:
                if done is not None:
                    done.append((name, connection.name, on))
                return ended or Ended()

            return run

        table = job_table(
            Installation(settings=settings, store=store), night=work("night"), cut=work("cut"), backup=work("backup")
        )
        return {job.name: job for job in table}

    return build


@sqlite_only
def test_each_connection_has_its_jobs_at_its_own_local_time(jobs: Callable[..., dict[str, Job]]) -> None:
    """Chile has the cut and the fiscal pulls as well; every moment is the country's wall clock on that day."""
    now = datetime(2026, 10, 9, 12, tzinfo=UTC)  # a Friday; Monday 12 October is a holiday in Chile
    planned = {name: job.next_planned(now) for name, job in jobs().items()}
    assert planned == {
        "retention": datetime(2026, 10, 10, 7, 30, tzinfo=UTC),
        "nightly:main": datetime(2026, 10, 10, 6, 15, tzinfo=UTC),
        "endpoint:main": datetime(2026, 10, 9, 12, 7, tzinfo=UTC),
        "banking-cut:main": datetime(2026, 10, 9, 18, 30, tzinfo=UTC),
        "fiscal:main": datetime(2026, 10, 9, 15, 30, tzinfo=UTC),
        "nightly:mx": datetime(2026, 10, 10, 9, 15, tzinfo=UTC),
        "endpoint:mx": datetime(2026, 10, 9, 12, 7, tzinfo=UTC),
    }
    after = datetime(2026, 10, 9, 19, tzinfo=UTC)
    assert jobs()["banking-cut:main"].next_planned(after) == datetime(2026, 10, 13, 18, 30, tzinfo=UTC)


@sqlite_only
def test_a_night_is_for_the_day_before_and_the_cut_for_the_day_itself(jobs: Callable[..., dict[str, Job]]) -> None:
    """The business date of a tick is that of its local day, less a day for the nightly job alone."""
    table = jobs()
    night, cut = table["nightly:main"], table["banking-cut:main"]
    assert night.business_date(datetime(2026, 10, 9, 6, 15, tzinfo=UTC)) == date(2026, 10, 8)
    assert cut.business_date(datetime(2026, 10, 9, 18, 30, tzinfo=UTC)) == date(2026, 10, 9)


@sqlite_only
def test_a_job_hands_on_its_lines_or_what_is_left(jobs: Callable[..., dict[str, Job]]) -> None:
    """Work that was whole is listed in its own lines; work that was not ends the tick as incomplete with them."""
    done: list[tuple[str, str, date]] = []
    assert jobs(done=done)["nightly:mx"].run(date(2026, 10, 8)) == "main: all of it"
    assert done == [("night", "mx", date(2026, 10, 8))]
    with pytest.raises(JobIncompleteError, match="main: refunds: incomplete"):
        jobs(Ended(complete=False, lines=["main: refunds: incomplete"]))["banking-cut:main"].run(date(2026, 10, 9))


@sqlite_only
def test_the_endpoint_is_not_missed_where_none_is_expected(jobs: Callable[..., dict[str, Job]]) -> None:
    """An installation without public address and secret lives by the event log, and its hourly look is well."""
    shown = jobs()["endpoint:main"].run(date(2026, 10, 9))
    assert shown == "main: webhook endpoint: none is expected: no public address and no secret"


@sqlite_only
def test_a_fiscal_pull_that_reaches_nobody_is_incomplete(jobs: Callable[..., dict[str, Job]]) -> None:
    """The tick names the stream, the address and nothing secret."""
    with pytest.raises(JobIncompleteError) as left:
        jobs()["fiscal:main"].run(date(2026, 10, 9))
    assert "main: tax-invoices: incomplete" in str(left.value)
    assert "no answer from http://127.0.0.1:9" in str(left.value)
    assert "link_a_token_b" not in str(left.value)


@sqlite_only
def test_retention_says_what_it_dropped(jobs: Callable[..., dict[str, Job]]) -> None:
    """An empty inbox has nothing to drop."""
    assert jobs()["retention"].run(date(2026, 10, 9)) == "0 bodies dropped"


@sqlite_only
def test_retention_drops_what_waited_for_a_day(jobs: Callable[..., dict[str, Job]], settings: Settings) -> None:
    """Uploads of yesterday go, also those that a killed process left; what came since stays."""
    old, new = (settings.files_dir / "uploads" / name for name in ("tmpabc", "0" * 32))
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "facturas.csv").write_text("folio\n")
    os.utime(old, (time.time() - 90_000,) * 2)
    jobs()["retention"].run(date(2026, 10, 9))
    assert (old.exists(), new.exists()) == (False, True)
