"""Facts as finance reads them on a terminal."""

from typing import Any

import pytest

from reconcile.commands.printed import about, to_plain, to_words
from reconcile.kept.facts import Fact

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
        ("sets", "not searched: 30 open documents", "not searched: 30 open documents"),
        (
            "nearest",
            {"document": "mx:A:7", "open_balance": 1500, "failed": "no tax id", "payment": None},
            "document mx:A:7, open balance 15.00 MXN, failed no tax id",
        ),
    ],
)
def test_a_fact_is_written_in_words(name: str, value: Any, words: str) -> None:
    """Amounts bear their currency, counts none, and nothing looks like a program's own values."""
    assert to_words(Fact("exception 1 AMBIGUOUS", name, value, "MXN")) == words


def test_the_same_word_may_be_an_amount_or_a_count() -> None:
    """`payments` of a payout is money, of a document how many; of a missing rate it names them."""
    assert to_words(Fact("exception 1 PAYOUT_IDENTITY", "payments", 1500, "CLP")) == "1500 CLP"
    assert to_words(Fact("document cl:33::7", "payments", 2, "CLP")) == "2"
    assert to_words(Fact("exception 1 RATE_MISSING", "payments", ["pi_1", "pi_2"], "CLP")) == "pi_1, pi_2"


def test_a_program_reads_amounts_in_major_units() -> None:
    """As every other answer in JSON writes them, inside of evidence too."""
    nearest = {"open_balance": 1500, "failed": "amount"}
    assert to_plain(Fact("x", "nearest", nearest, "MXN")) == {"open_balance": "15.00", "failed": "amount"}
    assert to_plain(Fact("x", "line", 1, "MXN")) == 1


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
