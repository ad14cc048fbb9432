"""The receiving route: decisions in the contract's order, JSON always, no row and no 5xx for what is not authentic."""

import io
import json
import logging
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import settings as thorough
from hypothesis import strategies as st
from sqlmodel import select
from werkzeug.serving import make_server
from werkzeug.test import TestResponse

from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event, EventConflict, Secret
from consumer.webhooks.blueprint import webhooks
from consumer.webhooks.keyring import NewSecret, end_secret, keep_secret
from tests.thoroughness import for_run

NOISE = for_run(short=150, full=10_000)
Send = Callable[..., TestResponse]
Sign = Callable[..., str]
EVENT = {
    "id": "evt_1",
    "type": "refund.succeeded",
    "mode": "test",
    "created_at": "2026-10-05T11:00:00Z",
    "data": {"id": "re_1"},
}


# What is refused never reaches the database, so one kind of it is enough.
ON_SQLITE = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


def rows(store: Store) -> list[Event]:
    with store.reading() as session:
        return list(session.exec(select(Event)))


def test_a_signed_event_is_stored_then_a_duplicate_then_a_conflict(send: Send, installation: Installation) -> None:
    """The three answers of 200 say what the arrival was, and only the first body is kept."""
    answers = [send(EVENT), send(json.dumps(EVENT, indent=1).encode()), send(EVENT | {"data": {"id": "re_2"}})]

    assert [(answer.status_code, answer.json) for answer in answers] == [
        (200, {"status": "stored"}),
        (200, {"status": "duplicate"}),
        (200, {"status": "conflict"}),
    ]
    assert [event.body for event in rows(installation.store)] == [json.dumps(EVENT).encode()]
    with installation.store.reading() as session:
        assert [row.source for row in session.exec(select(EventConflict))] == ["webhook"]


@ON_SQLITE
@pytest.mark.parametrize("path", ["/webhooks", "/webhooks/main"])
def test_both_addresses_of_the_main_connection(send: Send, path: str) -> None:
    """The bare address is the connection main."""
    assert send(EVENT, path=path).status_code == 200


@ON_SQLITE
@pytest.mark.parametrize("path", ["/webhooks/other", "/webhooks/" + "x" * 2000, "/webhooks/%00", "/webhooks/%F0%9F"])
def test_an_unknown_connection_is_not_found(send: Send, installation: Installation, path: str) -> None:
    """A connection that is not configured answers 404 in JSON, before anything is read or verified."""
    answer = send(EVENT, path=path)

    assert (answer.status_code, answer.json) == (404, {"error": "unknown_connection"})
    assert rows(installation.store) == []


@ON_SQLITE
def test_without_a_secret_the_route_does_not_exist(store: Store, settings: Settings) -> None:
    """No secret configured is a 404, never an unverified 200, whatever the rest of the request is."""
    keyless = Settings.model_validate(dict(settings) | {"webhook_secrets": ()})
    app = Flask("receiver")
    app.register_blueprint(webhooks(Installation(keyless, store)))

    answer = app.test_client().post("/webhooks", data=b"x" * 2_000_000)

    assert (answer.status_code, answer.json) == (404, {"error": "no_secret"})


@ON_SQLITE
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(("size", "status"), [(1_048_576, 422), (1_048_577, 413), (30_000_000, 413)])
def test_the_body_limit(receiver: Flask, sign: Sign, size: int, status: int, *, chunked: bool) -> None:
    """Exactly the limit passes and one byte more does not, with a length and without, whoever signed it."""
    body = b" " * size
    stream = io.BytesIO(body)
    answer = receiver.test_client().post(
        "/webhooks",
        input_stream=stream,
        headers={"Fintoc-Signature": sign(body)},
        environ_overrides={"wsgi.input_terminated": True} if chunked else {"CONTENT_LENGTH": str(size)},
    )

    assert answer.status_code == status
    assert answer.is_json


@ON_SQLITE
def test_a_body_over_the_limit_is_refused_before_its_signature(send: Send) -> None:
    """413 comes before 400 and 401."""
    assert send(b"x" * 1_048_577, header=[]).status_code == 413


@ON_SQLITE
@pytest.mark.parametrize(
    ("header", "status", "reason"),
    [
        ([], 400, "header_missing"),
        ("", 400, "header_missing"),
        ("garbage", 400, "header_unreadable"),
        ("t=1791201600", 400, "v1_missing"),
        ("t=1791201299,v1=00", 400, "too_old"),
        ("t=1791201901,v1=00", 400, "too_far_ahead"),
        (["t=1791201600,v1=00", "t=1791201600,v1=00"], 400, "time_repeated"),
        ("t=1791201600,v1=00", 401, "forged"),
        ("t=1791201600,v1=caf\u00e9", 401, "forged"),
        ("t=1791201600,v1=" + "a" * 100_000, 401, "forged"),
    ],
)
def test_what_does_not_prove_itself_is_refused(
    send: Send, installation: Installation, header: str | list[str], status: int, reason: str
) -> None:
    """A missing, broken, untimely or forged signature is its own 4xx and never a row."""
    answer = send(EVENT, header=header)

    assert (answer.status_code, answer.json) == (status, {"error": reason})
    assert rows(installation.store) == []


