"""Which streams a run reads, taken from what it asks of the database, and a run while one of them fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

import app
from consumer.facts.installation import Installation
from consumer.facts.settings import Connection, Settings
from consumer.facts.store import Store
from consumer.facts.tables.provider import AccountMovement, AccountNumber, AccountStatement, LinkAccount, LinkMovement
from consumer.facts.tables.sync import Window
from consumer.facts.tables.types import core_of
from consumer.facts.work import Completion
from consumer.provider.budget import Budget
from consumer.provider.client import Provider
from consumer.provider.rows import KINDS
from consumer.sync.backfill import read_log
from consumer.sync.pull import STREAMS as PULLED
from consumer.sync.pull import read_streams
from reconcile.kept.snapshots import Scope
from reconcile.rules.streams import ITEMS_STREAM, STREAMS
from reconcile.runs import run as runs
from reconcile.runs.run import RunOutcome
from reconcile.tables.desk import ExceptionRow
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from tests.merchant import settings_of
from tests.observing import take_snapshot

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

# Tables whose rows a stream brings.
STREAM_OF = {
    "event": "events",
    "payout_item": ITEMS_STREAM,
    "payout_count": ITEMS_STREAM,
    **{str(KINDS[stream.kind].table.__tablename__): name for name, stream in PULLED.items()},
}
SQLITE_READ = 20
NOON = datetime(2026, 9, 10, 15, tzinfo=UTC)


@contextmanager
def read_tables(database: sa.Connection) -> Iterator[set[str]]:
    """Give the tables that SQLite itself says it reads for this connection."""
    found: set[str] = set()

    def note(action: int, table: str | None, *_: Any) -> int:
        if action == SQLITE_READ and table:
            found.add(table)
        return 0

    driver: Any = database.connection.dbapi_connection
    driver.set_authorizer(note)
    yield found
    driver.set_authorizer(None)


def streams_of(tables: set[str]) -> set[str]:
    return {STREAM_OF[table] for table in tables if table in STREAM_OF}


@pytest.fixture
def trade(large_trade: "World") -> "World":
    """Payouts that arrive in a business account and in a linked one, so that both are looked into."""
    fixed: dict[str, Any] = {"connection": "main", "mode": "test", "currency": "CLP", "version_at": NOON, "body": "{}"}
    linked = fixed | {"body": '{"number": "00012345678"}'}
    large_trade.keep(
        AccountNumber(id="acno_1", account_id="acc_1", number="00012345678", **fixed),
        AccountMovement(id="mv_1", account_id="acc_1", direction="inbound", amount=1, **fixed),
        LinkAccount(id="la_1", **linked),
        LinkMovement(id="lm_1", account_id="la_1", status="confirmed", amount=1, **fixed),
    )
    return large_trade


@pytest.mark.usefixtures("trade")
@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_every_stream_a_run_reads_is_in_the_gate(installation: Installation, main: Connection) -> None:
    """A reader of one more table brings its stream into the gate's table; accounts say whose movements there are."""
    with installation.store.reading() as session, read_tables(session.connection()) as tables:
        take_snapshot(session, installation, main, as_of=date(2026, 9, 11), scope=Scope())
    assert streams_of(tables) | {"accounts"} == set(STREAMS)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_a_reader_of_a_further_table_would_be_noticed(installation: Installation) -> None:
    """What finds the streams sees a table that no run reads today, and that the gate does not know."""
    with installation.store.reading() as session, read_tables(session.connection()) as tables:
        session.connection().execute(sa.select(core_of(AccountStatement))).all()
    assert streams_of(tables) - set(STREAMS) == {"account-statements"}


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_the_cut_reads_again_what_the_night_could_not(installation: Installation, main: Connection) -> None:
    """A failed list of customers would keep the run after the cut incomplete; what no run reads can wait."""
    failed: dict[str, Any] = {"connection": "main", "until": NOON, "state": "failed", "opened_at": NOON}
    with installation.store.transaction() as session:
        session.add_all([Window(stream=name, **failed) for name in ("customers", "tax-returns")])
    assert app.cut_streams(installation, main) == [
        "payouts", "payment-intents", "charges", "refunds", "disputes", "customers", "transfers", "account-movements",
    ]  # fmt: skip


@pytest.fixture
def running() -> Iterator[RunningSandbox]:
    with RunningSandbox("busy-month", scale=0.3) as running:
        yield running


@pytest.fixture
def provider(running: RunningSandbox, store: Store, tmp_path: Path) -> Iterator[Provider]:
    """A client that does not sleep between its retries."""
    settings: Settings = settings_of(running.url, tmp_path)
    with Provider(settings.connection("main"), settings, Budget(store, 100_000), sleep=lambda _: None) as provider:
        yield provider


def night(installation: Installation, provider: Provider, as_of: date) -> RunOutcome:
    """Read everything, whatever comes of it, and reconcile."""
    read_log(installation, provider)
    read_streams(installation, provider, PULLED.values())
    return runs.run(installation, provider.connection, as_of=as_of)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_a_night_without_movements_calls_no_payout_absent(
    installation: Installation, provider: Provider, running: RunningSandbox
) -> None:
    """Days after the movements stopped coming, the new payouts are incomplete and none is called missing."""
    whole = night(installation, provider, date(2026, 10, 1))
    assert whole.complete
    with installation.store.reading() as session:
        account = session.scalars(sa.select(AccountMovement.account_id).limit(1)).one()  # type: ignore[call-overload]
    with Steer(running.url) as steer:
        steer.advance(4 * 24 * 60 * 60)
        steer.switch_on("server-error", 1.0, path=f"/v2/accounts/{account}/movements")
    short = night(installation, provider, date(2026, 10, 5))
    assert short.result is not None
    assert [one.subject for one in short.result.findings if one.code == "DATA_GAP"] == ["stream:account-movements"]
    assert "PAYOUT_NOT_IN_BANK" not in short.summary["exceptions"]
    assert short.status is Completion.PARTLY_DONE
    standing = short.result.payouts.set_index("payout_id")["status_recon"].value_counts().to_dict()
    assert standing["incomplete"] == 2


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_what_a_gap_withholds_stays_on_the_work_list(
    installation: Installation, provider: Provider, running: RunningSandbox
) -> None:
    """A run without transfers says nothing of those that went back, and what a run before said of them stays open."""
    opened = night(installation, provider, date(2026, 10, 1)).summary["exceptions"]["TRANSFER_RETURNED"]
    with Steer(running.url) as steer:
        steer.switch_on("server-error", 1.0, path="/v1/transfers")
    short = night(installation, provider, date(2026, 10, 1))
    assert "TRANSFER_RETURNED" not in short.summary["exceptions"]
    assert short.result is not None
    gaps = [one.subject for one in short.result.findings if one.code == "DATA_GAP"]
    # At the provider, accounts and the movements they name lie below that path too.
    assert gaps == ["stream:account-movements", "stream:accounts", "stream:transfers"]
    with installation.store.reading() as session:
        rows = session.scalars(sa.select(ExceptionRow).where(ExceptionRow.code == "TRANSFER_RETURNED")).all()  # type: ignore[arg-type]
    assert [row.state for row in rows] == ["open"] * opened
