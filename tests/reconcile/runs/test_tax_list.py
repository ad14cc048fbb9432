"""Causes of tax differences on the work list: opened and taken off by the tax control alone, month by month."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import Result
from sqlmodel import col, select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.tables.provider import TaxStatement
from reconcile.books.register_files import import_register
from reconcile.fiscal.declared import Wish, declare
from reconcile.fiscal.reading import read_world
from reconcile.fiscal.tie_out import tie_out
from reconcile.rules.outcomes import OF_TAX
from reconcile.runs.run import run
from reconcile.runs.tax_list import list_tax
from reconcile.tables.books import InvoiceFile, LocalInvoice
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import Run

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

AT = datetime(2026, 11, 15, 12, tzinfo=UTC)
HEADER = (
    "Nro;Tipo Doc;Rut cliente;Razon Social;Folio;Fecha Docto;Fecha Recepcion;Monto Exento;Monto Neto;Monto IVA;"
    "Monto total;Tipo Docto. Referencia;Folio Docto. Referencia\n"
)
ROW = "{folio};33;76222222-1;Uno;{folio};05/10/2026;05/10/2026 10:00:00;0;1000;190;1190;;\n"
SUMMARY = (
    "Tipo Documento;Total Documentos;Monto Exento;Monto Neto;Monto IVA;Monto Total\nBoleta Electrónica(39);0;0;0;0;0\n"
)
MISSING = ("SII_MISSING", "high", "document:cl:33::2", "cl:33::2", 190, "Comercial Dos", "open")


@pytest.fixture
def look(installation: Installation, main: Connection) -> Callable[[date], list[tuple[object, ...]]]:
    """Look as of a day, and return what the work list has of taxes."""

    def run(as_of: date) -> list[tuple[object, ...]]:
        list_tax(installation, main, run_id="r" * 16, as_of=as_of)
        with installation.store.reading() as session:
            asked = select(ExceptionRow).where(col(ExceptionRow.code).in_(OF_TAX))
            return [
                (row.code, row.severity, row.subject, row.doc_key, row.amount_at_risk, row.customer_name, row.state)
                for row in session.exec(asked.order_by(col(ExceptionRow.code)))
            ]

    return run


@pytest.fixture
def october(installation: Installation, main: Connection, world: "World", tmp_path: Path) -> Callable[..., None]:
    """Two invoices in the books; calling it brings October's register in, with invoices of these folios."""
    world.keep(
        InvoiceFile(connection="main", sha256="0" * 64, name="ventas.csv", imported_at=AT, rows=2, added=2, changed=0)
    )
    for folio, name in (("1", "Comercial Uno"), ("2", "Comercial Dos")):
        world.invoice(folio, 1190, issue_date=date(2026, 10, 5), net=1000, exempt=0, vat=190, customer_name=name)

    def bring(*folios: str, at: datetime = AT) -> None:
        file = tmp_path / "RCV_VENTA_202610.csv"
        file.write_text(HEADER + "".join(ROW.format(folio=folio) for folio in folios))
        assert import_register(installation, main, file, at=at).accepted

    return bring


@pytest.mark.both_databases
def test_a_document_that_the_register_lacks_is_listed_until_it_is_there(
    look: Callable[[date], list[tuple[object, ...]]], october: Callable[..., None], call: Callable[..., Result],
    world: "World",
) -> None:  # fmt: skip
    """A run neither finds it nor takes it off; it goes once the register has the document."""
    assert look(date(2026, 11, 20)) == []
    october("1")
    assert look(date(2026, 11, 20)) == [MISSING]
    world.complete(datetime(2026, 11, 21, 12, tzinfo=UTC))
    assert call("reconcile", "--as-of", "2026-11-20").exit_code == 0
    assert look(date(2026, 11, 20)) == [MISSING]
    october("1", "2", at=AT.replace(day=16))
    assert look(date(2026, 11, 20)) == [(*MISSING[:-1], "resolved")]


def test_the_run_says_what_the_whole_list_has_at_risk(
    october: Callable[..., None], call: Callable[..., Result], world: "World", installation: Installation
) -> None:
    """Taxes are looked at after a run; its figure counts them as the list does, beside the two overdue documents."""
    october("1")
    world.complete(datetime(2026, 11, 21, 12, tzinfo=UTC))
    for _ in range(2):
        assert call("reconcile", "--as-of", "2026-11-20").exit_code == 0
        with installation.store.reading() as session:
            [summary] = [json.loads(run.summary) for run in session.exec(select(Run))]
            listed = session.exec(select(ExceptionRow)).all()
        assert sorted(row.code for row in listed) == ["INVOICE_NO_PAYMENT", "INVOICE_NO_PAYMENT", "SII_MISSING"]
        assert summary["value_at_risk"] == {"CLP": {"amount": 2380, "exceptions": 3}}


@pytest.mark.usefixtures("october")
@pytest.mark.parametrize(("kind", "at_risk"), [("33", 190), ("34", 1190)])
def test_books_that_state_totals_alone_lack_what_the_register_lacks(
    look: Callable[[date], list[tuple[object, ...]]], installation: Installation, tmp_path: Path, kind: str,
    at_risk: int,
) -> None:  # fmt: skip
    """What both know with one total is no difference; one missing is at risk with the VAT, or the exempt sum, of it."""
    with installation.store.transaction() as session:
        for row in session.exec(select(LocalInvoice)).all():
            row.net = row.exempt = row.vat = None
            row.doc_type, row.doc_key = kind, f"cl:{kind}::{row.folio}"
    amounts = ";0;1000;190;1190;" if kind == "33" else ";1190;0;0;1190;"
    detail = HEADER + ROW.format(folio="1").replace(";33;", f";{kind};").replace(";0;1000;190;1190;", amounts)
    for name, text in (("RCV_VENTA_202610.csv", detail), ("RCV_RESUMEN_VENTA_202610.csv", SUMMARY)):
        (tmp_path / name).write_text(text)
        assert import_register(installation, installation.settings.connection("main"), tmp_path / name, at=AT).accepted
    found = [(row[0], row[3], row[4]) for row in look(date(2026, 11, 20))]
    assert found == [("SII_MISSING", f"cl:{kind}::2", at_risk)]


