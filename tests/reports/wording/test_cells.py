"""What people's files and pages say of a row: words where rules and states stand, and names as they are."""

import io
import json
import re
from datetime import UTC, date, datetime
from typing import Any

import openpyxl
import pytest

from consumer.facts.installation import Installation
from consumer.facts.messages import Message
from consumer.facts.tables.provider import Institution
from reconcile.tables.runs import Run
from reports.making import catalogue
from reports.output import files
from reports.output.export import Format
from reports.output.files import Shape
from reports.queries.query import Query
from reports.shapes import build
from reports.shapes.build import Report
from reports.shapes.definitions import CATALOGUE
from reports.shapes.spans import Span
from reports.wording import cells, evidence
from tools import catalogues

TODAY = date(2026, 10, 8)
_AT = datetime(2026, 10, 8, tzinfo=UTC)


def shown(name: str, language: str, **values: Any) -> dict[str, Any]:
    row = {**dict.fromkeys(CATALOGUE[name].names), "connection": "main", "currency": "CLP", **values}
    table = build.to_table(CATALOGUE[name], [row], currency=lambda found: str(found["currency"]))
    report = Report(CATALOGUE[name], table, Span(), TODAY, banks={"cl_banco_uno": "Banco Uno"})
    found: list[dict[str, Any]] = cells.in_words(report, language).table.to_pylist()
    return found[0]


def test_a_name_that_looks_like_a_word_stays() -> None:
    """A customer, an order, an owner and a bank's own text are names, whatever they are called."""
    names = {"customer_name": "open", "order_ref": "refund", "customer_tax_id": "set", "doc_series": "key"}
    row = shown("payout-detail", "es-CL", **names)
    assert {name: row[name] for name in names} == names
    assert shown("exceptions", "es-CL", owner="void", resolution="date")["owner"] == "void"
    assert shown("transfers", "es-CL", return_raw="returned", counterparty_name="pending")["return_raw"] == "returned"


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("es-CL", "monto: 1.500 · documento: Factura electrónica 7 · lo más cercano: lo que falla: el monto"),
        ("es-MX", "importe: 1,500 · documento: Factura electrónica 7 · lo más cercano: lo que falla: el importe"),
        ("en", "amount: 1,500 · document: Electronic invoice 7 · nearest: failed: amount"),
    ],
)
def test_evidence_is_a_line_to_read(language: str, line: str) -> None:
    """No braces and no codes: each part is named, amounts are grouped, Mexico says importe."""
    text = '{"amount": 1500, "document": "cl:33::7", "nearest": {"failed": "note.amount"}}'
    assert shown("exceptions", language, evidence=text)["evidence"] == line


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("es-CL", "vacíos: motivo: leído solo hasta el 01-11-2026 03:00 UTC, desde: 01-11-2026 03:00 UTC"),
        ("en", "gaps: reason: read only up to 2026-11-01 03:00 UTC, since: 2026-11-01 03:00 UTC"),
    ],
)
def test_a_gap_is_told_with_its_moments(language: str, line: str) -> None:
    """Why data is missing is a sentence, and its moments are written as people write them."""
    reason = Message("note.read_up_to", {"until": "2026-11-01T03:00:00Z"}).to_text()
    text = json.dumps({"gaps": [{"reason": reason, "since": "2026-11-01T03:00:00Z"}]})
    assert shown("exceptions", language, evidence=text)["evidence"] == line


@pytest.mark.parametrize(
    ("text", "spanish", "english"),
    [
        (
            '{"parts": "note.too_many_payments {\\"count\\":26}"}',
            "pagos que sumen un documento: no se buscó: 26 pagos de un mismo día",
            "parts: not searched: 26 payments of one day",
        ),
        (
            '{"sets": "note.too_many_documents {\\"count\\":30}"}',
            "combinaciones: no se buscó: 30 documentos abiertos",
            "sets: not searched: 30 open documents",
        ),
        (
            '{"sets": [["cl:33::1", "cl:33::2"]]}',
            "combinaciones: Factura electrónica 1 + Factura electrónica 2",
            "sets: Electronic invoice 1 + Electronic invoice 2",
        ),
    ],
)
def test_what_was_too_much_to_search_is_told(text: str, spanish: str, english: str) -> None:
    """The sentence and what there was too much of have their Spanish; keys of documents stay."""
    assert evidence.format_evidence(text, "es-CL", "CLP") == spanish
    assert evidence.format_evidence(text, "en", "CLP") == english


