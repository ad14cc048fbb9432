"""What runs and closings store: said in each language, in English for programs, and as it is where it is no code."""

from datetime import date
from typing import Any

import pytest

from consumer.facts.messages import Message, parse_message
from reports.output.export import to_json_rows
from reports.shapes import build
from reports.shapes.build import Report
from reports.shapes.definitions import CATALOGUE
from reports.shapes.spans import Span
from reports.wording import cells, stored

LOST = Message("note.lost_dispute_of", {"item": "pi_7"}).to_text()
FIGURE = (
    'figure.item_applied {"amount_signed":119000,"outcome":"matched","doc_key":"cl:33::7","applied_amount":119000}\n'
    'figure.item {"amount_signed":500,"outcome":"no_document"}'
)
EARLIER = "its payout was canceled or returned; the item waits again; lost dispute of pi_7"


def test_a_message_is_read_as_it_was_stored() -> None:
    """Its code and its values come back; a sentence, a code of tomorrow and damaged values are no message."""
    assert LOST == 'note.lost_dispute_of {"item":"pi_7"}'
    assert parse_message(LOST) == Message("note.lost_dispute_of", {"item": "pi_7"})
    others = ("lost dispute of pi_7", "note.of_tomorrow", 'note.refunded {"item"', "", "Acme S.A. {}")
    assert [parse_message(text) for text in others] == [None] * len(others)


@pytest.mark.parametrize(
    ("text", "spanish", "english"),
    [
        (LOST, "contracargo perdido de pi_7", "lost dispute of pi_7"),
        (
            "note.payout_dead\nnote.refunded",
            "su liquidación fue cancelada o devuelta; el movimiento espera otra; reembolsado",
            "its payout was canceled or returned; the item waits again; refunded",
        ),
        (
            FIGURE,
            "monto 119.000, Conciliado cl:33::7 119.000; monto 500, Sin documento",
            "amount 119,000, Matched cl:33::7 119,000; amount 500, No document",
        ),
        (
            'figure.document_of_run {"outcome":"overpaid","balance":-5}',
            "Pagado de más, saldo -5",
            "Overpaid, balance -5",
        ),
        (
            'cause.fees_new {"id":"po_1"}\ncause.payouts_gone {"id":"po_2"}',
            "comisión nueva (po_1); liquidación que ya no está (po_2)",
            "fee new (po_1); payout gone (po_2)",
        ),
        (
            'cause.calendar {"before":"holidays 0.109 cl","after":"holidays 0.110 cl"}',
            "calendario Chile (holidays 0.109) → Chile (holidays 0.110)",
            "calendar Chile (holidays 0.109) → Chile (holidays 0.110)",
        ),
        (
            'cause.rules_code {"before":"0123456789abcdef0123456789abcdef","after":"fedcba98765432100123456789abcdef"}',
            "programa 01234567… → fedcba98…",
            "rules code 01234567… → fedcba98…",
        ),
        (EARLIER, EARLIER, EARLIER),
        ("a note of tomorrow", "a note of tomorrow", "a note of tomorrow"),
        ("two\nlines", "two\nlines", "two\nlines"),
        ("note.refunded\na note of tomorrow", "reembolsado; a note of tomorrow", "refunded; a note of tomorrow"),
    ],
)
def test_what_a_run_stored_is_said_to_people(text: str, spanish: str, english: str) -> None:
    """Amounts, days and states are those of the reader; what an earlier version stored as English stays so."""
    assert stored.sentence(text, "es-CL", "CLP") == spanish
    assert stored.sentence(text, "en", "CLP") == english


def made(name: str, **values: Any) -> Report:
    row = {**dict.fromkeys(CATALOGUE[name].names), "connection": "main", "currency": "CLP", **values}
    table = build.to_table(CATALOGUE[name], [row], currency=lambda found: str(found["currency"]))
    return Report(CATALOGUE[name], table, Span(), date(2026, 10, 31), facts={})


@pytest.mark.parametrize(
    ("report", "column", "text", "written"),
    [
        ("payout-detail", "note", LOST, "lost dispute of pi_7"),
        ("payout-detail", "note", EARLIER, EARLIER),
        (
            "exceptions",
            "evidence",
            '{"amount": 1500, "nearest": {"failed": "note.document_is_void"}, "valid_reissue": null}',
            '{"amount": 1500, "nearest": {"failed": "the document is void"}, "valid_reissue": null}',
        ),
        ("exceptions", "evidence", '{"failed": "the document is void"}', '{"failed": "the document is void"}'),
        ("run-diff", "before", FIGURE, "amount 119000, matched cl:33::7 119000; amount 500, no_document"),
        (
            "run-diff",
            "cause",
            'cause.as_of {"before":"2026-11-01","after":"2026-11-21"}',
            "as of 2026-11-01 → 2026-11-21",
        ),
    ],
)
def test_programs_read_the_english_sentence(report: str, column: str, text: str, written: str) -> None:
    """Files and answers for programs have the sentences they always had, with values as they are."""
    (row,) = to_json_rows(cells.in_english(made(report, **{column: text})), 0, 1)
    assert row[column] == written


def test_a_message_in_a_message_is_read_back() -> None:
    """What failed and who asked are one stored line, and its cause is said in the reader's language."""
    text = Message("jobs.failed_for", {"why": Message("jobs.killed", {"signal": 9}), "by": "ana"}).to_text()
    assert text == 'jobs.failed_for {"why":{"code":"jobs.killed","values":{"signal":9}},"by":"ana"}'
    assert stored.sentence(text, "es-CL") == (
        "su proceso fue interrumpido (señal 9) antes del final: vea el registro, y si faltó memoria (ana)"
    )
