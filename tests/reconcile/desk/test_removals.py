"""Files taken back whole: what they brought goes, what they changed is as before, and what rests on them keeps them."""

import json
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import inspect
from sqlmodel import SQLModel, col, func, select

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.store import Store
from reconcile.books.bank_files import import_bank_file
from reconcile.books.invoices import ImportOutcome, import_invoices
from reconcile.desk import decisions, removals
from reconcile.desk.decisions import Adjustment, Pair, Signature
from reconcile.desk.removals import Kind, RemovalError
from reconcile.tables.books import (
    BankFile,
    BankLine,
    InvoiceFile,
    LocalInvoice,
    LocalInvoiceBefore,
    LocalInvoiceChange,
    RemovedFile,
)
from reconcile.tables.closing import ClosedFigure, Period
from reconcile.tables.runs import PayoutResult
from tests.merchant import start_apart

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

HEADER = "doc_type,folio,issue_date,due_date,total,status,order_ref"
AUGUST = "33,1,2026-08-01,2026-08-31,1000,valid,A-1\n33,2,2026-08-02,,2000,valid,A-2\n"
CHANGED = "33,1,2026-08-01,2026-09-30,1500,valid,A-1\n33,3,2026-09-01,,3000,valid,A-3\n"
CARTOLA = "Fecha;Descripción;Cargos;Abonos\n05/10/2026;PAGO po_1;;49.000\n06/10/2026;COMISION;1.000;\n"
ACCOUNT, OTHER = "71402296", "71402297"
Call = Callable[..., Any]


@pytest.fixture
def bring(installation: Installation, main: Connection, tmp_path: Path) -> Callable[[str, str], ImportOutcome]:
    """Bring a file of invoices in."""

    def bring_in(name: str, rows: str) -> ImportOutcome:
        path = tmp_path / name
        path.write_text(f"{HEADER}\n{rows}", encoding="utf-8")
        outcome = import_invoices(installation, main, path)
        assert outcome.kept or outcome.earlier
        return outcome

    return bring_in


def _signed() -> Signature:
    return Signature("ana", "the wrong month", utc_now())


def _undo(store: Store, name: str, kind: Kind = Kind.INVOICES, account: str = "") -> tuple[int, int]:
    with store.transaction() as session:
        file = removals.find_file(session, "main", kind, name, account=account)
        removal = removals.take_back(session, file, _signed())
    return removal.gone, removal.restored


def _reasons(store: Store, name: str, kind: Kind = Kind.INVOICES) -> list[str]:
    with pytest.raises(RemovalError) as refused:
        _undo(store, name, kind)
    return [str(reason) for reason in refused.value.reasons]


def _read(store: Store, table: type[SQLModel]) -> list[dict[str, Any]]:
    with store.reading() as session:
        return [row.model_dump() for row in session.exec(select(table).order_by(*inspect(table).primary_key))]


def _count(store: Store, table: type[SQLModel]) -> int:
    with store.reading() as session:
        return session.exec(select(func.count()).select_from(table)).one()


@pytest.mark.both_databases
def test_a_file_goes_whole_and_what_it_changed_is_as_before(store: Store, bring: Call) -> None:
    """Every column of a changed document is back, the history of the change is gone, and a row says who and why."""
    bring("august.csv", AUGUST)
    before = _read(store, LocalInvoice)
    bring("wrong.csv", CHANGED)
    assert [row["folio"] for row in _read(store, LocalInvoice)] == ["1", "2", "3"]
    assert _undo(store, "wrong.csv") == (1, 1)
    assert _read(store, LocalInvoice) == before
    assert _count(store, LocalInvoiceChange) == _count(store, LocalInvoiceBefore) == 0
    assert [row["name"] for row in _read(store, InvoiceFile)] == ["august.csv"]
    (row,) = _read(store, RemovedFile)
    assert (row["kind"], row["name"], row["rows"], row["removed_by"], row["reason"]) == (
        "invoices", "wrong.csv", 2, "ana", "the wrong month",
    )  # fmt: skip


@pytest.mark.both_databases
def test_the_same_file_may_come_in_again(store: Store, bring: Call) -> None:
    """Afterwards it is as though it had never come; a second undo finds nothing."""
    bring("august.csv", AUGUST)
    bring("wrong.csv", CHANGED)
    _undo(store, "wrong.csv")
    with pytest.raises(RemovalError, match=r"there is no file wrong\.csv in connection main"):
        _undo(store, "wrong.csv")
    again = bring("wrong.csv", CHANGED)
    assert (again.kept, again.added, again.changed) == (True, 1, 1)
    assert _undo(store, "wrong.csv") == (1, 1)
    assert _count(store, RemovedFile) == 2


