"""What is due when, and which causes move most VAT."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from consumer.facts.bankdays import calendar_of
from consumer.facts.store import Store
from reconcile.fiscal.calendar import find_levers, find_near, list_due, month_before
from reconcile.fiscal.comparing import Part, Side, Tie
from reconcile.fiscal.witnesses import Witness
from reconcile.tables.fiscal import FiscalDocument
from tests.merchant import settings_of

DUES = [
    ("cl", "2026-01", "f29", date(2026, 2, 20)),
    ("cl", "2026-05", "f29", date(2026, 6, 22)),
    ("cl", "2026-08", "f29", date(2026, 9, 21)),
    ("cl", "2026-10", "f29", date(2026, 11, 20)),
    ("cl", "2026-11", "f29", date(2026, 12, 21)),
    ("cl", "2026-10", "register", date(2026, 11, 10)),
    ("mx", "2026-08", "complements", date(2026, 9, 5)),
    ("mx", "2026-09", "return", date(2026, 10, 19)),
]


@pytest.mark.parametrize(("country", "period", "code", "on"), DUES)
def test_each_duty_has_its_day(country: str, period: str, code: str, on: date) -> None:
    """Bank days move a return to the next one, and calendar days stay, a Saturday too."""
    due = {one.duty.code: one for one in list_due(country, period, calendar_of(country), on)}
    assert (due[code].on, due[code].days_left) == (on, 0)


def test_last_month_is_due_in_this_one() -> None:
    """Also in January."""
    assert (month_before(date(2026, 1, 31)), month_before(date(2026, 3, 1))) == ("2025-12", "2026-02")


def test_the_causes_that_move_most_vat_come_first() -> None:
    """A document counts once however many figures it is in, and what can only be waited for is left out."""
    a, b = Side(Witness.BOOKS, 0), Side(Witness.REGISTER, 0)
    parts = (
        Part("not_in_register", 190, "x", 190), Part("not_in_register", 19, "y", -19),
        Part("period_shift", 999, "z", 999),
        Part("cancelled_alive", 500, "w", 500), Part("not_collected", 5000, "x"),
    )  # fmt: skip
    ties = [Tie("2026-10", "502", a, b, parts), Tie("2026-10", "538", a, b, parts[:1])]
    assert find_levers(ties) == [("cancelled_alive", 500, 1), ("not_in_register", 209, 2)]


def test_complements_are_due_where_an_invoice_is_paid_later(store: Store, tmp_path: Path) -> None:
    """Who issued PUE invoices alone owes none; one PPD invoice, and they are near from the second to the fifth."""
    main = settings_of("http://provider.test", tmp_path, country="mx").connection("main")
    at = datetime(2026, 10, 5, 12, tzinfo=UTC)

    def issue(number: str, method: str) -> None:
        with store.transaction() as session:
            session.add(
                FiscalDocument(
                    connection="main", doc_key=f"mx:uuid:{number}", country="mx", direction="issued", kind="I",
                    issuer_tax_id="EKU9003173C9", issued_at=at, issue_date=at.date(), period="2026-10", currency="MXN",
                    net=0, exempt=0, vat=0, withheld=0, total=0, payable=0, third_party=0, payment_method=method,
                    status="valid", content_sha256="0", file_sha256="0", updated_at=at,
                )
            )  # fmt: skip

    def find(day: int) -> list[str]:
        with store.reading() as session:
            near = find_near(session, main, calendar_of("mx"), date(2026, 11, day))
            return [one.duty.code for one in near]

    issue("a", "PUE")
    assert find(3) == []
    issue("b", "PPD")
    assert [find(day) for day in (1, 2, 5, 6, 16)] == [[], ["complements"], ["complements"], [], ["return"]]
