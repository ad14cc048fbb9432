"""Seconds and memory of one whole run, from the database to published lines, by stage and size.

python tests/benchmarks/reconcile/bench_reconcile.py [--sizes 100000,1000000] [--rounds 3] [--no-peers]

Every round is a process of its own on a copy of one database, rounds of all variants interleaved.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from consumer.config import load
from consumer.facts import schema
from consumer.facts.clock import utc_now
from consumer.facts.house import House
from consumer.facts.store import Store
from reconcile import snapshots
from reconcile.frames import read_documents, read_inputs, read_transfers
from reconcile.rules.keys import find_keys
from reconcile.rules.matching import open_ledger
from reconcile.rules.payouts import place_items
from reconcile.rules.placement import place_keyed
from reconcile.runs import judge, publish, summed_up
from tests.benchmarks.reconcile import trade

ROOT = Path(__file__).resolve().parents[3]
STAGES = ("read", "digest", "rules", "keep", "publish")
PEERS = ROOT / "build" / "peers" / "bin" / "python"


def house_at(folder: Path) -> House:
    url = f"sqlite:///{folder}/cuadre.db"
    settings = load({
        "CUADRE_DATABASE_URL": url, "CUADRE_COUNTRY": "cl", "CUADRE_PROVIDER_URL": "http://127.0.0.1:1",
        "CUADRE_API_KEY": "sk_test_sandbox", "CUADRE_DATA_DIR": str(folder), "CUADRE_SECRET_KEY": "measured",
    }, folder=folder, overrides={"tariff": trade.TARIFF})  # fmt: skip
    return House(settings, Store(url))


def run_once(folder: Path) -> dict[str, Any]:
    """One run by its stages, in this process."""
    house = house_at(folder)
    connection = house.settings.connection("main")
    before, worked = _peak(), time.process_time()
    marks = [time.perf_counter()]
    with house.store.reading() as session:
        inputs = read_inputs(session, connection, house.settings, as_of=trade.AS_OF, now=utc_now())
        transfers = read_transfers(session, connection)
    marks.append(time.perf_counter())
    settings = house.settings
    snapshot = snapshots.take(inputs, transfers, snapshots.Scope(), tariff=settings.tariff, chosen_rules=settings.rules)
    marks.append(time.perf_counter())
    result = judge(snapshot)
    marks.append(time.perf_counter())
    snapshots.keep(snapshot, house.settings.data_dir)
    marks.append(time.perf_counter())
    with house.store.transaction() as session:
        outcome = publish(session, snapshot, summed_up(snapshot, result), started_at=utc_now(), at=utc_now())
    marks.append(time.perf_counter())
    told = {name: end - start for name, start, end in zip(STAGES, marks, marks[1:], strict=False)}
    size = {"items": len(inputs.items), "documents": len(inputs.documents), "lines": len(result.lines)}
    return told | size | {"total": marks[-1] - marks[0], "cpu": time.process_time() - worked, "peak_mb": _peak(), "before_mb": before,  # noqa: E501
                          "exceptions": sum(outcome.exceptions.values())}  # fmt: skip


def keyed_once(folder: Path) -> dict[str, Any]:
    """The stage that matches by key, on inputs that are read, beside a plain read of the books."""
    house = house_at(folder)
    connection = house.settings.connection("main")
    started = time.perf_counter()
    with house.store.reading() as session:
        read_documents(session, connection)
    read = time.perf_counter() - started
    with house.store.reading() as session:
        inputs = read_inputs(session, connection, house.settings, as_of=trade.AS_OF, now=utc_now())
    ledger, said = open_ledger(place_items(inputs), inputs)
    started = time.perf_counter()
    place_keyed(ledger, find_keys(said, ledger.books))
    return {"keyed": time.perf_counter() - started, "read_books": read}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def child(mode: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", mode, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def peer(name: str, folder: Path) -> dict[str, Any]:
    script = Path(__file__).with_name("plain_joins.py")
    done = subprocess.run([PEERS, script, name, folder / "cuadre.db"], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failure": done.stderr.strip().splitlines()[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def measure(size: int, rounds: int, *, with_peers: bool) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        house = house_at(folder)
        schema.upgrade(house.store)
        trade.fill(house.store, size)
        house.store.close()
        found: dict[str, list[dict[str, Any]]] = {}
        for _ in range(rounds):
            again = folder / "again"
            again.mkdir()
            shutil.copy(folder / "cuadre.db", again / "cuadre.db")
            found.setdefault("run", []).append(child("run", again))
            found.setdefault("keyed", []).append(child("keyed", again))
            for join in ("polars", "duckdb", "adbc") if with_peers else ():
                found.setdefault(join, []).append(peer(join, again))
            shutil.rmtree(again)
        show(size, found)


def show(size: int, found: dict[str, list[dict[str, Any]]]) -> None:
    runs = found["run"]
    sys.stdout.write(f"{size:,} invoices, {runs[0]['items']:,} items, {runs[0]['lines']:,} lines, ")
    sys.stdout.write(f"{runs[0]['exceptions']:,} exceptions; peak {_of(runs, 'peak_mb')} MB\n")
    for name in (*STAGES, "total", "cpu"):
        sys.stdout.write(f"  {name:8} {_of(runs, name)} s\n")
    for name, rows in found.items():
        if name != "run":
            figures = ", ".join(f"{key} {_of(rows, key)}" for key in rows[0])
            sys.stdout.write(f"  {name}: {figures}\n")


def _of(rows: list[dict[str, Any]], name: str) -> str:
    values = [row[name] for row in rows if name in row]
    if not values or isinstance(values[0], str):
        return str(values[:1])
    form = ".2f" if isinstance(values[0], float) else ","
    return f"{median(values):{form}} ({min(values):{form}}–{max(values):{form}})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100000,1000000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--child")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.child:
        once = {"run": run_once, "keyed": keyed_once}[asked.child]
        sys.stdout.write(json.dumps(once(asked.folder)) + "\n")
        return
    for size in asked.sizes.split(","):
        measure(int(size), asked.rounds, with_peers=not asked.no_peers and PEERS.exists())


if __name__ == "__main__":
    main()
