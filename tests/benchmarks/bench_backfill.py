"""How fast a backfill stores events, against a bare list server with a fixed latency.

python tests/benchmarks/bench_backfill.py [SCALE] prints events a second for one worker and for eight with the budget
lifted, and how much of a budget of 25 is used.
"""

import asyncio
import multiprocessing
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import sqlalchemy as sa

from consumer.config import load
from consumer.facts import schema
from consumer.facts.house import House
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.provider.client import Provider, open_provider
from consumer.sync import backfill
from consumer.sync.backfill import read_log

NOW = datetime(2026, 10, 1, tzinfo=UTC)
STEP = timedelta(seconds=1)
PADDING = '"metadata":{"order":"' + "x" * 300 + '"}'


def _to_event(number: int) -> str:
    created = (NOW - number * STEP).isoformat().replace("+00:00", ".000Z")
    data = f'{{"id":"pi_{number}","object":"payment_intent","mode":"test","amount":1000,"currency":"CLP",{PADDING}}}'
    return (
        f'{{"id":"evt_{number}","object":"event","type":"payment_intent.succeeded","mode":"test",'
        f'"created_at":"{created}","data":{data}}}'
    )


class ListServer:
    """A log of one event a second, newest first, that answers every page after the same time."""

    def __init__(self, events: int, latency: float) -> None:
        self._events = [_to_event(number) for number in range(events)]
        self._latency = latency

    async def serve(self, ready: "multiprocessing.Queue[int]") -> None:
        server = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        ready.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                await asyncio.sleep(self._latency)
                writer.write(self._answer(head.split(" ", 2)[1]))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionResetError):
            writer.close()

    def _answer(self, target: str) -> bytes:
        query = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
        first, last = self._number(query.get("until"), 0), self._number(query.get("since"), len(self._events) - 1)
        if "starting_after" in query:
            first = int(query["starting_after"].removeprefix("evt_")) + 1
        size = int(query["limit"])
        shown = self._events[first : min(first + size, last + 1)]
        link = ""
        if first + size <= last:
            link = (
                f'<{target.split("&starting_after", maxsplit=1)[0]}&starting_after=evt_{first + size - 1}>; rel="next"'
            )
        body = ("[" + ",".join(shown) + "]").encode()
        date = format_datetime(NOW + timedelta(minutes=2), usegmt=True)
        head = f"HTTP/1.1 200 OK\r\nDate: {date}\r\nLink: {link}\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    @staticmethod
    def _number(text: str | None, default: int) -> int:
        if text is None:
            return default
        return max(0, -int((datetime.fromisoformat(text) - NOW) // STEP))


def _serve(events: int, latency: float, ready: "multiprocessing.Queue[int]") -> None:
    asyncio.run(ListServer(events, latency).serve(ready))


def measure(events: int, *, latency: float, rate: float, workers: int) -> None:
    """Read a whole log once and print what it took."""
    context = multiprocessing.get_context("spawn")
    ready: multiprocessing.Queue[int] = context.Queue()
    server = context.Process(target=_serve, args=(events, latency, ready), daemon=True)
    server.start()
    backfill.WORKERS = workers
    try:
        with tempfile.TemporaryDirectory() as folder:
            environ = {
                "CUADRE_PROVIDER_URL": f"http://127.0.0.1:{ready.get()}",
                "CUADRE_API_KEY": "sk_test_bench",
                "CUADRE_COUNTRY": "cl",
                "CUADRE_DATA_DIR": folder,
                "CUADRE_RATE_LIMIT": str(rate),
            }
            settings = load(environ, folder=Path(folder))
            store = Store(settings.database_url)
            schema.upgrade(store)
            house = House(settings, store)
            with open_provider(house, settings.connection("main")) as provider:
                _measure(house, provider, events, f"{latency * 1000:.0f} ms, {workers} workers, budget {rate:g}")
            store.close()
    finally:
        server.terminate()
        server.join()


def _measure(house: House, provider: Provider, events: int, label: str) -> None:
    started, cpu = time.monotonic(), time.process_time()
    outcome = read_log(house, provider, since=NOW - events * STEP)
    took = time.monotonic() - started
    with house.store.reading() as session:
        stored = session.execute(sa.select(sa.func.count()).select_from(Event)).scalar_one()
    pages = outcome.pages
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(  # noqa: T201 - a benchmark prints its table
        f"{label}: {stored} events stored, {stored / took:,.0f}/s; {pages / took:.1f} pages/s; "
        f"{(time.process_time() - cpu) / took:.0%} of a core; {memory} MB; {outcome.status.name}"
    )


if __name__ == "__main__":
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    measure(int(60_000 * scale), latency=0.02, rate=100_000, workers=1)
    measure(int(60_000 * scale), latency=0.02, rate=100_000, workers=8)
    measure(int(60_000 * scale), latency=0.1, rate=100_000, workers=1)
    measure(int(60_000 * scale), latency=0.1, rate=100_000, workers=8)
    measure(int(45_000 * scale), latency=0.02, rate=25, workers=8)
