"""Where lines of the trail go: a file that is only added to, or a server that speaks syslog (RFC 5424)."""

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol, TextIO
from urllib.parse import unquote, urlsplit

from consumer.facts.clock import format_instant

# Facility "log audit", severity "notice".
_PRIORITY = 13 * 8 + 5
PORTS = {"syslog": 514, "syslog+tcp": 601, "syslog+tls": 6514}
_SECONDS = 10.0


class SinkError(Exception):
    """Lines that are not known to have arrived."""


class Sink(Protocol):
    """What takes lines of JSON."""

    def write(self, line: str, now: datetime) -> None: ...


class _File:
    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, line: str, _now: datetime) -> None:
        self._file.write(f"{line}\n")


class _Server:
    """A datagram holds one message; on a stream each begins with its length (RFC 6587)."""

    def __init__(self, line: socket.socket, *, is_framed: bool) -> None:
        self._line = line
        self._is_framed = is_framed

    def write(self, line: str, now: datetime) -> None:
        head = f"<{_PRIORITY}>1 {format_instant(now)} {socket.gethostname()} cuadre {os.getpid()} trail - "
        message = (head + line).encode()
        self._line.sendall(f"{len(message)} ".encode() + message if self._is_framed else message)


def check_trail_url(url: str) -> str:
    """Return the address; raise ValueError unless it names a file or a syslog server."""
    parts = urlsplit(url)
    is_file = parts.scheme == "file" and not parts.netloc and Path(unquote(parts.path)).is_absolute()
    try:
        is_server = parts.scheme in PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_server = False
    if not (is_file or is_server):
        raise ValueError("must look like file:///var/log/cuadre/trail.jsonl or syslog+tls://host:6514")
    return url


@contextmanager
def open_sink(url: str) -> Iterator[Sink]:
    """Open what takes lines; raise SinkError where it cannot be reached, or did not take them all."""
    parts = urlsplit(url)
    try:
        if parts.scheme == "file":
            with Path(unquote(parts.path)).open("a", encoding="utf-8") as file:
                yield _File(file)
                file.flush()
                os.fsync(file.fileno())
            return
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        kind = socket.SOCK_DGRAM if parts.scheme == "syslog" else socket.SOCK_STREAM
        family, _, _, _, address = socket.getaddrinfo(host, port, type=kind)[0]
        with socket.socket(family, kind) as line:
            line.settimeout(_SECONDS)
            line.connect(address)
            if parts.scheme == "syslog+tls":
                with ssl.create_default_context().wrap_socket(line, server_hostname=host) as encrypted:
                    yield _Server(encrypted, is_framed=True)
            else:
                yield _Server(line, is_framed=kind == socket.SOCK_STREAM)
    except OSError as error:
        where = unquote(parts.path) if parts.scheme == "file" else parts.hostname
        raise SinkError(f"{where} takes no lines: {error.strerror or type(error).__name__}") from None
