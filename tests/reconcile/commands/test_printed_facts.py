"""Facts as finance reads them on a terminal."""

import json
from typing import Any

import pytest

from consumer.facts.columns import Kind
from reconcile.commands.printed import about, to_plain, to_words
from reconcile.kept.records import evidence_of, facts_of
from reconcile.rules.outcomes import DOCUMENT_COLUMNS, LINE_COLUMNS, PAYOUT_COLUMNS

GAP = '{"gaps": [{"since": "2026-09-30T12:00:00Z", "until": "2026-10-02T03:00:00Z", "reason": "read only up to then"}]}'


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("amount", 116000, "1160.00 MXN"),
        ("difference", -5, "-0.05 MXN"),
        ("candidates", 3, "3"),
        ("days_late", 2, "2"),
        ("another_payment_wants_one", False, "no"),
        ("nearest", None, "none"),
        ("rivals", ["mx:uuid:a", "mx:uuid:b"], "mx:uuid:a, mx:uuid:b"),
        ("rivals", [], ""),
        ("sets", [["a", "b"], ["c", "d"]], "a + b; c + d"),
        ("sets", 'note.too_many_documents {"count":30}', "not searched: 30 open documents"),
        (
            "nearest",
            {"document": "mx:A:7", "open_balance": 1500, "failed": "note.no_tax_id", "payment": None},
            "document mx:A:7, open balance 15.00 MXN, failed no tax id",
        ),
    ],
)
def test_a_fact_is_written_in_words(name: str, value: object, words: str) -> None:
    """Amounts bear their currency, counts none, and nothing looks like a program's own values."""
    (fact,) = evidence_of("exception 1 AMBIGUOUS", "MXN", json.dumps({name: value}))
    assert to_words(fact) == words


def test_a_count_of_a_row_bears_no_currency() -> None:
    """Every whole number of a result is printed as what its column holds: three payments are no 3 pesos."""
    counts = {
        PAYOUT_COLUMNS: "charges_count days_late exceptions matched_count payments_count refunds_count unmatched_count",
        LINE_COLUMNS: "line",
        DOCUMENT_COLUMNS: "payments",
    }
    for columns, names in counts.items():
        assert {c.name for c in columns if c.kind is Kind.INT} >= set(names.split())
        amounts = [c.name for c in columns if c.kind is Kind.MONEY]
        row: dict[str, object] = {"currency": "CLP"} | dict.fromkeys((*names.split(), *amounts), 3)
        said = {fact.name: to_words(fact) for fact in facts_of("row", row, columns)}
        assert said == {"currency": "CLP"} | dict.fromkeys(names.split(), "3") | dict.fromkeys(amounts, "3 CLP")


def test_the_same_word_may_be_an_amount_or_names() -> None:
    """`payments` of an exception is money; of a missing rate it names them."""
    for evidence, words in (('{"payments": 1500}', "1500 CLP"), ('{"payments": ["pi_1", "pi_2"]}', "pi_1, pi_2")):
        assert [to_words(fact) for fact in evidence_of("exception 1", "CLP", evidence)] == [words]


def test_a_program_reads_amounts_in_major_units() -> None:
    """As every other answer in JSON writes them, inside of evidence too."""
    (fact,) = evidence_of("x", "MXN", '{"nearest": {"open_balance": 1500, "failed": "note.amount"}}')
    assert to_plain(fact) == {"open_balance": "15.00", "failed": "amount"}
    assert [to_plain(fact) for fact in facts_of("x", {"line": 1, "currency": "MXN"}, LINE_COLUMNS)] == [1, "MXN"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"resource_id": "pi_1", "doc_key": "cl:33::7"}, "pi_1"),
        ({"doc_key": "cl:33::7"}, "cl:33::7"),
        ({"payout_id": "po_1"}, "po_1"),
        ({"code": "DATA_GAP", "subject": "stream:refunds", "evidence": GAP}, "refunds, since 2026-09-30T12:00:00Z"),
        (
            {"code": "DATA_GAP", "subject": "stream:refunds", "evidence": '{"gaps": [{"since": null}]}'},
            "refunds, since its beginning",
        ),
        ({"code": "CALENDAR_GAP", "subject": "calendar:cl:2031", "evidence": "{}"}, "calendar cl:2031"),
    ],
)
def test_an_exception_names_what_it_is_about(row: dict[str, Any], words: str) -> None:
    """Two gaps are of two streams, and a list of them says which."""
    assert about({"resource_id": None, "doc_key": None, "payout_id": None} | row) == words
