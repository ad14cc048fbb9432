"""OFX, SpreadsheetML, HTML and XLS made to harm or broken: one sentence each, soon, and nothing read."""

import random
import time
from contextlib import suppress
from pathlib import Path

import pytest

from reconcile.books.bank_files import read_bank_file
from reconcile.books.bank_statements import BankFileError, check_statements
from reconcile.books.proposals import propose_columns
from reconcile.books.reading import read_invoices

FILES = Path(__file__).parents[2] / "data" / "bank" / "dialects"
ENTITIES = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
BOOK = (FILES / "bbva-mexico.xls").read_text(encoding="latin-1")
OFX_1 = (FILES / "ofx-1.ofx").read_text(encoding="cp1252")
OFX_2 = (FILES / "ofx-2.ofx").read_text(encoding="utf-8")
NO_ENTITIES = "the file declares entities or a document type, which no bank file needs"
ROW = "<tr><td>Fecha</td><td>Monto</td></tr><tr><td>05/10/2026</td><td>{}</td></tr>"
UNREADABLE = "the line that begins on line 16 has {value!r} as {field}, which cannot be read"


def _refusal(content: bytes) -> str:
    began = time.process_time()
    with pytest.raises(BankFileError) as caught:
        read_bank_file(content, country="mx", mapping={})
    assert time.process_time() - began < 3
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        BOOK.replace("<Workbook", f"{ENTITIES}<Workbook").replace("COMISION", "&b;"),
        OFX_2.replace("<OFX>", f"{ENTITIES}<OFX>").replace("COMISION", "&b;"),
    ],
    ids=["SpreadsheetML", "OFX"],
)
def test_entities_are_refused(text: str) -> None:
    """A few lines of them would fill the memory, or read a file of the machine."""
    assert _refusal(text.encode("latin-1", errors="replace")) == NO_ENTITIES


def test_a_page_knows_the_signs_of_html_and_no_entity_of_its_own() -> None:
    """A declared entity is nothing that a table means."""
    page = (
        f"{ENTITIES}<html><table><tr><td>Fecha</td><td>Monto</td></tr><tr><td>05/10/2026</td><td>&b;</td></tr></table>"
    )
    reading = read_bank_file(page.encode(), country="cl", mapping={})
    assert [(one.line, one.column, one.value) for one in reading.rejects] == [(2, "Monto", "&b;")]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('ss:Type="Number">1160<', 'ss:Type="Number">1e999999999<'), "Abono"),
        (('ss:Index="5"', 'ss:Index="99999999"'), "Index 99999999"),
        (('ss:Index="4"><Data', 'ss:Index="-1"><Data'), "Index -1"),
        (('ss:MergeAcross="4"', 'ss:MergeAcross="16385"'), "MergeAcross 16385"),
        (("</Workbook>", ""), "no element found"),
    ],
)
def test_a_workbook_in_xml_that_cannot_be_is_refused(change: tuple[str, str], reason: str) -> None:
    """A place beyond the last column, a number that is none, a file cut off."""
    content = BOOK.replace(*change).encode("latin-1")
    if reason == "Abono":
        rejects = read_bank_file(content, country="mx", mapping={}).rejects
        assert [(one.line, one.column) for one in rejects] == [(6, "Abono")]
    else:
        assert reason in _refusal(content)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            ("49000.00", "49000.00.1"),
            UNREADABLE.format(value="49000.00.1", field="TRNAMT"),
        ),
        (
            ("20261005<", "20261305<"),
            UNREADABLE.format(value="20261305", field="DTPOSTED"),
        ),
        (("</STMTRS>", ""), "the OFX file ends within a statement: download it again"),
        (("<STMTRS>", "<CCSTMTRS>"), "the OFX file holds no statement of a bank account (STMTRS)"),
    ],
)
def test_an_ofx_that_cannot_be_read_says_where(change: tuple[str, str], reason: str) -> None:
    """One sentence names the line and the value, and nothing of the file comes in."""
    assert _refusal(OFX_1.replace("DTSTART>20261005<", "DTSTART>X<").replace(*change, 1).encode("cp1252")) == reason


