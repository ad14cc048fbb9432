"""A payout tied to a line of the bank by hand: what it needs, what refuses it, and what runs make of it."""

import json
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from click.testing import Result
from sqlmodel import Session, select

from consumer.facts.clock import day_start
from reconcile.desk.decisions import DecisionError, Pair, Signature
from reconcile.desk.ties import tie
from reconcile.tables.closing import Period
from reconcile.tables.desk import Decision

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

Call = Callable[..., Result]
ACCOUNT = "00012345678"
LATE = date(2026, 9, 25)


@pytest.fixture
def bank(world: "World", call: Call) -> "World":
    """Two payouts, of which the first came alone; the second's money came late and short, on one of two lines."""
    world.payment("pi_1", 1000)
    world.payout("po_1", 1000, ("payment_intent", "pi_1", 1000))
    world.payment("pi_2", 5000)
    world.payout("po_2", 5000, ("payment_intent", "pi_2", 5000))
    world.payout("po_3", 7000, status="in_progress", succeeded_at=None)
    world.bank_file(ACCOUNT, (date(2026, 9, 11), 1000), (LATE, 4900), (LATE, 4950), (LATE, 900))
    world.complete(datetime(2026, 9, 29, 6, tzinfo=UTC))
    assert call("reconcile", "--as-of", "2026-09-28").exit_code == 0
    return world


def _tie(call: Call, payout: str, line: str, *more: str, verb: str = "match") -> Result:
    return call(verb, payout, line, "--reason", "the bank confirmed it", "--author", "ana", *more)


def _payout(call: Call, payout: str) -> dict[str, str]:
    answer = call("report", "payout-summary", "--format", "csv", "--out", "-")
    assert answer.exit_code == 0, answer.output
    header, *rows = (line.split(",") for line in answer.stdout.splitlines())
    return next(row for cells in rows if (row := dict(zip(header, cells, strict=True)))["payout_id"] == payout)


def test_a_tie_decides_every_later_run_until_it_is_taken_back(bank: "World", call: Call) -> None:
    """The line brings the payout, what the bank kept is an exception of that size, and the lines name the person."""
    del bank
    assert _payout(call, "po_2")["status_recon"] == "open"
    answer = _tie(call, "po_2", "line_1", "--json")
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["kind"] == "tie"
    call("reconcile", "--as-of", "2026-09-28")
    row = _payout(call, "po_2")
    assert (row["bank_movement_id"], row["bank_difference"]) == ("line_1", "-100")
    assert "BANK_AMOUNT_DIFF" in call("exceptions", "list").output
    lines = call("report", "bank-lines", "--format", "csv", "--out", "-").stdout
    assert "po_2,ana,the bank confirmed it,line_1,main" in lines
    assert _tie(call, "po_2", "line_1", verb="withdraw").exit_code == 0
    call("reconcile", "--as-of", "2026-09-28")
    assert _payout(call, "po_2")["bank_movement_id"] == ""


def test_what_cannot_be_is_refused_in_a_sentence(bank: "World", call: Call) -> None:
    """The line is taken, too far off or unknown, the payout did not succeed: nothing is written."""
    for payout, line, more, says in [
        ("po_2", "line_0", (), "the line already brought the payout po_1; take that back first"),
        ("po_1", "line_0", (), "the line already brought the payout po_1"),
        ("po_2", "line_3", (), "the line brought 900 CLP and the payout is 5000 CLP: they may differ by 10 % at most"),
        ("po_3", "line_1", (), "po_3 has not succeeded"),
        ("po_2", "line_9", (), "the newest reconciliation shows no line line_9 of the bank"),
        ("po_2", "line_1", ("--amount", "10"), "leave --amount out"),
        ("po_9", "line_1", (), "po_9"),
    ]:
        answer = _tie(call, payout, line, *more)
        assert answer.exit_code != 0, payout
        assert says in answer.output, payout
        with bank.store.reading() as session:
            assert session.exec(select(Decision)).all() == [], payout


def test_a_second_person_finds_line_and_payout_taken(bank: "World", call: Call) -> None:
    """Both are named by what holds them; one who undoes the tie may tie anew before any run."""
    del bank
    assert _tie(call, "po_2", "line_1").exit_code == 0
    assert "po_2 is tied to another line, by ana; take that back first" in _tie(call, "po_2", "line_2").output
    call("reconcile", "--as-of", "2026-09-28")
    assert _tie(call, "po_2", "line_1", verb="withdraw").exit_code == 0
    assert _tie(call, "po_2", "line_2").exit_code == 0


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_of_two_people_at_once_one_has_the_line(bank: "World") -> None:
    """The second waits for the first, and then finds the line taken."""
    bank.payment("pi_4", 5000)
    bank.payout("po_4", 5000, ("payment_intent", "pi_4", 5000))
    ana = Signature("ana", "the bank confirmed it", datetime(2026, 9, 29, 7, tzinfo=UTC))

    def tie_in_turn() -> Decision:
        with bank.store.transaction() as session:
            return tie(session, Pair("main", "po_4", "line_1"), ana, today=date(2026, 9, 28))

    with ThreadPoolExecutor(1) as pool:
        with bank.store.transaction() as session:
            tie(session, Pair("main", "po_2", "line_1"), ana, today=date(2026, 9, 28))
            second = pool.submit(tie_in_turn)
            _wait_for_turn(bank, second)
        with pytest.raises(DecisionError, match="the line already brought the payout po_2"):
            second.result(180)


def _wait_for_turn(world: "World", asked: Future[Decision]) -> None:
    waiting = sa.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    until = time.monotonic() + 180
    while not asked.done():
        with world.store.reading() as session:
            if session.scalar(waiting):
                return
        assert time.monotonic() < until, "it waits for no turn"
        time.sleep(0.02)


def _close(session: Session, until: date) -> None:
    session.add(Period(
        connection="main", since=None, until=until, ends_at=day_start(until, "America/Santiago"), run_id="r",
        reason="month", closed_by="eva", closed_at=datetime(2026, 9, 28, tzinfo=UTC),
    ))  # fmt: skip


def test_a_line_of_closed_days_is_refused(bank: "World", call: Call) -> None:
    """A payout of closed days may be tied to a line that came after them, as the entry of the bank is the line's."""
    with bank.store.transaction() as session:
        _close(session, date(2026, 9, 24))
    assert _tie(call, "po_2", "line_1").exit_code == 0
    with bank.store.transaction() as session:
        _close(session, LATE)
    answer = _tie(call, "po_2", "line_1", verb="withdraw")
    assert (
        "po_2 and line_1 belongs to the days" in answer.output
        or "belongs to the days up to 2026-09-25" in answer.output
    )
