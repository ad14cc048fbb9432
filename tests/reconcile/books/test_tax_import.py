"""Tax documents into the books: a verdict for each file, once, and every file of a folder by itself."""

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import Result as Answer
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.tables.provider import Entity
from consumer.facts.work import Completion
from reconcile.books import tax_intake
from reconcile.books.intake import Kind, bring_in
from reconcile.books.invoices import import_invoices
from reconcile.books.tax_files import is_tax_path
from reconcile.books.tax_intake import TaxOutcome, import_tax_files
from reconcile.desk import removals
from reconcile.desk.decisions import Signature
from reconcile.tables.books import InvoiceFile, LocalInvoice, LocalInvoiceChange
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment, FiscalRelation
from tests.reconcile.books.tax_texts import (
    CUSTOMER,
    MERCHANT,
    OTHER_RUT,
    OWN_RUT,
    PPD,
    TOTALS,
    UUIDS,
    cfdi,
    complement,
    dte,
    reference,
    related,
)
from tests.reconcile.conftest import NOON

if TYPE_CHECKING:
    from reconcile.books.tax_judging import Found

DTE_KINDS = ("33", "34", "39", "41", "43", "46", "52", "56", "61", "110", "111", "112")
KEYS = {letter: f"mx:uuid:{uuid}" for letter, uuid in UUIDS.items()}


def connection(country: str = "mx") -> Connection:
    tax_id = MERCHANT if country == "mx" else OWN_RUT
    return Connection.model_validate({"name": "main", "api_key": "sk_test_one", "country": country, "tax_id": tax_id})


class Folder:
    """A folder of files that is imported; `verdicts` are those of the last time, by file."""

    def __init__(self, installation: Installation, path: Path, country: str = "mx") -> None:
        self.installation, self.path, self.main = installation, path, connection(country)
        self.found: list[Found] = []

    def lay(self, **files: str | bytes) -> None:
        for name, text in files.items():
            path = self.path / f"{name}.xml"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def take(self, **options: Any) -> TaxOutcome:
        self.found = []
        return import_tax_files(self.installation, self.main, [self.path], on_found=self.found.append, **options)

    @property
    def verdicts(self) -> dict[str, str]:
        return {one.file.removesuffix(".xml"): one.verdict.value for one in self.found}

    def kept(self, table: Any) -> list[Any]:
        with self.installation.store.reading() as session:
            return list(session.exec(select(table)))

    def states(self) -> dict[str, tuple[str, str]]:
        """Return of each tax document its state and what takes its place."""
        return {row.doc_key: (row.status, row.replaced_by) for row in self.kept(FiscalDocument)}


@pytest.fixture
def folder(installation: Installation, tmp_path: Path) -> Folder:
    path = tmp_path / "xml"
    path.mkdir()
    return Folder(installation, path)


def test_a_sale_goes_into_the_books_once(folder: Folder) -> None:
    """The same folder again changes nothing; the sale is a document of the books, whole."""
    folder.lay(one=cfdi("a", terms=PPD))
    assert (folder.take().status, folder.verdicts) == (Completion.DONE, {"one": "taken"})
    (row,) = folder.kept(LocalInvoice)
    assert (row.doc_key, row.doc_type, row.series, row.folio, row.total) == (KEYS["a"], "I", "A", "17", 116000)
    assert (row.customer_tax_id, row.customer_name, row.payment_method, row.status) == (
        CUSTOMER, "XENON INDUSTRIAL", "PPD", "valid",
    )  # fmt: skip
    assert (folder.take().status, folder.verdicts) == (Completion.DONE, {"one": "known"})
    assert len(folder.kept(FiscalDocument)) == len(folder.kept(InvoiceFile)) == 1


