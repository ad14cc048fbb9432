"""The pages on each kind of database: the queries behind them say the same on both."""

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

pytestmark = pytest.mark.both_databases

PAGES = ("/", "/payouts?q=po&status=closed&from=2026-10-01", "/payouts/po_1", "/exceptions?state=all&q=po", "/reports")


def test_every_page_answers(app: Flask, login: Callable[..., FlaskClient]) -> None:
    """Lists, filters and totals work on SQLite and on PostgreSQL."""
    client = login(app)
    assert {path: client.get(path).status_code for path in PAGES} == dict.fromkeys(PAGES, 200)
