"""Servers that take alarms: for mail in three kinds of lines, and for webhooks and pings over HTTP."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as MessageHandler
from aiosmtpd.smtp import AuthResult, LoginPassword

from consumer.facts.settings import Settings
from tests.certificates import make_certificate
from tests.merchant import settings_of

PASSWORD = "a-password-of-mail"
SECRET = "a-secret-of-webhooks"


@dataclass
class Received:
    """One request that a receiver took."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """A server on this machine that keeps what is posted; `status` is its answer."""

    url: str
    status: int = 200
    got: list[Received] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kept.got.append(Received(self.path, dict(self.headers), body))
            self.send_response(kept.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept = Receiver(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield kept
    server.shutdown()
    server.server_close()


@dataclass
class Post:
    """A mail server on this machine, what it took, and the logins it saw."""

    port: int = 0
    mails: list[Message] = field(default_factory=list)
    logins: list[tuple[str, str]] = field(default_factory=list)


class Server(Controller):
    """A mail server on a port that the system chose; its start waits for as long as a busy machine needs."""

    @property
    def own_port(self) -> int:
        assert isinstance(self.server, asyncio.Server)
        return int(self.server.sockets[0].getsockname()[1])

    def _trigger_server(self) -> None:
        socket.create_connection(("127.0.0.1", self.own_port), 120).close()


StartPost = Callable[[str], Post]


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for this machine with its key, in one file."""
    return make_certificate(tmp_path_factory.mktemp("certificate") / "here.pem")


@pytest.fixture
def post(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StartPost]:
    """Start a mail server of a scheme; programs of this process trust its certificate."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with ExitStack() as running:

        def start(scheme: str) -> Post:
            kept = Post()

            class Handler(MessageHandler):
                def handle_message(self, message: Message) -> None:
                    kept.mails.append(message)

            def check(*given: object) -> AuthResult:
                login = given[-1]
                assert isinstance(login, LoginPassword)
                kept.logins.append((login.login.decode(), login.password.decode()))
                return AuthResult(success=login.password.decode() == PASSWORD)

            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate)
            controller = Server(
                Handler(),
                hostname="127.0.0.1",
                port=0,
                ready_timeout=120,
                authenticator=check,
                auth_require_tls=scheme == "smtp+starttls",
                ssl_context=context if scheme == "smtps" else None,
                tls_context=context if scheme == "smtp+starttls" else None,
            )
            running.callback(controller.stop)
            controller.start()
            kept.port = controller.own_port
            return kept

        yield start


MakeSettings = Callable[..., Settings]


@pytest.fixture
def alarmed(tmp_path: Path) -> MakeSettings:
    """Settings of a merchant whose alarms go to these addresses."""

    def make(*urls: str, **more: str) -> Settings:
        return settings_of("http://provider.test", tmp_path, overrides=None, alert_urls=",".join(urls), **more)

    return make