def test_every_file_of_a_mixed_folder_has_its_verdict(folder: Folder) -> None:
    """Hostile, foreign and broken files keep no good one out; the outcome says that some were refused."""
    folder.lay(
        good=cfdi("a"), bought=cfdi("b", issuer=CUSTOMER, receiver=MERCHANT), again=cfdi("a"),
        altered=cfdi("a", total="1.00", seal="b3Ryb3M="), bare=cfdi("c", stamp=False), wages=cfdi("d", kind="N"),
        stranger=cfdi("e", issuer=CUSTOMER, receiver="AAA010101AAA"), broken="<cfdi:Comprobante",
        bomb='<!DOCTYPE l [<!ENTITY a "ha">]><Comprobante>&a;</Comprobante>',
    )  # fmt: skip
    (folder.path / "leeme.pdf").write_bytes(b"%PDF-1.4")
    outcome = folder.take()
    assert folder.verdicts == {
        "again": "taken", "altered": "changed", "bare": "without_stamp", "bomb": "unreadable", "bought": "taken",
        "broken": "unreadable", "good": "known", "leeme.pdf": "not_for_us", "stranger": "other_issuer",
        "wages": "not_for_us",
    }  # fmt: skip
    assert (outcome.status, outcome.refused, outcome.kept) == (Completion.PARTLY_DONE, 5, 2)
    assert {row.doc_key: row.direction for row in folder.kept(FiscalDocument)} == {
        KEYS["a"]: "issued", KEYS["b"]: "received",
    }  # fmt: skip
    assert [row.doc_key for row in folder.kept(LocalInvoice)] == [KEYS["a"]]
    said = {one.file: str(one.reason) for one in outcome.listed}
    assert said["stranger.xml"] == f"issued by {CUSTOMER} to another company; the merchant is {MERCHANT}"
    assert said["altered.xml"] == f"{KEYS['a']} is known with other content: the first one stays"


@pytest.mark.parametrize("first", ["old", "new"])
def test_a_substitute_takes_the_place_of_a_document(folder: Folder, first: str) -> None:
    """Whichever comes first, the replaced one is void in the books and names what took its place."""
    texts = {"old": cfdi("a"), "new": cfdi("b", related=related("04", "a"))}
    folder.lay(**{first: texts[first]})
    folder.take()
    folder.lay(**texts)
    folder.take()
    assert folder.verdicts[first] == "known"
    assert folder.states() == {KEYS["a"]: ("replaced", KEYS["b"]), KEYS["b"]: ("valid", "")}
    assert {row.doc_key: (row.status, row.ref_number) for row in folder.kept(LocalInvoice)} == {
        KEYS["a"]: ("void", ""), KEYS["b"]: ("valid", UUIDS["a"]),
    }  # fmt: skip


def test_both_of_a_substitution_in_one_folder(folder: Folder) -> None:
    """The replaced one comes in as such."""
    folder.lay(a=cfdi("a"), b=cfdi("b", related=related("04", "a")))
    folder.take()
    assert folder.verdicts == {"a": "replaced", "b": "taken"}
    assert folder.states() == {KEYS["a"]: ("replaced", KEYS["b"]), KEYS["b"]: ("valid", "")}


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_no_one_else_takes_the_place_of_our_document(folder: Folder, first: str) -> None:
    """A supplier that names our document leaves it valid, whichever comes first; its own one it replaces."""
    named = related("04", "a", "c")
    texts = {"ours": cfdi("a"), "theirs": cfdi("b", issuer=CUSTOMER, receiver=MERCHANT, related=named),
             "old": cfdi("c", issuer=CUSTOMER, receiver=MERCHANT)}  # fmt: skip
    folder.lay(**{first: texts[first]})
    folder.take()
    folder.lay(**texts)
    folder.take()
    assert folder.states() == {
        KEYS["a"]: ("valid", ""), KEYS["b"]: ("valid", ""), KEYS["c"]: ("replaced", KEYS["b"]),
    }  # fmt: skip
    assert [(row.doc_key, row.status) for row in folder.kept(LocalInvoice)] == [(KEYS["a"], "valid")]


