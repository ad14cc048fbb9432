"""What sends the requests: wrk with `load.lua`, or this file where wrk is not there, which is too slow for figures.

python load.py PORT FILE SECONDS CONNECTIONS hands out each request of a file once and prints the line of `load.lua`.
"""

import asyncio
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

CONNECTIONS = 32
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)

# Of a port, a path, a file of requests and seconds.
Command = Callable[[int, str, Path, float], list[str]]


@dataclass(frozen=True, slots=True)
class Load:
    """What sends the requests, and for how long in each round."""

    command: Command
    seconds: float


def by_wrk(port: int, path: str, requests: Path, seconds: float) -> list[str]:
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds + 1:.0f}s", "--timeout", "20s", "-s"]
    script, url = str(Path(__file__).with_name("load.lua")), f"http://127.0.0.1:{port}{path}"
    return [*command, script, url, "--", str(requests), str(seconds), str(CONNECTIONS)]


def by_python(port: int, _path: str, requests: Path, seconds: float) -> list[str]:
    return [sys.executable, __file__, str(port), str(requests), str(seconds), str(CONNECTIONS)]


COMMANDS: dict[str, Command] = {"wrk": by_wrk, "python": by_python}


@dataclass(slots=True)
class Talk:
    """What was handed out and how it was answered; every connection asks at least once."""

    lasts: float
    handed: int = 0
    bad: int = 0
    broken: int = 0
    took: list[float] = field(default_factory=list)

    async def converse(self, port: int, requests: Iterator[bytes]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        ends = time.monotonic() + self.lasts
        for request in requests:
            self.handed += 1
            started = time.monotonic()
            writer.write(request)
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                found = _LENGTH.search(head)
                await reader.readexactly(int(found[1]) if found else 0)
            except (OSError, EOFError):
                self.broken += 1
                return
            self.took.append(time.monotonic() - started)
            self.bad += int(head.split(b" ", 2)[1]) >= 400
            if time.monotonic() > ends:
                break
        writer.close()

    def line(self, active: float) -> str:
        times = sorted(self.took) or [0.0]
        p50, p99 = (1000 * times[len(times) * share // 100] for share in (50, 99))
        counts = f"{self.handed} {len(self.took)} {active:.6f} {p50:.3f} {p99:.3f}"
        return f"LOAD {counts} {self.bad} {self.broken}\n"


def read_requests(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while length := file.readline():
            yield file.read(int(length))


async def main(port: int, path: Path, seconds: float, connections: int) -> None:
    started = time.monotonic()
    talk, requests = Talk(seconds), read_requests(path)
    await asyncio.gather(*(talk.converse(port, requests) for _ in range(connections)))
    sys.stderr.write(talk.line(time.monotonic() - started))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
