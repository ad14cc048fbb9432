"""The receiver behind its real server: what odd senders put on the wire is refused by the contract, and never a row."""

import hashlib
import hmac
import json
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from consumer.commands.serving import check_free
from consumer.commands.terminal import CommandError
from tests.thoroughness import IS_FULL, for_run

SECRET = b"whsec_test_secret"
LIMIT = 1_048_576
EVENT = {
    "id": "evt_1",
    "type": "refund.succeeded",
    "mode": "test",
    "created_at": "2026-10-05T11:00:00Z",
    "data": {"id": "re_1"},
}
BODY = json.dumps(EVENT).encode()
ON_SQLITE = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


def signature(body: bytes = BODY) -> bytes:
    at = str(int(time.time())).encode()
    return b"t=" + at + b",v1=" + hmac.new(SECRET, at + b"." + body, hashlib.sha256).hexdigest().encode()


def speak(port: int, *head: bytes, body: bytes = BODY, framing: bytes | None = None) -> tuple[int, bytes]:
    """Say exactly this to the server and return the status and the body of its answer."""
    framed = b"Content-Length: %d" % len(body) if framing is None else framing
    lines = [b"POST /webhooks HTTP/1.1", b"Host: here", b"Connection: close", framed, *head, b"", b""]
    with socket.create_connection(("127.0.0.1", port), timeout=120) as wire:
        # A server that has heard enough may hang up before everything is said.
        with suppress(ConnectionError):
            wire.sendall(b"\r\n".join(lines) + body)
        answer = b""
        with suppress(ConnectionError):
            while piece := wire.recv(65_536):
                answer += piece
    status, _, rest = answer.partition(b"\r\n")
    return int(status.split()[1]), rest.partition(b"\r\n\r\n")[2]


def chunked(body: bytes, size: int = 65_536) -> bytes:
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def header(value: bytes, name: bytes = b"Fintoc-Signature") -> bytes:
    return name + b": " + value


ODD: dict[str, tuple[Callable[[], list[bytes]], int]] = {
    "no header": (list, 400),
    "an empty header": (lambda: [header(b"")], 400),
    # The server hands over nothing of a value that is not ASCII, so it is as unreadable as it looks.
    "a signature in UTF-8": (lambda: [header(b"t=%d,v1=caf\xc3\xa9" % time.time())], 400),
    "a signature in Latin-1": (lambda: [header(b"t=%d,v1=caf\xe9" % time.time())], 400),
    "the same header twice": (lambda: [header(signature())] * 2, 400),
    "twice, the second empty": (lambda: [header(signature()), header(b"")], 400),
    "twice, the first not ASCII": (lambda: [header(b"\xe9"), header(signature())], 400),
    "a control character": (lambda: [header(b"t=1,v1=\x01")], 400),
    "a null character": (lambda: [header(b"t=1,v1=\x00")], 400),
    "a folded header": (lambda: [header(b"t=1,\r\n v1=00")], 400),
    "a space before the colon": (lambda: [b"Fintoc-Signature : t=1,v1=00"], 400),
    "an infinite time": (lambda: [header(b"t=inf,v1=00")], 400),
    "a forgery": (lambda: [header(b"t=%d,v1=%s" % (time.time(), b"0" * 64))], 401),
    "a forgery under the name with an underscore": (
        lambda: [header(b"t=%d,v1=%s" % (time.time(), b"0" * 64), b"Fintoc_Signature")],
        401,
    ),
    "100 kB of signature": (lambda: [header(b"t=%d,v1=%s" % (time.time(), b"a" * 100_000))], 401),
    "1 MB of signature": (lambda: [header(b"t=1,v1=" + b"a" * 1_000_000)], 431),
}


@pytest.fixture
def port(migrated_url: str, install: Callable[[str], Any]) -> Any:
    """A receiver that serves; afterwards it must hold no row."""
    installation = install(migrated_url)
    installation.serve()
    yield installation.port
    assert installation.ids() == set()


@ON_SQLITE
def test_what_does_not_prove_itself_on_the_wire(port: int) -> None:
    """Each odd header is the 4xx that the contract or HTTP itself has for it."""
    assert {name: speak(port, *head())[0] for name, (head, _) in ODD.items()} == {
        name: status for name, (_, status) in ODD.items()
    }


