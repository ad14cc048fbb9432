"""The mirror against the provider: seeded differences are all found, none is invented, and repair mends them."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from sqlmodel import select

from consumer.commands.sync import drift
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.tables.provider import Customer, PaymentIntent, Payout, PayoutItem, Refund
from consumer.facts.tables.sync import Drift
from consumer.facts.tables.types import core_of
from consumer.inbox.apply import drain
from consumer.provider.client import Provider, open_provider
from consumer.sync.backfill import read_log
from consumer.sync.drift import DriftOutcome, compare_streams
from consumer.sync.pull import STREAMS, read_streams
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from tests.merchant import settings_of

Run = Callable[..., Result]


one_database = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
busy = pytest.mark.parametrize("running", ["busy-month"], indirect=True)


@pytest.fixture
def running(request: pytest.FixtureRequest) -> Iterator[RunningSandbox]:
    """A provider with two quiet days of trade, or the month that a test asks for."""
    with RunningSandbox(getattr(request, "param", "quiet"), scale=0.5) as running:
        yield running


@pytest.fixture
def settings(running: RunningSandbox, tmp_path: Path) -> Settings:
    with Steer(running.url) as steer:
        tokens = steer.credentials()["link_tokens"]
    return settings_of(running.url, tmp_path, link_tokens=",".join(tokens))


@pytest.fixture
def provider(installation: Installation) -> Iterator[Provider]:
    with open_provider(installation, installation.settings.connection("main")) as provider:
        yield provider


@pytest.fixture
def mirrored(installation: Installation, provider: Provider) -> Installation:
    """An installation that has read every event and every list, and applied all of it."""
    assert read_log(installation, provider).complete
    drain(installation.store, installation.settings, worker="test")
    assert read_streams(installation, provider, STREAMS.values()).complete
    return installation


def found(outcome: DriftOutcome) -> set[tuple[str, str, str, str | None]]:
    return {(stream, difference.id, difference.kind.value, difference.field) for stream, difference in outcome.found}


def some_id(installation: Installation, table: type[Payout | PaymentIntent | Refund | Customer]) -> str:
    """Pick the newest object of a table."""
    with installation.store.reading() as session:
        core = core_of(table)
        return str(session.execute(sa.select(core.c.id).order_by(core.c.created_at.desc()).limit(1)).scalar_one())


@one_database
@busy
def test_nothing_is_invented(mirrored: Installation, provider: Provider) -> None:
    """After backfill, apply and pull the mirror and the provider do not differ in anything."""
    outcome = compare_streams(mirrored, provider, STREAMS.values(), days=40, repair=False)
    assert outcome.complete, outcome.lines
    assert found(outcome) == set()


@busy
def test_seeded_differences_are_found_and_mended(mirrored: Installation, provider: Provider) -> None:
    """A lost row, a changed column or body, a row that never was, one wrongly gone: each by name, and mended."""
    payout, intent, refund, customer = (some_id(mirrored, table) for table in (Payout, PaymentIntent, Refund, Customer))
    with mirrored.store.transaction() as session:
        session.execute(sa.delete(Refund).where(sa.column("id") == refund))
        session.execute(sa.update(Payout).where(sa.column("id") == payout).values(amount=1))
        body = json.loads(session.get_one(PaymentIntent, ("main", intent)).body)
        body["status"] = "made_up"
        session.execute(
            sa.update(PaymentIntent)
            .where(sa.column("id") == intent)
            .values(body=json.dumps(body), status="made_up", version_at=datetime(2026, 12, 1, tzinfo=UTC))
        )
        gone = datetime(2026, 12, 1, tzinfo=UTC)
        session.execute(sa.update(Customer).where(sa.column("id") == customer).values(gone_at=gone))
        twin = session.get_one(Payout, ("main", payout)).model_dump() | {"id": "po_made_up"}
        twin["body"] = json.dumps(json.loads(twin["body"]) | {"id": "po_made_up"})
        session.add(Payout(**twin))
    outcome = compare_streams(mirrored, provider, STREAMS.values(), days=40, repair=False)
    assert found(outcome) == {
        ("refunds", refund, "missing_here", None),
        ("payouts", payout, "differs", "amount"),
        ("payouts", "po_made_up", "missing_there", None),
        ("payment-intents", intent, "differs", "status"),
        ("customers", customer, "missing_here", None),
    }
    mended = compare_streams(mirrored, provider, STREAMS.values(), days=40, repair=True)
    assert mended.left == 0
    assert mended.complete
    again = compare_streams(mirrored, provider, STREAMS.values(), days=40, repair=False)
    assert found(again) == set()
    with mirrored.store.reading() as session:
        assert session.get_one(Payout, ("main", "po_made_up")).gone_at is not None
        assert session.execute(sa.select(sa.func.count()).select_from(Drift)).scalar_one() == 0


def test_what_a_settled_payout_carries_is_compared_too(mirrored: Installation, provider: Provider) -> None:
    """An item lost here, one with another amount and one that never was: each under its payout, and mended."""
    asked = (
        "SELECT payout_id, resource_id, payout_item.amount FROM payout_item JOIN payout ON payout.id = payout_id "
        "WHERE status = 'succeeded' AND resource_type = 'payment_intent' ORDER BY payout_id, resource_id LIMIT 2"
    )
    with mirrored.store.transaction() as session:
        (payout, lost, paid), (_, changed, true) = map(tuple, session.execute(sa.text(asked)))
        mine = sa.column("payout_id") == payout
        twin = session.get_one(PayoutItem, ("main", payout, "payment_intent", changed)).model_dump()
        session.add(PayoutItem(**twin | {"resource_id": "pi_made_up"}))
        session.execute(sa.update(PayoutItem).where(mine, sa.column("resource_id") == changed).values(amount=1))
        session.execute(sa.delete(PayoutItem).where(mine, sa.column("resource_id") == lost))
    outcome = compare_streams(mirrored, provider, [STREAMS["payouts"]], days=60, repair=True)
    assert {difference.id for _, difference in outcome.found} == {payout}
    assert {one.field: (one.ours, one.theirs) for _, one in outcome.found} == {
        f"payment_intent {lost}": ("null", f'{{"amount": {paid}, "currency": "CLP"}}'),
        f"payment_intent {changed}": ('{"amount": 1, "currency": "CLP"}', f'{{"amount": {true}, "currency": "CLP"}}'),
        "payment_intent pi_made_up": (f'{{"amount": {true}, "currency": "CLP"}}', "null"),
    }
    assert (outcome.complete, outcome.left) == (True, 0)
    assert found(compare_streams(mirrored, provider, [STREAMS["payouts"]], days=60, repair=False)) == set()


class _TakesTheKeyAway(httpx.BaseTransport):
    """Answers one payout by itself and refuses the key from the next one on."""

    def __init__(self) -> None:
        self._inner, self._single = httpx.HTTPTransport(), 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self._single += path.startswith("/v1/payouts/") and not path.endswith("/resources")
        if self._single > 1:
            return httpx.Response(401, json={"error": {"code": "invalid_api_key"}}, request=request)
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


@one_database
@busy
def test_a_repair_that_is_cut_short_leaves_what_was_found(mirrored: Installation) -> None:
    """Of two changed payouts one is mended; the other stays on record and counts as left, and the run as incomplete."""
    with mirrored.store.transaction() as session:
        newest = sa.text("SELECT id FROM payout ORDER BY created_at DESC LIMIT 2")
        ids = set(session.execute(newest).scalars())
        session.execute(sa.update(Payout).where(sa.column("id").in_(ids)).values(amount=1))
    connection = mirrored.settings.connection("main")
    with open_provider(mirrored, connection, transport=_TakesTheKeyAway()) as provider:
        outcome = compare_streams(mirrored, provider, [STREAMS["payouts"]], days=40, repair=True)
    assert not outcome.complete
    assert outcome.left == 1
    assert {id_ for _, id_, _, _ in found(outcome)} == ids
    with mirrored.store.reading() as session:
        kept = {drift.id: drift.repaired_at for drift in session.exec(select(Drift))}
    assert set(kept) == ids
    assert sum(repaired is None for repaired in kept.values()) == 1


@one_database
def test_the_command_prints_raw_values_and_exits_by_what_is_asked(mirrored: Installation) -> None:
    """`drift` exits 0 on findings, 3 with --check, 0 after --repair; the differences stay for the report."""
    payout = some_id(mirrored, Payout)
    with mirrored.store.transaction() as session:
        true = session.get_one(Payout, ("main", payout)).amount
        session.execute(sa.update(Payout).where(sa.column("id") == payout).values(amount=1))

    def run(*words: str) -> Result:
        return CliRunner().invoke(drift, [*words, "--json"], obj=lambda: mirrored)

    first = run()
    assert first.exit_code == 0, first.output
    assert "main: payouts: complete, 1 compared, 1 difference" in first.stderr
    assert json.loads(first.stdout) == {
        "connection": "main",
        "stream": "payouts",
        "id": payout,
        "kind": "differs",
        "field": "amount",
        "ours": "1",
        "theirs": str(true),
    }
    assert run("--check").exit_code == 3
    assert run("--repair").exit_code == 0
    with mirrored.store.reading() as session:
        kept = session.get_one(Drift, ("main", "payouts", payout, "amount"))
    assert kept.repaired_at is not None
    assert run("--check").stdout == ""


@one_database
def test_what_changed_at_the_provider_is_found(
    mirrored: Installation, provider: Provider, running: RunningSandbox
) -> None:
    """Trade that goes on without our hearing of it is missing or different here, until a pull brings it."""
    running.world.advance(timedelta(days=1))
    behind = compare_streams(mirrored, provider, [STREAMS["payouts"]], days=7, repair=False)
    assert found(behind)
    assert read_streams(mirrored, provider, [STREAMS["payouts"]]).complete
    assert found(compare_streams(mirrored, provider, [STREAMS["payouts"]], days=7, repair=False)) == set()
