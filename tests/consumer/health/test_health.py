"""The routes for those who watch: alive, ready, numbers."""

import pytest
from flask import Flask

from consumer.facts.installation import Installation
from consumer.health.endpoint import health
from tests.databases import forbid_writing


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


@pytest.mark.both_databases
def test_a_database_that_takes_no_row_is_not_ready(watched: Flask, installation: Installation) -> None:
    """It is written to and not only asked; as soon as it takes rows again the process is ready."""
    browser = watched.test_client()
    with forbid_writing(installation.store):
        answer = browser.get("/readyz")
    assert (answer.status_code, answer.json and answer.json["status"]) == (503, "cannot write")
    assert browser.get("/readyz").status_code == 200
    assert browser.get("/healthz").status_code == 200


def test_probes_do_not_make_a_write_each(watched: Flask, installation: Installation) -> None:
    """What was written a moment ago is news enough."""
    browser = watched.test_client()
    assert browser.get("/readyz").status_code == 200
    with forbid_writing(installation.store):
        assert browser.get("/readyz").status_code == 200