def test_a_later_file_that_states_the_same_rests_on_it(store: Store, bring: Call) -> None:
    """Repeated or changed: the later file's documents would go with the first one."""
    bring("august.csv", AUGUST)
    bring("repeated.csv", AUGUST + "33,9,2026-09-09,,9000,valid,A-9\n")
    assert [text.partition(" of ")[0] for text in _reasons(store, "august.csv")] == ["the later file repeated.csv"]
    assert _undo(store, "repeated.csv") == (1, 0)
    bring("wrong.csv", CHANGED)
    assert [text.partition(" of ")[0] for text in _reasons(store, "august.csv")] == ["the later file wrong.csv"]
    _undo(store, "wrong.csv")
    assert _undo(store, "august.csv") == (2, 0)


def test_a_file_of_an_earlier_version_is_held_to_repeat_what_it_may(store: Store, bring: Call) -> None:
    """What an older program took in says neither what it repeats nor what it had changed."""
    bring("august.csv", AUGUST)
    bring("wrong.csv", CHANGED)
    with store.transaction() as session:
        for file in session.exec(select(InvoiceFile)):
            file.rests_on = None
    assert len(_reasons(store, "august.csv")) == 1
    assert _reasons(store, "wrong.csv") == [
        "an earlier version of the program took it in and did not keep what it changed"
    ]


@pytest.mark.both_databases
def test_a_decision_rests_on_it_until_it_is_taken_back(store: Store, bring: Call, world: "World") -> None:
    """A match or an adjustment that holds is named with its author."""
    world.payment("pi_1", 1000)
    bring("august.csv", AUGUST)
    pair = Pair("main", "pi_1", "cl:33::1")
    with store.transaction() as session:
        decisions.match(session, pair, _signed())
        decisions.adjust(session, Pair("main", doc_key="cl:33::2"), _signed(), kind=Adjustment.ROUNDING)
    assert _reasons(store, "august.csv") == [
        "decision 1 about cl:33::1, by ana", "decision 2 about cl:33::2, by ana",
    ]  # fmt: skip
    with store.transaction() as session:
        decisions.withdraw(session, pair, _signed())
        decisions.withdraw(session, Pair("main", doc_key="cl:33::2"), _signed())
    assert _undo(store, "august.csv") == (2, 0)


def _close(store: Store, until: date, *figures: tuple[str, str, str]) -> None:
    with store.transaction() as session:
        period = Period(
            connection="main", until=until, ends_at=datetime(2026, 9, 1, 3, tzinfo=UTC), run_id="r1", reason="end",
            closed_by="luz", closed_at=utc_now() + timedelta(seconds=1),
        )  # fmt: skip
        session.add(period)
        session.flush()
        for kind, subject, words in figures:
            session.add(ClosedFigure(period_id=period.id or 0, kind=kind, subject=subject, words=words))


def test_a_closed_period_rests_on_it(store: Store, bring: Call) -> None:
    """Its documents, and payments of it that were matched with later ones; a reopened period holds nothing."""
    bring("august.csv", AUGUST)
    item = 'figure.item_applied {"amount_signed":1000,"outcome":"matched","doc_key":"cl:33::2","applied_amount":1000}'
    _close(store, date(2026, 8, 31), ("document", "cl:33::1", "figure.void"), ("item", "payment_intent pi_1", item))
    assert _reasons(store, "august.csv") == [
        "cl:33::1 in the days closed up to 2026-08-31 by luz", "cl:33::2 in the days closed up to 2026-08-31 by luz",
    ]  # fmt: skip
    with store.transaction() as session:
        session.exec(select(Period)).one().reopened_at = utc_now()
    assert _undo(store, "august.csv") == (2, 0)


def test_a_file_that_came_after_the_closing_goes(store: Store, bring: Call) -> None:
    """It changed a document of closed days, whose closed figure stays: taking it back brings the frozen state back."""
    bring("august.csv", AUGUST)
    _close(store, date(2026, 8, 31), ("document", "cl:33::1", "figure.void"))
    with store.transaction() as session:
        session.exec(select(Period)).one().closed_at = utc_now()
    outcome = bring("wrong.csv", CHANGED)
    assert {(one.doc_key, one.field, one.is_closed) for one in outcome.changes} == {
        ("cl:33::1", "total", True), ("cl:33::1", "due_date", True),
    }  # fmt: skip
    assert _undo(store, "wrong.csv") == (1, 1)


def _bank(installation: Installation, main: Connection, folder: Path, text: str, account: str = ACCOUNT) -> None:
    path = folder / "bank.csv"
    path.write_text(text, encoding="utf-8")
    assert import_bank_file(installation, main, path, account=account).kept


