"""A PostgreSQL of a test's own."""

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

PATIENCE = 180.0


class Cluster:
    """A PostgreSQL that belongs to one test alone, so that it may be killed, frozen and starved."""

    def __init__(self, programs: Path, user: str | None, folder: Path) -> None:
        self.programs, self.user, self.folder = programs, user, folder
        self.process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql+psycopg://cuadre@/postgres?host={folder}"

    def create(self) -> None:
        command: list[str | Path] = [
            self.programs / "initdb",
            "-D",
            self.folder / "data",
            "-U",
            "cuadre",
            "-A",
            "trust",
            "-E",
            "UTF8",
        ]
        subprocess.run(
            [*command, "--locale=C", "--no-sync"],
            check=True,
            user=self.user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def follow(self, primary: "Cluster") -> None:
        """Become a standby of a running one, with a copy of its data."""
        command: list[str | Path] = [
            self.programs / "pg_basebackup", "-D", self.folder / "data", "-h", primary.folder, "-U", "cuadre", "-R",
            "--checkpoint=fast", "--no-sync",
        ]  # fmt: skip
        subprocess.run(
            command, check=True, user=self.user, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def promote(self) -> None:
        command: list[str | Path] = [self.programs / "pg_ctl", "promote", "-w", "-D", self.folder / "data"]
        subprocess.run(command, check=True, user=self.user, cwd=self.folder, stdout=subprocess.DEVNULL)

    def start(self) -> None:
        """Start, again and again while processes of the one killed before still hold its memory."""
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-2000:]
            if self.process is None or self.process.poll() is not None:
                self._launch()
            time.sleep(0.02)

    def _launch(self) -> None:
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self.folder}"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.folder / "data", *options],
                user=self.user,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )

    def _answers(self) -> bool:
        with (
            suppress(psycopg.OperationalError),
            psycopg.connect(dbname="postgres", user="cuadre", host=str(self.folder)),
        ):
            return self.process is not None
        return False

    @property
    def postmaster(self) -> int:
        assert self.process is not None
        return self.process.pid

    def backends(self) -> list[int]:
        """Every process that serves or writes; they come and go."""
        children = Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children")
        with suppress(OSError):
            return [int(pid) for pid in children.read_text().split()]
        return []

    def signal_all(self, number: int) -> None:
        for pid in (*self.backends(), self.postmaster):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def limit_files(self, most: int) -> None:
        """Let no process make a file larger than this: what a full disk is to it."""
        pids = (*self.backends(), self.postmaster)

        def limit() -> None:
            for pid in pids:
                with suppress(ProcessLookupError):
                    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

        # Only its own user may, even where this one is root.
        subprocess.run(["true"], check=True, user=self.user, preexec_fn=limit)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        if self.process is None:
            return
        left = self.backends()
        # A quick shutdown needs no recovery at the next start.
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def folder_of(user: str | None) -> Iterator[Path]:
    # Short, since a socket's path may not be long.
    with tempfile.TemporaryDirectory(prefix="cuadre-own-", ignore_cleanup_errors=True) as name:
        if user is not None:
            shutil.chown(name, user)
        yield Path(name)
