"""A program that the demo starts beside itself: its settings as a file, its process, and whether it answers."""

import contextlib
import fcntl
import json
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

READY_SECONDS = 60


class NotServedError(Exception):
    """The program did not come up; the message says what to do."""


class Served:
    """A process that answers HTTP on loopback, stopped when the demo ends."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._process: subprocess.Popen[bytes] | None = None

    def check_free(self) -> None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                raise NotServedError(f"port {self.port} is taken; name another with --port")

    def start(self, command: Sequence[str], environ: Mapping[str, str], *, log: Path) -> None:
        """Start the program and wait until it says that it is ready."""
        with log.open("ab") as file:
            self._process = subprocess.Popen(command, env=dict(environ), stdout=file, stderr=file)  # noqa: S603
        with httpx.Client(trust_env=False, timeout=5) as client:
            ends = time.monotonic() + READY_SECONDS
            while time.monotonic() < ends and self._process.poll() is None:
                if self._is_ready(client):
                    return
                time.sleep(0.05)
        self.stop()
        raise NotServedError(f"the server did not start; {log} says why")

    def _is_ready(self, client: httpx.Client) -> bool:
        try:
            return client.get(f"{self.url}/readyz").is_success
        except httpx.TransportError:
            return False

    def wait(self) -> None:
        """Wait until somebody stops it or us; Ctrl-C is how a demo ends, not a failure."""
        if self._process is not None:
            with contextlib.suppress(KeyboardInterrupt):
                self._process.wait()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep a folder to one demo at a time; the lock goes with its process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "demo.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            advice = "stop it first, or give this one another CUADRE_DATA_DIR and --port"
            raise NotServedError(f"a demo is running in {folder} already: {advice}") from None
        yield


def write_settings(path: Path, settings: Mapping[str, Any]) -> None:
    """Write settings as TOML that only its owner can read, tables last as the format wants."""
    plain = [f"{name} = {_to_toml(value)}" for name, value in settings.items() if not isinstance(value, Mapping)]
    tables = [
        "\n".join([f"\n[{name}]", *(f"{key} = {_to_toml(item)}" for key, item in value.items())])
        for name, value in settings.items()
        if isinstance(value, Mapping)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text("\n".join(["# Written by cuadre demo.", *plain, *tables]) + "\n", encoding="utf-8")


def _to_toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_to_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_to_toml, value)) + "]"
    # A JSON string or number is a TOML one too.
    return json.dumps(value)
