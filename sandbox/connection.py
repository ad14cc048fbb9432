"""The server's side of a connection: kept open between requests, and closed when the sandbox stops."""

import socket
import threading
from typing import TYPE_CHECKING, Any

from werkzeug.serving import WSGIRequestHandler
from werkzeug.test import run_wsgi_app

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

IDLE_SECONDS = 120
BODILESS = {204, 304}


class OpenConnections:
    """The sockets that are being served, so that stopping means stopping."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()

    def add(self, connection: socket.socket) -> None:
        with self._lock:
            self._sockets.add(connection)

    def remove(self, connection: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(connection)

    def close(self) -> None:
        with self._lock:
            for connection in self._sockets:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # the other side was quicker


class KeepAliveHandler(WSGIRequestHandler):
    """Werkzeug's handler closes after every answer; this one keeps HTTP/1.1 connections open, and says nothing."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    # Headers and body are two writes; with Nagle's algorithm the second would wait for the client.
    disable_nagle_algorithm = True
    connections: OpenConnections

    def setup(self) -> None:
        super().setup()
        self.connections.add(self.connection)

    def finish(self) -> None:
        self.connections.remove(self.connection)
        try:
            super().finish()
        except (OSError, ValueError):
            self.close_connection = True  # the connection was reset under it

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Keep the terminal quiet."""

    def log_error(self, format: str, *args: Any) -> None:  # noqa: A002 - the parent's name
        """Idle connections that time out are no news."""

    def run_wsgi(self) -> None:
        environ = self.make_environ()
        app: WSGIApplication = self.server.app
        try:
            body, status, headers = run_wsgi_app(app, environ)
        except ConnectionResetError:
            self.close_connection = True
            return
        code = int(status.split(" ", 1)[0])
        self.send_response_only(code, status.partition(" ")[2])  # the sandbox's own Date, not this machine's
        for name, value in headers:
            self.send_header(name, value)
        is_chunked = "Content-Length" not in headers and code not in BODILESS and self.command != "HEAD"
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for data in body:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if is_chunked else data)
        if is_chunked:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()