@ON_SQLITE
def test_bodies_on_the_wire(port: int) -> None:
    """With a length or in chunks: exactly the limit is read, one byte more is told 413 however large it is."""
    exact, over, huge = b" " * LIMIT, b" " * (LIMIT + 1), b" " * (12 * LIMIT)
    said = {
        "exact": speak(port, header(signature(exact)), body=exact)[0],
        "over": speak(port, header(signature(over)), body=over)[0],
        "huge": speak(port, header(signature(huge)), body=huge)[0],
    }
    for name, body in (("exact", exact), ("over", over), ("huge", huge)):
        framing = b"Transfer-Encoding: chunked"
        said[f"{name} in chunks"] = speak(port, header(signature(body)), body=chunked(body), framing=framing)[0]

    assert said == {
        "exact": 422,
        "over": 413,
        "huge": 413,
        "exact in chunks": 422,
        "over in chunks": 413,
        "huge in chunks": 413,
    }


@ON_SQLITE
def test_framing_that_is_broken(port: int) -> None:
    """Lengths and chunks that make no sense are refused, and the receiver goes on."""
    in_chunks = b"Transfer-Encoding: chunked"
    broken = {
        b"Content-Length: -1": BODY,
        b"Content-Length: 99999999999999999999999": BODY,
        b"Content-Length: 3\r\nContent-Length: 4": b"abcd",
        b"Transfer-Encoding: identity": BODY,
        b"X-Nothing: here": b"",
    }
    said = [speak(port, header(b"t=1,v1=00"), body=body, framing=framing)[0] for framing, body in broken.items()]
    # Of chunks that break off the server hands over the beginning, which is not signed.
    said += [
        speak(port, header(signature()), body=body, framing=in_chunks)[0]
        for body in (b"zz\r\nhello\r\n0\r\n\r\n", b"-5\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\nzz\r\n")
    ]

    assert said == [400, 400, 400, 400, 400, 401, 401, 401]
    assert speak(port)[0] == 400


@ON_SQLITE
def test_a_body_in_chunks_is_read_whole(migrated_url: str, install: Callable[[str], Any]) -> None:
    """What is signed and comes without a length, a byte at a time, is stored as any other."""
    installation = install(migrated_url)
    installation.serve()
    framing = b"Transfer-Encoding: chunked"

    answers = [
        speak(installation.port, header(signature()), body=chunked(BODY, size), framing=framing) for size in (1, 65_536)
    ]

    assert [(status, json.loads(body)) for status, body in answers] == [
        (200, {"status": "stored"}),
        (200, {"status": "duplicate"}),
    ]
    assert installation.ids() == {"evt_1"}


@ON_SQLITE
def test_the_server_starts_quietly_and_ends_with_its_parent(migrated_url: str, install: Callable[[str], Any]) -> None:
    """Nothing but the address is said; a killed parent takes its children along, so the next start finds its port."""
    installation = install(migrated_url)
    installation.serve()
    installation.kill("receive")

    def is_free() -> bool:
        with suppress(CommandError):
            check_free("127.0.0.1", installation.port)
            return True
        return False

    installation.until(is_free, "the port is free")
    installation.serve()

    line = f"listening on http://127.0.0.1:{installation.port}\n"
    assert (installation.folder / "receive.log").read_text() == line * 2


@ON_SQLITE
def test_silent_connections_keep_nobody_out(migrated_url: str, install: Callable[[str], Any]) -> None:
    """Five hundred who connect and say nothing leave room for who has something to say, and are let go in the end."""
    installation = install(migrated_url)
    installation.serve()
    silent = [socket.create_connection(("127.0.0.1", installation.port)) for _ in range(500)]
    began = time.monotonic()

    assert installation.get("/healthz")[0] == 200
    # They themselves would be let go after half a minute.
    assert time.monotonic() - began < for_run(short=25, full=5)
    if IS_FULL:
        silent[0].settimeout(60)
        assert silent[0].recv(1) == b""
    for one in silent:
        one.close()
