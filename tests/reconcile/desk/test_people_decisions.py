"""People's decisions: signed, checked against what is known, refused when stale, never lost."""

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pytest
from sqlmodel import Session, select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.desk import decisions
from reconcile.desk.decisions import DecisionError, Pair, Signature
from reconcile.reading.frames import read_inputs
from reconcile.tables.desk import Decision, ExceptionRow

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

AT = datetime(2026, 9, 11, 12, tzinfo=UTC)
ANA = Signature("ana", "they called", AT)
PAIR = Pair("main", "pi_1", "cl:33::7")


@pytest.fixture
def desk(world: "World") -> "World":
    world.payment("pi_1", 1000)
    world.invoice("7", 1190)
    world.invoice("8", 500, status="void")
    world.invoice("9", 500, currency="USD")
    world.keep(
        ExceptionRow(
            connection="main", id="e1", code="AMOUNT_DIFF", severity="medium", subject="resource:pi_1", title="t",
            opened_on=date(2026, 9, 10), last_seen_on=date(2026, 9, 11), amount_at_risk=190, currency="CLP",
            state="open", run_first="r1", run_last="r1",
        )
    )  # fmt: skip
    return world


def _kinds(installation: Installation, main: Connection) -> list[tuple[str, str]]:
    with installation.store.reading() as session:
        frame = read_inputs(
            session, main, installation.settings, as_of=date(2026, 9, 11), now=datetime(2026, 9, 11, 15, tzinfo=UTC)
        ).decisions
    return list(zip(frame["kind"], frame["doc_key"], strict=True))


def _row(session: Session) -> ExceptionRow:
    return session.exec(select(ExceptionRow)).one()


def test_a_match_reaches_the_next_run(desk: "World", installation: Installation, main: Connection) -> None:
    """What a person decided is an input of every later run."""
    with desk.store.transaction() as session:
        decision = decisions.match(session, PAIR, ANA, amount=900)
    assert (decision.author, decision.reason, decision.amount) == ("ana", "they called", 900)
    assert _kinds(installation, main) == [("match", "cl:33::7")]


def test_what_was_decided_can_be_taken_back(desk: "World", installation: Installation, main: Connection) -> None:
    """A separation that is withdrawn holds nothing any longer, and both stay written with their authors."""
    with desk.store.transaction() as session:
        separation = decisions.unmatch(session, PAIR, ANA)
    with (
        desk.store.transaction() as session,
        pytest.raises(DecisionError, match="decided about pi_1 and cl:33::7 meanwhile"),
    ):
        decisions.withdraw(session, PAIR, ANA, seen=0)
    with desk.store.transaction() as session:
        taken_back = decisions.withdraw(session, PAIR, ANA, seen=separation.id)
    assert _kinds(installation, main) == []
    with desk.store.reading() as session:
        assert decisions.standing(session, PAIR) == []
        undone = {row.kind: row.undone_by for row in session.exec(select(Decision))}
    assert undone == {"unmatch": taken_back.id, "withdraw": taken_back.id}


def test_nothing_is_taken_back_twice(desk: "World") -> None:
    """Where no decision about the pair holds, one sentence says so; one about another document is not touched."""
    with desk.store.transaction() as session:
        decisions.unmatch(session, Pair("main", "pi_1"), ANA)
    with desk.store.transaction() as session, pytest.raises(DecisionError, match="there is nothing to take back"):
        decisions.withdraw(session, PAIR, ANA)
    with desk.store.transaction() as session:
        decisions.withdraw(session, Pair("main", "pi_1"), ANA)
        decisions.match(session, PAIR, ANA, seen=0)


def test_a_later_decision_about_a_pair_replaces_the_earlier(
    desk: "World", installation: Installation, main: Connection
) -> None:
    """The earlier one stays written and no longer counts."""
    with desk.store.transaction() as session:
        decisions.match(session, PAIR, ANA)
        second = decisions.unmatch(session, PAIR, ANA)
    assert _kinds(installation, main) == [("unmatch", "cl:33::7")]
    with desk.store.reading() as session:
        undone = {row.kind: row.undone_by for row in session.exec(select(Decision))}
    assert undone == {"match": second.id, "unmatch": None}


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (Pair("main", "pi_9", "cl:33::7"), "no payment pi_9"),
        (Pair("main", "pi_1", "cl:33::70"), "no document cl:33::70"),
        (Pair("other", "pi_1", "cl:33::7"), "connection other"),
        (Pair("main", "pi_1", "cl:33::8"), "void"),
        (Pair("main", "pi_1", "cl:33::9"), "USD"),
    ],
)
def test_a_match_must_be_possible(desk: "World", pair: Pair, words: str) -> None:
    """Unknown things, void documents and other currencies are refused with the reason."""
    with pytest.raises(DecisionError, match=words), desk.store.transaction() as session:
        decisions.match(session, pair, ANA)


