"""The books written as other systems write them: the same rows, told differently."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import pytest

from sandbox.scenarios.books import VARIANTS, write_books
from sandbox.state.happening import Document, WholeScenario

Builder = Callable[[str, int, float], WholeScenario]
ROW = {
    "doc_type": "33", "series": "", "folio": "10501", "uuid": "", "issue_date": "2026-09-03",
    "due_date": "2026-10-03", "customer_tax_id": "76192083-9", "customer_name": "Áridos Ñuble SpA", "net": "1000000",
    "exempt": "0", "vat": "190000", "total": "1190000", "currency": "CLP", "status": "valid", "order_ref": "PED-1",
    "ref_type": "", "ref_number": "", "payment_method": "", "payment_form": "",
}  # fmt: skip
DOCUMENT = Document(datetime(2026, 9, 3, 12, tzinfo=UTC), ROW)
HEAD = (
    "doc_type,series,folio,uuid,issue_date,due_date,customer_tax_id,customer_name,net,exempt,vat,total,currency,status,"
    "order_ref,ref_type,ref_number,payment_method,payment_form"
)


def written(documents: Iterable[Document], variant: str = "plain") -> bytes:
    return b"".join(write_books(documents, variant))


def second_line(variant: str, encoding: str = "utf-8") -> str:
    return written([DOCUMENT], variant).decode(encoding).splitlines()[1]


def test_the_plain_file_has_the_canonical_columns() -> None:
    """Commas, ISO dates, whole amounts, UTF-8."""
    row = "33,,10501,,2026-09-03,2026-10-03,76192083-9,Áridos Ñuble SpA,1000000,0,190000,1190000,CLP,valid,PED-1,,,,"
    assert written([DOCUMENT]).decode() == f"{HEAD}\r\n{row}\r\n"


def test_amounts_dates_and_headings_vary() -> None:
    """Each variant changes what it says and nothing else."""
    tail = ";CLP;valid;PED-1;;;;"
    start = "33;;10501;;2026-09-03;2026-10-03;76192083-9;Áridos Ñuble SpA"
    assert second_line("thousands") == f"{start};1.000.000;0;190.000;1.190.000{tail}"
    assert ",1000000.00,0.00,190000.00,1190000.00," in second_line("decimals")
    assert ",03/09/2026,03/10/2026," in second_line("day-first")
    assert written([DOCUMENT], "spanish-headings").decode().startswith("Tipo Doc,series,Folio,uuid,Fecha Emisión")
    assert ",190000,,CLP" in second_line("no-total")


def test_encodings_and_line_ends_vary() -> None:
    """The bytes of a name with an accent, of the file's beginning, and of its lines."""
    assert "Áridos Ñuble".encode("latin-1") in written([DOCUMENT], "latin-1")
    assert written([DOCUMENT], "byte-order-mark").startswith(b"\xef\xbb\xbfdoc_type")
    assert second_line("utf-16", "utf-16").startswith("33,")
    assert written([DOCUMENT], "unix-lines").count(b"\n") == 2
    assert b"\r" not in written([DOCUMENT], "unix-lines")


def test_lines_around_the_table_are_no_documents() -> None:
    """Two titles above the headings; a line of sums below, exact to the last decimal."""
    titled = written([DOCUMENT], "title-rows").decode().splitlines()
    assert titled[:3] == ["Almacenes Tres Puentes", "Libro de ventas", HEAD]
    priced = Document(DOCUMENT.known_at, ROW | {"net": "0.10", "exempt": "0.00", "vat": "0.02", "total": "0.12"})
    summed = written([DOCUMENT, priced], "total-row").decode().splitlines()
    assert summed[-1] == "Total,,,,,,,,1000000.10,0.00,190000.02,1190000.12,,,,,,,"


def test_books_without_a_row_are_headings_alone() -> None:
    """An empty month is an empty table, not an empty file."""
    assert written([]).decode() == f"{HEAD}\r\n"


def test_every_variant_can_write_every_scenario(scenario: Builder) -> None:
    """A row for each document, in whatever encoding; one of the variants lacks what a reader needs."""
    for name, variant in VARIANTS.items():
        encoding, extra = variant.encoding, len(variant.titles) + variant.is_summed
        for documents in (scenario("chaos", 1, 0.3).documents, scenario("mexico", 1, 1.0).documents):
            assert len(written(documents, name).decode(encoding).splitlines()) == len(documents) + 1 + extra
    assert [name for name, variant in VARIANTS.items() if not variant.is_whole] == ["no-total"]


def test_a_variant_that_does_not_exist_is_refused() -> None:
    """The message lists those that do."""
    with pytest.raises(ValueError, match="no file variant 'pdf': choose one of plain, semicolon"):
        written([DOCUMENT], "pdf")
