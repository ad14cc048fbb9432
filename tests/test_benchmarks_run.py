"""Every benchmark ends well at a hundredth of its size and prints its rows, so that none rots; no figure is judged."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.thoroughness import IS_FULL

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "tests" / "benchmarks"
LOAD = "wrk" if shutil.which("wrk") else "python"
# Where no compiler is, a slow disk is not imitated, and two receivers less are asked what they kept.
KEEPERS = 7 if shutil.which("cc") else 5

# Each with its arguments, which take peers out by name, and how often the lines of its output match a pattern.
RUNS: dict[str, tuple[list[str], dict[str, int]]] = {
    "accuracy/bench_accuracy.py": (
        ["--only", "mexico", "--seeds", "1", "--held-out", "1001-1001", "--processes", "1", "--no-peers",
         "--merchants", "1", "--out", "account.md", "--kept", "kept.pickle"],
        {r"^account\.md: \d+ s$": 1, r"^\| mexico 2 \| ": 1, r"^\| (dev|held out) base mexico \| ": 2},
    ),
    "backfill/bench_backfill.py": (
        ["--rounds", "1", "--scale", "0.01"],
        {r"^\| 20 ms, 8 windows \| 600 \|": 1, r"^\| memory, 1,000,000 \| 10,000 \|": 1, r" ms, | memory, ": 7,
         r"^Eight windows against one at 100 ms: ": 1},
    ),
    "books/bench_tax_documents.py": (["200", "1"], {r"^200 documents: bare parse ": 1, r"^ratio \d": 1}),
    "ingest/bench_beside_a_night.py": (
        ["--rows", "1000", "--rounds", "1", "--seconds", "0.2"],
        {r"^\| (SQLite|PostgreSQL) \| alone \|": 2, r"^\| (SQLite|PostgreSQL) \| beside a night \|": 2,
         r"^Books of 1,000 documents": 1},
    ),
    "ingest/bench_bodies.py": (
        ["--bodies", "2", "--megabytes", "2"],
        {r"^\| /(login|books/look|webhooks)[ ,]": 6},
    ),
    "ingest/bench_drain.py": (
        ["--events", "1000", "--rounds", "1"],
        {r"^\| SQLite \| 1,000 \|": 1, r"^\| PostgreSQL \| 1,000 \|": 1},
    ),
    "ingest/bench_full_inbox.py": (
        ["--rows", "2000", "--events", "100"],
        {r"^\| (SQLite|PostgreSQL) \| 0 \|": 2, r"^\| (SQLite|PostgreSQL) \| 2,000 \|": 2},
    ),
    "ingest/bench_ingest.py": (
        ["--rounds", "1", "--seconds", "0.15", "--no-peers", "--load", LOAD],
        {r" bare route: verify and parse ": 2, r", 0 missing \|$": KEEPERS, r"CPU µs per durable event": 2},
    ),
    "reconcile/bench_journal.py": (
        ["--lines", "10000", "--rounds", "1"],
        {r"^\| journal \| [\d,]+ \|": 2},
    ),
    "reconcile/bench_reconcile.py": (
        ["--sizes", "1000", "--rounds", "1", "--no-peers"],
        {r"^run: 1,000 invoices, ": 1, r"^night: 1,000 invoices, ": 1, r"^  total ": 2, r"^  keyed: ": 1},
    ),
    "reports/bench_reports.py": (
        ["--rounds", "1", "--rows", "10000", "--sheet-rows", "500", "--payouts", "1000"],
        {r"^CSV of 10000 rows: ": 4, r"^XLSX of 500 rows x \d+ columns: ": 2, r"^page /payouts/po_\d+: 200, ": 1,
         r"^page /\S*: 200, first ": 40},
    ),
    "reports/bench_search.py": (
        ["--payouts", "100", "--documents", "800"],
        {r"^filled: 1800 rows in ": 1, r"^a night of 18 new rows: ": 1, r" queries: median ": 19},
    ),
    "scale/bench_engine.py": (
        ["--connections", "3", "--payments", "100", "--rounds", "1", "--engines", "local,processes:1,dask:1"],
        {r"^\| (local|processes:1|dask:1) \| 3 × 100 \| .* \| yes \| start ": 3, r"^\| \d+ \| [\d.]+ \| ": 7},
    ),
    "scale/bench_horizon.py": (
        ["--closed", "1", "--payments", "100", "--rounds", "1"],
        {r"^\| \d+ \| [\d.]+ \(": 2, r"^freezing a month took [\d.]+ MB": 1},
    ),
    "scale/bench_plan.py": ([], {r"^\| [\d,]+ \| [\d,]+ \| ": 5}),
    # A hundredth of a million would be held whole; from 17,500 on it is made as it is walked through.
    "sandbox/bench_sandbox_scale.py": (
        ["18000"],
        {r"^(happenings|documents|truth|served) ": 4, r" ms  /v[12]/": 10},
    ),
}  # fmt: skip
# What takes more than five seconds of processor even so: `make test` looks whether it starts, `make proof` runs it.
HEAVY = {
    "accuracy/bench_accuracy.py",
    "backfill/bench_backfill.py",
    "ingest/bench_beside_a_night.py",
    "ingest/bench_ingest.py",
    "reconcile/bench_reconcile.py",
    "reports/bench_reports.py",
    "sandbox/bench_sandbox_scale.py",
    "scale/bench_engine.py",
}
# A benchmark that cannot be run here, with the reason.
LEFT_OUT = {
    "external/bench_external.py": "it takes a folder of public data that the user names, which is never kept here",
}


def test_every_benchmark_is_run_here() -> None:
    """A new benchmark joins the ones below, or says why it cannot."""
    found = {str(path.relative_to(BENCHMARKS)) for path in BENCHMARKS.rglob("bench_*.py")}
    assert found == RUNS.keys() | LEFT_OUT.keys()


@pytest.mark.parametrize("name", RUNS)
def test_a_benchmark_runs_at_a_hundredth_of_its_size(
    name: str, tmp_path: Path, postgresql_programs: tuple[Path, str | None]
) -> None:
    """Started as a command, it ends with 0 and prints every row it should."""
    arguments, rows = RUNS[name] if IS_FULL or name not in HEAVY else (["--help"], {"^usage: ": 1})
    programs, user = postgresql_programs
    found_first = {"PATH": f"{programs}:{os.environ['PATH']}", "BENCH_POSTGRESQL_USER": user or ""}
    done = subprocess.run(
        [sys.executable, BENCHMARKS / name, *arguments],
        cwd=tmp_path,
        env=os.environ | found_first,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    printed = done.stdout + "".join(page.read_text("utf-8") for page in tmp_path.glob("*.md"))
    for pattern, count in rows.items():
        matching = [line for line in printed.splitlines() if re.search(pattern, line)]
        assert len(matching) == count, f"{pattern}\n{printed}"
