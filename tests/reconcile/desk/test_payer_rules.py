"""Rules about payers: proposed from decisions, accepted by a person, weighed each night, sent back when wrong."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from click.testing import Result as Answer

from consumer.facts.approvals import ApprovalNeededError
from consumer.facts.installation import Approvals, Installation
from consumer.facts.settings import Connection
from reconcile.desk import decisions, payers
from reconcile.desk.decisions import DecisionError, Pair, Signature
from reconcile.desk.learning import bound_errors, is_contradicted
from reconcile.desk.payers import Learned, RuleState
from reconcile.kept import chunks
from reconcile.kept.records import find_run, last_run
from reconcile.runs.close_period import close_period
from reconcile.runs.pending import Pending, find_pending
from reconcile.runs.run import run
from tests.merchant import rows_of

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

ANA, BRUNO = "11111111-1", "22222222-2"
DAY = date(2026, 9, 11)
AT = datetime(2026, 9, 11, 12, tzinfo=UTC)
EVA = Signature("eva", "the owner's own RUT", AT)
ALONE = Approvals()
Reconciled = Callable[[], str]


@pytest.fixture
def trade(world: "World") -> "World":
    """Bruno pays five documents of Ana's; people matched two of the payments, and no one else's speak of it."""
    world.complete(datetime(2026, 9, 12, 12, tzinfo=UTC))
    for number in range(1, 6):
        amount = 10_000 + number
        world.invoice(str(number), amount, customer_tax_id=ANA, customer_name="Ana")
        world.payment(f"pi_{number}", amount, customer_tax_id=BRUNO)
    for number in (1, 2):
        _match(world, number)
    return world


def _match(world: "World", number: int) -> None:
    with world.store.transaction() as session:
        decisions.match(session, Pair("main", f"pi_{number}", f"cl:33::{number}"), EVA)


def _reconcile(installation: Installation, main: Connection) -> str:
    return run(installation, main, as_of=DAY).run_id


def _learn(installation: Installation, run_id: str, now: datetime = AT) -> Learned:
    with installation.store.reading() as session:
        row = find_run(session, "main", run_id)
    return payers.learn(installation, "main", row, error_bps=50, now=now)


def _decide(installation: Installation, to: RuleState, *, version: int | None = None, at: datetime = AT) -> None:
    signed = Signature("eva", "as they said", at)
    with installation.store.transaction() as session:
        payers.decide(session, "main", 1, to, signed, approvals=ALONE, version=version)


def _find_pending(installation: Installation, main: Connection) -> Pending | None:
    with installation.store.reading() as session:
        newest = last_run(session, "main", today=DAY)
        assert newest is not None
        return find_pending(session, installation, main, newest, now=datetime.now(UTC))


def _line(installation: Installation, run_id: str, payment: str) -> tuple[str, str]:
    with installation.store.reading() as session:
        row = find_run(session, "main", run_id)
        assert row is not None
        (line,) = chunks.find_lines(session, row, "resource_id", payment)
    return str(line["outcome"]), str(line["match_stage"])


@pytest.mark.both_databases
def test_a_rule_is_proposed_accepted_and_used(trade: "World", installation: Installation, main: Connection) -> None:
    """Two matches make a proposal with evidence; it changes nothing until it is accepted, then the next run uses it."""
    del trade
    first = _reconcile(installation, main)
    (rule,) = _learn(installation, first).proposed
    assert (rule.kind, rule.subject, rule.object, rule.state) == ("payer", BRUNO, ANA, "proposed")
    assert (rule.right_count, rule.wrong_count, rule.open_count) == (2, 0, 3)
    assert _reconcile(installation, main) == first
    assert _line(installation, first, "pi_3") == ("no_document", "none")
    assert _find_pending(installation, main) is None
    _decide(installation, RuleState.ACCEPTED, at=datetime.now(UTC))
    waiting = _find_pending(installation, main)
    assert waiting is not None
    assert [(one.rule_id, one.after) for one in waiting.rules] == [(1, "accepted")]
    assert [line["match_stage"] for line in waiting.lines["pi_3"]] == ["payer"]
    second = _reconcile(installation, main)
    assert second != first
    assert _find_pending(installation, main) is None
    assert _line(installation, second, "pi_3") == ("matched", "payer")
    assert _line(installation, second, "pi_1") == ("matched", "manual")
    _decide(installation, RuleState.REVOKED)
    third = _reconcile(installation, main)
    assert third not in (first, second)
    assert _line(installation, third, "pi_3") == ("no_document", "none")


def test_explain_names_the_rule(
    trade: "World", installation: Installation, main: Connection, call: Callable[..., Answer]
) -> None:
    """The customers of a payment and its document differ, and the test says by which rule they agree."""
    del trade
    _learn(installation, _reconcile(installation, main))
    _decide(installation, RuleState.ACCEPTED, at=datetime.now(UTC))
    _reconcile(installation, main)
    facts = rows_of(call("explain", "pi_3", "--json"))
    compared = {row["fact"]: row["value"] for row in facts if row["about"] == "compared with cl:33::3 (applied)"}
    said = "holds: payment 22222222-2 (counts as 11111111-1 by payers' rule #1), document 11111111-1"
    assert (compared["customer"], compared["first_failed"]) == (said, "none")


@pytest.mark.both_databases
def test_two_people_accept_at_once(trade: "World", installation: Installation, main: Connection) -> None:
    """Of two acceptances at the same time one holds and the other has to look again; history has one line of it."""
    del trade
    _learn(installation, _reconcile(installation, main))

    def accept(_: int) -> str:
        try:
            _decide(installation, RuleState.ACCEPTED, version=1)
        except DecisionError as error:
            return error.message.code
        return "done"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(accept, range(2))) == ["done", "payers.changed_since_seen"]
    with installation.store.reading() as session:
        states = [(one.before, one.after) for one in payers.history(session, 1)]
    assert states == [("", "proposed"), ("proposed", "accepted")]


def test_contradictions_send_a_rule_back(trade: "World", installation: Installation, main: Connection) -> None:
    """Once people undo what the rule matched it goes back to the proposals, and the next run no longer uses it."""
    _learn(installation, _reconcile(installation, main))
    _decide(installation, RuleState.ACCEPTED)
    _reconcile(installation, main)
    later = Signature("eva", "that was another sale", AT + timedelta(days=1))
    with trade.store.transaction() as session:
        for number in (3, 4):
            decisions.unmatch(session, Pair("main", f"pi_{number}", f"cl:33::{number}"), later)
    found = _learn(installation, _reconcile(installation, main), AT + timedelta(days=1))
    assert [(rule.id, rule.state) for rule in found.sent_back] == [(1, "sent_back")]
    with installation.store.reading() as session:
        last = payers.history(session, 1)[-1]
        waiting = [rule.state for rule in payers.list_to_decide(session, ["main"])]
    assert (last.before, last.after, last.author) == ("accepted", "sent_back", "cuadre")
    assert waiting == ["sent_back"]
    assert _line(installation, _reconcile(installation, main), "pi_5") == ("no_document", "none")


def test_closed_days_are_not_touched(trade: "World", installation: Installation, main: Connection) -> None:
    """A rule accepted after days were closed leaves their payments alone, and reaches those that come later."""
    _learn(installation, _reconcile(installation, main))
    close_period(installation, main, until=date(2026, 9, 10), as_of=DAY, signed=EVA)
    _decide(installation, RuleState.ACCEPTED)
    trade.invoice("6", 20_000, customer_tax_id=ANA)
    trade.payment("pi_6", 20_000, customer_tax_id=BRUNO, succeeded_at=AT)
    run_id = _reconcile(installation, main)
    assert _line(installation, run_id, "pi_3") == ("no_document", "none")
    assert _line(installation, run_id, "pi_6") == ("matched", "payer")


def test_a_rejected_rule_is_not_proposed_again(trade: "World", installation: Installation, main: Connection) -> None:
    """What a person turned down stays so, whatever later decisions have in common."""
    run_id = _reconcile(installation, main)
    _learn(installation, run_id)
    _decide(installation, RuleState.REJECTED)
    _match(trade, 3)
    assert _learn(installation, _reconcile(installation, main)).proposed == []
    with pytest.raises(DecisionError, match="rule 1 is rejected"):
        _decide(installation, RuleState.REVOKED)


def test_a_second_person_is_asked(trade: "World", installation: Installation, main: Connection) -> None:
    """Where the settings ask for a second person, one alone cannot accept a rule, and it stays a proposal."""
    del trade
    _learn(installation, _reconcile(installation, main))
    with pytest.raises(ApprovalNeededError), installation.store.transaction() as session:
        payers.decide(session, "main", 1, RuleState.ACCEPTED, EVA, approvals=Approvals(payers=True))
    with installation.store.reading() as session:
        assert payers.find(session, "main", 1).state == "proposed"


def test_order_numbers_in_comments_are_proposed(world: "World", installation: Installation, main: Connection) -> None:
    """What people matched by a number in the comment becomes a pattern, which then names other orders."""
    world.complete(datetime(2026, 9, 12, 12, tzinfo=UTC))
    for number in (101, 102, 103):
        world.invoice(str(number), 5000, order_ref=f"ORD-{number}", customer_tax_id=ANA)
        world.payment(f"pi_{number}", 2000, texts=f"compra ord-{number}")
    for number in (101, 102):
        _match(world, number)
    (rule,) = _learn(installation, _reconcile(installation, main)).proposed
    assert (rule.kind, rule.subject, rule.object, rule.right_count, rule.open_count) == (
        "pattern", "ORD-###", "order_ref", 2, 1,
    )  # fmt: skip
    _decide(installation, RuleState.ACCEPTED)
    assert _line(installation, _reconcile(installation, main), "pi_103") == ("partial", "key")


def test_commands_list_preview_and_accept(
    trade: "World", installation: Installation, main: Connection, call: Callable[..., Answer]
) -> None:
    """The commands propose, show what a rule would alter, and accept it."""
    del trade
    _reconcile(installation, main)
    assert "1 proposal, 1 rule weighed, 0 sent back" in call("payers", "propose").output
    assert call("payers", "list").output.splitlines()[-1].split()[:6] == ["main", "1", "payer", BRUNO, ANA, "proposed"]
    shown = call("payers", "preview", 1)
    assert "matched" in shown.output
    assert f"{BRUNO} pays for {ANA}: " in shown.output
    assert "accepted" in call("payers", "accept", 1, "--reason", "their holding", "--author", "eva").output
    refused = call("payers", "accept", 1, "--reason", "again")
    assert (refused.exit_code, "rule 1 is accepted" in refused.output) == (1, True)
    assert "connection main has no rule 9 about payers" in call("payers", "preview", 9).output


@pytest.mark.parametrize(("wrong", "right", "bound"), [(0, 0, 1.0), (0, 10, 0.2624), (0, 820, 0.0050), (1, 99, 0.0643)])
def test_bounds_of_errors(wrong: int, right: int, bound: float) -> None:
    """Without evidence nothing is excluded; 820 right ones without an error prove half a percent."""
    assert bound_errors(wrong, right, 0.005) == pytest.approx(bound, abs=0.0001)


@pytest.mark.parametrize(
    ("wrong", "right", "is_so"), [(0, 5, False), (1, 0, True), (1, 9, False), (2, 8, True), (5, 995, False)]
)
def test_contradictions_beyond_the_setting(wrong: int, right: int, is_so: bool) -> None:  # noqa: FBT001 - a case's answer
    """One error at once or two in ten prove more than half a percent; one in ten, or five in a thousand, do not."""
    assert is_contradicted(wrong, right, 0.005) is is_so
