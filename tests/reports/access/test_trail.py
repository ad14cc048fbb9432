"""The trail handed on: every entry once and in order, to files and servers; what cannot be written waits."""

import json
import socket
import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from consumer.facts.installation import Installation
from consumer.facts.settings import ConfigError
from consumer.facts.store import Store
from reconcile.tables.desk import Decision, ExceptionChange
from reports.access.people import note
from reports.access.trail import hand_on
from reports.alarms import find_signals
from tests.consumer.alarms.conftest import certificate as certificate  # noqa: PLC0414 - a fixture of that folder
from tests.merchant import settings_of

NOW = datetime(2026, 11, 23, 13, 0, tzinfo=UTC)
OLD = NOW - timedelta(minutes=5)

Make = Callable[[str], Installation]


@pytest.fixture
def trailing(store: Store, tmp_path: Path) -> Make:
    return lambda url: Installation(settings_of("http://provider.test", tmp_path, trail_url=url), store)


def fill(store: Store) -> None:
    note(store, "ana@tienda.test", "login", "login", now=OLD, address="10.1.2.3")
    with store.transaction() as session:
        session.add(Decision(connection="main", kind="match", resource_id="pi_1", doc_key="cl:33::7",
                             reason="seen", author="ana@tienda.test", at=OLD))  # fmt: skip
        session.add(ExceptionChange(connection="main", exception_id="00aa", at=OLD, author="run 7", change="opened"))
        session.add(ExceptionChange(connection="main", exception_id="00aa", at=OLD, author="ana", change="note"))


def subjects(lines: list[str]) -> list[tuple[str, str, str]]:
    return [(one["id"], one["action"], one["subject"]) for one in map(json.loads, lines)]


EXPECTED = [
    ("entry-1", "login", "login"),
    ("decision-1", "match", "main pi_1 cl:33::7"),
    ("change-2", "change note", "exception main 00aa"),
]


@pytest.mark.both_databases
def test_a_file_gets_each_entry_once(store: Store, trailing: Make, tmp_path: Path) -> None:
    """Decisions and changes are in it, what runs do is not; the last minute waits, and a full disk loses no line."""
    path = tmp_path / "logs" / "trail.jsonl"
    installation = trailing(f"file://{path}")
    fill(store)
    assert hand_on(installation, now=NOW) == 0
    with store.reading() as session:
        main = installation.settings.connection("main")
        assert [signal.cause for signal in find_signals(session, main, NOW)] == ["trail"]
    path.parent.mkdir()
    assert hand_on(installation, now=NOW) == 3
    assert hand_on(installation, now=NOW) == 0
    assert subjects(path.read_text().splitlines()) == EXPECTED
    with store.reading() as session:
        assert list(find_signals(session, main, NOW)) == []

    note(store, "ana@tienda.test", "logout", "login", now=NOW)
    assert [hand_on(installation, now=NOW + timedelta(seconds=wait)) for wait in (59, 60)] == [0, 1]


@pytest.mark.both_databases
def test_two_workers_hand_on_each_entry_once(store: Store, trailing: Make, tmp_path: Path) -> None:
    """Whoever claimed a part hands it on; the others leave it."""
    installation = trailing(f"file://{tmp_path / 'trail.jsonl'}")
    fill(store)
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        hand_on(installation, now=NOW)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(subjects((tmp_path / "trail.jsonl").read_text().splitlines())) == sorted(EXPECTED)


def test_a_datagram_is_one_message_of_syslog(store: Store, trailing: Make) -> None:
    """Facility and severity, version, time, machine, program and process come first, as RFC 5424 says."""
    fill(store)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(60)
        assert hand_on(trailing(f"syslog://127.0.0.1:{server.getsockname()[1]}"), now=NOW) == 3
        messages = [server.recv(65_536).decode() for _ in range(3)]
    heads, lines = zip(*(message.split(" trail - ", 1) for message in messages), strict=True)
    assert heads[0].startswith(f"<109>1 2026-11-23T13:00:00Z {socket.gethostname()} cuadre ")
    assert subjects(list(lines)) == EXPECTED


def test_an_encrypted_stream_is_framed_by_length(
    store: Store, trailing: Make, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over TLS each message begins with its length, and a server without a trusted certificate gets none."""
    fill(store)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    got: list[bytes] = []

    def take(server: socket.socket) -> None:
        # The first one refuses our certificate.
        for _ in range(4):
            line, _ = server.accept()
            line.settimeout(60)
            try:
                with context.wrap_socket(line, server_side=True) as encrypted:
                    while piece := encrypted.recv(65_536):
                        got.append(piece)
            except OSError:
                line.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=take, args=(server,))
        thread.start()
        installation = trailing(f"syslog+tls://127.0.0.1:{server.getsockname()[1]}")
        with store.transaction() as session:
            session.delete(session.get(Decision, 1))
            session.delete(session.get(ExceptionChange, 2))
        assert hand_on(installation, now=NOW) == 0
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert hand_on(installation, now=NOW) == 1
        for _ in range(2):
            socket.create_connection(server.getsockname()).close()
        thread.join()
    length, _, message = b"".join(got).partition(b" ")
    assert (int(length), message[:6]) == (len(message), b"<109>1")


@pytest.mark.parametrize(
    "url", ["trail.jsonl", "file://host/trail", "https://siem.test/x", "syslog://", "syslog://h:0"]
)
def test_an_address_that_is_none_stops_the_start(tmp_path: Path, url: str) -> None:
    """One line says how it must look."""
    with pytest.raises(ConfigError) as refused:
        settings_of("http://provider.test", tmp_path, trail_url=url)
    shape = "must look like file:///var/log/cuadre/trail.jsonl or syslog+tls://host:6514"
    assert str(refused.value) == f"CUADRE_TRAIL_URL: {shape}"
