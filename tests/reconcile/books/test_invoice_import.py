"""Files into the books: whole or not at all, once, and later files change what is known with a history."""

from datetime import date
from pathlib import Path
from typing import TypeVar

import pytest
from sqlmodel import SQLModel, select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.work import Completion
from reconcile.books.invoices import ImportOutcome, import_invoices
from reconcile.books.reading import ControlTotal
from reconcile.tables.books import InvoiceFile, LocalInvoice, LocalInvoiceChange

Row = TypeVar("Row", bound=SQLModel)
DATA = Path(__file__).parents[2] / "data" / "invoices"
HEADER = "doc_type,folio,issue_date,total,status,order_ref"


def _import(
    installation: Installation, main: Connection, folder: Path, *rows: str, name: str = "books.csv"
) -> ImportOutcome:
    path = folder / name
    path.write_text("\n".join([HEADER, *rows, ""]), encoding="utf-8")
    return import_invoices(installation, main, path)


def _rows(installation: Installation, table: type[Row]) -> list[Row]:
    with installation.store.reading() as session:
        return list(session.exec(select(table)))


def test_a_register_of_sales_goes_in_with_its_totals(installation: Installation, main: Connection) -> None:
    """Windows text, titles above, totals below and negative notes: four documents and what a clerk compares."""
    outcome = import_invoices(installation, main, DATA / "chile_register.csv")
    assert (outcome.status, outcome.kept, outcome.added, outcome.rejects) == (Completion.DONE, True, 4, ())
    assert outcome.reading.totals == (
        ControlTotal("33", "CLP", 2, 1084034, 0, 205966, 1290000),
        ControlTotal("39", "CLP", 1, 8395, 0, 1595, 9990),
        ControlTotal("61", "CLP", 1, 84034, 0, 15966, 100000),
    )
    kept = {row.doc_key: row for row in _rows(installation, LocalInvoice)}
    assert sorted(kept) == ["cl:33::1001", "cl:33::1002", "cl:39::88001", "cl:61::201"]
    first = kept["cl:33::1001"]
    assert (first.customer_name, first.customer_tax_id, first.status) == (
        "Ferretería Ñuñoa Ltda",
        "76192083-9",
        "valid",
    )
    assert '"Rut cliente": "76.192.083-9"' in first.raw


def test_mexican_documents_go_in_by_uuid(installation: Installation) -> None:
    """Cancelled ones are void, notes keep what they refer to, payment receipts are left out aloud."""
    mexico = Connection(name="mexico", api_key="sk_test_other", country="mx", mode="test")  # type: ignore[arg-type]
    outcome = import_invoices(installation, mexico, DATA / "mexico_cfdi.csv")
    assert (outcome.added, tuple(map(str, outcome.reading.notes))) == (
        3,
        ("rows of kind P, which are no receivables and were left out: 1",),
    )
    kept = {row.folio: row for row in _rows(installation, LocalInvoice)}
    assert (kept["5001"].total, kept["5001"].currency, kept["5001"].status) == (116000, "MXN", "valid")
    assert kept["5002"].status == "void"
    assert (kept["30"].ref_type, kept["30"].ref_number) == ("01", "6f0c6a5e-0b1d-4c1e-9d52-0a6b8a8c9d10")


