"""A run is published once, whole, and is the same for the same content."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from sqlmodel import Session, select

from consumer.facts.bankdays import calendar_of
from consumer.facts.installation import Installation
from consumer.facts.messages import Message
from consumer.facts.settings import Connection
from consumer.facts.tables.provider import Transfer
from consumer.facts.work import Completion
from consumer.jobs.ticks import CanceledError
from reconcile.desk import decisions
from reconcile.kept import chunks, records
from reconcile.rules.pipeline import UnbalancedError
from reconcile.runs.narrowing import UnknownPayoutError
from reconcile.runs.run import RunOutcome, run
from reconcile.tables.desk import ExceptionChange, ExceptionRow
from reconcile.tables.runs import PayoutResult, Run, RunFinding

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

AS_OF = date(2026, 9, 11)
DAY_IS_OVER = datetime(2026, 9, 12, 4, 0, tzinfo=UTC)


@pytest.fixture
def month(world: "World") -> "World":
    world.payment("pi_1", 1000)
    world.payment("pi_2", 500)
    world.payout("po_1", 984, ("payment_intent", "pi_1", 1000))
    world.invoice("7", 1190)
    world.complete(DAY_IS_OVER)
    return world


def _rows(installation: Installation, table: Any) -> list[Any]:
    with installation.store.reading() as session:
        return list(session.exec(select(table)))


def _run(installation: Installation, main: Connection, rules: Any, **values: Any) -> RunOutcome:
    return run(installation, main, **({"as_of": AS_OF, "rules": rules} | values))


@pytest.mark.both_databases
@pytest.mark.usefixtures("month")
def test_a_run_writes_its_rows_together(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any], finding: Callable[..., Any]
) -> None:
    """Payouts, lines in transit too, documents, findings and exceptions appear with the run."""
    rules = tiny_rules(finding("PAYMENT_NO_INVOICE", "resource:pi_1", 1000, resource_id="pi_1"))
    outcome = _run(installation, main, rules)
    assert (outcome.status, outcome.complete, outcome.number) == (Completion.DONE, True, 1)
    found = outcome.summary
    assert (found["payouts"], found["payouts_closed"], found["exceptions"]) == (1, 1, {"PAYMENT_NO_INVOICE": 1})
    payout = _rows(installation, PayoutResult)[0]
    assert (payout.payout_id, payout.difference, payout.payout_date) == ("po_1", 0, date(2026, 9, 10))
    columns = json.loads(payout.columns)
    assert (columns["payout_amount"], columns["fee_total"], columns["bank_date"]) == (984, 16, None)
    assert columns["payout_date"] == "2026-09-10"
    (published,) = _rows(installation, Run)
    with installation.store.reading() as session:
        lines = {line["resource_id"]: line for line in chunks.read_lines(session, published)}
        documents = list(chunks.read_documents(session, published))
    assert (lines["pi_1"]["payout_id"], lines["pi_2"]["payout_id"]) == ("po_1", None)
    assert lines["pi_1"]["occurred_at_utc"] == "2026-09-10T15:00:00Z"
    assert [row["doc_key"] for row in documents] == ["cl:33::7"]
    assert [row.subject for row in _rows(installation, RunFinding)] == ["resource:pi_1"]
    assert [(row.code, row.opened_on, row.run_first) for row in _rows(installation, ExceptionRow)] == [
        ("PAYMENT_NO_INVOICE", AS_OF, outcome.run_id)
    ]


@pytest.mark.usefixtures("month")
def test_the_same_content_is_the_same_run(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any]
) -> None:
    """A second run of the same content is returned as it was and writes nothing."""
    first = _run(installation, main, tiny_rules())
    again = _run(installation, main, tiny_rules())
    assert (again.run_id, again.number, again.is_new) == (first.run_id, 1, False)
    assert again.summary == first.summary
    assert len(_rows(installation, Run)) == 1


def test_when_facts_came_in_does_not_make_another_run(
    month: "World", installation: Installation, main: Connection, tiny_rules: Callable[..., Any]
) -> None:
    """Later arrival times of the same facts leave the run's id alone; another document does not."""
    first = _run(installation, main, tiny_rules())
    month.event("evt_9", "payment_intent.pending", "pi_1", received_at=datetime(2026, 10, 1, tzinfo=UTC))
    assert _run(installation, main, tiny_rules()).run_id == first.run_id
    month.invoice("8", 100)
    second = _run(installation, main, tiny_rules())
    assert second.run_id != first.run_id
    assert second.number == 2


