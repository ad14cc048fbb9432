"""Mutated headers and bodies, steered by the lines they reach: always the named refusal, never a 5xx, never a row."""

import hashlib
import hmac
import io
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from flask import Flask
from sqlmodel import select

from consumer.facts import meaning
from consumer.facts.installation import Installation
from consumer.facts.meaning import read_object
from consumer.facts.settings import Settings
from consumer.facts.tables.inbox import Event
from consumer.inbox import record
from consumer.inbox.record import UnusableEventError, read_arrival
from consumer.webhooks import blueprint, signature
from consumer.webhooks.blueprint import webhooks
from consumer.webhooks.signature import SignatureError, verify
from tests.thoroughness import for_run

PURE, THROUGH_THE_APP, STEERED = for_run(short=(4_000, 400, 800), full=(1_000_000, 50_000, 50_000))
SEED = int(os.environ.get("CUADRE_TEST_SEED", "717"))
SECRET = b"whsec_test_secret"
AT = 1791201600
NOW = datetime.fromtimestamp(AT, UTC)
WATCHED = frozenset(module.__file__ for module in (record, meaning, blueprint, signature))
PIECES = (
    b"t=1791201600", b"v1=", b",", b"=", b"t", b"1791201600", b"-1", b"inf", b"nan", b"\x00", b"\xff\xfe", b"\xc3\xa9",
    b"\xd9\xa1", b" ", b"\t", b"9" * 400, b"{", b"}", b"[" * 70, b"]" * 70, b'"id":', b'"evt_1"', b"null", b"1e999",
    b"NaN", b"\\ud800", b"\\u0000", b'"type":"payout.succeeded"', b'"data":{}', b'"created_at":"2026-13-45T99:99:99Z"',
    b'"mode":"live"', b'"' * 3, b"a" * 300, b"0x1f", b"1_0", b"+1", b"1.5", b"-0", b"Infinity",
)  # fmt: skip
EVENT = {
    "id": "evt_1",
    "type": "refund.succeeded",
    "mode": "test",
    "created_at": "2026-10-05T11:00:00Z",
    "data": {"id": "re_1", "amount": 5, "notes": [1.5, {"deep": None}]},
}

Line = tuple[CodeType, int]


def seal(body: bytes) -> bytes:
    return b"t=%d,v1=%s" % (AT, hmac.new(SECRET, b"%d." % AT + body, hashlib.sha256).hexdigest().encode())


class Mutator:
    """A corpus that keeps what reached a line nothing had reached before."""

    def __init__(self, seeds: list[bytes]) -> None:
        self.chance = random.Random(SEED)  # noqa: S311 - repeatable
        self.corpus = list(seeds)
        self.reached: set[Line] = set()

    def mutate(self) -> bytes:
        value = bytearray(self.chance.choice(self.corpus))
        for _ in range(self.chance.choice((1, 1, 2, 4, 8))):
            place = self.chance.randrange(len(value) + 1)
            kind = self.chance.randrange(6)
            if kind == 0:
                value[place:place] = self.chance.choice(PIECES)
            elif kind == 1:
                del value[place : place + self.chance.choice((1, 2, 8, 64))]
            elif kind == 2 and place < len(value):
                value[place] = self.chance.randrange(256)
            elif kind == 3:
                value[place : place + 4] = self.chance.choice(PIECES)
            elif kind == 4:
                other = self.chance.choice(self.corpus)
                value[place:] = other[self.chance.randrange(len(other) + 1) :]
            else:
                value[place:place] = value[: self.chance.randrange(32)]
        return bytes(value[:8_192])

    def steer(self, run: Callable[[bytes], None], count: int) -> None:
        """Run mutations and keep those that go where none went before."""
        for _ in range(count):
            value = self.mutate()
            with lines_reached() as lines:
                run(value)
            if not lines <= self.reached:
                self.reached |= lines
                self.corpus.append(value)