def test_a_refused_document_takes_no_place(folder: Folder) -> None:
    """An altered copy of a known document replaces nothing, and no document replaces itself."""
    folder.lay(b=cfdi("b"))
    folder.take()
    folder.lay(a=cfdi("a", related=related("04", "a")), b=cfdi("b", seal="b3Ryb3M=", related=related("04", "a")))
    folder.take()
    assert folder.verdicts == {"a": "taken", "b": "changed"}
    assert folder.states() == {KEYS["a"]: ("valid", ""), KEYS["b"]: ("valid", "")}


def test_a_list_does_not_revive_a_replaced_document(folder: Folder) -> None:
    """A later list that calls it valid leaves it void, and changes what else it states."""
    folder.lay(a=cfdi("a"), b=cfdi("b", related=related("04", "a")))
    folder.take()
    path = folder.path / "list.csv"
    lines = [f"{MERCHANT},{UUIDS[letter]},I,17,2026-10-05,1160.00,Vigente,P-1" for letter in "ab"]
    path.write_text("\n".join(["RfcEmisor,UUID,Efecto,Folio,Fecha,Total,Estatus,Pedido", *lines, ""]))
    assert import_invoices(folder.installation, folder.main, path).rejects == ()
    assert {row.doc_key: (row.status, row.order_ref) for row in folder.kept(LocalInvoice)} == {
        KEYS["a"]: ("void", "P-1"), KEYS["b"]: ("valid", "P-1"),
    }  # fmt: skip


def test_a_document_that_the_books_know_as_void_is_cancelled(folder: Folder) -> None:
    """What a list of the tax office said before stays true."""
    with folder.installation.store.transaction() as session:
        session.add(LocalInvoice(
            connection="main", doc_key=KEYS["a"], country="mx", doc_type="I", uuid=UUIDS["a"], issue_date=NOON.date(),
            total=116000, currency="MXN", status="void", file_sha256="x", updated_at=NOON,
        ))  # fmt: skip
    folder.lay(a=cfdi("a"))
    folder.take()
    assert (folder.verdicts, folder.states()[KEYS["a"]]) == ({"a": "cancelled"}, ("cancelled", ""))
    assert [row.status for row in folder.kept(LocalInvoice)] == ["void"]


def test_a_list_and_the_documents_are_one(folder: Folder) -> None:
    """What the books knew of a document by a list is completed, with its history."""
    with folder.installation.store.transaction() as session:
        session.add(LocalInvoice(
            connection="main", doc_key=KEYS["a"], country="mx", doc_type="I", uuid=UUIDS["a"], issue_date=NOON.date(),
            total=116000, currency="MXN", status="valid", file_sha256="x", updated_at=NOON, order_ref="P-1",
        ))  # fmt: skip
    folder.lay(a=cfdi("a"))
    outcome = folder.take()
    (row,) = folder.kept(LocalInvoice)
    assert (outcome.changed, row.customer_tax_id, row.order_ref, row.folio) == (1, CUSTOMER, "P-1", "17")
    assert "customer_tax_id" in {one.field for one in folder.kept(LocalInvoiceChange)}


def test_payments_and_purchases_are_no_sales(folder: Folder) -> None:
    """A complement keeps its payments; a global invoice sums up sales, so no payment may be its own."""
    whole = cfdi("e").replace(
        "<cfdi:Emisor", '<cfdi:InformacionGlobal Periodicidad="04" Meses="10" Año="2026"/><cfdi:Emisor'
    )
    folder.lay(
        c=complement("d", ("a", 1, "1160.00", "500.00", "660.00"), operation="87"), whole=whole,
        note=cfdi("f", kind="E", related=related("01", "a")),
    )  # fmt: skip
    folder.take()
    assert folder.verdicts == {"c": "taken", "whole": "taken", "note": "taken"}
    assert [(row.doc_key, row.ref_number) for row in folder.kept(LocalInvoice)] == [(KEYS["f"], UUIDS["a"])]
    (payment,) = folder.kept(FiscalPayment)
    assert (payment.doc_key, payment.paid_key, payment.operation, payment.paid) == (KEYS["d"], KEYS["a"], "87", 50000)
    assert {row.doc_key: row.global_of for row in folder.kept(FiscalDocument)}[KEYS["e"]] == "2026-10"
    assert [(row.kind, row.other_key) for row in folder.kept(FiscalRelation)] == [("01", KEYS["a"])]