def test_the_rate_of_a_document_is_told_in_spanish() -> None:
    """What a document in another currency was worth that day has words of its own in finance's language."""
    text = '{"document_at_that_rate": 833520, "rate": "948.5", "rate_on": "2026-10-06"}'
    spanish = evidence.format_evidence(text, "es-CL", "CLP")
    assert spanish == (
        "documento a ese tipo de cambio: 833.520 · tipo de cambio: 948.5 · día del tipo de cambio: 06-10-2026"
    )


def test_evidence_that_nobody_wrote_as_an_object_stays() -> None:
    """A text of another version is shown, not hidden."""
    assert evidence.format_evidence("seen twice", "es-CL", "CLP") == "seen twice"


def test_rules_notes_and_checks_are_told_in_spanish() -> None:
    """What a rule leaves in a row, and what a total ties to, are words in people's files."""
    row = shown("payout-detail", "es-CL", match_rule="key:order_ref:part", note="note.open_dispute\nnote.refunded")
    assert (row["match_rule"], row["note"]) == (
        "clave: pedido, una parte del saldo",
        "contracargo abierto; reembolsado",
    )
    row = shown("control", "es-MX", figure="payments, gross", source="payout-summary payout_amount")
    assert (row["figure"], row["source"]) == ("pagos, bruto", "Liquidaciones: Importe liquidado")


def test_why_a_transfer_came_back_is_told_in_spanish() -> None:
    """The bank's code says why, in words of ours; with a code that is not known the provider's word stays."""
    text = '{"return_code": "01", "return_reason": "non_existing_account"}'
    row = shown("exceptions", "es-CL", evidence=text)
    assert row["evidence"] == "código de devolución: 01 · motivo de la devolución: la cuenta no existe"
    later = text.replace("01", "99")
    assert shown("exceptions", "es-CL", evidence=later)["evidence"].endswith("non_existing_account")


def test_a_change_between_runs_is_told_in_spanish() -> None:
    """The file says of a change what the page of the run says."""
    row = shown("run-diff", "es-CL", kind="payout", subject="po_1", cause='cause.payouts_changed {"id":"po_1"}',
               before='figure.payout_of_run {"status_recon":"closed","difference":0,"fee_total":2410}',
               after='figure.payout_of_run {"status_recon":"open","difference":-5,"fee_total":null}')  # fmt: skip
    assert (row["kind"], row["before"], row["after"]) == (
        "Liquidación",
        "Cuadra, diferencia 0, comisiones 2.410",
        "Abierta, diferencia -5, comisiones sin dato",
    )
    assert row["cause"] == "liquidación que cambió (po_1)"
    moved = 'cause.as_of {"before":"2026-11-01","after":"2026-11-21"}\ncause.gaps'
    row = shown("run-diff", "es-CL", kind="payout", subject="po_1", cause=moved)
    assert row["cause"] == "al día 01-11-2026 → 21-11-2026; cambiaron los vacíos"


def test_a_bank_is_called_by_its_name() -> None:
    """The directory's name stands in people's files; one that is not listed keeps its id."""
    assert (
        shown("payout-summary", "es-CL", recipient_institution="cl_banco_uno")["recipient_institution"] == "Banco Uno"
    )
    assert shown("payout-summary", "es-CL", recipient_institution="cl_otro")["recipient_institution"] == "cl_otro"


