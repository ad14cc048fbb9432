"""Trace one object on its ways through the product, and count the files it crosses.

    python tools/ways.py [--list]

A sandbox holds one payment, the payout of it and its invoice. Everything runs twice, each time on a database of its
own: once so that every module is loaded, once traced. Neither code that runs because a module is imported nor the
sandbox counts.
"""

import argparse
import inspect
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import FrameType

import sqlalchemy as sa
from click.testing import CliRunner
from werkzeug.serving import WSGIRequestHandler, make_server

import app
from consumer.inbox.apply import drain
from consumer.jobs.worker import worker_name
from cuadre import cli
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from sandbox.state.clock import START_AT
from sandbox.state.happening import Document, Happening, Scenario

ROOT = Path(__file__).resolve().parent.parent
OURS = tuple(f"{ROOT / name}" for name in ("app.py", "cuadre.py", "consumer/", "reconcile/", "reports/"))
WAYS = {
    "webhook to row": ("receive",),
    "payout to CSV": ("pull", "reconcile", "report"),
    "invoice to match": ("import", "reconcile"),
}


@dataclass
class Trace:
    """The files that one step went through, how often it went from one to another, and its transactions."""

    files: set[str] = field(default_factory=set)
    changes: int = 0
    transactions: int = 0


class SilentHandler(WSGIRequestHandler):
    """Answer without a line in the log."""

    def log_request(self, _code: int | str = "-", _size: int | str = "-") -> None:
        pass


class Tracer:
    """Note calls into our files, of every thread that starts while this is in place."""

    def __init__(self) -> None:
        self.traces: dict[str, Trace] = {}
        self._now: Trace | None = None
        self._last: dict[int, str] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self._now = self.traces.setdefault(name, Trace())
        sys.setprofile(self.on_call)
        threading.setprofile(self.on_call)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            self._now = None

    def on_call(self, frame: FrameType, event: str, _argument: object) -> None:
        code, trace = frame.f_code, self._now
        if event != "call" or trace is None or not code.co_filename.startswith(OURS):
            return
        is_import = code.co_name == "<module>" or not code.co_flags & inspect.CO_OPTIMIZED
        if is_import:
            return
        trace.files.add(code.co_filename)
        thread = threading.get_ident()
        trace.changes += self._last.get(thread) != code.co_filename
        self._last[thread] = code.co_filename

    def on_begin(self, _connection: sa.Connection) -> None:
        if self._now is not None:
            self._now.transactions += 1


def make_trade() -> Scenario:
    """Return the trade of a day: a payment, its payout of one item, its invoice; an hour later one more payment."""
    noon, later = START_AT - timedelta(hours=12), START_AT + timedelta(hours=1)

    def payment(name: str) -> dict[str, object]:
        return {
            "id": name,
            "object": "payment_intent",
            "mode": "test",
            "amount": 1000,
            "currency": "CLP",
            "status": "succeeded",
            "payment_type": "bank_transfer",
            "payment_type_options": {},
            "customer": None,
            "payment_method": None,
            "metadata": {"folio": "7"},
            "created_at": "2026-09-30T15:00:00.000Z",
        }

    payout = {
        "id": "po_1",
        "object": "payout",
        "mode": "test",
        "amount": 984,
        "currency": "CLP",
        "status": "in_progress",
        "created_at": "2026-09-30T15:00:00.000Z",
    }
    item = {
        "id": "po_1:payment_intent:pi_1",
        "payout": "po_1",
        "resource_type": "payment_intent",
        "resource": "pi_1",
        "_amount": 1000,
        "_fee": 16,
    }
    invoice = {
        "doc_type": "33",
        "folio": "7",
        "customer_tax_id": "76.123.456-0",
        "issue_date": "2026-09-29",
        "currency": "CLP",
        "total": "1000",
    }
    return Scenario(
        name="one payout",
        country="cl",
        happenings=(
            Happening(noon, "payment_intents", payment("pi_1"), "payment_intent.succeeded"),
            Happening(noon, "payout_resources", item),
            Happening(noon, "payouts", payout, "payout.created"),
            Happening(later, "payment_intents", payment("pi_2"), "payment_intent.succeeded"),
        ),
        documents=(Document(START_AT - timedelta(days=1), invoice),),
        tariff={},
        truth=lambda _: [],
    )


def run_command(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    if result.exit_code not in {0, 3}:
        sys.exit(f"cuadre {' '.join(arguments)}: {result.output}")
    return result.output


def trace_ways(tracer: Tracer, folder: Path) -> None:
    """Run every step on an empty database below a folder."""
    with RunningSandbox(make_trade()) as running, Steer(running.url) as steer:
        settings = {
            "PROVIDER_URL": running.url,
            "API_KEY": "sk_test_sandbox",
            "COUNTRY": "cl",
            "DATA_DIR": str(folder),
            "SECRET_KEY": "a key of the trace, long enough",
        }
        with make_server("127.0.0.1", 0, lambda *_: [], threaded=True, request_handler=SilentHandler) as server:
            url = f"http://127.0.0.1:{server.port}/webhooks"
            settings["WEBHOOK_SECRETS"] = steer.create_endpoint(url, ["payment_intent.succeeded"])["secret"]
            os.environ.update({f"CUADRE_{name}": value for name, value in settings.items()})
            installation = app.open_installation()
            server.app = app.create_app(installation)
            serving = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
            serving.start()
            with tracer.step("receive"):
                steer.advance(2 * 60 * 60)
                drain(installation.store, installation.settings, worker=worker_name())
            server.shutdown()
            serving.join()
        installation.store.close()
        run_command("backfill")
        with tracer.step("pull"):
            run_command("pull", "payouts")
        run_command("pull", "all")
        (folder / "invoices.csv").write_bytes(steer.invoices())
        with tracer.step("import"):
            run_command("invoices", "import", str(folder / "invoices.csv"))
        with tracer.step("reconcile"):
            run_command("reconcile", "--as-of", "2026-09-30")
        with tracer.step("report"):
            found = run_command("report", "payout-detail", "--as-of", "2026-09-30", "--out", "-")
    if "matched" not in found:
        sys.exit(f"the payment found no invoice: {found}")


def to_lines(traces: dict[str, Trace], *, is_long: bool) -> Iterator[str]:
    yield "| way | files | changes of file | transactions |"
    yield "|---|---|---|---|"
    for way, steps in WAYS.items():
        parts = [traces[step] for step in steps]
        files, changes = set.union(*(part.files for part in parts)), sum(part.changes for part in parts)
        yield f"| {way} | {len(files)} | {changes:,} | {sum(part.transactions for part in parts)} |"
    for name, trace in traces.items():
        yield f"{name}: {len(trace.files)} files, {trace.changes:,} changes, {trace.transactions} transactions"
        if is_long:
            yield from (f"    {Path(path).relative_to(ROOT)}" for path in sorted(trace.files))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the files of each step")
    is_long = parser.parse_args().list
    for _ in ("loading", "traced"):
        tracer = Tracer()
        sa.event.listen(sa.engine.Engine, "begin", tracer.on_begin)
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            trace_ways(tracer, Path(folder))
        sa.event.remove(sa.engine.Engine, "begin", tracer.on_begin)
    sys.stdout.write("\n".join(to_lines(tracer.traces, is_long=is_long)) + "\n")


if __name__ == "__main__":
    main()