def test_a_run_says_what_it_left_open_each_peso_once(
    month: "World",
    installation: Installation,
    main: Connection,
    tiny_rules: Callable[..., Any],
    finding: Callable[..., Any],
) -> None:
    """A payment and the document it may have paid are one amount; what a person resolved is no longer at risk."""
    found = [
        finding("PAYMENT_NO_INVOICE", "resource:pi_1", 1000, resource_id="pi_1", doc_key="cl:33::7"),
        finding("INVOICE_NO_PAYMENT", "document:cl:33::7", 1190, doc_key="cl:33::7"),
        finding("AMBIGUOUS", "resource:pi_2", 500, resource_id="pi_2"),
    ]
    _run(installation, main, tiny_rules(*found))
    with installation.store.transaction() as session:
        row = session.exec(select(ExceptionRow).where(ExceptionRow.code == "AMBIGUOUS")).one()
        signed = decisions.Signature("ana", "the customer said which", DAY_IS_OVER)
        decisions.resolve(session, "main", row.id, signed, on=AS_OF, version=row.version)
    month.invoice("8", 1)
    _run(installation, main, tiny_rules(*found))
    kept = [json.loads(published.summary)["value_at_risk"] for published in _rows(installation, Run)]
    assert sorted(kept, key=str) == [
        {"CLP": {"amount": 1190, "exceptions": 2}}, {"CLP": {"amount": 1690, "exceptions": 3}}
    ]  # fmt: skip


@pytest.mark.usefixtures("month")
def test_an_exception_keeps_the_day_of_its_fact_beside_the_day_it_was_seen(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any], finding: Callable[..., Any]
) -> None:
    """Both days are stored, with the due date and the customer; where there is no such day the first sight stands."""
    shown = {"fact_on": date(2026, 9, 1), "due_on": date(2026, 9, 30), "customer_name": "Ana Ltda"}
    aged = replace(finding("INVOICE_NO_PAYMENT", "document:cl:33::7", doc_key="cl:33::7"), **shown)
    _run(installation, main, tiny_rules(aged, finding("CALENDAR_GAP", "calendar:cl:2031")))
    rows = {row.code: row for row in _rows(installation, ExceptionRow)}
    old, new = rows["INVOICE_NO_PAYMENT"], rows["CALENDAR_GAP"]
    assert (old.fact_on, old.due_on, old.customer_name, old.opened_on) == (*shown.values(), AS_OF)
    assert (new.fact_on, new.aged_from) == (None, AS_OF)
    listed = [records.to_exception_row(row, AS_OF, calendar_of("cl")) for row in (old, new)]
    # From Tuesday the 1st to Friday the 11th of September are eight bank days.
    assert [(row["fact_on"], row["age_business_days"], row["age_bucket"]) for row in listed] == [
        (date(2026, 9, 1), 8, "8-30"),
        (AS_OF, 0, "0-1"),
    ]


@pytest.mark.usefixtures("month")
def test_a_dry_run_gives_everything_and_writes_nothing(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any]
) -> None:
    """A dry run has the full result, and neither rows nor files are left of it."""
    outcome = _run(installation, main, tiny_rules(), dry_run=True)
    assert outcome.result is not None
    assert len(outcome.result.lines) == 2
    assert _rows(installation, Run) == []
    assert not (installation.settings.data_dir / "runs").exists()


@pytest.mark.usefixtures("month")
def test_a_run_whose_books_do_not_balance_is_not_published(installation: Installation, main: Connection) -> None:
    """Where lines and payout contradict each other nothing is written, and no file of its inputs is left."""

    def losing_a_line(_inputs: Any) -> Any:
        raise UnbalancedError("payout po_1 is not the sum of its lines")

    with pytest.raises(UnbalancedError, match="payout po_1"):
        _run(installation, main, losing_a_line)
    assert _rows(installation, Run) == []
    assert list((installation.settings.data_dir / "runs" / "main").iterdir()) == []


@pytest.mark.usefixtures("month")
def test_a_narrowed_run_publishes_only_its_payouts(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any]
) -> None:
    """One payout, or those of some days; items in transit belong to none."""
    one = _run(installation, main, tiny_rules(), payout_id="po_1")
    assert (one.summary["payouts"], one.summary["items"], one.summary["documents"]) == (1, 1, 0)
    none = _run(installation, main, tiny_rules(), since=date(2026, 9, 11))
    assert none.summary["payouts"] == 0
    assert (
        _run(installation, main, tiny_rules(), since=date(2026, 9, 10), until=date(2026, 9, 10)).summary["payouts"] == 1
    )
    with pytest.raises(UnknownPayoutError, match="no payout po_9"):
        _run(installation, main, tiny_rules(), payout_id="po_9")