def test_a_report_brings_the_names_of_its_banks(reconciled: Installation) -> None:
    """Names come from the mirrored directory; the machine profile keeps the id."""
    with reconciled.store.transaction() as session:
        body = '{"id": "Banco de Prueba", "name": "Banco Dos"}'
        session.add(Institution(connection="main", id="Banco de Prueba", mode="test", version_at=_AT, body=body))
    report = catalogue.make(reconciled, Query("payout-summary", reconciled.connections(None), TODAY))
    people, machine = (b"".join(files.pieces([report], Shape(Format.CSV, name, "es-CL"))) for name in ("cl", "machine"))
    assert (b"Banco Dos" in people, b"Banco Dos" in machine) == (True, False)


def test_mexico_says_it_its_own_way() -> None:
    """No sentence for Mexico keeps a word that only Chile uses."""
    chilean = re.compile(r"\b(cartolas?|montos?|períodos?)\b", re.IGNORECASE)
    assert [entry.id for entry in catalogues.read("es_MX") if chilean.search(str(entry.string))] == []


def test_a_workbook_names_the_data_behind_it(reconciled: Installation) -> None:
    """Rounding, tolerances and the digest of every input stand on the sheet of parameters."""
    with reconciled.store.transaction() as session:
        run = session.get(Run, ("main", "run-1"))
        assert run is not None
        run.summary = (
            run.summary[:-1] + ', "inputs": {"items": "ab12"}, "tolerances": {"fee_tolerance": 1, "fee_band_bps": 525}}'
        )
    made = catalogue.make_sheets(reconciled, Query("control", reconciled.connections(None), TODAY))
    data = b"".join(files.pieces(made, Shape(Format.XLSX, "cl", "es-CL")))
    sheet = openpyxl.load_workbook(io.BytesIO(data))["Parámetros"]
    found = {row[0]: row[1] for row in sheet.iter_rows(values_only=True)}
    assert found["SHA-256 de los datos, main, Movimientos"] == "ab12"
    assert found["Regla, main, diferencia de comisión aceptada, en unidades menores"] == "1"
    assert found["Regla, main, comisión esperada hasta"] == "5,25 %"
    assert found["Redondeo"] == "mitades hacia arriba, a la unidad menor de la moneda"


def test_what_a_gap_withholds_is_said_by_the_titles_of_its_codes() -> None:
    """A reader of the exception needs no code to know what is not said meanwhile."""
    text = '{"withheld": ["BANK_AMOUNT_DIFF", "PAYOUT_NOT_IN_BANK"]}'
    said = "se retiene: El banco recibió otro monto; Liquidación no llegó al banco"
    assert evidence.format_evidence(text, "es-CL", "CLP") == said
    assert (
        evidence.format_evidence(text, "en", "CLP") == "withheld: Bank received another amount; Payout not in the bank"
    )


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("es-CL", "estado del contracargo: espera documentos · plazo: 12-10-2026 · días hábiles que quedan: 4"),
        ("en", "dispute state: waiting for documents · due on: 2026-10-12 · bank days left: 4"),
    ],
)
def test_an_open_dispute_is_told_with_the_days_left(language: str, line: str) -> None:
    """The days are a count and no amount, the state a word of the reader's."""
    text = '{"dispute_state": "waiting_documentation", "due_on": "2026-10-12", "bank_days_left": 4}'
    assert shown("exceptions", language, evidence=text)["evidence"] == line


def test_a_lost_dispute_is_told_in_spanish() -> None:
    """Its title, what to do and the note on its payment."""
    row = shown("exceptions", "es-CL", code="DISPUTE_LOST", title="A dispute was lost", suggested_action="Collect")
    action = "Cobrar otra vez el documento, emitir su nota de crédito o aceptar la pérdida con un motivo"
    assert (row["title"], row["suggested_action"]) == ("Contracargo perdido", action)
    assert (
        shown("payout-detail", "es-CL", note="note.lost_dispute\nnote.refunded")["note"]
        == "contracargo perdido; reembolsado"
    )
