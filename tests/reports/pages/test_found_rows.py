"""Rows of a run are found where the facts say they are now, and wherever else the run has them."""

from datetime import date
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.installation import Installation
from consumer.facts.tables.provider import PayoutItem
from reconcile.kept import chunks
from reconcile.tables.books import LocalInvoice
from reconcile.tables.runs import Run
from reports.queries import cases, frames


def _latest(session: Session) -> Run:
    return frames.latest_runs(session, ["main"], today=date(2026, 12, 31))[0]


def test_a_document_whose_day_a_file_changed_is_found_in_the_run_before(books: Installation) -> None:
    """The books say another day, and no entry at all, than the run was published with."""
    with books.store.transaction() as session:
        run = _latest(session)
        keys = [row["doc_key"] for row in chunks.read_documents(session, run)]
        assert keys
        for key in keys:
            before = chunks.find_document(session, run, key)
            assert before is not None
            assert before["doc_key"] == key
            moved = sa.update(LocalInvoice).where(col(LocalInvoice.doc_key) == key).values(issue_date=date(2020, 1, 1))
            session.execute(moved)
            assert chunks.find_document(session, run, key) == before
        assert chunks.find_document(session, run, "cl:33::404") is None


def test_lines_of_an_item_are_found_wherever_its_payout_is_said_to_be(books: Installation) -> None:
    """A payout that changed since, or that is unknown, hides no line, and one that two places name is read once."""
    with books.store.transaction() as session:
        run = _latest(session)
        lines = [row for row in chunks.read_lines(session, run) if row["payout_id"] and row["resource_id"]]
        one = lines[0]
        expected = [row for row in lines if row["resource_id"] == one["resource_id"]]
        payouts = ("po_gone", one["payout_id"], None)
        assert [cases.find_lines(session, run, one["resource_id"], payout_id=place) for place in payouts] == [
            expected
        ] * 3
        item: dict[str, Any] = {
            "connection": "main",
            "resource_type": one["resource_type"],
            "resource_id": one["resource_id"],
        }
        money: dict[str, Any] = {"mode": "test", "amount": 1, "currency": "CLP", "body": "{}"}
        session.add_all(PayoutItem(payout_id=place, **item, **money) for place in (one["payout_id"], "po_later"))
        session.flush()
        assert [cases.find_lines(session, run, one["resource_id"], payout_id=place) for place in payouts] == [
            expected
        ] * 3
