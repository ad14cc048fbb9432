"""The demo never mixes made-up trade with a merchant's own data."""

from datetime import UTC, datetime

import pytest

from app import _claim_demo
from consumer.facts.house import House
from consumer.facts.terminal import Refusal
from reconcile.tables import InvoiceFile


def _books() -> InvoiceFile:
    at = datetime(2026, 10, 1, tzinfo=UTC)
    return InvoiceFile(connection="main", sha256="0" * 64, name="ours.csv", imported_at=at, rows=1, added=1, changed=0)


def test_a_database_with_books_of_its_own_is_refused(house: House) -> None:
    """Invoices that somebody imported are as real as events are."""
    with house.store.transaction() as session:
        session.add(_books())
    with pytest.raises(Refusal, match="choose another CUADRE_DATA_DIR"):
        _claim_demo(house)


def test_the_demo_comes_back_to_its_own_database(house: House) -> None:
    """An empty database becomes the demo's, and stays it once the demo has filled it."""
    _claim_demo(house)
    with house.store.transaction() as session:
        session.add(_books())
    assert _claim_demo(house).tzinfo is not None