@pytest.mark.both_databases
def test_an_exception_that_is_gone_is_resolved_and_comes_back(
    month: "World",
    installation: Installation,
    main: Connection,
    tiny_rules: Callable[..., Any],
    finding: Callable[..., Any],
) -> None:
    """Its identity survives: opened, gone, reopened, with each step in its history."""
    found = finding("PAYMENT_NO_INVOICE", "resource:pi_1", 1000, resource_id="pi_1")
    _run(installation, main, tiny_rules(found))
    month.invoice("8", 1)
    _run(installation, main, tiny_rules(), as_of=date(2026, 9, 11))
    row = _rows(installation, ExceptionRow)[0]
    assert (row.state, row.resolution, row.resolved_on) == ("resolved", "gone", AS_OF)
    month.invoice("9", 1)
    last = _run(installation, main, tiny_rules(found))
    row = _rows(installation, ExceptionRow)[0]
    assert (row.state, row.resolution, row.resolved_on, row.opened_on) == ("open", "", None, AS_OF)
    assert row.run_last == last.run_id
    changes = sorted(_rows(installation, ExceptionChange), key=lambda change: change.id or 0)
    assert [change.change for change in changes] == ["opened", "gone", "reopened"]


def test_an_incomplete_run_resolves_nothing(
    month: "World",
    installation: Installation,
    main: Connection,
    tiny_rules: Callable[..., Any],
    finding: Callable[..., Any],
) -> None:
    """What an incomplete run does not see may only be hidden."""
    _run(installation, main, tiny_rules(finding("INVOICE_NO_PAYMENT", "document:cl:33::7", doc_key="cl:33::7")))
    month.invoice("8", 1)
    outcome = _run(installation, main, tiny_rules(complete=False))
    assert outcome.status is Completion.PARTLY_DONE
    assert [row.state for row in _rows(installation, ExceptionRow)] == ["open"]


@pytest.mark.usefixtures("month")
def test_a_run_of_an_earlier_day_leaves_the_list_alone(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any], finding: Callable[..., Any]
) -> None:
    """Looking back neither resolves what is open now nor opens what was open then."""
    _run(installation, main, tiny_rules(finding("PAYMENT_NO_INVOICE", "resource:pi_1", resource_id="pi_1")))
    back = _run(
        installation, main, tiny_rules(finding("PAYOUT_LATE", "payout:po_1", payout_id="po_1")), as_of=date(2026, 9, 9)
    )
    assert back.summary["exceptions"] == {"PAYOUT_LATE": 1}
    assert [(row.code, row.state) for row in _rows(installation, ExceptionRow)] == [("PAYMENT_NO_INVOICE", "open")]


@pytest.mark.both_databases
def test_a_narrowed_run_resolves_only_inside_its_scope(
    month: "World",
    installation: Installation,
    main: Connection,
    tiny_rules: Callable[..., Any],
    finding: Callable[..., Any],
) -> None:
    """An exception of another payout stays open when one payout is run alone."""
    month.payout("po_2", 10)
    late = [finding("PAYOUT_LATE", f"payout:{payout}", payout_id=payout) for payout in ("po_1", "po_2")]
    _run(installation, main, tiny_rules(*late))
    _run(installation, main, tiny_rules(), payout_id="po_2")
    states = {row.payout_id: row.state for row in _rows(installation, ExceptionRow)}
    assert states == {"po_1": "open", "po_2": "resolved"}


def test_a_transfer_that_went_back_is_an_exception(
    month: "World", installation: Installation, main: Connection, tiny_rules: Callable[..., Any]
) -> None:
    """Money that was sent and came back needs a person, with the bank's code."""
    fixed: dict[str, Any] = {
        "connection": "main",
        "mode": "test",
        "currency": "CLP",
        "version_at": DAY_IS_OVER,
        "direction": "outbound",
    }
    body = json.dumps({"return_reason_code": "01", "return_reason": "non_existing_account"})
    month.keep(
        Transfer(id="tr_1", status="returned", amount=410617, body=body, **fixed),
        Transfer(id="tr_2", status="succeeded", amount=5, body="{}", **fixed),
    )
    assert _run(installation, main, tiny_rules()).summary["exceptions"] == {"TRANSFER_RETURNED": 1}
    row = _rows(installation, ExceptionRow)[0]
    assert (row.subject, row.amount_at_risk, row.resource_id) == ("transfer:tr_1", 410617, "tr_1")
    assert json.loads(row.evidence)["return_code"] == "01"


