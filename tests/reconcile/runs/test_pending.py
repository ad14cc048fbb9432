"""What pending decisions will change is what the next run publishes, for random trade and random decisions."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import Result
from sqlmodel import Session, col, select

from consumer.facts.installation import Connection, Installation
from reconcile.desk import decisions
from reconcile.desk.decisions import DecisionError, Pair, Signature
from reconcile.desk.ties import tie
from reconcile.kept import chunks, extracts
from reconcile.kept.records import last_run, read_summary
from reconcile.runs import comparison, pending
from reconcile.runs.pending import Pending, find_pending
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import Run
from reports.queries.standing import find_payouts
from tests.thoroughness import for_run

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

Call = Callable[..., Result]
TODAY = date(2026, 9, 20)
NOW = datetime(2026, 9, 20, 12, tzinfo=UTC)
PAYMENTS, DOCUMENTS = 8, 6
# What opens later names the run that opens it.
RUNS = {"run_first", "run_last"}


def _trade(world: "World", random: Random) -> None:
    """Payments and documents of two customers with few amounts, some named by their key: all is rivalry."""
    for number in range(DOCUMENTS):
        world.invoice(
            str(number), random.choice([1000, 2000, 3000]), order_ref=f"PED-{number}",
            customer_tax_id=f"1111111{number % 2}-{number % 2}", due_date=date(2026, 9, 10 + number),
        )  # fmt: skip
    items = []
    for number in range(PAYMENTS):
        amount = random.choice([1000, 2000, 3000, 990])
        is_named, customer = random.random() < 0.5, f"1111111{number % 2}-{number % 2}"
        body = {"metadata": {"order_ref": f"PED-{random.randrange(DOCUMENTS)}"}} if is_named else {}
        world.payment(f"pi_{number}", amount, body=body, sender_tax_id=None if is_named else customer)
        items.append(("payment_intent", f"pi_{number}", amount))
    paid = sum(item[2] for item in items) - 100
    world.payout("po_1", paid, *items)
    world.bank_file("00012345678", (date(2026, 9, 11), paid), (date(2026, 9, 11), paid), (date(2026, 9, 18), paid - 50))
    world.complete(datetime(2026, 9, 21, 6, tzinfo=UTC))


def _decide(session: Session, random: Random, at: datetime) -> None:
    """Take one decision of any kind; what cannot be decided is left."""
    signed = Signature("ana", "a reason", at)
    payment, document = f"pi_{random.randrange(PAYMENTS)}", f"cl:33::{random.randrange(DOCUMENTS)}"
    pair, alone = Pair("main", payment, document), Pair("main", doc_key=document)
    take: list[Callable[[], Any]] = [
        lambda: decisions.match(session, pair, signed),
        lambda: decisions.match(session, pair, signed, amount=500),
        lambda: decisions.unmatch(session, random.choice([pair, Pair("main", payment)]), signed),
        lambda: decisions.decline(session, pair, signed),
        lambda: decisions.adjust(session, alone, signed, amount=random.choice([None, 100])),
        lambda: decisions.adjust(session, Pair("main", payment), signed),
        *[lambda: tie(session, Pair("main", "po_1", f"line_{random.randrange(3)}"), signed, today=TODAY)] * 3,
    ]
    about = (Pair("main", payment), alone, Pair("main", "po_1"))
    standing = [one for pair in about for one in decisions.standing(session, pair)]
    if standing and random.random() < 0.5:
        one = random.choice(standing)
        decisions.withdraw(session, Pair("main", one.resource_id, one.doc_key), signed)
        return
    try:
        with session.begin_nested():
            random.choice(take)()
    except DecisionError:
        pass


def _look(installation: Installation, main: Connection) -> tuple[Run, Pending | None]:
    with installation.store.reading() as session:
        run = last_run(session, "main", today=TODAY)
        assert run is not None
        return run, find_pending(session, installation, main, run, now=NOW)


def _check(installation: Installation, said: Pending, before: Run) -> None:
    """Compare what was said with what the newest run published."""
    with installation.store.reading() as session:
        after = last_run(session, "main", today=TODAY)
        assert after is not None
        assert after.number == before.number + 1
        made = [
            (one.kind, one.subject, one.before, one.after)
            for one in comparison.diff(session, installation.settings.files_dir, before, after)
        ]
        assert [(one.kind, one.subject, one.before, one.after) for one in said.changes] == made
        for doc_key, row in said.documents.items():
            assert chunks.find_document(session, after, doc_key) == row
        lines = extracts.read(session, after, chunks.BANK)
        brought = dict(zip(lines["movement_id"].to_pylist(), lines["payout_id"].to_pylist(), strict=True))
        assert {line: brought[line] for line in said.bank} == dict(said.bank)
        for payout_id, row in said.payouts.items():
            assert find_payouts(session, [after], {payout_id})[payout_id] == {**row, "connection": "main"}
        for item, rows in said.lines.items():
            assert list(chunks.find_lines(session, after, "resource_id", item)) == list(rows)
        assert read_summary(after)["value_at_risk"] == said.at_risk
        listed = {
            row.id: row for row in session.scalars(select(ExceptionRow).where(col(ExceptionRow.connection) == "main"))
        }
        for row in said.list_opening():
            assert {name: getattr(listed[row["id"]], name) for name in row.keys() - RUNS} == {
                name: row[name] for name in row.keys() - RUNS
            }
        for identity, columns in said.changed.items():
            own = listed[identity]
            said_of = {name: value for name, value in columns.items() if name != "run_last"}
            assert {name: getattr(own, name) for name in said_of} == said_of


@pytest.mark.both_databases
@pytest.mark.parametrize("seed", range(for_run(short=2, full=60)))
def test_pending_is_what_the_next_run_publishes(
    seed: int, world: "World", call: Call, installation: Installation, main: Connection
) -> None:
    """Documents, items, payouts, exceptions and the total at risk; decisions and runs take turns."""
    random = Random(seed)  # noqa: S311 - repeatable trade
    _trade(world, random)
    assert call("reconcile", "--as-of", TODAY).exit_code == 0
    for turn in range(2):
        before, nothing = _look(installation, main)
        assert nothing is None
        with installation.store.transaction() as session:
            for number in range(random.randint(1, 3)):
                _decide(session, random, datetime.now(UTC) + timedelta(seconds=turn, milliseconds=number))
        before, said = _look(installation, main)
        if said is None:
            continue
        assert said.is_known
        assert call("reconcile", "--as-of", TODAY).exit_code == 0
        _check(installation, said, before)


@pytest.fixture
def decided(world: "World", call: Call, installation: Installation) -> Installation:
    """A payment that two documents could be for, which a person matched with one of them after the run."""
    world.payment("pi_1", 1000)
    world.payout("po_1", 990, ("payment_intent", "pi_1", 1000))
    world.invoice("7", 1000)
    world.invoice("8", 1000)
    world.complete(datetime(2026, 9, 21, 6, tzinfo=UTC))
    assert call("reconcile", "--as-of", TODAY).exit_code == 0
    with installation.store.transaction() as session:
        decisions.match(session, Pair("main", "pi_1", "cl:33::7"), Signature("ana", "seen", datetime.now(UTC)))
    return installation


def test_a_match_shows_before_the_run(decided: Installation, main: Connection) -> None:
    """The document is paid, its exception and the payment's go, and who decided is named."""
    _, said = _look(decided, main)
    assert said is not None
    assert [(one.kind, one.author, one.doc_key) for one in said.decisions] == [("match", "ana", "cl:33::7")]
    assert said.documents["cl:33::7"]["outcome"] == "paid"
    assert [row["doc_key"] for row in said.lines["pi_1"]] == ["cl:33::7"]
    assert said.payouts["po_1"]["matched_count"] == 1
    assert "cl:33::8" not in said.documents


def test_what_is_taken_back_before_the_run_leaves_nothing_pending(decided: Installation, main: Connection) -> None:
    """Deciding and undoing it between two runs changes nothing."""
    with decided.store.transaction() as session:
        decisions.withdraw(session, Pair("main", "pi_1", "cl:33::7"), Signature("eva", "no", datetime.now(UTC)))
    assert _look(decided, main)[1] is None


def test_a_connection_too_large_to_work_it_out_says_so(
    decided: Installation, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decision is named, and no figure is."""
    monkeypatch.setattr(pending, "MOST_ROWS", 1)
    monkeypatch.setattr(pending, "_judged", type(pending._judged)())
    _, said = _look(decided, main)
    assert said is not None
    assert not said.is_known
    assert [one.kind for one in said.decisions] == ["match"]
    assert (said.documents, said.changes) == ({}, ())