@pytest.mark.both_databases
def test_a_bank_file_under_the_wrong_account_goes(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """Its lines go and it comes in again under the right account; one name for two accounts asks which."""
    store = installation.store
    _bank(installation, main, tmp_path, CARTOLA, account=OTHER)
    _bank(installation, main, tmp_path, CARTOLA)
    with pytest.raises(RemovalError, match=r"several files are called bank\.csv; give the digest"):
        _undo(store, "bank.csv", Kind.BANK)
    assert _undo(store, "bank.csv", Kind.BANK, account=OTHER) == (2, 0)
    assert {row["account"] for row in _read(store, BankLine)} == {ACCOUNT}
    _bank(installation, main, tmp_path, CARTOLA, account=OTHER)
    assert _count(store, BankLine) == 4


def test_an_overlapping_bank_file_rests_on_the_first(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """The later file repeats a line that the first one brought, so the line would go with it."""
    store = installation.store
    _bank(installation, main, tmp_path, CARTOLA)
    first = _read(store, BankFile)[0]["sha256"]
    _bank(installation, main, tmp_path, CARTOLA + "07/10/2026;PAGO po_2;;7.000\n")
    assert len(_reasons(store, first, Kind.BANK)) == 1
    later = next(row["sha256"] for row in _read(store, BankFile) if row["sha256"] != first)
    assert _undo(store, later, Kind.BANK) == (1, 0)
    assert _undo(store, first, Kind.BANK) == (2, 0)


def test_a_payout_closed_by_a_bank_line_rests_on_it(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """The closing's run found a payout in the bank by a line of the file."""
    store = installation.store
    _bank(installation, main, tmp_path, CARTOLA)
    line = next(row["id"] for row in _read(store, BankLine) if row["amount"] == 49_000)
    _close(store, date(2026, 10, 31))
    with store.transaction() as session:
        session.add(
            PayoutResult(
                connection="main", run_id="r1", payout_id="po_1", payout_date=date(2026, 10, 5),
                status_recon="closed", difference=0, columns=json.dumps({"bank_movement_id": line}),
            )
        )  # fmt: skip
    assert _reasons(store, "bank.csv", Kind.BANK) == [f"{line} in the days closed up to 2026-10-31 by luz"]


def test_the_next_run_sees_documents_gone(world: "World", store: Store, bring: Call, call: Call) -> None:
    """An overdue document of the file is an exception until the file is taken back."""
    world.complete(datetime(2026, 11, 2, 6, tzinfo=UTC))
    bring("august.csv", AUGUST)
    assert call("reconcile", "--as-of", "2026-11-01").exit_code == 0
    listed = map(json.loads, call("exceptions", "list", "--json", "--code", "INVOICE_NO_PAYMENT").stdout.splitlines())
    assert {(row["doc_key"], row["state"]) for row in listed} == {("cl:33::1", "open"), ("cl:33::2", "open")}
    _undo(store, "august.csv")
    assert call("reconcile", "--as-of", "2026-11-01").exit_code == 0
    listed = map(json.loads, call("exceptions", "list", "--json", "--code", "INVOICE_NO_PAYMENT").stdout.splitlines())
    assert {(row["doc_key"], row["state"]) for row in listed} == {("cl:33::1", "resolved"), ("cl:33::2", "resolved")}


def test_the_command_looks_first_and_needs_a_reason(call: Call, bring: Call, store: Store) -> None:
    """`--dry-run` changes nothing; without a reason nothing goes; done, it prints what went."""
    bring("august.csv", AUGUST)
    looked = json.loads(call("invoices", "undo", "august.csv", "--dry-run", "--json").stdout)
    assert (looked["removed"], looked["gone"], looked["restored"], looked["reasons"]) == (False, 2, 0, [])
    assert call("invoices", "undo", "august.csv").exit_code == 2
    assert _count(store, LocalInvoice) == 2
    done = json.loads(call("invoices", "undo", "august.csv", "--reason", "wrong", "--author", "ana", "--json").stdout)
    assert (done["removed"], done["gone"]) == (True, 2)
    refused = call("bank", "undo", "august.csv", "--reason", "wrong")
    assert (refused.exit_code, "there is no file august.csv" in refused.stderr) == (1, True)


@pytest.mark.both_databases
@pytest.mark.parametrize("wait", [0.3])
def test_a_killed_removal_leaves_all_of_a_file_or_nothing(
    store: Store, installation: Installation, main: Connection, migrated_url: str, tmp_path: Path, wait: float
) -> None:
    """The process dies while it takes a file back; the same command afterwards ends it, once."""
    path = tmp_path / "books.csv"
    rows = "".join(f"33,{folio},2026-09-01,,1190,valid,PED-{folio}\n" for folio in range(1, 2001))
    path.write_text(f"{HEADER}\n{rows}", encoding="utf-8")
    assert import_invoices(installation, main, path).kept

    def start() -> subprocess.Popen[bytes]:
        command = ("-m", "cuadre", "invoices", "undo", "books.csv", "--reason", "wrong")
        return start_apart(*command, database_url=migrated_url, data_dir=tmp_path / "data")

    process = start()
    deadline = time.monotonic() + 180
    while process.poll() is None and not (tmp_path / "data").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(wait)
    process.kill()
    process.wait()
    found = _count(store, InvoiceFile), _count(store, LocalInvoice), _count(store, RemovedFile)
    assert found in {(1, 2000, 0), (0, 0, 1)}
    assert start().wait(timeout=300) == (0 if found[0] else 1)
    assert (_count(store, InvoiceFile), _count(store, LocalInvoice), _count(store, RemovedFile)) == (0, 0, 1)
    with store.reading() as session:
        assert session.exec(select(RemovedFile).where(col(RemovedFile.name) == "books.csv")).one().rows == 2000
