"""A bare list server of a benchmark: one event a second, newest first, every page after the same time."""

import asyncio
import json
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import parse_qs, urlsplit

NOW = datetime(2026, 10, 1, tzinfo=UTC)
STEP = timedelta(seconds=1)
REQUESTS = "/requests"
# More than this is made when asked for, so that the server's own memory stays small.
_MOST_KEPT = 100_000
_PADDING = '"metadata":{"order":"' + "x" * 300 + '"}'
_DATE = format_datetime(NOW + timedelta(minutes=2), usegmt=True)


def to_event(number: int) -> str:
    created = (NOW - number * STEP).isoformat().replace("+00:00", ".000Z")
    data = f'{{"id":"pi_{number}","object":"payment_intent","mode":"test","amount":1000,"currency":"CLP",{_PADDING}}}'
    return (
        f'{{"id":"evt_{number}","object":"event","type":"payment_intent.succeeded","mode":"test",'
        f'"created_at":"{created}","data":{data}}}'
    )


class ListServer:
    """Answers pages of the log, and under another path the moments at which it was asked."""

    def __init__(self, events: int, latency: float) -> None:
        self._count = events
        self._kept = [to_event(number) for number in range(events)] if events <= _MOST_KEPT else []
        self._latency = latency
        self._asked: list[float] = []

    async def serve(self, ready: "multiprocessing.Queue[int]") -> None:
        server = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        ready.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                target = (await reader.readuntil(b"\r\n\r\n")).decode().split(" ", 2)[1]
                if target == REQUESTS:
                    writer.write(_to_answer(json.dumps(self._asked).encode(), link=""))
                else:
                    self._asked.append(time.monotonic())
                    await asyncio.sleep(self._latency)
                    writer.write(self._page(target))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionResetError):
            writer.close()

    def _page(self, target: str) -> bytes:
        query = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
        first, last = _to_number(query.get("until"), 0), _to_number(query.get("since"), self._count - 1)
        if "starting_after" in query:
            first = int(query["starting_after"].removeprefix("evt_")) + 1
        end = min(first + int(query["limit"]), last + 1, self._count)
        shown = self._kept[first:end] if self._kept else [to_event(number) for number in range(first, end)]
        base = target.split("&starting_after", maxsplit=1)[0]
        link = f'<{base}&starting_after=evt_{end - 1}>; rel="next"' if end <= min(last, self._count - 1) else ""
        return _to_answer(("[" + ",".join(shown) + "]").encode(), link=link)


def _to_number(text: str | None, default: int) -> int:
    return default if text is None else max(0, -int((datetime.fromisoformat(text) - NOW) // STEP))


def _to_answer(body: bytes, *, link: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nDate: {_DATE}\r\nLink: {link}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def _serve(events: int, latency: float, ready: "multiprocessing.Queue[int]") -> None:
    asyncio.run(ListServer(events, latency).serve(ready))


@contextmanager
def serving(events: int, latency: float) -> Iterator[str]:
    """Run a server in a process of its own and answer its address."""
    context = multiprocessing.get_context("spawn")
    ready: multiprocessing.Queue[int] = context.Queue()
    server = context.Process(target=_serve, args=(events, latency, ready), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{ready.get(timeout=60)}"
    finally:
        server.terminate()
        server.join()
