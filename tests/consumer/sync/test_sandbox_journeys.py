"""Backfill and pulls against the sandbox over HTTP, with its faults switched on."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import SecretStr
from sqlmodel import select

from consumer.commands.sync import backfill, gaps, pull
from consumer.facts.completeness import complete_until
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.provider import PayoutCount, PayoutItem
from consumer.facts.work import Completion
from consumer.provider.budget import Budget
from consumer.provider.client import Provider
from consumer.provider.rows import KINDS
from consumer.sync.backfill import read_log
from consumer.sync.pull import STREAMS, read_streams
from consumer.sync.windows import unclosed_windows
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from tests.consumer.conftest import Run
from tests.consumer.sync.conftest import stored
from tests.merchant import settings_of


@pytest.fixture
def running() -> Iterator[RunningSandbox]:
    """A month of small trade that no webhook has announced."""
    with RunningSandbox("busy-month", scale=0.5) as running:
        yield running


@pytest.fixture
def settings(running: RunningSandbox, tmp_path: Path) -> Settings:
    return settings_of(running.url, tmp_path, link_tokens="link_sandboxcl_token_7Q2m")


@pytest.fixture
def provider(settings: Settings, store: Store) -> Iterator[Provider]:
    """A client that does not sleep between its retries."""
    budget = Budget(store, 100_000)
    with Provider(settings.connection("main"), settings, budget, sleep=lambda _seconds: None) as provider:
        yield provider


def switch_on(running: RunningSandbox, *, name: str, probability: float, **options: Any) -> None:
    with Steer(running.url) as steer:
        steer.switch_on(name, probability, **options)


def ids_at_the_provider(running: RunningSandbox) -> set[str]:
    """Read the sandbox's own log."""
    log = running.world.logs["test"]
    return {event.envelope()["id"] for event in log.newest_first(None, None, after=None)}


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "fault",
    [
        {"name": "server-error", "probability": 0.3},
        {"name": "rate-limit", "probability": 0.3, "retry_after": "seconds"},
        {"name": "rate-limit", "probability": 0.3, "retry_after": "date"},
        {"name": "truncated", "probability": 0.3},
        {"name": "wrong-type", "probability": 0.3},
        {"name": "reset", "probability": 0.2},
        {"name": "duplicate-page", "probability": 0.5},
        {"name": "empty-page", "probability": 0.5},
        {"name": "pruned-cursor", "probability": 0.3},
        {"name": "insert-while-paging", "probability": 0.5},
        {"name": "slow", "probability": 0.1, "seconds": 0.05},
    ],
    ids=lambda fault: "-".join(str(value) for value in fault.values() if isinstance(value, str)),
)
def test_a_backfill_is_whole_whatever_goes_wrong(
    installation: Installation, provider: Provider, running: RunningSandbox, fault: dict[str, Any]
) -> None:
    """With a third of the answers broken in one way, every event of the log is kept and the ledger is closed."""
    switch_on(running, **fault)
    outcome = read_log(installation, provider)
    assert outcome.status is Completion.DONE, outcome.lines
    assert stored(installation) == ids_at_the_provider(running)
    with installation.store.reading() as session:
        assert complete_until(session, "main", "events") == datetime(2026, 10, 1, 2, 59, tzinfo=UTC)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("is_tied", [False, True], ids=["late", "late, and in the same second as others"])
def test_late_events_are_found_by_the_overlap(
    installation: Installation,
    provider: Provider,
    running: RunningSandbox,
    is_tied: bool,  # noqa: FBT001 - a parameter
) -> None:
    """Events that the list shows minutes late are kept by the runs that follow, ties and all."""
    switch_on(running, name="late-visible", probability=0.5, seconds=1800)
    if is_tied:
        switch_on(running, name="tie", probability=0.5)
    assert read_log(installation, provider).complete
    for _ in range(8):
        running.world.advance(timedelta(minutes=45))
        assert read_log(installation, provider).complete
    with Steer(running.url) as steer:
        steer.switch_off()
    running.world.advance(timedelta(minutes=45))
    assert read_log(installation, provider).complete
    settled = running.world.now() - timedelta(seconds=60)
    log = running.world.logs["test"].newest_first(None, settled, after=None)
    assert {event.envelope()["id"] for event in log} <= stored(installation)


