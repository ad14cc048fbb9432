"""The pages on each kind of database: the queries behind them say the same on both."""

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.installation import Installation
from reports.pages import register

pytestmark = pytest.mark.both_databases

PAGES = ("/", "/payouts?q=po&status=closed&from=2026-10-01", "/payouts/po_1", "/exceptions?state=all&q=po", "/reports")


@pytest.fixture
def anywhere_app(anywhere: Installation) -> Flask:
    app = Flask("cuadre_test")
    app.config.update(TESTING=True, SECRET_KEY="only for tests")
    register(app, anywhere)
    return app


def test_every_page_answers(anywhere_app: Flask, login: Callable[..., FlaskClient]) -> None:
    """Lists, filters and totals work on SQLite and on PostgreSQL."""
    client = login(anywhere_app)
    assert {path: client.get(path).status_code for path in PAGES} == dict.fromkeys(PAGES, 200)
