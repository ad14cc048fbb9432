"""How the merchant cuts the books into files says nothing about them: the run is the same."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.books.bank_files import import_bank_file
from reconcile.books.invoices import import_invoices
from reconcile.runs.run import run
from reconcile.tables.books import BankFile, BankLine, InvoiceFile, LocalInvoice, LocalInvoiceChange

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

HEADER = "doc_type,folio,issue_date,due_date,customer_tax_id,total,status,order_ref,ref_type,ref_number"
ROWS = (
    "33,7,2026-09-01,2026-09-30,76192083-9,1190,valid,PED-1,,",
    "33,8,2026-09-02,2026-09-05,77570287-7,777,valid,,,",
    "39,9,2026-09-02,2026-09-05,77570287-7,5000,valid,,,",
    "61,1,2026-09-03,,76192083-9,190,valid,,33,7",
)
BANK_HEADER = "Fecha;Detalle;Abonos;Cargos"
BANK_ROWS = ("10-09-2026;ABONO po_1;1750;", "11-09-2026;COMISION;;15", "12-09-2026;OTRO;30;")
WAYS = (
    ((ROWS,), (BANK_ROWS,)),
    ((ROWS[:2], ROWS[2:]), (BANK_ROWS[:1], BANK_ROWS[1:])),
    ((ROWS[3:], ROWS[1:3], ROWS[:1]), (BANK_ROWS[1:], BANK_ROWS[:1])),
    (tuple((row,) for row in reversed(ROWS)), tuple((row,) for row in BANK_ROWS)),
)
EXCEPTIONS = {"INVOICE_NO_PAYMENT": 2, "PAYMENT_NO_INVOICE": 1}


def _import(installation: Installation, main: Connection, folder: Path, *parts: tuple[str, ...]) -> None:
    for number, rows in enumerate(parts):
        path = folder / f"books{number}.csv"
        path.write_text("\n".join([HEADER, *rows, ""]), encoding="utf-8")
        assert import_invoices(installation, main, path).kept


def _import_bank(installation: Installation, main: Connection, folder: Path, *parts: tuple[str, ...]) -> None:
    for number, rows in enumerate(parts):
        path = folder / f"bank{number}.csv"
        path.write_text("\n".join([BANK_HEADER, *rows, ""]), encoding="utf-8")
        assert import_bank_file(installation, main, path, account="00012345678").kept


def _forget(installation: Installation) -> None:
    with installation.store.transaction() as session:
        for table in (LocalInvoice, LocalInvoiceChange, InvoiceFile, BankLine, BankFile):
            session.execute(sa.delete(table))


def test_one_file_or_several_give_the_same_run(
    installation: Installation, main: Connection, world: "World", tmp_path: Path
) -> None:
    """A run is named by what it read: the same documents and movements, however they were cut and in what order."""
    world.payment("pi_1", 1000, body={"metadata": {"order_ref": "PED-1"}})
    world.payment("pi_2", 777)
    world.payout("po_1", 1750, ("payment_intent", "pi_1", 1000), ("payment_intent", "pi_2", 777))
    world.complete(datetime(2026, 9, 21, 6, tzinfo=UTC))
    outcomes = []
    for books, bank in WAYS:
        _import(installation, main, tmp_path, *books)
        _import_bank(installation, main, tmp_path, *bank)
        outcomes.append(run(installation, main, as_of=date(2026, 9, 20), dry_run=True))
        _forget(installation)
    assert len({outcome.run_id for outcome in outcomes}) == 1
    assert [outcome.summary["exceptions"] for outcome in outcomes] == [EXCEPTIONS] * len(WAYS)
