"""The API as clients of its description meet it: statuses, refusals, methods, and a tool that reads it all."""

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.serving import WSGIRequestHandler, make_server

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from reports.access.keys import Scope, create_token
from reports.access.people import Role
from tests.describing import check_description

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "ODD")


class Quiet(WSGIRequestHandler):
    def log(self, *_: object, **__: object) -> None:
        """Keep thousands of requests out of the report."""


def header_of(installation: Installation, *scopes: Scope, role: Role = Role.ADMIN) -> str:
    with installation.store.transaction() as session:
        return f"Bearer {create_token(session, f'{role} {scopes}', role, now=utc_now(), scopes=scopes)}"


@pytest.fixture
def address(app: Flask) -> Iterator[str]:
    """The pages on a port of their own."""
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_every_operation_answers_as_described(reconciled: Installation, address: str, tmp_path: Path) -> None:
    """No server error, no undeclared status, type or row; an undeclared method is 405; a real payout is asked for."""
    header = header_of(reconciled, *Scope)
    api = f"{address}/api/v1"
    with httpx.Client(headers={"Authorization": header}) as client:
        payout = client.get(f"{api}/payout-summary").json()["data"][0]["payout_id"]
        paths = client.get(f"{api}/openapi.json").json()["paths"]
    parameters = {
        f"{method.upper()} {path}": {
            f"query.{each['name']}": {"connection": "main", "payout": payout}[each["name"]]
            for each in described["parameters"]
            if each["name"] in {"connection", "payout"}
        }
        for path, methods in paths.items()
        for method, described in methods.items()
    }

    # The connection of a form is any text, so that most files are for one that does not exist.
    books = ["POST /books/{kind}"]
    check_description(f"{api}/openapi.json", api, header, tmp_path, parameters=parameters, without_objects=books)


def test_a_payout_outside_the_range_has_a_control(client: FlaskClient) -> None:
    """It has no lines in the range, and its control says what that of any payout says there."""
    of_payout = client.get("/api/v1/control?payout=po_1&to=2000-01-01")
    assert of_payout.status_code == 200
    assert of_payout.get_json()["data"] == client.get("/api/v1/control?to=2000-01-01").get_json()["data"]


def test_an_undeclared_method_is_405_on_every_path(reconciled: Installation, app: Flask) -> None:
    """In one sentence, with what the address takes in the header, with a token and without."""
    client, headers = app.test_client(), {"Authorization": header_of(reconciled, *Scope)}
    paths = client.get("/api/v1/openapi.json", headers=headers).get_json()["paths"]
    for path, methods in paths.items():
        declared = {method.upper() for method in methods}
        taken = {"GET", "HEAD"} if "GET" in declared else {"POST"}
        for method in set(METHODS) - declared:
            for sent in ({}, headers):
                answer = client.open(f"/api/v1{path}".replace("{kind}", "invoices"), method=method, headers=sent)
                said = (answer.status_code, set(answer.allow), answer.get_data(as_text=True).count("\n"))
                assert said == (405, taken, 1), (path, method)


def test_403_is_declared_where_it_comes(reconciled: Installation, app: Flask, client: FlaskClient) -> None:
    """Every list refuses a token without the scope, and each says so in its description."""
    paths = client.get("/api/v1/openapi.json").get_json()["paths"]
    headers = {"Authorization": header_of(reconciled, Scope.METRICS)}
    for path, methods in paths.items():
        for method, described in methods.items():
            address = f"/api/v1{path}".replace("{kind}", "invoices")
            answer = app.test_client().open(address, method=method.upper(), headers=headers)
            assert (answer.status_code, answer.mimetype) == (403, "text/plain"), path
            assert "403" in described["responses"], path
