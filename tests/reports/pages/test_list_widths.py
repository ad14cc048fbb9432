"""Every list fits the window of a desk as it first stands, in both countries; further columns are one click away."""

from collections.abc import Callable

import pytest
from flask import Flask
from playwright.sync_api import Page

from tests.reports.conftest import SUMMARY, keep_payout, take_out_of, to_mexico
from tests.reports.pages.conftest import pages_of

Enter = Callable[..., Page]
# A payout with figures as long as those of a busy day, and a difference: in Mexico the list has 2 px to spare.
LONG = {
    "payout_id": "po_2", "payments_gross": 974_306_612, "refunds_gross": 12_254_990, "refund_adjustments": 1_184_990,
    "disputes": 1_249_990, "fee_total": 9_866_299, "payout_amount": 944_196_423, "difference": -192_390,
    "status_recon": "open",
}  # fmt: skip
# The tables of a page that are wider than their place, with by how much.
TOO_WIDE = """
[...document.querySelectorAll('.scroll')].map(one => one.scrollWidth - one.clientWidth).filter(more => more > 1)
"""


@pytest.mark.parametrize("country", ["cl", "mx"])
def test_every_list_fits_a_desk(
    enter: Enter, request: pytest.FixtureRequest, make_app: Callable[..., Flask], serving: Callable[[Flask], str],
    country: str,
) -> None:  # fmt: skip
    """At 1280 px no table of any page reaches beyond its place: nothing of money or days lies off screen."""
    books = request.getfixturevalue("books" if country == "cl" else "mexican_books")
    with books.store.transaction() as session:
        keep_payout(session, **(SUMMARY | LONG if country == "cl" else to_mexico(SUMMARY | LONG)))
        session.flush()
        take_out_of(session)
    app = make_app(books)
    address = serving(app)
    page = enter(at=address)
    wide = []
    for path in pages_of(app):
        page.goto(address + path)
        wide += [(path, more) for more in page.evaluate(TOO_WIDE)]
    assert wide == [], wide


def test_the_checklist_of_a_closing_fits_a_phone(enter: Enter, address: str) -> None:
    """What is to be looked at, how many there are and what is at risk stand side by side at 390 px."""
    page = enter(width=390)
    page.goto(f"{address}/books/closing?connection=main&until=2026-09-30")
    assert page.evaluate(TOO_WIDE) == []
