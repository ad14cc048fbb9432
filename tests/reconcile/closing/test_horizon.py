"""What a run leaves unread of closed days: the rows it judges are those that a run over everything finds open."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from pandas import DataFrame
from sqlmodel import col

from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from reconcile.closing import freezing
from reconcile.closing.horizon import drop_horizon
from reconcile.closing.standing import describe_horizon
from reconcile.desk.decisions import Signature
from reconcile.rules.inputs import Result
from reconcile.runs.close_period import reopen_period
from reconcile.runs.run import RunOutcome, run
from reconcile.tables.closing import FrozenRow, Horizon
from tests.reconcile.closing.histories import History
from tests.thoroughness import IS_FULL

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

ANA, BRUNO = "11111111-1", "22222222-2"
# A history takes six seconds of processor.
SEEDS = range(200) if IS_FULL else range(1)


@pytest.fixture
def bounded(installation: Installation) -> Installation:
    """The installation with its horizon on."""
    return replace(installation, settings=installation.settings.model_copy(update={"horizon": True}))


@pytest.mark.both_databases
@pytest.mark.parametrize("seed", SEEDS)
def test_a_bounded_run_judges_what_a_whole_one_finds_open(
    world: "World", bounded: Installation, main: Connection, seed: int
) -> None:
    """At any moment of any history both have the same name, and no row is lost between what is judged and frozen."""
    history = History(world, Random(seed))  # noqa: S311 - repeatable trade
    world.complete(datetime(2026, 12, 1, 6, tzinfo=UTC))
    left_out = 0
    for _ in range(3):
        for _ in range(4):
            history.trade()
        history.close(bounded, main, history.day - timedelta(days=history.random.randrange(1, 4)))
        history.trade()
        frozen = run(bounded, main, as_of=history.day)
        assert frozen.is_new
        history.age()
        for _ in range(2):
            for _ in range(history.random.randrange(1, 5)):
                history.happen()
            history.trade()
            left_out += check(bounded, main, history.day)
    assert left_out > 0


@pytest.mark.parametrize(("text", "outcome"), [("pago factura 1047", "no_document"), ("pago factura 1048", "matched")])
def test_a_number_that_closed_documents_leave_out_speaks_against_others(
    world: "World", bounded: Installation, main: Connection, text: str, outcome: str
) -> None:
    """A bounded run knows which numbers the documents it does not read bear, and says the same as one of everything."""
    history = History(world, Random(1))  # noqa: S311 - repeatable trade
    world.complete(datetime(2026, 12, 1, 6, tzinfo=UTC))
    for folio in range(1031, 1063):
        if folio != 1047:
            history.issue(str(folio), 1000 + folio, rut=BRUNO, order="")
            history.pay(f"pi_{folio}", 1000 + folio, {"metadata": {"folio": str(folio)}}, BRUNO)
    history.pay_out(at_bank=True)
    history.day += timedelta(days=3)
    history.close(bounded, main, history.day - timedelta(days=1))
    history.day += timedelta(days=1)
    assert run(bounded, main, as_of=history.day).is_new
    history.age()
    history.issue("2200", 50_000, rut=ANA, order="")
    history.pay("pi_open", 50_000, {"comment": text}, ANA)
    own, free = results_of(*(run(one, main, as_of=history.day, dry_run=True)
                             for one in (bounded, without_horizon(bounded))))  # fmt: skip
    assert len(free.lines) - len(own.lines) >= 30
    for result in (own, free):
        (line,) = result.lines[result.lines["resource_id"] == "pi_open"].to_dict("records")
        assert line["outcome"] == outcome


def test_a_document_that_takes_the_order_of_a_closed_one_is_its_rival(
    world: "World", bounded: Installation, main: Connection
) -> None:
    """The closed payment names both from now on, so it is judged again and says what a run of everything says."""
    history = History(world, Random(1))  # noqa: S311 - repeatable trade
    world.complete(datetime(2026, 12, 1, 6, tzinfo=UTC))
    for number in ("1", "2"):
        history.issue(number, 5000, rut=ANA, order=f"PED-{number}")
        history.pay(f"pi_{number}", 5000, {"metadata": {"order_ref": f"PED-{number}"}}, ANA)
    history.pay_out(at_bank=True)
    history.day += timedelta(days=3)
    history.close(bounded, main, history.day - timedelta(days=1))
    history.day += timedelta(days=1)
    assert run(bounded, main, as_of=history.day).is_new
    history.age()
    history.issue("3", 7000, rut=ANA, order="PED-1")
    own, free = results_of(*(run(one, main, as_of=history.day, dry_run=True)
                             for one in (bounded, without_horizon(bounded))))  # fmt: skip
    assert (len(own.lines), len(free.lines)) == (1, 2)
    for result in (own, free):
        (line,) = result.lines[result.lines["resource_id"] == "pi_1"].to_dict("records")
        assert (line["outcome"], line["match_rule"]) == ("matched", "key:order_ref:equal")


def test_a_period_that_is_reopened_is_judged_again_aloud(
    world: "World", bounded: Installation, main: Connection
) -> None:
    """What was frozen of its days holds no longer: the run reads everything and says why."""
    history = History(world, Random(2))  # noqa: S311 - repeatable trade
    world.complete(datetime(2026, 12, 1, 6, tzinfo=UTC))
    for _ in range(4):
        history.trade()
    history.close(bounded, main, history.day - timedelta(days=1))
    history.trade()
    assert describe_horizon(bounded, main) == (False, "nothing is frozen yet, everything is judged")
    assert run(bounded, main, as_of=history.day).is_new
    assert run(bounded, main, as_of=history.day, dry_run=True).doubt is None
    assert describe_horizon(bounded, main) == (True, "closed days up to 2026-03-05 are left out; layers: 1")
    signed = Signature("ana", "late facts", datetime(2026, 3, 10, 20, tzinfo=UTC))
    reopen_period(bounded, main, signed)
    history.close(bounded, main, history.day - timedelta(days=3))
    found = run(bounded, main, as_of=history.day, dry_run=True)
    assert found.doubt == Message("run.whole_reopened")
    assert describe_horizon(bounded, main) == (False, str(found.doubt))
    assert describe_horizon(without_horizon(bounded), main) is None
    assert found.run_id == run(without_horizon(bounded), main, as_of=history.day, dry_run=True).run_id


def test_a_horizon_that_another_run_froze_meanwhile_stays(
    world: "World", bounded: Installation, main: Connection
) -> None:
    """A run freezes in place of the horizon it read, and of no other."""
    history = History(world, Random(1))  # noqa: S311 - repeatable trade
    world.complete(datetime(2026, 12, 1, 6, tzinfo=UTC))
    for back in (2, 1):
        for _ in range(4):
            history.trade()
        history.close(bounded, main, history.day - timedelta(days=back))
        history.trade()
        if back == 2:
            assert run(bounded, main, as_of=history.day).is_new
            history.age()

    def freeze_meanwhile(step: Message) -> None:
        if step.code == "run.freezing":
            with world.store.transaction() as session:
                session.execute(sa.update(Horizon).values(run_id="another", claimed_by="another"))

    assert run(bounded, main, as_of=history.day, watch=freeze_meanwhile).is_new
    with world.store.reading() as session:
        assert session.scalar(sa.select(col(Horizon.run_id))) == "another"


def check(installation: Installation, main: Connection, day: date) -> int:
    """Compare a bounded run with a whole one and with one of everything; return how many items it left out."""
    found = run(installation, main, as_of=day, dry_run=True)
    whole = run(installation, main, as_of=day, dry_run=True, whole=True)
    assert not whole.differs
    assert whole.run_id == found.run_id
    everything = run(without_horizon(installation), main, as_of=day, dry_run=True)
    own, free = results_of(found, everything)
    for name, key in (("lines", ["resource_type", "resource_id"]), ("documents", ["doc_key"])):
        judged, all_rows = (keys_of(getattr(one, name), key) for one in (own, free))
        assert judged <= all_rows
        assert all_rows - judged <= frozen_keys(installation, name)
    return len(free.lines) - len(own.lines)


def keys_of(frame: DataFrame, names: list[str]) -> set[str]:
    rows = frame if "resource_type" not in frame else frame[frame["resource_type"] != "dispute"]
    return set(rows[names].fillna("").agg(" ".join, axis=1)) if len(rows) else set()


def frozen_keys(installation: Installation, name: str) -> set[str]:
    kind = "item" if name == "lines" else "document"
    with installation.store.reading() as session:
        rows = (
            session.execute(sa.select(FrozenRow).where(col(FrozenRow.kind) == kind, col(FrozenRow.cell) > 0))
            .scalars()
            .all()
        )
    return {f"{row.part.rpartition(' ')[2]} {row.key}".strip() for row in rows}


def results_of(*outcomes: RunOutcome) -> list[Result]:
    found = [one.result for one in outcomes if one.result is not None]
    assert len(found) == len(outcomes)
    return found


def without_horizon(installation: Installation) -> Installation:
    return replace(installation, settings=installation.settings.model_copy(update={"horizon": False}))


def test_a_horizon_that_is_dropped_while_a_run_freezes_stands_no_more(
    world: "World", bounded: Installation, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The freezing that was under way ends without effect, and the next run judges everything."""
    history, inner = History(world, Random(5)), freezing._Freezing.write_layer  # noqa: S311 - repeatable trade

    def drop_first(self: freezing._Freezing, frozen: DataFrame, result: Result) -> str:
        with self.store.transaction() as session:
            drop_horizon(session, "main")
        return inner(self, frozen, result)

    world.complete(datetime(2026, 12, 1, 6, tzinfo=UTC))
    for _ in range(4):
        history.trade()
    history.close(bounded, main, history.day - timedelta(days=2))
    history.trade()
    monkeypatch.setattr(freezing._Freezing, "write_layer", drop_first)
    assert run(bounded, main, as_of=history.day).is_new
    with world.store.reading() as session:
        assert session.get_one(Horizon, "main").basis == ""
