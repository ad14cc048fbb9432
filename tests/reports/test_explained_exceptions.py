"""The exceptions of an explanation stand in the order of the work list."""

from datetime import date
from typing import Any

from consumer.facts.installation import Installation
from reconcile.kept import records
from reconcile.tables.desk import ExceptionRow


def found(key: str, opened_on: date) -> ExceptionRow:
    own: dict[str, Any] = {"opened_on": opened_on, "last_seen_on": opened_on, "run_first": "r1", "run_last": "r42"}
    return ExceptionRow(connection="main", id=key, code="PAYMENT_NO_INVOICE", severity="medium", subject=f"item:{key}",
                        title="t", amount_at_risk=1, currency="CLP", state="open", payout_id="po_9", **own)  # fmt: skip


def test_exceptions_are_explained_in_the_order_of_the_work_list(reconciled: Installation) -> None:
    """Newest first, then by id, whatever order the database keeps its rows in."""
    with reconciled.store.transaction() as session:
        for key, day in (("cc", 8), ("aa", 8), ("bb", 9)):
            session.add(found(key, date(2026, 10, day)))
            session.flush()
    with reconciled.store.reading() as session:
        run = records.last_run(session, "main", today=date(2026, 10, 9))
        assert run is not None
        told = [fact.about for fact in records.explanation(session, run, "po_9") if fact.name == "state"]
    assert told == [f"exception {key} PAYMENT_NO_INVOICE" for key in ("bb", "aa", "cc")]
