"""Causes of tax differences on the work list: opened and taken off by the tax control alone, month by month."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import Result
from sqlmodel import col, select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.books.register_files import import_register
from reconcile.fiscal.declared import Wish, declare
from reconcile.rules.outcomes import OF_TAX
from reconcile.runs.tax_list import list_tax
from reconcile.tables.books import InvoiceFile
from reconcile.tables.desk import ExceptionRow

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

AT = datetime(2026, 11, 15, 12, tzinfo=UTC)
HEADER = (
    "Nro;Tipo Doc;Rut cliente;Razon Social;Folio;Fecha Docto;Fecha Recepcion;Monto Exento;Monto Neto;Monto IVA;"
    "Monto total;Tipo Docto. Referencia;Folio Docto. Referencia\n"
)
ROW = "{folio};33;76222222-1;Uno;{folio};05/10/2026;05/10/2026 10:00:00;0;1000;190;1190;;\n"
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
