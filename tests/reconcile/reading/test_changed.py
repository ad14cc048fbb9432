"""Documents of which a later file states something else than their XML."""

from pathlib import Path

import pytest

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.books.invoices import import_invoices
from reconcile.books.tax_intake import import_tax_files
from reconcile.reading.frames import read_changed_documents
from tests.reconcile.books.tax_texts import CUSTOMER, MERCHANT, UUIDS, cfdi

pytestmark = pytest.mark.both_databases
MEXICO = Connection.model_validate({"name": "main", "api_key": "sk_test_one", "country": "mx", "tax_id": MERCHANT})
KEY = f"mx:uuid:{UUIDS['a']}"
DEARER = cfdi("a", receiver="XAXX010101000", total="2320.00", net="2000.00", vat="320.00")


class Books:
    """Files brought in one after the other, and what is then found changed."""

    def __init__(self, installation: Installation, folder: Path) -> None:
        self.installation, self.folder = installation, folder

    def bring(self, text: str) -> None:
        path = self.folder / "one.xml"
        path.write_text(text, encoding="utf-8")
        import_tax_files(self.installation, MEXICO, [path])

    def state(self, cells: str, header: str = "RfcEmisor,UUID,Efecto,Folio,Fecha,Total,RfcReceptor,Pedido") -> None:
        path = self.folder / "list.csv"
        path.write_text(f"{header}\n{MERCHANT},{UUIDS['a']},I,17,{cells}\n", encoding="utf-8")
        assert import_invoices(self.installation, MEXICO, path).rejects == ()

    def changed(self) -> list[tuple[object, ...]]:
        with self.installation.store.connection() as database:
            frame = read_changed_documents(database, MEXICO)
        return list(frame.astype(object).itertuples(index=False, name=None))


@pytest.fixture
def books(installation: Installation, tmp_path: Path) -> Books:
    return Books(installation, tmp_path)


def test_a_first_import_and_the_same_again_change_nothing(books: Books) -> None:
    """Neither does a list that came before the XML, nor one that says the same."""
    books.state(f"2026-10-04,99.00,{CUSTOMER},P-1")
    books.bring(cfdi("a"))
    books.bring(cfdi("a"))
    books.state(f"2026-10-05,1160.00,{CUSTOMER},P-2")
    assert books.changed() == []


def test_other_xml_of_a_document_is_found_until_its_own_comes_again(books: Books) -> None:
    """It is one document however often the other XML comes, and the books keep what came first."""
    books.bring(cfdi("a"))
    for _ in range(2):
        books.bring(DEARER)
        assert books.changed() == [(KEY, "MXN", 116000, 116000, "customer_tax_id total")]
    books.bring(cfdi("a"))
    assert books.changed() == []


@pytest.mark.parametrize(
    "other", [cfdi("a", seal="b3Ryb3M="), cfdi("a", folio="18"), cfdi("a", terms='FormaPago="01" MetodoPago="PUE"')]
)
def test_what_does_not_matter_is_not_found(books: Books, other: str) -> None:
    """Another signature, folio or form of payment is no other sale."""
    books.bring(cfdi("a"))
    books.bring(other)
    assert books.changed() == []


@pytest.mark.parametrize(
    ("cells", "difference", "fields"),
    [
        (f"2026-10-05,1000.00,{CUSTOMER},P-1", -16000, "total"),
        (f"2026-11-05,1160.00,{CUSTOMER},P-1", 0, "issue_date"),
        ("2026-10-05,1160.00,VECJ880326XX1,P-1", 0, "customer_tax_id"),
    ],
)
def test_later_books_that_state_something_else_are_found(
    books: Books, cells: str, difference: int, fields: str
) -> None:
    """Total, day and receiver, until a later file states them as the XML does."""
    books.bring(cfdi("a"))
    books.state(cells)
    assert books.changed() == [(KEY, "MXN", 116000, difference, fields)]
    books.state(f"2026-10-05,1160.00,{CUSTOMER},P-3")
    assert books.changed() == []


def test_whom_the_public_s_document_was_for_is_no_change(books: Books) -> None:
    """Books may know who bought under the tax id of the public."""
    books.bring(cfdi("a", receiver="XAXX010101000"))
    books.state(f"2026-10-05,1160.00,{CUSTOMER},P-1")
    assert books.changed() == []