@ON_SQLITE
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not_json"),
        (b"[]", "not_json"),
        (b"\xff\xfe", "not_json"),
        (b'{"id":NaN}', "not_json"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "not_json"),
        (b"{}", "no_id"),
        (b'{"id":7}', "no_id"),
    ],
)
def test_authentic_but_nameless_is_unprocessable(
    send: Send, installation: Installation, body: bytes, reason: str
) -> None:
    """A signed body without a usable id is a 422 and never a row."""
    answer = send(body)

    assert (answer.status_code, answer.json) == (422, {"error": reason})
    assert rows(installation.store) == []


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "waiting"),
        ({"type": "comet.seen"}, "ignored"),
        ({"type": None}, "ignored"),
        ({"mode": "live"}, "quarantined"),
        ({"data": None}, "quarantined"),
    ],
)
def test_whatever_is_authentic_and_named_is_kept(
    send: Send, installation: Installation, changes: dict[str, Any], state: str
) -> None:
    """Unknown types and wrong modes are answered 200 and kept in the state that says so."""
    assert send(EVENT | changes).status_code == 200
    assert [event.state for event in rows(installation.store)] == [state]


@ON_SQLITE
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_only_post_is_allowed(receiver: Flask, method: str) -> None:
    """Other methods are told so, in JSON."""
    answer = receiver.test_client().open("/webhooks", method=method)

    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert answer.is_json


def test_a_rotated_secret_works_until_it_ends(installation: Installation, sign: Sign) -> None:
    """A secret kept encrypted in the database verifies beside the settings' own until its end, and its use is noted."""
    now = [1791201600]

    def clock() -> datetime:
        return datetime.fromtimestamp(now[0], UTC)

    with installation.store.transaction() as session:
        kept = keep_secret(
            session, installation.settings, NewSecret("main", "october", "we_2", "whsec_rotated"), now=clock()
        )
        end_secret(session, connection="main", endpoint_id="we_2", ends_at=clock() + timedelta(hours=1))
        assert b"whsec_rotated" not in kept.encrypted
    app = Flask("receiver")
    app.register_blueprint(webhooks(installation, now=clock))
    body = json.dumps(EVENT).encode()

    def post() -> int:
        header = sign(body, secret="whsec_rotated", at=now[0])
        return app.test_client().post("/webhooks", data=body, headers={"Fintoc-Signature": header}).status_code

    assert post() == 200
    with installation.store.reading() as session:
        assert session.exec(select(Secret.last_used_at)).one() == clock()
    now[0] += 3600
    assert post() == 401


@ON_SQLITE
def test_the_log_says_the_reason_once_and_nothing_of_the_request(send: Send, caplog: pytest.LogCaptureFixture) -> None:
    """A burst of forgeries is one line, which holds neither body nor header nor secret."""
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            send(b'{"id":"evt_private"}', header="t=1791201600,v1=abcdef")

    assert [record.getMessage() for record in caplog.records] == [
        "webhook refused with 401: forged (0 more like it since the last such line)"
    ]


@pytest.fixture
def port(receiver: Flask) -> Iterator[int]:
    """The receiver behind a real socket."""
    server = make_server("127.0.0.1", 0, receiver, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.port
    server.shutdown()
    thread.join()
    server.server_close()


@ON_SQLITE
@pytest.mark.parametrize(("pieces", "status"), [(1, 200), (17, 413)])
def test_a_chunked_body_over_a_real_socket(port: int, sign: Sign, pieces: int, status: int) -> None:
    """Without a length the whole body is read and verified, and one that grows past the limit is told 413."""
    body = json.dumps(EVENT).encode() if pieces == 1 else b"x" * 65_536 * pieces
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    some = (body[start : start + 65_536] for start in range(0, len(body), 65_536))
    connection.request("POST", "/webhooks", some, {"Fintoc-Signature": sign(body)}, encode_chunked=True)
    answer = connection.getresponse()

    assert (answer.status, answer.getheader("Content-Type")) == (status, "application/json")
    answer.read()
    connection.close()


@ON_SQLITE
@thorough(max_examples=NOISE)
@given(
    body=st.binary(max_size=300), header=st.text(st.characters(max_codepoint=255), max_size=120), sealed=st.booleans()
)
def test_noise_is_always_a_4xx(send: Send, sign: Sign, body: bytes, header: str, *, sealed: bool) -> None:
    """Whatever bytes come, signed or not, the answer is a 4xx in JSON unless it is an event."""
    value = sign(body) if sealed else header.replace("\r", "").replace("\n", "")
    answer = send(body, header=value)

    assert 400 <= answer.status_code < 500
    assert answer.is_json


@ON_SQLITE
def test_a_body_that_breaks_off_is_not_read(receiver: Flask, sign: Sign, installation: Installation) -> None:
    """A body shorter than its announced length is broken, even where what came is signed."""
    body = json.dumps(EVENT).encode()
    answer = receiver.test_client().post(
        "/webhooks",
        input_stream=io.BytesIO(body),
        headers={"Fintoc-Signature": sign(body)},
        environ_overrides={"CONTENT_LENGTH": str(len(body) + 1)},
    )

    assert (answer.status_code, answer.json) == (400, {"error": "body_broken"})
    assert rows(installation.store) == []


@pytest.mark.parametrize("path", ["/webhooksmain", "/webhooks/", "/webhooks/main/more", "/webhooks-of/webhooks/main"])
def test_what_only_looks_like_the_route_is_not_received(send: Callable[..., TestResponse], path: str) -> None:
    """An address that merely begins like the receiver's is answered by the rest of the application."""
    assert send({"id": "evt_1"}, path=path).status_code == 404
