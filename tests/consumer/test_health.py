"""The routes for those who watch: alive, ready, numbers."""

import pytest
from flask import Flask

from consumer.facts.installation import Installation
from consumer.health import health


@pytest.fixture
def watched(installation: Installation) -> Flask:
    app = Flask("watched")
    app.register_blueprint(health(installation, is_allowed=lambda: False))
    return app


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"])
def test_numbers_are_for_this_machine_and_not_for_who_comes_through_its_proxy(watched: Flask, header: str) -> None:
    """A request that a proxy passed on is refused without a token, whichever header tells of it."""
    browser = watched.test_client()
    assert browser.get("/metrics").status_code == 200
    assert browser.get("/metrics", headers={header: "x"}).status_code == 403
    assert browser.get("/metrics", environ_base={"REMOTE_ADDR": "203.0.113.9"}).status_code == 403
