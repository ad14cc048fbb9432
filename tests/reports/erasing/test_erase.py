"""A person erased: nothing of them is left in any row, and every amount, id and count stays."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import col, select

from consumer.facts.installation import Installation
from consumer.facts.meaning import meaning_sha256, read_object
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import PaymentIntent
from consumer.inbox.record import Verdict
from reconcile.books.invoices import import_invoices
from reconcile.tables.books import LocalInvoice
from reconcile.tables.closing import PeriodAdjustment
from reconcile.tables.runs import Run
from reports.making import catalogue
from reports.output import files
from reports.output.export import Format
from reports.output.files import Shape
from reports.queries.query import Query
from reports.tables import AuditEntry, SavedView
from tests.merchant import row_of, rows_of
from tests.reconcile.conftest import World
from tests.reports.erasing.conftest import (
    ACCOUNT,
    AT,
    COMMENT,
    DAY,
    MAIL,
    NAME,
    ORDER,
    OTHER_NAME,
    OTHER_RUT,
    PLANTED,
    RUT,
    arrive,
    body_of,
    call,
    event_of,
    figures,
    found_in,
    observed,
    texts_of,
)


@pytest.mark.both_databases
def test_nothing_of_the_person_is_left_and_every_figure_is(lived: Installation) -> None:
    """Rows, files, chunks and inputs of runs hold no word of theirs, and nothing of the other customer is missing."""
    before = figures(lived)
    assert {word for _, word in found_in(lived)} >= {RUT, "Peñaloza", "penaloza@", ACCOUNT, "Eulalia", "ZAPATO"}
    dry = call(lived, "erase", "12.345.678-5", "--dry-run", "--json")
    assert dry.exit_code == 0, dry.output
    shown = rows_of(dry)
    assert {row["place"] for row in shown} >= {"customer", "event", "event_conflict", "payment_intent", "refund",
        "local_invoice", "bank_line", "order_answer", "result_chunk", "runs", "reports", "audit_entry"}  # fmt: skip

    result = call(lived, "erase", "12.345.678-5", "--yes")
    assert result.exit_code == 0, result.output
    assert found_in(lived) == set()
    assert figures(lived) == before
    whole = "".join(text for _, text in texts_of(lived))
    assert OTHER_NAME in whole
    assert OTHER_RUT in whole


def test_the_next_run_finds_what_the_last_one_found(lived: Installation) -> None:
    """Equal words became equal ones, so the rules match the same rows, and no closed figure gets an adjustment."""
    with lived.store.reading() as session:
        (first,) = session.exec(select(Run))
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    assert call(lived, "reconcile", "--as-of", DAY).exit_code == 0
    with lived.store.reading() as session:
        newest = session.exec(select(Run).order_by(col(Run.number).desc()).limit(1)).one()
        assert session.exec(select(PeriodAdjustment)).all() == []
    assert newest.id != first.id
    before, after = (json.loads(run.summary) for run in (first, newest))
    assert {name: before[name] for name in before if name != "inputs"} == {
        name: after[name] for name in before if name != "inputs"
    }
    assert found_in(lived) == set()


def test_the_bytes_of_the_file_hold_nothing_either(lived: Installation) -> None:
    """Neither the database nor its log keeps what was overwritten, in any encoding that SQLite writes."""
    if not lived.store.is_sqlite:
        pytest.skip("a file of SQLite")
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    lived.store.close()
    path = Path(str(lived.store.url.database))
    for file in path.parent.glob(f"{path.name}*"):
        content = file.read_bytes()
        assert [word for word in (*PLANTED, "penaloza", "eulalia") if word.encode() in content] == []


@pytest.mark.both_databases
def test_later_facts_about_them_are_redacted_as_they_arrive(lived: Installation, tmp_path: Path) -> None:
    """A repeated event is a duplicate, a changed one a conflict; pulls and imports bring no word back."""
    assert call(lived, "erase", MAIL, "--yes").exit_code == 0
    body = event_of("evt_1", body_of("pi_1", 1190))
    assert arrive(lived, body) is Verdict.DUPLICATE
    assert arrive(lived, event_of("evt_1", body_of("pi_1", 1191))) is Verdict.CONFLICT
    assert arrive(lived, event_of("evt_9", body_of("pi_9", 300))) is Verdict.STORED
    observed(lived, "payment_intent", body_of("pi_1", 1190), AT + timedelta(days=1))
    observed(lived, "payment_intent", body_of("pi_9", 300, created_at="2026-09-11T15:00:00Z"), AT)
    observed(lived, "refund", {"id": "re_1", "status": "failed", "amount": 10, "currency": "CLP", "mode": "test",
             "object": "refund", "resource_id": "pi_1", "comment": COMMENT}, AT + timedelta(days=1))  # fmt: skip
    rows = (
        f"33,7,2026-09-01,{RUT},{NAME},1190,{ORDER}",
        f"33,10,2026-09-11,{RUT},{NAME},300,",
        f"33,11,2026-09-11,{OTHER_RUT},{OTHER_NAME},20,",
    )
    file = tmp_path / "books.csv"
    file.write_text(
        "doc_type,folio,issue_date,customer_tax_id,customer_name,total,order_ref\n" + "\n".join(rows), encoding="utf-8"
    )
    main = lived.settings.connection("main")
    outcome = import_invoices(lived, main, file)
    assert (outcome.added, outcome.changed, outcome.unchanged) == (2, 0, 1), outcome.rejects
    assert found_in(lived) == set()
    with lived.store.reading() as session:
        known = session.get_one(Event, ("main", "evt_9"))
        assert known.meaning_sha256 == meaning_sha256(read_object(event_of("evt_9", body_of("pi_9", 300))))
        payment = session.get_one(PaymentIntent, ("main", "pi_9"))
        document = session.get_one(LocalInvoice, ("main", "cl:33::10"))
        assert (payment.amount, payment.customer_tax_id) == (300, document.customer_tax_id)
        assert session.get_one(LocalInvoice, ("main", "cl:33::11")).customer_name == OTHER_NAME


def test_readers_see_a_word_where_a_name_stood(lived: Installation) -> None:
    """Reports, lists and explain say erased, in the reader's language; no cell is empty and no token is shown."""
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    explained = call(lived, "explain", "cl:33::7").output
    assert "erased" in explained
    assert "ERASED" not in explained
    (row,) = (one for one in rows_of(call(lived, "invoices", "list", "--json")) if one["doc_key"] == "cl:33::7")
    assert (row["customer_name"], row["customer_tax_id"], row["total"]) == ("erased", "erased", "1190")
    main = lived.settings.connection("main")
    made = catalogue.make_sheets(lived, Query("payout-detail", (main,), today=DAY, as_of=DAY))
    spanish = b"".join(files.pieces(made, Shape(Format.CSV, "cl", "es-CL"))).decode()
    assert spanish.count(";borrado;borrado;") == 2
    assert "ERASED" not in spanish
    assert OTHER_NAME in spanish