@pytest.mark.parametrize(
    "content",
    [
        b"<html><table>" + b"<" * 10_000_000,
        b"<html><table>" + b"<td a='" * 1_000_000,
        b"<html><table>" + b"<!--" * 2_000_000,
        b"<html><table>" + b"<script>" * 1_000_000,
        b"<html>" + b"<table><tr><td>" * 300_000,
        b"OFXHEADER:100\r\n<OFX><STMTRS>" + b"<A" * 3_000_000,
        b"OFXHEADER:100\r\n<OFX><STMTRS>" + b"<STMTTRN>" * 300_000,
        b"x" * 10_000_000,
        b";" * 10_000_000,
    ],
    ids=["signs", "quotes", "comments", "scripts", "tables", "tags", "lines", "one cell", "one line"],
)
def test_ten_megabytes_of_nothing_are_refused_soon(content: bytes) -> None:
    """Reading takes time in proportion to the file, whatever is in it."""
    assert _refusal(content)


@pytest.mark.parametrize("kind", ["bbva-mexico.xls", "chile-cheques.xls", "banco-de-chile.csv", "ofx-2.ofx"])
def test_null_bytes_are_no_text(kind: str) -> None:
    """What no text holds comes from a broken copy."""
    content = (FILES / kind).read_bytes().replace(b"COMISION", b"COM\x00SION")
    try:
        reading = read_bank_file(content, country="mx", mapping={})
    except BankFileError:
        return
    assert "\x00" not in "".join(row.text for part in reading.statements for row in part.rows)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_a_page_is_read_in_any_usual_encoding(encoding: str) -> None:
    """A mark at the beginning says which, and without one the bytes themselves."""
    head, row = (
        "<tr><td>Fecha</td><td>Descripción</td><td>Monto</td></tr>",
        "<tr><td>05/10/2026</td><td>Ñ</td><td>5</td>",
    )
    page = f"<html><table>{head}{row}</table>"
    reading = read_bank_file(page.encode(encoding), country="cl", mapping={})
    assert [(row.text, row.amount) for row in reading.statements[0].rows] == [("Ñ", 5)]


def test_an_old_workbook_with_changed_bytes_is_refused_or_read() -> None:
    """Whatever error its reader makes of it, no other comes out, and none takes long."""
    whole, chance = (FILES / "banco-de-chile-cartola.xls").read_bytes(), random.Random(7)  # noqa: S311 - repeatable
    refused = 0
    for _ in range(150):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            content[chance.randrange(512, len(content))] = chance.choice([0, 255, chance.randrange(256)])
        began = time.process_time()
        try:
            read_bank_file(bytes(content), country="cl", mapping={})
        except BankFileError:
            refused += 1
        assert time.process_time() - began < 3
    assert 0 < refused < 150


SIGNS = (
    b";",
    b'"',
    b"<",
    b"&",
    b"\x00",
    b"\xff",
    b"\n",
    b"?20",
    b":61:",
    b"9" * 20,
    b"05/10/26",
    b"</td>",
    "²".encode(),
)


@pytest.mark.parametrize("path", sorted(FILES.iterdir()), ids=lambda path: path.name)
def test_a_changed_file_is_read_or_refused(path: Path) -> None:
    """Bytes changed, added, cut out or repeated make no other error, of a bank file, a list or a proposal."""
    whole, chance = path.read_bytes(), random.Random(path.name)  # noqa: S311 - repeatable
    for _ in range(40):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            place, other = chance.randrange(len(content)), chance.randrange(len(content))
            change = chance.choice([SIGNS[place % len(SIGNS)], bytes(content[other : other + 50]), b""])
            content[place : place + chance.randint(0, 20)] = change
        for country in ("cl", "mx"):
            with suppress(BankFileError):
                check_statements(read_bank_file(bytes(content), country=country, mapping={}).statements, "12345678")
            propose_columns(bytes(content), country=country)
            read_invoices(bytes(content), country=country, mapping={})


def test_two_lists_in_one_page_are_not_guessed() -> None:
    """One of two tables would be lost without a word."""
    table = f"<table>{ROW.format(5)}</table>"
    assert "on 2 sheets (HTML, table 1; HTML, table 2)" in _refusal(f"<html>{table}{table}</html>".encode())
