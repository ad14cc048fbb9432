"""Closed periods: what they refuse, what later facts add beside them, and how they are opened again."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pytest
from click.testing import Result

from tests.merchant import rows_of

if TYPE_CHECKING:
    from tests.reconcile.conftest import Prepare, World

Call = Callable[..., Result]
CLOSE = ("periods", "close", "--to", "2026-09-10", "--as-of", "2026-09-10", "--reason", "month end", "--author", "ana")


@pytest.fixture
def closed(world: "World", call: Call, prepare: "Prepare") -> "World":
    """One payment of Thursday 10 September without a document, in a payout; then the day is closed."""
    prepare("closed day", lambda: _close_day(world, call))
    return world


def _close_day(world: "World", call: Call) -> str:
    world.payment("pi_1", 1190)
    world.payout("po_1", 1174, ("payment_intent", "pi_1", 1190))
    world.invoice("7", 1190, order_ref="PED-1", due_date=date(2026, 10, 30))
    world.invoice("8", 500, issue_date=date(2026, 9, 11), due_date=date(2026, 10, 30))
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    closing = call(*CLOSE)
    assert closing.exit_code == 0
    return closing.output


def _decide(call: Call, *words: str) -> Result:
    return call(*words, "--reason", "they called", "--author", "luis")


@pytest.mark.usefixtures("closed")
def test_a_closed_period_refuses_decisions(call: Call) -> None:
    """A payment of its days and a document issued in them are decided about no more; later ones are."""
    for words in (("match", "pi_1", "cl:33::7"), ("unmatch", "pi_1"), ("decline", "pi_1", "cl:33::8"),
                  ("adjust", "cl:33::7", "--type", "write_off"), ("adjust", "pi_1", "--type", "other")):  # fmt: skip
        refused = _decide(call, *words)
        assert refused.exit_code == 1
        assert "belongs to the days up to 2026-09-10, which ana closed: cuadre periods reopen" in refused.stderr
    assert _decide(call, "adjust", "cl:33::8", "--type", "discount", "--amount", "50").exit_code == 0


def test_a_later_payment_of_a_document_of_closed_days_may_be_decided(closed: "World", call: Call) -> None:
    """Collecting an old invoice is work of today."""
    closed.payment("pi_2", 1190, succeeded_at=datetime(2026, 9, 11, 15, tzinfo=UTC))
    assert _decide(call, "match", "pi_2", "cl:33::7").exit_code == 0


def test_later_facts_become_adjustment_lines(closed: "World", call: Call) -> None:
    """The closed figure stays, the line beside it says what it was and is; a further run adds nothing."""
    closed.refund("re_1", 90, "pi_1", succeeded_at=datetime(2026, 9, 11, 15, tzinfo=UTC))
    closed.invoice("9", 77, issue_date=date(2026, 9, 9), due_date=date(2026, 10, 30))
    call("reconcile", "--as-of", "2026-09-11")
    lines = rows_of(call("periods", "show", "1", "--json"))
    assert [(line["kind"], line["subject"], line["before"], line["after"]) for line in lines] == [
        ("document", "cl:33::9", "", "total 77, currency CLP"),
    ]
    closed.payment("pi_3", 5, succeeded_at=datetime(2026, 9, 9, 15, tzinfo=UTC))
    call("reconcile", "--as-of", "2026-09-11")
    call("reconcile", "--as-of", "2026-09-12")
    lines = rows_of(call("periods", "show", "1", "--json"))
    assert [line["subject"] for line in lines] == ["cl:33::9", "payment_intent pi_3"]
    assert lines[1]["after"] == "amount 5, no_document"


@pytest.mark.usefixtures("closed")
def test_the_same_facts_add_nothing(call: Call) -> None:
    """A quiet day after closing leaves no line."""
    call("reconcile", "--as-of", "2026-09-11")
    assert rows_of(call("periods", "show", "1", "--json")) == []


@pytest.mark.usefixtures("closed")
def test_a_reopened_period_takes_decisions_and_keeps_its_history(call: Call) -> None:
    """Who closed and who opened stays written, and the days can be closed again."""
    assert call("periods", "reopen", "--reason", "wrong invoice", "--author", "eva").exit_code == 0
    assert _decide(call, "match", "pi_1", "cl:33::7").exit_code == 0
    assert call(*CLOSE).exit_code == 0
    rows = rows_of(call("periods", "list", "--json"))
    assert [(row["state"], row["closed_by"], row["reopened_by"], row["reopened_for"]) for row in rows] == [
        ("closed", "ana", "", ""),
        ("reopened", "ana", "eva", "wrong invoice"),
    ]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (CLOSE, "the days up to 2026-09-10 are closed already"),
        (("periods", "close", "--to", "2026-09-12", "--as-of", "2026-09-11", "--reason", "x"),
         "a run as of 2026-09-11 stands for no later day: close up to 2026-09-11 at the latest"),
        (("periods", "show", "99"), "there is no period 99 in connection main: cuadre periods list"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("closed")
def test_what_cannot_be_closed_says_why(call: Call, words: tuple[str, ...], reason: str) -> None:
    """Neither twice nor before its end."""
    result = call(*words)
    assert result.exit_code == 1
    assert reason in result.stderr


@pytest.mark.usefixtures("closed")
def test_a_running_day_is_not_closed(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """What still comes today belongs to it, whatever day the run is asked for."""
    today, noon = "2026-10-08", datetime(2026, 10, 8, 15, tzinfo=UTC)
    monkeypatch.setattr("reconcile.commands.decisions.utc_now", lambda: noon)
    for words in ((), ("--as-of", "2099-12-31")):
        result = call("periods", "close", "--to", today, "--reason", "x", *words)
        assert result.exit_code == 1
        assert f"{today} is not over yet: close up to 2026-10-07 at the latest" in result.stderr


def test_incomplete_data_closes_nothing(world: "World", call: Call) -> None:
    """Days with a gap cannot be closed."""
    world.payment("pi_1", 1190)
    result = call(*CLOSE)
    assert result.exit_code == 1
    assert "the data of 2026-09-10 is incomplete (DATA_GAP): a period is closed on complete data only" in result.stderr
    unasked = call(*CLOSE[:4], "--reason", "x")
    assert unasked.exit_code == 1
    assert "the data is not complete up to today (DATA_GAP): complete it, or close with --as-of" in unasked.stderr
    assert call("periods", "reopen", "--reason", "x").exit_code == 1