@pytest.mark.usefixtures("month")
def test_a_look_ahead_leaves_the_list_to_the_runs_of_real_days(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any], finding: Callable[..., Any]
) -> None:
    """A run for a day no data reaches notes only its gaps, and the next real day goes on as if it had not been."""
    _run(installation, main, tiny_rules(finding("PAYMENT_NO_INVOICE", "resource:pi_1", 1000, resource_id="pi_1")))
    gap = finding("DATA_GAP", "stream:events", 0)
    far = finding("PAYMENT_NO_INVOICE", "resource:pi_1", 5, resource_id="pi_1")
    ahead = _run(installation, main, tiny_rules(gap, far), as_of=date(2026, 12, 25))
    assert ahead.complete is False
    rows = {row.code: row for row in _rows(installation, ExceptionRow)}
    assert (rows["PAYMENT_NO_INVOICE"].last_seen_on, rows["PAYMENT_NO_INVOICE"].amount_at_risk) == (AS_OF, 1000)
    assert rows["DATA_GAP"].state == "open"
    _run(installation, main, tiny_rules(), as_of=date(2026, 9, 12))
    assert {row.code: row.state for row in _rows(installation, ExceptionRow)} == {
        "PAYMENT_NO_INVOICE": "resolved",
        "DATA_GAP": "resolved",
    }


@pytest.mark.both_databases
@pytest.mark.usefixtures("month")
def test_a_run_that_is_broken_off_leaves_nothing(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any]
) -> None:
    """Whoever watches may stop it before any step; only the last one writes, in one transaction."""
    steps: list[str] = []

    def stop_at_the_end(step: Message) -> None:
        steps.append(step.code)
        if step.code == "run.publishing":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _run(installation, main, tiny_rules(), watch=stop_at_the_end)
    assert steps == ["run.reading", "run.matching", "run.keeping", "run.publishing"]
    assert _rows(installation, Run) == _rows(installation, PayoutResult) == _rows(installation, ExceptionRow) == []


@pytest.mark.both_databases
@pytest.mark.usefixtures("month")
def test_a_run_is_found_by_number_id_and_beginning(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any]
) -> None:
    """A number is meant before a beginning, and two runs of one beginning are none."""
    first = _run(installation, main, tiny_rules()).run_id
    _run(installation, main, tiny_rules(), as_of=date(2026, 9, 12))
    with installation.store.reading() as session:
        found = {name: records.find_run(session, "main", name) for name in ("1", first, first[:12], "", "7777777", "²")}
    assert {name: run.number if run else None for name, run in found.items()} == {
        "1": 1, first: 1, first[:12]: 1, "": None, "7777777": None, "²": None,
    }  # fmt: skip


@pytest.mark.both_databases
@pytest.mark.usefixtures("month")
def test_two_threads_at_one_run_publish_it_once(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any], finding: Callable[..., Any]
) -> None:
    """Both get the same run, and one of them wrote it."""
    rules = tiny_rules(finding("PAYMENT_NO_INVOICE", "resource:pi_1", 1000, resource_id="pi_1"))
    both = Barrier(2)

    def meet(step: str) -> None:
        if step == "publishing the result":
            both.wait(120)

    with ThreadPoolExecutor(2) as threads:
        outcomes = list(threads.map(lambda _: _run(installation, main, rules, watch=meet), range(2)))
    assert sorted(outcome.is_new for outcome in outcomes) == [False, True]
    assert outcomes[0].run_id == outcomes[1].run_id
    assert (
        len(_rows(installation, Run)),
        len(_rows(installation, ExceptionRow)),
        len(_rows(installation, ExceptionChange)),
    ) == (1, 1, 1)


@pytest.mark.both_databases
@pytest.mark.usefixtures("month")
def test_a_run_that_may_not_publish_publishes_nothing(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any], finding: Callable[..., Any]
) -> None:
    """Who cancels before the transaction that publishes is right that nothing was; the next run is the first."""
    rules = tiny_rules(finding("PAYMENT_NO_INVOICE", "resource:pi_1", 1000, resource_id="pi_1"))

    def refuse(_session: Session) -> None:
        raise CanceledError("reconcile:main")

    with pytest.raises(CanceledError):
        _run(installation, main, rules, seal=refuse)
    assert (_rows(installation, Run), _rows(installation, ExceptionRow)) == ([], [])
    assert _run(installation, main, rules).number == 1
