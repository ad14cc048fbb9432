"""A look at tax documents says what the books have already, also from a list, and adds up what there is to compare."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlmodel import select

from consumer.facts.installation import Connection, Installation
from cuadre import Commands
from reconcile.books.intake import Kind, take_in
from reconcile.books.invoices import import_invoices
from reconcile.books.tax_intake import import_tax_files
from reconcile.books.tax_judging import Verdict
from reconcile.tables.books import LocalInvoice
from reconcile.tables.fiscal import FiscalDocument
from tests.merchant import settings_of
from tests.reconcile.books.bad_tax_files import zipped
from tests.reconcile.books.tax_texts import CUSTOMER, MERCHANT, UUIDS, cfdi

HEADER = (
    "doc_type,series,folio,uuid,issue_date,customer_tax_id,customer_name,net,exempt,vat,total,currency,payment_method,"
    "payment_form"
)
MAIN = Connection.model_validate({"name": "main", "country": "mx", "tax_id": MERCHANT, "api_key": "sk_test_1"})


def row_of(letter: str, name: str) -> str:
    return f"I,A,17,{UUIDS[letter]},2026-10-05,{CUSTOMER},{name},1000.00,0.00,160.00,1160.00,MXN,PUE,03"


@pytest.fixture
def packed(installation: Installation, tmp_path: Path) -> Path:
    """Let a list bring two documents, one under another name, and pack those, a new one and a purchase."""
    books = tmp_path / "books.csv"
    books.write_text("\n".join([HEADER, row_of("a", "XENON INDUSTRIAL"), row_of("b", "XENON"), ""]), encoding="utf-8")
    assert import_invoices(installation, MAIN, books).added == 2
    path = tmp_path / "october.zip"
    bought = cfdi("d", issuer=CUSTOMER, receiver=MERCHANT)
    sold = {f"{letter}__xml": cfdi(letter).encode() for letter in "abc"}
    path.write_bytes(zipped(**sold, d__xml=bought.encode()))
    return path


def test_what_a_list_brought_is_not_new(installation: Installation, packed: Path) -> None:
    """Two of four are new; of the others one changes and one stays; what comes in then is what was said."""
    found = take_in(installation, MAIN, Kind.INVOICES, packed, dry_run=True)
    assert dict(found.counts) == {"added": 2, "changed": 1, "unchanged": 1}
    assert [(one.doc_key, one.field, one.before, one.after) for one in found.changes] == [
        (f"mx:uuid:{UUIDS['b']}", "customer_name", "XENON", "XENON INDUSTRIAL")
    ]
    sums = {"net": 100_000, "exempt": 0, "vat": 16_000, "total": 116_000}
    assert [(one.about, one.currency, one.count, dict(one.amounts)) for one in found.totals] == [
        ("I", "MXN", 3, {name: 3 * amount for name, amount in sums.items()}),
        ("I received", "MXN", 1, sums),
    ]
    with installation.store.reading() as session:
        assert session.exec(select(FiscalDocument)).all() == []
    kept = take_in(installation, MAIN, Kind.INVOICES, packed, dry_run=False)
    assert (kept.kept, dict(kept.counts)) == (True, dict(found.counts))
    with installation.store.reading() as session:
        names = session.exec(select(LocalInvoice.customer_name)).all()
    assert names == ["XENON INDUSTRIAL"] * 3
    again = import_tax_files(installation, MAIN, [packed], dry_run=True)
    assert (again.added, again.changed, again.counts[Verdict.KNOWN]) == (0, 0, 4)


def test_a_dry_run_of_several_batches_counts_a_document_once(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same content in a later batch is known, as it will be."""
    monkeypatch.setattr("reconcile.books.tax_intake._BATCH", 1)
    path = tmp_path / "twice.zip"
    path.write_bytes(zipped(a__xml=cfdi("a").encode(), b__xml=cfdi("a").encode()))
    looked = import_tax_files(installation, MAIN, [path], dry_run=True)
    assert (looked.added, looked.counts[Verdict.TAKEN], looked.counts[Verdict.KNOWN]) == (1, 1, 1)


def bring(installation: Installation, data: Path, *words: Path | str) -> Result:
    settings = settings_of("http://provider.test", data, country="mx", tax_id=MERCHANT)
    merchant = Installation(settings=settings, store=installation.store)
    return CliRunner().invoke(Commands(), ["invoices", "import", *map(str, words)], obj=lambda: merchant)


def test_a_file_that_brings_nothing_is_not_done_and_says_why(installation: Installation, tmp_path: Path) -> None:
    """A ZIP in a ZIP is named with its reason; the status is that of a refused file."""
    nest = tmp_path / "nest.zip"
    nest.write_bytes(zipped(inner__zip=zipped(a__xml=cfdi("a").encode())))
    answer = bring(installation, tmp_path, nest)
    assert answer.exit_code == 1
    assert "nest.zip: 0 documents came in" in answer.stderr
    assert "nest.zip/inner.zip: is no XML" in answer.stderr


def test_the_dry_run_of_the_terminal_says_the_same(installation: Installation, packed: Path, tmp_path: Path) -> None:
    """Counts stand in the first line, and totals to compare below."""
    answer = bring(installation, tmp_path, packed, "--dry-run")
    assert answer.exit_code == 0
    assert "october.zip: 4 documents would come in: 2 new, 1 changed, 1 as known" in answer.stderr
    assert [line.split() for line in answer.stdout.splitlines() if "MXN" in line] == [
        ["I", "MXN", "3", "3000.00", "0.00", "480.00", "3480.00"],
        ["I", "received", "MXN", "1", "1000.00", "0.00", "160.00", "1160.00"],
    ]