def test_everything_the_provider_lists_is_kept(
    installation: Installation, provider: Provider, running: RunningSandbox
) -> None:
    """Every stream is complete, every table holds what the sandbox holds, and every payout's items are counted."""
    outcome = read_streams(installation, provider, STREAMS.values())
    assert outcome.status is Completion.DONE, outcome.lines
    world = running.world
    with installation.store.reading() as session:
        for name, kind in (
            ("payouts", "payout"),
            ("refunds", "refund"),
            ("customers", "customer"),
            ("transfer_batches", "transfer_batch"),
        ):
            held = session.execute(sa.select(sa.func.count()).select_from(KINDS[kind].table)).scalar_one()
            assert held == len(list(world.collection("test", name).newest_first())), name
        kept = {(item.payout_id, item.resource_id) for item in session.exec(select(PayoutItem))}
        counts = session.exec(select(PayoutCount)).all()
    listed = {(payout, item["resource"]) for payout, some in world.payout_items.items() for item in some}
    assert kept == listed
    assert all(count.announced == count.kept for count in counts)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", ["server-error", "truncated", "reset", "duplicate-page", "empty-page"])
def test_pulls_are_whole_whatever_goes_wrong(
    installation: Installation, provider: Provider, running: RunningSandbox, name: str
) -> None:
    """With a fifth of the answers broken, payouts and their items end as without."""
    switch_on(running, name=name, probability=0.2)
    outcome = read_streams(installation, provider, [STREAMS["payouts"], STREAMS["refunds"]])
    assert outcome.status is Completion.DONE, outcome.lines
    listed = {item["resource"] for some in running.world.payout_items.values() for item in some}
    with installation.store.reading() as session:
        assert {item.resource_id for item in session.exec(select(PayoutItem))} == listed


def test_the_commands_tell_what_is_complete(run: Run) -> None:
    """`backfill` and `pull` print a row a stream and exit 0; `gaps` then has nothing to show."""
    read = run(backfill, "--json")
    assert read.exit_code == 0, read.output
    line = json.loads(read.stdout)
    assert (line["connection"], line["stream"], line["state"], line["reason"]) == ("main", "events", "complete", None)
    pulled = run(pull, "payouts", "refunds", "payouts", "--json")
    assert [json.loads(line)["stream"] for line in pulled.stdout.splitlines()] == ["payouts", "refunds"]
    assert run(gaps, "--json", "--check").exit_code == 0
    assert run(gaps, "--json").stdout == ""


def test_gaps_are_listed_with_their_reason(run: Run, running: RunningSandbox) -> None:
    """A key refused in mid-run makes exit 3, and `gaps` lists the window under the stream's name."""
    switch_on(running, name="key-refused", probability=1.0, path="/v1/refunds")
    assert run(pull, "payouts", "refunds").exit_code == 3
    listed = run(gaps, "--json", "--check")
    assert listed.exit_code == 3
    (gap,) = map(json.loads, listed.stdout.splitlines())
    assert list(gap) == ["connection", "stream", "from", "to", "state", "pages", "events", "reason"]
    assert (gap["connection"], gap["stream"], gap["from"], gap["state"]) == ("main", "refunds", None, "failed")
    assert gap["reason"].startswith("GET /v1/refunds: the provider answered 401 invalid_api_key (request ")


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_a_wrong_key_is_exit_one(run: Run, installation: Installation, settings: Settings) -> None:
    """A key that the provider refuses at the start does nothing, for backfill and pull alike."""
    main = settings.connection("main").model_copy(update={"api_key": SecretStr("sk_test_of_somebody_else")})
    settings._by_name["main"] = main
    assert run(backfill).exit_code == 1
    assert run(pull, "payouts").exit_code == 1
    with installation.store.reading() as session:
        assert [gap.stream for gap in unclosed_windows(session)] == ["payouts"]


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("words", [("--since", "2026-10-02", "--until", "2026-10-01"), ("--since", "yesterday")])
def test_a_range_that_is_none_is_wrong_usage(run: Run, words: tuple[str, ...]) -> None:
    """A reversed range or a word that is no date is exit 2."""
    assert run(backfill, *words).exit_code == 2
    assert run(pull, "payouts", *words).exit_code == 2


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_an_unknown_stream_is_wrong_usage(run: Run) -> None:
    """A stream that does not exist is exit 2 and the names are listed."""
    refused = run(pull, "payout")
    assert refused.exit_code == 2
    assert "payouts" in refused.output