def test_an_open_register_gives_no_exception(
    look: Callable[[date], list[tuple[object, ...]]], october: Callable[..., None]
) -> None:
    """A register that is still open says nothing; a month with an open exception is looked at for as long as it is."""
    october("1", at=AT.replace(day=8))
    assert look(date(2026, 11, 9)) == []
    october("1", at=AT)
    assert look(date(2026, 11, 20)) == [MISSING]
    assert look(date(2027, 6, 20)) == [MISSING]


def test_a_declared_figure_without_explanation_is_listed(
    installation: Installation, main: Connection, look: Callable[[date], list[tuple[object, ...]]],
    october: Callable[..., None],
) -> None:  # fmt: skip
    """Its rest is at risk; it goes once what is declared is what the register comes to."""
    october("1", "2")
    for amount, found in (
        ("500", ("F29_DIFF", "high", "declared:2026-10:502", None, 120, None, "open")),
        ("380", None),
    ):
        with installation.store.transaction() as session:
            declare(session, main, [Wish("2026-10", "502", amount)], author="Ana", at=AT)
        rows = look(date(2026, 11, 20))
        assert rows == [found] if found else [row[-1] for row in rows] == ["resolved"]


def test_a_rectified_return_is_listed(
    look: Callable[[date], list[tuple[object, ...]]], october: Callable[..., None], world: "World"
) -> None:
    """One F29 of a month says nothing; a second one is for information."""
    october("1", "2")
    assert look(date(2026, 11, 20)) == []
    for number, debit, found in (("1", 380, []), ("2", 400, ["F29_RECTIFIED"])):
        body = {"period": "10", "fiscal_year": 2026, "institution_tax_statement": {"total_debit": debit}}
        world.keep(
            TaxStatement(
                connection="main", id=f"ts_{number}", mode="test", version_at=AT.replace(day=int(number)),
                document_number=number, period="2026-10", body=json.dumps(body),
            )
        )  # fmt: skip
        assert [row[0] for row in look(date(2026, 11, 20))] == found
    (rectified,) = look(date(2026, 11, 20))
    assert rectified[1:5] == ("info", "declared:2026-10:return", None, 0)


MODELS = [
    ("voucher", ["PAYMENT_DOUBLE_DOC", "PAYMENT_NO_DOC_TRANSFER"], "1190 0 explained"),
    ("boleta", ["PAYMENT_NO_DOC_TRANSFER"], "1190 1190 shown"),
    ("both", ["PAYMENT_DOUBLE_DOC", "PAYMENT_NO_DOC_TRANSFER"], "1190 1190 shown"),
]


@pytest.mark.parametrize(("model", "codes", "vouchers"), MODELS)
def test_cards_by_the_model_and_transfers_in_any(  # noqa: PLR0917 - a month and what it comes to
    installation: Installation, main: Connection, world: "World", tmp_path: Path, model: str, codes: list[str],
    vouchers: str,
) -> None:  # fmt: skip
    """A boleta beside the voucher of a card is doubled unless boletas are the model; a transfer needs a document.

    One that came a peso short of its invoice has it.
    """
    modelled = main.model_copy(update={"voucher_model": model})
    world.keep(
        InvoiceFile(connection="main", sha256="0" * 64, name="b.csv", imported_at=AT, rows=1, added=1, changed=0)
    )
    world.invoice("5", 1190, doc_key="cl:39::5", doc_type="39", issue_date=date(2026, 10, 5), net=1000, vat=190)
    at = {name: datetime(2026, 10, 7, 15, tzinfo=UTC) for name in ("created_at", "succeeded_at")}
    named = {"metadata": {"doc_type": "39", "folio": "5"}}
    world.payment("pi_card", 1190, subtype="credit_card", body=named, **at)
    world.payment("pi_bare", 700, subtype="bank_transfer", **at)
    world.invoice("6", 1190, issue_date=date(2026, 9, 30), net=1000, vat=190)
    world.payment("pi_short", 1189, subtype="bank_transfer", body={"metadata": {"doc_type": "33", "folio": "6"}}, **at)
    world.complete(datetime(2026, 11, 21, 12, tzinfo=UTC))
    summary = tmp_path / "RCV_RESUMEN_VENTA_202610.csv"
    summary.write_text(
        "Tipo Documento;Total Documentos;Monto Exento;Monto Neto;Monto IVA;Monto Total\n"
        "39 Boleta Electronica;1;0;1000;190;1190\n"
    )
    assert import_register(installation, modelled, summary, at=AT).accepted
    run(installation, modelled, as_of=date(2026, 11, 20))
    with installation.store.reading() as session:
        rows = session.exec(select(ExceptionRow).where(col(ExceptionRow.code).in_(OF_TAX))).all()
        found = tie_out(read_world(session, modelled, today=date(2026, 11, 20), periods=["2026-10"]), "2026-10")
    assert sorted({row.code for row in rows}) == codes
    assert [row.resource_id for row in rows if row.code == "PAYMENT_NO_DOC_TRANSFER"] == ["pi_bare"]
    assert [f"{tie.a.amount} {tie.rest} {tie.verdict}" for tie in found if tie.figure == "vouchers"] == [vouchers]