def test_a_match_is_not_larger_than_its_payment(desk: "World") -> None:
    """An amount beyond the payment is refused, and so is none at all."""
    for amount in (1001, 0, -5):
        with pytest.raises(DecisionError, match="at most that of pi_1"), desk.store.transaction() as session:
            decisions.match(session, PAIR, ANA, amount=amount)


@pytest.mark.both_databases
def test_who_decides_on_what_others_changed_is_refused(desk: "World") -> None:
    """A person who saw no decision about a payment cannot decide over one that was made meanwhile."""
    with desk.store.transaction() as session:
        first = decisions.match(session, PAIR, ANA, seen=0)
    with pytest.raises(DecisionError, match="meanwhile"), desk.store.transaction() as session:
        decisions.unmatch(session, PAIR, ANA, seen=0)
    with desk.store.transaction() as session:
        decisions.unmatch(session, PAIR, ANA, seen=first.id)


def test_a_decision_needs_author_and_reason(desk: "World") -> None:
    """A decision needs a name and a reason, and is not made twice."""
    for signed in (Signature(" ", "why", AT), Signature("ana", "", AT)):
        with pytest.raises(DecisionError, match="needs"), desk.store.transaction() as session:
            decisions.decline(session, PAIR, signed)
    with desk.store.transaction() as session:
        decisions.decline(session, PAIR, ANA)
    with pytest.raises(DecisionError, match="stands already"), desk.store.transaction() as session:
        decisions.decline(session, PAIR, ANA)


def test_an_adjustment_is_about_one_thing(desk: "World", installation: Installation, main: Connection) -> None:
    """A document's difference, or a payment that needs no document, but not both."""
    with pytest.raises(DecisionError, match="one document or one payment"), desk.store.transaction() as session:
        decisions.adjust(session, PAIR, ANA)
    with desk.store.transaction() as session:
        decisions.adjust(session, Pair("main", doc_key="cl:33::7"), ANA, amount=190)
    assert _kinds(installation, main) == [("adjust", "cl:33::7")]


def test_edits_of_an_exception_are_versioned_and_remembered(desk: "World") -> None:
    """Owner, note and resolution each raise the version and leave a line of history."""
    with desk.store.transaction() as session:
        decisions.assign(session, "main", "e1", ANA, owner="luis", version=1)
        decisions.note(session, "main", "e1", ANA, text="asked the bank", version=2)
        row = decisions.resolve(session, "main", "e1", ANA, on=date(2026, 9, 11), version=3)
    assert (row.owner, row.note, row.state, row.resolution, row.version) == (
        "luis", "asked the bank", "resolved", "they called", 4,
    )  # fmt: skip
    with desk.store.reading() as session:
        changes = [(change.change, change.before, change.after) for change in decisions.history(session, "main", "e1")]
    assert changes == [
        ("owner", "", "luis"),
        ("note", "", "asked the bank"),
        ("state", "open", "resolved"),
        ("resolved_on", "", "2026-09-11"),
        ("resolution", "", "they called"),
    ]


def test_an_exception_that_moved_on_is_not_edited(desk: "World") -> None:
    """An older version, an unknown id and a second resolution are refused and change nothing."""
    with desk.store.transaction() as session:
        decisions.resolve(session, "main", "e1", ANA, on=date(2026, 9, 11))
    with pytest.raises(DecisionError, match="changed meanwhile"), desk.store.transaction() as session:
        decisions.assign(session, "main", "e1", ANA, owner="eva", version=1)
    with pytest.raises(DecisionError, match="no exception e2"), desk.store.transaction() as session:
        decisions.assign(session, "main", "e2", ANA, owner="eva")
    with pytest.raises(DecisionError, match="resolved"), desk.store.transaction() as session:
        decisions.resolve(session, "main", "e1", ANA, on=date(2026, 9, 12))
    with desk.store.reading() as session:
        assert (_row(session).owner, _row(session).version) == ("", 2)
