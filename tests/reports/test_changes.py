"""Two runs side by side, and what still differs from the provider."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest

from consumer.facts.installation import Installation
from consumer.facts.tables.sync import Drift
from reconcile.tables.runs import PayoutResult, RunFinding
from reports.making import catalogue
from reports.queries.query import Query
from reports.shapes.spans import Span
from reports.wording.cells import in_english

NOW = datetime(2026, 10, 9, 6, 30, tzinfo=UTC)
TODAY = date(2026, 10, 9)


@pytest.fixture
def a_day_later(reconciled: Installation, keep_run: Callable[..., None]) -> Installation:
    """A second run: the payout no longer adds up, and its items are gone from the result."""
    with reconciled.store.transaction() as session:
        keep_run(session, run_id="run-2", number=43, as_of=TODAY)
        session.add(
            PayoutResult(
                connection="main",
                run_id="run-2",
                payout_id="po_1",
                payout_date=date(2026, 10, 6),
                status_recon="open",
                difference=-5,
                columns='{"status_recon": "open", "difference": -5, "fee_total": 0}',
            )
        )
        session.add(
            RunFinding(
                connection="main",
                run_id="run-2",
                exception_id="33cc33cc33cc33cc",
                code="PAYOUT_IDENTITY",
                severity="high",
                subject="payout:po_1",
                amount_at_risk=5,
                currency="CLP",
            )
        )

    return reconciled


def rows(installation: Installation, name: str, **asked: Any) -> list[dict[str, Any]]:
    report = in_english(catalogue.make(installation, Query(name, installation.connections(None), TODAY, **asked)))
    found: list[dict[str, Any]] = report.table.select(list(report.definition.names)).to_pylist()
    return found


def test_a_run_is_compared_with_the_one_before(a_day_later: Installation) -> None:
    """Each subject that changed is a row, in the words and with the causes of `cuadre runs diff`."""
    found = {(row["kind"], row["subject"]): (row["before"], row["after"]) for row in rows(a_day_later, "run-diff")}
    assert found["payout", "po_1"] == ("closed, difference 0, fees 2410", "open, difference -5, fees 0")
    assert found["exception", "PAYOUT_IDENTITY payout:po_1"] == (None, "high 5")
    assert found["item", "pi_1@po_1"] == ("matched cl:33::1201 100000", None)
    assert found["document", "cl:33::1201"] == ("paid, balance 0", None)
    assert {row["cause"] for row in rows(a_day_later, "run-diff")} == {
        "the inputs of one of the runs are not kept on this machine"
    }


def test_the_first_run_has_nothing_to_compare_with(reconciled: Installation) -> None:
    """One run alone makes an empty report, and so does a range that begins before every run."""
    assert rows(reconciled, "run-diff") == []


def test_a_range_compares_with_the_last_run_before_it(a_day_later: Installation) -> None:
    """From the second day on, the first day's run is what came before."""
    assert rows(a_day_later, "run-diff", span=Span(date(2026, 10, 9), None)) != []
    assert rows(a_day_later, "run-diff", span=Span(date(2026, 10, 8), None)) == []


def test_only_what_still_differs_is_listed(installation: Installation) -> None:
    """Drift needs no run; what was mended is not in the report."""
    with installation.store.transaction() as session:
        for field, repaired_at in (("amount", None), ("status", NOW)):
            session.add(
                Drift(
                    connection="main",
                    stream="payouts",
                    id="po_1",
                    field=field,
                    kind="differs",
                    ours="1",
                    theirs="2",
                    found_at=NOW,
                    repaired_at=repaired_at,
                )
            )
    assert rows(installation, "drift") == [
        {
            "connection": "main",
            "stream": "payouts",
            "id": "po_1",
            "kind": "differs",
            "field": "amount",
            "ours": "1",
            "theirs": "2",
        }
    ]
