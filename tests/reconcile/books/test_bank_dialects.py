"""Every dialect of the table has a file made by us in that form, whose totals are written here by hand."""

from pathlib import Path
from typing import NamedTuple

import pytest

from reconcile.books.bank_files import read_bank_file
from reconcile.books.dialects import ADVICE_FORMS, DIALECTS

FILES = Path(__file__).parents[2] / "data" / "bank" / "dialects"


class Statement(NamedTuple):
    """What a file says: form, sums of both directions, balances, and of the deposit its day, words and reference."""

    form: str
    inbound: int
    outbound: int
    balances: tuple[int, int] | None
    deposit: tuple[str, str, str]


STATEMENTS = {
    "cuadre": Statement("CSV", 49_000, -1_000, None, ("2026-10-05", "PAGO po_1", "po_1")),
    "banco-de-chile": Statement(
        "CSV", 49_000, -1_000, (100_000, 148_000), ("2026-10-05", "TRASPASO DE: PASARELA SPA po_1", "")
    ),
    "banco-de-chile-cartola": Statement(
        "XLS", 49_000, -1_000, (100_000, 148_000), ("2026-10-05", "TEF PASARELA po_1", "00017")
    ),
    "chile-cheques": Statement(
        "HTML", 49_000, -1_000, (100_000, 148_000), ("2026-10-05", "TEF PASARELA & Cía", "00017")
    ),
    "chile-deposito": Statement("CSV", 50_500, -1_000, (100_000, 149_500), ("2026-10-05", "TEF PASARELA", "17")),
    "chile-giros": Statement("CSV", 49_000, -1_000, (100_000, 148_000), ("2026-10-05", "ABONO ÑUÑOA", "17")),
    "bbva-mexico": Statement(
        "SpreadsheetML", 116_000, -1_160, (100_000, 214_840), ("2026-07-27", "SPEI RECIBIDO/0012 po_1", "")
    ),
    "banorte": Statement(
        "CSV", 116_000, -1_160, (100_000, 214_840),
        ("2026-10-05", "SPEI RECIBIDO DEL CLIENTE COMERCIAL DOS SA, CONCEPTO: po_1 FACTURA 7",
         "0000123 2026100540014ABC123"),
    ),
    "mexico-cargo-abono": Statement(
        "CSV", 116_000, -1_160, None, ("2026-07-28", "SPEI DOS SA", "2026072840014ABC123")
    ),
    "mt940": Statement(
        "MT940", 49_000, -1_000, (100_000, 148_000),
        ("2026-10-05", "TRANSFERENCIA PAGO DE LA SEMANA 40 FACTURAS 7 Y 8 037 000998877 PASARELA SPA",
         "B1 po_1 K-77"),
    ),
    "mt942": Statement("MT942", 49_000, -1_000, None, ("2026-10-05", "PAGO PASARELA", "po_1 B1")),
    "camt.053": Statement("camt.053", 49_000, -1_000, (100_000, 148_000), ("2026-10-05", "PAGO PASARELA", "B1 po_1")),
    "camt.052": Statement("camt.052", 49_000, -1_000, None, ("2026-10-05", "PAGO PASARELA", "B1 po_1")),
    "camt.054": Statement("camt.054", 49_000, -1_000, None, ("2026-10-05", "PAGO PASARELA", "B1 po_1")),
    "ofx-1": Statement("OFX", 49_000, -1_000, None, ("2026-10-05", "PASARELA & CÍA PAGO po_1", "R17 F1")),
    "ofx-2": Statement("OFX", 116_000, -1_160, None, ("2026-10-05", "DOS SA PAGO <po_1> & MÁS", "F1")),
}  # fmt: skip
MEXICAN = {"bbva-mexico", "banorte", "mexico-cargo-abono", "ofx-2"}


@pytest.mark.parametrize("name", [one.name for one in DIALECTS])
def test_a_file_of_each_dialect_says_what_was_written(name: str) -> None:
    """Both sums, both balances and every word of the deposit come out, in the form that the table names."""
    (path,) = (path for path in FILES.iterdir() if path.stem == name)
    reading = read_bank_file(path.read_bytes(), country="mx" if name in MEXICAN else "cl", mapping={})
    assert reading.rejects == ()
    (statement,) = reading.statements
    amounts = [row.amount for row in statement.rows]
    deposit = next(row for row in statement.rows if row.amount > 0)
    opening, closing = statement.opening, statement.closing
    assert Statement(
        reading.file_format,
        sum(amount for amount in amounts if amount > 0),
        sum(amount for amount in amounts if amount < 0),
        (opening.amount, closing.amount) if opening and closing else None,
        (deposit.booked_on.isoformat(), deposit.text, deposit.reference),
    ) == STATEMENTS[name]  # fmt: skip
    assert reading.file_format in next(one.forms for one in DIALECTS if one.name == name)


def test_the_table_knows_each_file_and_its_source() -> None:
    """No file without a row, no row without a file, and each says where its form was learned."""
    assert sorted(path.stem for path in FILES.iterdir()) == sorted(STATEMENTS) == sorted(one.name for one in DIALECTS)
    assert all(one.learned for one in DIALECTS)
    assert {"MT942", "camt.052", "camt.054"} == ADVICE_FORMS


def test_the_offset_of_an_ofx_moment_gives_the_local_day() -> None:
    """Two in the morning in Greenwich is the evening before in Santiago."""
    reading = read_bank_file((FILES / "ofx-1.ofx").read_bytes(), country="cl", mapping={})
    assert [row.booked_on.isoformat() for row in reading.statements[0].rows] == ["2026-10-05", "2026-10-05"]


def test_a_sign_within_a_text_of_ofx_keeps_the_words_after_it() -> None:
    """Programs of banks forget to escape it."""
    text = (FILES / "ofx-1.ofx").read_bytes().replace(b"<MEMO>PAGO", b"<MEMO>PAGO < 5 UF &")
    reading = read_bank_file(text, country="cl", mapping={})
    assert reading.statements[0].rows[0].text == "PASARELA & CÍA PAGO < 5 UF & po_1"


def test_an_entry_that_is_only_announced_is_left_out_aloud() -> None:
    """An interim report holds what is not booked too."""
    reading = read_bank_file((FILES / "camt.052.xml").read_bytes(), country="cl", mapping={})
    assert [*map(str, reading.notes)] == ["1 entries are not booked yet and were left out"]


def test_the_documentation_lists_the_table() -> None:
    """What `cuadre bank formats` prints and what the page says are one."""
    page = (Path(__file__).parents[3] / "docs" / "files.md").read_text(encoding="utf-8")
    rows = [
        f"| `{one.name}` | {one.bank} | {one.holds} | {one.learned} | {'yes' if one.is_real_seen else 'no'} |"
        for one in DIALECTS
    ]
    assert "\n".join(rows) in page
