"""How much memory `cuadre serve` takes at its highest while hostile bodies arrive, all at once.

python tests/benchmarks/ingest/bench_bodies.py [--bodies 64] [--megabytes 20] prints a Markdown table. Each row sends
that many requests at the same moment on connections of their own and waits for all answers; memory is the resident size
of the server and its processes, read fifty times a second.
"""

import argparse
import os
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.benchmarks.ingest.bench_beside_a_night import serving
from tests.benchmarks.ingest.trade import SECRET, signed

PIECE = 65_536
HEAD = "| 64 at once | answers | seconds | peak MB | above rest MB |\n|---|---|---|---|---|"


@dataclass(frozen=True, slots=True)
class Attack:
    """One kind of request: what it is called, its head, and its body in pieces."""

    name: str
    path: str
    kind: str
    size: int
    fill: bytes = b"&"
    is_chunked: bool = False

    def head(self) -> bytes:
        length = "Transfer-Encoding: chunked" if self.is_chunked else f"Content-Length: {self.size}"
        forged = signed(b"another body", int(time.time()))
        return (
            f"POST {self.path} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nContent-Type: {self.kind}\r\n"
            f"Fintoc-Signature: {forged}\r\n{length}\r\n\r\n"
        ).encode()

    def pieces(self) -> Iterator[bytes]:
        for start in range(0, self.size, PIECE):
            piece = self.fill * min(PIECE, self.size - start)
            yield b"%x\r\n%s\r\n" % (len(piece), piece) if self.is_chunked else piece
        if self.is_chunked:
            yield b"0\r\n\r\n"


def attacks(size: int) -> list[Attack]:
    form, multipart = "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
    megabytes = f"{size / 1e6:g} MB"
    return [
        Attack(f"/login, a form of {megabytes}", "/login", form, size),
        Attack("/login, the same in chunks", "/login", form, size, is_chunked=True),
        Attack(f"/login, parts of {megabytes}", "/login", multipart, size, fill=b"-"),
        Attack(f"/books/look without a login, {megabytes}", "/books/look", multipart, size, fill=b"-"),
        Attack("/webhooks, 1 MiB, forged", "/webhooks", "application/json", min(size, 1_048_576), fill=b"["),
        Attack(f"/webhooks, {megabytes}", "/webhooks", "application/json", size, fill=b"["),
    ]


def send(attack: Attack, port: int, start: threading.Barrier) -> str:
    """Send one request and return the status, or that the connection was closed before it was all sent."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        start.wait()
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(attack.head())
            for piece in attack.pieces():
                connection.sendall(piece)
        with suppress(ConnectionResetError, IndexError):
            return connection.recv(PIECE).split(b" ", 2)[1].decode()
    return "closed"


def resident(pid: int) -> int:
    """Return the resident bytes of a process and of those below it."""
    total = 0
    with suppress(OSError):
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        total = pages * os.sysconf("SC_PAGE_SIZE")
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(resident(int(child)) for child in (task / "children").read_text(encoding="ascii").split())
    return total


def watch(pid: int, over: threading.Event) -> Callable[[], int]:
    """Follow the resident size from a thread; returns what ends that and tells the highest."""
    highest = [resident(pid)]

    def look() -> None:
        while not over.wait(0.02):
            highest[0] = max(highest[0], resident(pid))

    thread = threading.Thread(target=look)
    thread.start()

    def end() -> int:
        over.set()
        thread.join()
        return highest[0]

    return end


def measure(attack: Attack, port: int, pid: int, count: int) -> str:
    rest = resident(pid)
    end = watch(pid, threading.Event())
    start, answers = threading.Barrier(count), Counter[str]()
    began = time.perf_counter()
    threads = [threading.Thread(target=lambda: answers.update([send(attack, port, start)])) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took, highest = time.perf_counter() - began, end()
    said = ", ".join(f"{status}: {number}" for status, number in sorted(answers.items()))
    return f"| {attack.name} | {said} | {took:.1f} | {highest / 1e6:.0f} | {(highest - rest) / 1e6:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bodies", type=int, default=64)
    parser.add_argument("--megabytes", type=float, default=20.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            **os.environ,
            "CUADRE_PROVIDER_URL": "http://127.0.0.1:9",
            "CUADRE_API_KEY": "sk_test_bench",
            "CUADRE_COUNTRY": "cl",
            "CUADRE_WEBHOOK_SECRETS": SECRET,
            "CUADRE_DATA_DIR": folder,
        }
        print(HEAD.replace("64", str(options.bodies)))
        with serving(environ, Path(folder) / "serve.log") as (port, pid):
            for attack in attacks(int(options.megabytes * 1e6)):
                send(attack, port, threading.Barrier(1))
                print(measure(attack, port, pid, options.bodies), flush=True)


if __name__ == "__main__":
    main()
