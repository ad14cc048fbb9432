"""What a hostile reader types into addresses, cursors and forms: refused in one sentence, and never a failure."""

import base64
from collections.abc import Callable
from urllib.parse import quote_plus

import pytest
from flask.testing import FlaskClient

Csrf = Callable[..., str]
MANY = "1" * 5000


def test_addresses_cannot_steer_the_links_of_a_page(client: FlaskClient) -> None:
    """A parameter that only looks like a setting of ours is no column, and a searched one stays a parameter."""
    for asked in ["endpoint=x", "_method=POST", "_anchor=x", "_external=1&_scheme=javascript"]:
        assert client.get(f"/operation/events?page=2&{asked}").status_code == 400, asked
        page = client.get(f"/operation/events?page=2&q={quote_plus(asked.replace('=', ' '))}")
        assert page.status_code == 200, asked
        assert f'href="/operation/events?page=1&amp;q={quote_plus(asked.replace("=", " "))}"' in page.get_data(
            as_text=True
        ), asked


@pytest.mark.both_databases
def test_a_made_up_cursor_is_refused(client: FlaskClient) -> None:
    """A cursor that was never given out is a 400, however deep or long it is."""
    for name in ["events", "runs", "control"]:
        for cursor in ["[" * 5000, f'[0,"{MANY}"', '["a","b"]', "[true,1]"]:
            text = base64.urlsafe_b64encode(cursor.encode()).decode().rstrip("=")
            assert client.get(f"/api/v1/{name}?cursor={text}").status_code == 400, (name, cursor)


def test_an_anchor_that_is_no_number_begins_anew(client: FlaskClient) -> None:
    """A list whose cursor names no count of ours is read from now."""
    for anchor in ["\u00b2", MANY]:
        text = base64.urlsafe_b64encode(f'[0,"{anchor}"]'.encode()).decode().rstrip("=")
        assert client.get(f"/api/v1/runs?cursor={text}").status_code == 200, anchor


@pytest.mark.both_databases
def test_a_number_no_database_holds_is_refused(client: FlaskClient, csrf: Csrf) -> None:
    """Versions of thousands of digits and texts with NUL are a 400."""
    for path, form in [
        ("/exceptions/main/x/assign", {"version": MANY}),
        ("/exceptions/main/x/assign", {"version": "9" * 30}),
        ("/exceptions/main/x/match", {"seen": MANY, "reason": "r"}),
        ("/exceptions/bulk", {"action": "assign", "pick": f"main/x/{MANY}"}),
        ("/exceptions/main/x/note", {"version": "1", "note": "a\0b"}),
    ]:
        assert client.post(path, data=form | {"csrf_token": csrf(client, "/")}).status_code == 400, path


@pytest.mark.both_databases
def test_nul_is_refused_on_both_databases(client: FlaskClient) -> None:
    """PostgreSQL would fail on such a text; the reader is refused instead."""
    for path in ["/payouts?q=%00", "/payouts/%00", "/api/v1/events?q=a%00b", "/exceptions/main/%00"]:
        assert client.get(path).status_code == 400, path


@pytest.mark.both_databases
def test_a_login_with_nul_is_refused(stranger: FlaskClient, csrf: Csrf) -> None:
    """The door answers strangers too."""
    form = {"email": "a\0b@tienda.test", "password": "x", "csrf_token": csrf(stranger)}
    assert stranger.post("/login", data=form).status_code == 400