def test_chilean_documents_of_both_sides(installation: Installation, tmp_path: Path) -> None:
    """A supplier's folio 15 is not our folio 15, and its references are its own."""
    folder = Folder(installation, tmp_path, "cl")
    note = dte("61", 3, totals=TOTALS, references=reference("33", "15", "1"), issuer=OTHER_RUT, receiver=OWN_RUT)
    folder.lay(
        own=dte("33", 15, totals=f"{TOTALS}<VlrPagar>150000</VlrPagar>").encode("latin-1"),
        theirs=dte("33", 15, totals=TOTALS, issuer=OTHER_RUT, receiver=OWN_RUT).encode("latin-1"),
        note=note.encode("latin-1"), guide=dte("52", 8, totals=TOTALS).encode("latin-1"),
    )  # fmt: skip
    folder.take()
    assert sorted(row.doc_key for row in folder.kept(FiscalDocument)) == [
        "cl:33::15", "cl:52::8", f"cl:{OTHER_RUT}:33:15", f"cl:{OTHER_RUT}:61:3",
    ]  # fmt: skip
    assert [row.other_key for row in folder.kept(FiscalRelation)] == [f"cl:{OTHER_RUT}:33:15"]
    assert [(row.doc_key, row.total) for row in folder.kept(LocalInvoice)] == [("cl:33::15", 150000)]


