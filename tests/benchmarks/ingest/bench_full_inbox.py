"""What a full inbox costs: receipt, application and retention with none and with millions of settled events.

python tests/benchmarks/ingest/bench_full_inbox.py [--rows 10000000] [--events 20000] prints a Markdown table of
processor microseconds an event, the server's included. The rows are copies of one stored event under ids and times of
their own; a thousand of them come again, and must be known still after retention dropped their bodies.
"""

import argparse
import sys
import tempfile
import time
from datetime import timedelta
from itertools import islice
from pathlib import Path

import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from consumer.facts.clock import utc_now
from consumer.facts.store import Store
from consumer.inbox.apply import drain
from consumer.inbox.record import Verdict, prune, read_arrival, record_all
from tests.benchmarks.ingest.bench_drain import fill, settings_of
from tests.benchmarks.ingest.cluster import Cluster, postgresql
from tests.benchmarks.ingest.processes import tree_cpu
from tests.benchmarks.ingest.trade import month_of_events, payment_event

_AT_ONCE = 64
_AGAIN = 1_000
_PRUNED = 20_000
_NUMBERS = {
    "sqlite": "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :rows) SELECT n FROM n",
    "postgresql": "SELECT n FROM generate_series(1, :rows) AS n",
}
_ID = {"sqlite": "printf('evt_f%031x', n)", "postgresql": "'evt_f' || lpad(to_hex(n), 31, '0')"}


def copy_rows(store: Store, rows: int) -> None:
    """Multiply the one settled event; half the rows lost their bodies before, and the next ones are due to."""
    kind = store.engine.dialect.name
    with store.connection() as database:
        columns = [one["name"] for one in sa.inspect(database).get_columns("event") if one["name"] != "id"]
        other = {
            "received_at": "CASE WHEN n <= :half + :pruned THEN :long_ago ELSE received_at END",
            "body": "CASE WHEN n > :half THEN body END",
        }
        given = ", ".join(other.get(name, name) for name in columns)
        database.execute(
            sa.text(
                f"INSERT INTO event (id, {', '.join(columns)}) "  # noqa: S608 - names of our own columns
                f"SELECT {_ID[kind]}, {given} FROM event, ({_NUMBERS[kind]}) AS numbers"
            ).bindparams(
                sa.bindparam("long_ago", utc_now() - timedelta(days=1_000), sa.DateTime(timezone=kind != "sqlite"))
            ),
            {"rows": rows, "half": rows // 2, "pruned": min(_PRUNED, rows // 2)},
        )


def measure(url: str, folder: Path, rows: int, count: int, server: int | None) -> list[str]:
    """Return the cells of one row of the table."""
    fill(url, folder, 1)
    settings, store = settings_of(url, folder), Store(url)
    drain(store, settings, worker="bench")
    if rows:
        copy_rows(store, rows)
    connection = settings.connection("main")

    def spent() -> float:
        return time.process_time() + (tree_cpu([server]) if server else 0)

    def record(bodies: list[bytes]) -> list[Verdict]:
        found: list[Verdict] = []
        while some := bodies[len(found) : len(found) + _AT_ONCE]:
            arrivals = [
                read_arrival(one, connection=connection, source="webhook", received_at=utc_now()) for one in some
            ]
            with store.connection() as writing:
                found += record_all(writing, arrivals)
        return found

    bodies = list(islice(month_of_events(count + 1), 1, None))
    began, started = spent(), time.perf_counter()
    new = record(bodies)
    received, wall = spent(), time.perf_counter() - started
    drain(store, settings, worker="bench")
    applied = spent()
    dropped = prune(store, settings, now=utc_now())
    pruned = spent()
    again = record([payment_event(number).replace(b"evt_0", b"evt_f", 1) for number in range(1, min(_AGAIN, rows) + 1)])
    store.close()
    stored = sum(one == Verdict.STORED for one in new)
    assert stored == count, stored
    assert Verdict.STORED not in again
    cells = [(received - began) / count, (applied - received) / count, (pruned - applied) / max(dropped, 1)]
    return [*(f"{one * 1e6:.0f}" for one in cells), f"{count / wall:,.0f}", f"{dropped:,}", f"{len(again):,}, 0 stored"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--events", type=int, default=20_000)
    options = parser.parse_args()
    print(
        "| store | settled rows | receipt µs | apply µs | retention µs a body | receipts/s | bodies dropped | again |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with postgresql() as cluster, tempfile.TemporaryDirectory() as name:
        for kind in ("SQLite", "PostgreSQL"):
            for rows in (0, options.rows):
                show(kind, rows, options.events, Path(name), cluster)


def show(kind: str, rows: int, count: int, folder: Path, cluster: Cluster) -> None:
    is_file = kind == "SQLite"
    url = f"sqlite:///{folder}/{rows}.db" if is_file else cluster.database(f"inbox_{rows}")
    cells = measure(url, folder, rows, count, None if is_file else cluster.pid)
    print(f"| {' | '.join([kind, f'{rows:,}', *cells])} |", flush=True)


if __name__ == "__main__":
    main()