@contextmanager
def lines_reached() -> Iterator[set[Line]]:
    lines: set[Line] = set()

    def trace(frame: FrameType, what: str, _argument: Any) -> Any:
        if frame.f_code.co_filename not in WATCHED:
            return None
        if what == "line":
            lines.add((frame.f_code, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


def status_of(header: bytes) -> int:
    try:
        verify(b"{}", header, [b"whsec_other", SECRET], now=NOW, tolerance=300)
    except SignatureError as refused:
        return refused.status
    return 200


def check_header(value: bytes) -> None:
    """A mutated header is refused, unless it still holds the very time and signature of the body."""
    status = status_of(value)
    holds_both = set(seal(b"{}").split(b",")) <= {part.strip(b" \t") for part in value.split(b",")}
    assert status in {400, 401} or holds_both
    assert status in {200, 400, 401}


def test_mutated_headers() -> None:
    """The verifier ends every header it is given in a named refusal; only the right signature passes."""
    sealed = seal(b"{}")
    header = Mutator([sealed, b",".join(reversed(sealed.split(b","))), sealed + b",v1=00,v0=x", b"t=1,v1=", b""])
    header.steer(check_header, STEERED)
    assert len(header.reached) > 25
    for _ in range(PURE):
        check_header(header.mutate())


def test_mutated_bodies(settings: Settings) -> None:
    """The reader of events ends every body in an arrival with a usable id, or in a named refusal."""
    main = settings.connection("main")

    def identify(value: bytes) -> str:
        try:
            return read_arrival(value, connection=main, source="webhook", received_at=NOW).id
        except UnusableEventError as unusable:
            return f"refused: {unusable.reason}"

    def check(value: bytes) -> None:
        name = identify(value)
        assert name in {"refused: not_json", "refused: no_id"} or name == read_object(value)["id"]
        assert 0 < len(name) <= 255
        assert name.isprintable()

    body = Mutator([json.dumps(EVENT).encode(), json.dumps(EVENT, indent=1).encode(), b'{"id":"evt_2"}', b"[]", b""])
    body.steer(check, STEERED)
    assert len(body.reached) > 60
    for _ in range(PURE):
        check(body.mutate())


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_mutated_requests_through_the_app(installation: Installation) -> None:
    """Through the whole route: an unsigned request is a 4xx and no row, a sealed one 200 or 422, and none is a 5xx."""
    app = Flask("receiver")
    app.register_blueprint(webhooks(installation, now=lambda: NOW))
    # Signed for a body that no mutation arrives at.
    headers = Mutator([seal(b"somebody else's body"), b"t=1791201600,v1=" + b"0" * 64, b""])
    bodies = Mutator([json.dumps(EVENT).encode(), b"{}", b"[]"])
    chance = random.Random(SEED)  # noqa: S311 - repeatable
    kept: set[str] = set()

    def post(body: bytes, header: bytes, *, length: str | None) -> tuple[int, dict[str, Any]]:
        said: list[str] = []
        environ = {
            "REQUEST_METHOD": "POST", "PATH_INFO": "/webhooks", "SERVER_NAME": "here", "SERVER_PORT": "80",
            "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(body), "wsgi.errors": sys.stderr,
            "wsgi.input_terminated": True, "HTTP_FINTOC_SIGNATURE": header.decode("latin-1"),
        }  # fmt: skip
        if length is not None:
            environ["CONTENT_LENGTH"] = length
        answer = b"".join(app.wsgi_app(environ, lambda status, _headers: said.append(status)))  # type: ignore[arg-type]
        return int(said[0][:3]), json.loads(answer)

    for number in range(THROUGH_THE_APP):
        body = bodies.mutate()
        lengths = (None, str(len(body)), "-1", "x", str(len(body) + 1), "99999999999999999999999")
        if number % 10:
            status, answer = post(body, headers.mutate(), length=chance.choice(lengths))
            assert status in {400, 401, 413}, answer
        else:
            status, answer = post(body, seal(body), length=chance.choice(lengths[:2]))
            assert status in {200, 422}, answer
            if status == 200:
                kept.add(str(read_object(body)["id"]))
    with installation.store.reading() as session:
        stored = {row.id for row in session.exec(select(Event))}
    assert stored == kept


def test_the_watched_files_are_the_ones_that_run() -> None:
    """The steering looks at the files that read what senders wrote."""
    assert {Path(str(name)).name for name in WATCHED} == {"record.py", "meaning.py", "blueprint.py", "signature.py"}
