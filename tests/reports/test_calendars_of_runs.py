"""Ages count with the terms of the run they are shown with: its bank days and its due days, as that run knew them."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask.testing import FlaskClient
from sqlmodel import col

from consumer.facts.installation import Installation
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import Run
from reports import sheet
from reports.making import catalogue, columnar, windows
from reports.output.export import PROFILES, to_csv
from reports.pages.views import add_up_ages
from reports.queries.query import Query, calendars_of

# A Tuesday and a Wednesday that the merchant's banks were shut, within the age of what was opened before.
SHUT = "holidays cl +2026-10-06 +2026-10-07"


@pytest.fixture
def shut(reconciled: Installation) -> Installation:
    """The made-up run with two days more that were no bank days, and exceptions of facts of the Monday before."""
    with reconciled.store.transaction() as session:
        session.execute(sa.update(Run).values(calendar=SHUT))
        session.execute(sa.update(ExceptionRow).values(opened_on=date(2026, 10, 8), fact_on=date(2026, 10, 5)))
    return reconciled


def test_the_report_and_the_sheet_age_by_the_run_s_days(shut: Installation) -> None:
    """From Monday to Thursday are three bank days by the library, and one where two of them were shut."""
    own, today = shut.connections(None), date(2026, 10, 8)
    report = catalogue.make(shut, Query("exceptions", own, today, as_of=today))
    open_ages = [row["age_business_days"] for row in report.table.to_pylist() if row["resolved_on"] is None]
    assert open_ages
    assert set(open_ages) == {1}
    assert set(sheet.make(shut, own, today=today).table["age_business_days"].to_pylist()) == {1}


def test_the_page_ages_by_the_run_s_days(shut: Installation, client: FlaskClient) -> None:
    """The list on the page says the same age as the file."""
    with shut.store.transaction() as session:
        session.execute(sa.delete(ExceptionRow).where(col(ExceptionRow.id) != "00aa00aa00aa00aa"))
    assert '<td class="n">1</td>' in client.get("/exceptions").get_data(as_text=True)


def test_without_a_run_the_merchant_s_file_counts(installation: Installation) -> None:
    """Where no run says what it counted with, the days written down now do."""
    folder = Path(installation.settings.data_dir) / "calendars"
    folder.mkdir(parents=True)
    (folder / "cl.toml").write_text('[[add]]\non = 2026-10-06\nreason = "Law 21.999"\n', encoding="utf-8")
    calendars = calendars_of(installation, installation.connections(None), [])
    assert not calendars["main"].is_bank_day(date(2026, 10, 6))
    assert calendars["main"].is_bank_day(date(2026, 10, 7))


def test_receivables_keep_the_due_days_of_their_run(reconciled: Installation) -> None:
    """Issued 49 days ago, by the run's thirty days it is 19 overdue, whatever `[rules]` says since."""
    settings = reconciled.settings.model_copy(update={"rules": {"due_days": 5}})
    later = replace(reconciled, settings=settings)
    query = Query("receivables", reconciled.connections(None), date(2026, 10, 8))
    before, after = catalogue.make(reconciled, query), catalogue.make(later, query)
    assert [(row["days_overdue"], row["bucket"]) for row in after.table.to_pylist()] == [(19, "1-30")]
    assert b"".join(to_csv(after, PROFILES["machine"], "en")) == b"".join(to_csv(before, PROFILES["machine"], "en"))
    assert after.facts == before.facts
    assert windows.find(later, query, 0, 10).report.table == after.table
    assert add_up_ages(columnar.read(later, query)) == {"CLP": {"1-30": 50_000}}
