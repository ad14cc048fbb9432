"""Bodies have a limit on every route, held before anything reads them."""

import io
import re
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

Csrf = Callable[..., str]
# Routes that take files; every other route takes a form of a page.
UPLOADS = {"/books/look", "/exceptions/sheet", "/api/v1/books/1", "/disputes/1/1/evidence", "/exceptions/1/1/files"}
FORM, UPLOAD = 65_536, 10_065_536


def paths(app: Flask) -> list[tuple[str, str]]:
    """Name every route, with something in its holes, and its method."""
    found = []
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<any\((\w+),[^>]*>", r"\1", rule.rule)
        path = re.sub(r"<[^>]+>", "1", path)
        found += [(method, path) for method in (rule.methods or set()) & {"GET", "POST"}]
    return sorted(found)


def test_no_route_reads_more_than_its_forms_need(app: Flask) -> None:
    """A stranger's body over the limit is a 413 on every page, form or not, and none of it is parsed."""
    # An archive of a month is larger than any other file.
    asked = [one for one in paths(app) if one[1] not in {*UPLOADS, "/verify"}]
    assert len(asked) > 40
    answers = {
        (method, path): app.test_client()
        .open(
            path,
            method=method,
            data=b"a=" + b"&" * FORM,
            content_type="application/x-www-form-urlencoded",
        )
        .status_code
        for method, path in asked
    }
    assert {one: status for one, status in answers.items() if status != 413} == {}


@pytest.mark.parametrize(("path", "field"), [("/books/look", "file"), ("/exceptions/sheet", "sheet")])
def test_files_have_a_limit_of_their_own(client: FlaskClient, csrf: Csrf, path: str, field: str) -> None:
    """A file of 5 MB is read and judged, one of 11 MB is a 413 with a sentence, whoever brings it."""

    def post(size: int) -> tuple[int, str]:
        parts = {"csrf_token": csrf(client, "/"), "kind": "invoices"}
        form = "".join(
            f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in parts.items()
        )
        head = f'--b\r\nContent-Disposition: form-data; name="{field}"; filename="a.csv"\r\n\r\n'
        body = (form + head).encode() + b"x" * size + b"\r\n--b--\r\n"
        answer = client.post(path, data=body, content_type="multipart/form-data; boundary=b")
        return answer.status_code, answer.get_data(as_text=True)

    assert post(5_000_000)[0] != 413
    status, page = post(11_000_000)
    assert status == 413
    assert "10 MB" in page


def test_a_body_without_a_length_is_counted_while_it_is_read(app: Flask) -> None:
    """Chunked, it ends at the limit: the form is a 413 and not one that was cut."""
    answer = app.test_client().post(
        "/login",
        input_stream=io.BytesIO(b"email=" + b"a" * 2 * FORM),
        environ_overrides={"wsgi.input_terminated": True},
        content_type="application/x-www-form-urlencoded",
    )
    assert answer.status_code == 413


@pytest.mark.parametrize("path", sorted(UPLOADS))
def test_a_body_is_read_to_its_end_also_where_it_is_not_used(app: Flask, path: str) -> None:
    """A proxy that is still sending when the answer comes would say 502; who is not logged in gets the login page."""
    body = io.BytesIO(b"x" * 5_000_000)
    answer = app.test_client().post(path, input_stream=body, content_length=5_000_000)
    assert answer.status_code in {302, 401}
    assert body.read() == b""