def test_the_same_file_comes_in_once(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """Its content counts, not its name; that is no failure, and it says when the file came in."""
    _import(installation, main, tmp_path, "33,7,2026-09-01,1190,,")
    again = _import(installation, main, tmp_path, "33,7,2026-09-01,1190,,", name="copy.csv")
    assert (again.accepted, again.kept, again.status) == (True, False, Completion.DONE)
    assert str(again.earlier).startswith("already imported on ")
    assert str(again.earlier).endswith("as books.csv, nothing changed")
    assert len(_rows(installation, InvoiceFile)) == 1


def test_the_same_file_under_another_mapping_is_another_file(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """Whoever read a column wrongly can put it right: the mapping is part of what the file says."""
    folder = installation.settings.data_dir / "mappings"
    folder.mkdir(parents=True)
    (folder / "gross.toml").write_text('total = "A cobrar"\n', encoding="utf-8")
    path = tmp_path / "two.csv"
    path.write_text("Tipo DTE;Folio;Fecha;Total;A cobrar\n33;1;01-09-2026;10;20\n", encoding="utf-8")
    assert import_invoices(installation, main, path).added == 1
    assert import_invoices(installation, main, path, mapping="gross").changed == 1
    assert [row.total for row in _rows(installation, LocalInvoice)] == [20]


def test_a_file_with_one_bad_row_leaves_nothing(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """Whole or not at all."""
    outcome = _import(installation, main, tmp_path, "33,7,2026-09-01,1190,,", "33,8,2026-09-01,abc,,")
    assert [reject.line for reject in outcome.rejects] == [3]
    assert _rows(installation, LocalInvoice) == []
    assert _rows(installation, InvoiceFile) == []


def test_a_later_file_changes_what_is_known(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """State and amounts are brought up to date with a history; an empty cell takes nothing away."""
    _import(installation, main, tmp_path, "33,7,2026-09-01,1190,valid,PED-1", "33,8,2026-09-01,50,valid,")
    later = _import(
        installation, main, tmp_path, "33,7,2026-09-01,1200,,", "33,8,2026-09-01,50,,", "33,9,2026-09-02,1,,"
    )
    assert (later.added, later.changed, later.unchanged) == (1, 1, 1)
    kept = {row.folio: row for row in _rows(installation, LocalInvoice)}
    assert (kept["7"].total, kept["7"].order_ref, kept["7"].status) == (1200, "PED-1", "valid")
    changes = [(row.doc_key, row.field, row.before, row.after) for row in _rows(installation, LocalInvoiceChange)]
    assert changes == [("cl:33::7", "total", "1190", "1200")]
    assert kept["7"].file_sha256 == later.sha256


def test_voiding_a_document_keeps_its_amount(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """Exports write void documents with zero; what was billed stays known, for what replaced it must equal it."""
    _import(installation, main, tmp_path, "33,7,2026-09-01,1190,valid,")
    _import(installation, main, tmp_path, "33,7,2026-09-01,0,Anulada,")
    row = _rows(installation, LocalInvoice)[0]
    assert (row.status, row.total) == ("void", 1190)
    assert [(change.field, change.after) for change in _rows(installation, LocalInvoiceChange)] == [("status", "void")]


def test_a_preview_counts_and_keeps_nothing(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """A dry run knows what would be new."""
    path = tmp_path / "books.csv"
    path.write_text(f"{HEADER}\n33,7,2026-09-01,1190,,\n", encoding="utf-8")
    outcome = import_invoices(installation, main, path, dry_run=True)
    assert (outcome.accepted, outcome.kept, outcome.added) == (True, False, 1)
    assert _rows(installation, LocalInvoice) == []
    assert import_invoices(installation, main, path).kept


def test_a_saved_mapping_names_columns(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """A file with the merchant's own headers goes in with a mapping from the data folder."""
    folder = installation.settings.data_dir / "mappings"
    folder.mkdir(parents=True)
    (folder / "erp.toml").write_text('doc_type = "Clase"\nfolio = "Nro"\nissue_date = "Dia"\ntotal = "A cobrar"\n')
    path = tmp_path / "erp.csv"
    path.write_text("Clase;Nro;Dia;A cobrar\n33;7;01-09-2026;1.190\n", encoding="utf-8")
    assert import_invoices(installation, main, path).status is Completion.NOTHING_DONE
    outcome = import_invoices(installation, main, path, mapping="erp")
    assert (outcome.kept, outcome.reading.documents[0][0].issue_date) == (True, date(2026, 9, 1))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("absent", None, "there is no mapping 'absent'"),
        ("../secret_key", None, "is not a name of a mapping"),
        ("bad", 'sum = "Total"', "sum is not a field"),
        ("bad", "total = 3", "total must name a column"),
        ("bad", "total = ", "cannot be read"),
    ],
)
def test_a_mapping_that_cannot_be_used_is_named(
    installation: Installation, main: Connection, name: str, content: str | None, words: str
) -> None:
    """A missing or wrong mapping refuses the file with the reason."""
    folder = installation.settings.data_dir / "mappings"
    folder.mkdir(parents=True)
    if content is not None:
        (folder / f"{name}.toml").write_text(content)
    outcome = import_invoices(installation, main, DATA / "chile_register.csv", mapping=name)
    assert not outcome.accepted
    assert words in str(outcome.rejects[0].reason)
