"""A run of a day to come answers a question and changes nothing of what everybody sees."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from click.testing import Result

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.kept import records
from tests.merchant import rows_of

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

Call = Callable[..., Result]


@pytest.fixture
def trade(world: "World") -> "World":
    world.payment("pi_1", 777)
    world.payout("po_1", 770, ("payment_intent", "pi_1", 777))
    world.complete(datetime(2026, 9, 11, 6, tzinfo=UTC))
    return world


@pytest.mark.usefixtures("trade")
def test_a_future_run_does_not_lead_the_terminal(call: Call) -> None:
    """What explains and ages is the run of the latest day that has come; the later one must be asked for by name."""
    (now,) = rows_of(call("reconcile", "--as-of", "2026-09-11", "--json"))
    ahead = call("reconcile", "--as-of", "2099-01-05")
    assert ahead.exit_code == 3
    assert "no data reaches 2099-01-05 yet: of this run the work list takes only DATA_GAP" in ahead.stderr
    assert {row["run_id"] for row in rows_of(call("explain", "pi_1", "--json"))} == {now["run_id"]}
    aged = {row["code"]: row["age_business_days"] for row in rows_of(call("exceptions", "list", "--json"))}
    # The payment is of the day before.
    assert aged == {"PAYMENT_NO_INVOICE": 1, "DATA_GAP": 0}
    assert {row["run_id"] for row in rows_of(call("explain", "pi_1", "--run", "2", "--json"))} != {now["run_id"]}


@pytest.mark.usefixtures("trade")
def test_where_every_run_is_ahead_the_latest_leads(call: Call, installation: Installation, main: Connection) -> None:
    """A demo's days may all be ahead of this machine's clock."""
    for day in ("2026-09-10", "2026-09-11"):
        call("reconcile", "--as-of", day)
    with installation.store.reading() as session:
        days = {
            today: records.last_run(session, main.name, today=today)
            for today in (date(2026, 9, 10), date(2026, 9, 11), date(2026, 9, 10) - timedelta(days=30))
        }
    assert [run.as_of.day for run in days.values() if run] == [10, 11, 11]


@pytest.mark.usefixtures("trade")
def test_gaps_say_which_stream_and_since_when(call: Call) -> None:
    """Six rows of one code are six streams."""
    call("reconcile", "--as-of", "2026-12-25")
    listed = call("exceptions", "list").stdout
    assert "refunds, since 2026-09-11T06:00:00Z" in listed
    assert "payouts, since 2026-09-11T06:00:00Z" in listed
    gap = next(row for row in rows_of(call("exceptions", "list", "--json")))
    shown = call("exceptions", "show", gap["exception_id"]).stdout
    assert "evidence: gaps" in shown
    assert "{" not in shown
    assert rows_of(call("exceptions", "show", gap["exception_id"], "--json"))[0]["subject"].startswith("stream:")
