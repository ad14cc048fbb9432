"""Rows of a run that are unreadable: named on the page, in the log and by the command."""

from datetime import date

import pytest
import sqlalchemy as sa
from flask.testing import FlaskClient
from sqlmodel import col

from consumer.facts.installation import Installation
from reconcile.kept.chunks import DamagedRowsError
from reconcile.tables.runs import ResultChunk
from reports.making import catalogue
from reports.queries.query import Query

_SPOILT = b"PAR1 of another day PAR1"


@pytest.fixture
def spoilt(reconciled: Installation) -> Installation:
    with reconciled.store.transaction() as session:
        session.execute(sa.update(ResultChunk).where(col(ResultChunk.run_id) == "run-1").values(content=_SPOILT))
    return reconciled


def test_a_page_names_the_rows_that_are_damaged(
    spoilt: Installation, client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    """One sentence in the reader's language with the run in it; the log has the same and what was found."""
    del spoilt
    answer = client.get("/view/documents")
    assert answer.status_code == 500
    said = "Las filas de la conciliación 42 de main (parte 0, document) están dañadas"
    assert said in answer.get_data(as_text=True)
    assert "the kept rows of run 42 of main (piece 0, document) are damaged" in caplog.text
    answer = client.get("/api/v1/documents")
    assert (answer.status_code, answer.mimetype) == (500, "text/plain")


def test_a_report_of_damaged_rows_is_refused(spoilt: Installation) -> None:
    """Nothing is made of what can be read beside them."""
    with pytest.raises(DamagedRowsError, match=r"^the kept rows of run 42 of main \(piece 0, line\)"):
        catalogue.make(spoilt, Query("payout-detail", spoilt.connections(None), today=date(2026, 10, 8)))