def test_bank_files_that_overlap_bring_no_line_twice(lived: Installation, tmp_path: Path) -> None:
    """A file that begins with days known before still knows its lines, though their words are gone here."""
    head, account = "fecha,monto,descripcion,referencia", "00012345678"
    line = f"2026-09-10,1190,TRANSF DE MARIA JOSE PENALOZA 12.345.678-5,{ACCOUNT}"
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text(f"{head}\n{line}\n2026-09-11,5,otro,\n", encoding="utf-8")
    second.write_text(f"{head}\n{line}\n2026-09-11,5,otro,\n2026-09-12,9,pago 12.345.678-5,\n", encoding="utf-8")
    imported = call(lived, "bank", "import", first, "--account", account)
    assert imported.exit_code == 0, imported.output
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    result = call(lived, "bank", "import", second, "--account", account, "--json")
    assert result.exit_code == 0, result.output
    assert (row_of(result)["added"], row_of(result)["known"]) == (1, 2)
    assert found_in(lived) == set()


def test_pages_say_it_in_the_reader_s_language(
    lived: Installation, bare_app: Flask, login: Callable[[Flask], FlaskClient]
) -> None:
    """The page of a document and of a payout have the word where a name stood, and no token."""
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    client = login(bare_app)
    for address in ("/documents/main/cl:33::7", "/payouts/po_1", "/exceptions"):
        page = client.get(address)
        assert page.status_code == 200, address
        assert "ERASED" not in page.get_data(as_text=True), address
        assert "999" not in page.get_data(as_text=True).replace("#999", ""), address
    assert "borrado" in client.get("/documents/main/cl:33::7").get_data(as_text=True)


def test_what_was_asked_in_an_address_is_replaced_too(lived: Installation) -> None:
    """Views and the trail keep words as an address writes them: with signs for blanks, accents and more."""
    words = urlencode({"customer": NAME, "due": "2026-10", "q": "otra cosa"})
    World(lived.store).keep(SavedView(person_id=1, list="receivables", name="suyos", changed_at=AT, asked=words))
    subject = "download payout-detail.csv " + urlencode({"customer": NAME, "tax_id": RUT})
    World(lived.store).keep(AuditEntry(at=AT, who="ana@tienda.cl", action="download", subject=subject))
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    with lived.store.reading() as session:
        asked = session.exec(select(SavedView.asked)).one()
        entry = session.exec(select(AuditEntry.subject).where(AuditEntry.action == "download")).one()
    kept = parse_qs(asked)
    assert (kept["due"], kept["q"]) == (["2026-10"], ["otra cosa"])
    assert [word for word in ("Mar%C3%ADa", "Pe%C3%B1aloza", RUT) if word in asked + entry] == []
    assert kept["customer"][0].count("ERASED") == 3