def zipped(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


def test_every_kind_of_chile_is_kept_and_sales_and_notes_are_books(installation: Installation, tmp_path: Path) -> None:
    """Settlements and export documents have bodies of their own names; purchases and delivery notes are no claims."""
    folder = Folder(installation, tmp_path / "dte", "cl")
    folder.path.mkdir()
    bodies = {"43": "Liquidacion", "110": "Exportaciones", "111": "Exportaciones", "112": "Exportaciones"}
    for kind in DTE_KINDS:
        text = dte(kind, 7, totals=TOTALS).replace("Documento", bodies.get(kind, "Documento"))
        folder.lay(**{kind: text.encode("latin-1")})
    folder.lay(**{"50": dte("50", 7, totals=TOTALS).encode("latin-1")})
    folder.take()
    assert folder.verdicts == {**dict.fromkeys(DTE_KINDS, "taken"), "50": "not_for_us"}
    assert sorted(row.kind for row in folder.kept(FiscalDocument)) == sorted(DTE_KINDS)
    sales = ["110", "111", "112", "33", "34", "39", "41", "43", "56", "61"]
    assert sorted(row.doc_type for row in folder.kept(LocalInvoice)) == sales


def test_a_zip_is_read_without_a_bomb(folder: Folder) -> None:
    """What shrinks a thousandfold is not unpacked, and the others come in."""
    (folder.path / "october.zip").write_bytes(
        zipped({"a.xml": cfdi("a").encode(), "bomb.xml": b"<Comprobante>" + b" " * 5_000_000})
    )
    outcome = folder.take()
    assert folder.verdicts == {"october.zip/a": "taken", "october.zip/bomb": "unreadable"}
    assert [str(one.reason) for one in outcome.listed] == ["the file shrinks more than any document does: not unpacked"]


def test_a_damaged_zip_gets_one_sentence(folder: Folder) -> None:
    """Neither a damaged archive nor a damaged file in it ends the import."""
    (folder.path / "a.zip").write_bytes(b"PK\x03\x04 no archive")
    damaged = bytearray(zipped({"a.xml": cfdi("a").encode()}))
    damaged[60:70] = b"0123456789"
    (folder.path / "b.zip").write_bytes(damaged)
    outcome = folder.take()
    assert [str(one.reason) for one in outcome.listed] == ["the ZIP is damaged", "the ZIP is damaged"]
    assert outcome.status is Completion.NOTHING_DONE


def test_a_member_that_does_not_unpack_is_alone(folder: Folder) -> None:
    """Damaged bytes of any packing are told of that member, and the next one comes in; its name moves no cursor."""
    for packing, name in ((zipfile.ZIP_LZMA, "lzma"), (zipfile.ZIP_BZIP2, "bzip2")):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", packing) as archive:
            archive.writestr("\x1b]0;bad\x07.xml", cfdi("a"))
            archive.writestr("good.xml", cfdi("b"))
        content = bytearray(made.getvalue())
        content[80:120] = bytes(40)
        (folder.path / f"{name}.zip").write_bytes(content)
    outcome = folder.take()
    assert sorted(folder.verdicts.items()) == [
        ("bzip2.zip/good", "taken"), ("bzip2.zip/\ufffd]0;bad\ufffd", "unreadable"),
        ("lzma.zip/good", "known"), ("lzma.zip/\ufffd]0;bad\ufffd", "unreadable"),
    ]  # fmt: skip
    assert {str(one.reason) for one in outcome.listed} == {"the ZIP is damaged"}


def test_a_pipe_is_not_waited_for(folder: Folder) -> None:
    """A name under which no file lies is told, and the others come in."""
    os.mkfifo(folder.path / "pipe.xml")
    os.mkfifo(folder.path / "pipe.zip")
    (folder.path / "good.xml").write_text(cfdi("a"))
    outcome = folder.take()
    assert [str(one.reason) for one in outcome.listed] == ["this is no file but a pipe or a device"] * 2
    assert outcome.kept == 1


def test_batches_are_bounded_and_each_is_whole(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch is one file of the books, and a second import finds all of them."""
    monkeypatch.setattr(tax_intake, "_BATCH", 2)
    folder.lay(a=cfdi("a"), b=cfdi("b"), c=cfdi("c"))
    assert folder.take().kept == 3
    assert sorted((row.name, row.rows) for row in folder.kept(InvoiceFile)) == [("xml", 2), ("xml (2)", 1)]
    assert folder.take().counts == {"known": 3}


def test_a_dry_run_keeps_nothing(folder: Folder) -> None:
    """It says what would happen."""
    folder.lay(a=cfdi("a"))
    assert folder.take(dry_run=True).kept == 1
    assert folder.kept(FiscalDocument) == folder.kept(LocalInvoice) == []


def test_without_its_own_tax_id_a_merchant_owns_nothing(folder: Folder) -> None:
    """Whose documents they are cannot be seen, and the sentence says what to do."""
    folder.main = Connection.model_validate({"name": "main", "api_key": "sk_test_one", "country": "mx"})
    folder.lay(a=cfdi("a"))
    (refused,) = folder.take().listed
    assert str(refused.reason) == "the merchant's own tax id is not known: set tax_id of the connection first"


def test_taking_a_file_back_brings_back_what_it_replaced(folder: Folder) -> None:
    """The substitute goes with what it stated; the document it replaced lives again."""
    folder.lay(a=cfdi("a"))
    folder.take()
    folder.lay(b=cfdi("b", related=related("04", "a")))
    folder.take()
    with folder.installation.store.transaction() as session:
        digest = session.exec(select(LocalInvoice.file_sha256).where(LocalInvoice.doc_key == KEYS["b"])).one()
        file = removals.find_file(session, "main", removals.Kind.INVOICES, digest)
        removals.take_back(session, file, Signature("ana", "wrong folder", NOON))
    assert folder.states() == {KEYS["a"]: ("valid", "")}
    assert [(row.doc_key, row.status) for row in folder.kept(LocalInvoice)] == [(KEYS["a"], "valid")]
    assert folder.kept(FiscalRelation) == []


def test_the_command_says_every_verdict(folder: Folder, call: Callable[..., Answer]) -> None:
    """A row for each file for programs; counts and the refused ones for people; 3 where some were refused."""
    body = json.dumps({"is_root": True, "holder_id": OWN_RUT})
    with folder.installation.store.transaction() as session:
        session.add(Entity(connection="main", id="ent_1", mode="test", version_at=NOON, body=body))
    folder.lay(a=dte("33", 15, totals=TOTALS).encode("latin-1"), b=dte("33", 16, totals=TOTALS, stamp=False))
    answer = call("invoices", "import", folder.path, "--json")
    rows = [json.loads(line) for line in answer.stdout.splitlines()]
    assert (answer.exit_code, rows) == (3, [
        {"connection": "main", "file": "a.xml", "verdict": "taken", "doc_key": "cl:33::15", "reason": ""},
        {"connection": "main", "file": "b.xml", "verdict": "without_stamp", "doc_key": "", "reason":
         "the document has no stamp of the tax office: bring in the stamped file"},
    ])  # fmt: skip
    answer = call("invoices", "import", folder.path)
    assert "0 documents came in" in answer.stderr
    assert [line.split() for line in answer.stdout.splitlines()[:3]] == [
        ["verdict", "count"], ["known", "1"], ["without", "stamp", "1"],
    ]  # fmt: skip


def test_a_page_and_a_program_hand_in_the_same_files(folder: Folder) -> None:
    """One ZIP is taken with what was refused as notes; the same again is known."""
    content = zipped({"a.xml": cfdi("a").encode(), "b.xml": cfdi("b", stamp=False).encode()})
    first = bring_in(folder.installation, folder.main, Kind.INVOICES, "october.zip", content)
    assert (first.verdict.value, first.kept, first.rows, dict(first.counts)["added"]) == ("taken", True, 2, 1)
    assert [str(note) for note in first.notes] == [
        "october.zip/b.xml: the document has no stamp of the tax office: bring in the stamped file"
    ]
    again = bring_in(folder.installation, folder.main, Kind.INVOICES, "a.xml", cfdi("a").encode())
    assert (again.verdict.value, str(again.earlier)) == ("known", "all 1 documents are known, nothing changed")
    refused = bring_in(folder.installation, folder.main, Kind.INVOICES, "b.xml", cfdi("b", stamp=False).encode())
    assert (refused.verdict.value, len(refused.rejects)) == ("refused", 1)


def test_sheets_stay_sheets(tmp_path: Path) -> None:
    """A workbook is a ZIP and a saved page begins with a bracket: neither is a tax document."""
    (tmp_path / "book.xlsx").write_bytes(zipped({"[Content_Types].xml": b"<Types/>"}))
    (tmp_path / "page.xls").write_bytes(b"<html><table><tr><td>Folio</td></tr></table></html>")
    (tmp_path / "plain.txt").write_bytes(cfdi("a").encode())
    assert [is_tax_path(tmp_path / name) for name in ("book.xlsx", "page.xls", "plain.txt")] == [False, False, True]
    assert is_tax_path(tmp_path)


def test_one_document_alone_needs_no_ending(folder: Folder) -> None:
    """Under any name it is read in UTF-16 and behind a long comment too."""
    text = cfdi("a").replace('encoding="UTF-8"', 'encoding="UTF-16"')
    wide = bring_in(folder.installation, folder.main, Kind.INVOICES, "wide", text.encode("utf-16"))
    assert (wide.verdict.value, wide.kept) == ("taken", True)
    late = cfdi("b").replace("?>", f"?><!--{'x' * 100_000}-->", 1).encode()
    behind = bring_in(folder.installation, folder.main, Kind.INVOICES, "late.txt", late)
    assert (behind.verdict.value, behind.kept) == ("taken", True)


@pytest.mark.both_databases
def test_both_databases_keep_the_same(folder: Folder) -> None:
    """Amounts, days and moments are what the XML states."""
    folder.lay(a=cfdi("a"), c=complement("d", ("a", 1, "1160.00", "500.00", "660.00")))
    assert folder.take().kept == 2
    found = {row.kind: row for row in folder.kept(FiscalDocument)}
    assert (found["I"].vat, found["I"].issued_at.isoformat(), found["I"].period) == (
        16000, "2026-10-06T05:30:00+00:00", "2026-10",
    )  # fmt: skip
    assert [(row.balance_after, row.paid_at.isoformat()) for row in folder.kept(FiscalPayment)] == [
        (66000, "2026-10-20T18:00:00+00:00")
    ]
