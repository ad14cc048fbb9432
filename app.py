"""Cuadre, put together: builds every long-lived object, hands the nights their steps, and plays the demo."""

import hashlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import click
from flask import Flask, request
from sqlmodel import func, select

from consumer import job_table as table
from consumer import nights
from consumer.access_log import log_access
from consumer.alarms.pings import Pings
from consumer.backup.drill import run_nightly_backup
from consumer.commands.sync import show_pages
from consumer.commands.terminal import CommandError, json_option, leave, say
from consumer.commands.working import start_worker
from consumer.config import load
from consumer.errands import errands
from consumer.facts import shared_files
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.settings import Connection, Settings
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.jobs import TickState
from consumer.facts.tables.sync import Checkpoint, Window
from consumer.facts.work import DEMO, Completion, closing_job, run_job
from consumer.health import disk
from consumer.health.backup_age import BackupGauges
from consumer.health.causes import start_refusal_watch
from consumer.health.endpoint import health
from consumer.inbox.apply import drain
from consumer.inbox.watch import InboxGauges
from consumer.jobs import processes, schedule, ticks
from consumer.jobs.processes import run_in_child
from consumer.jobs.schedule import Job
from consumer.jobs.worker import keep_in_background, repeat_in_background, worker_name
from consumer.logs import configure_logs
from consumer.opening import are_counters_shared
from consumer.opening import open_installation as open_checked
from consumer.sync.backfill import A_NIGHT_BACK, backfill
from consumer.sync.drift import drift
from consumer.sync.orders import check_orders
from consumer.sync.outcomes import Outcome
from consumer.sync.pull import pull
from consumer.sync.reach import MirrorGauges
from consumer.sync.streams import CUT_STREAMS, STREAMS
from consumer.sync.windows import unclosed_windows
from consumer.webhooks.blueprint import ROUTE, RefusalLog, webhooks
from consumer.webhooks.keyring import Keyring
from cuadre import main
from reconcile.books.bank_files import import_bank_file
from reconcile.books.folder import FolderWatch, look_again
from reconcile.books.invoices import import_invoices
from reconcile.reading.process import save_memory
from reconcile.rules.streams import STREAMS as GATED
from reconcile.runs import run as runs
from reconcile.runs.by_hand import run_by_hand
from reconcile.runs.cluster import check_settings
from reconcile.runs.nightly import NightlyOutcome, StepOutcome, Steps, nightly
from reconcile.runs.ordered_closing import carry_out
from reconcile.runs.proof import prove
from reconcile.tables.books import BankFile, ExchangeRate, InvoiceFile, PayoutReport
from reconcile.tables.desk import Decision
from reconcile.tables.runs import Run
from reports import archive, pages
from reports.access import people, trail
from reports.alarms import find_headline, find_signals
from reports.erasing.erase import write_ledger
from reports.erasing.retention import forget_old
from reports.search import filling as search
from sandbox.demo import Address, Files, Findings, NotServedError, Summary, Terms, alone_in, play, show, write_settings
from sandbox.scenarios import NAMES, UnknownScenarioError, build_scenario
from sandbox.serve import DEFAULT_SCENARIO, DEFAULT_SEED, RunningSandbox
from sandbox.state.clock import START_AT

# What webhooks, pulls, imports, runs and people leave in a database.
_LEFT_BY_WORK = (Event, Window, Checkpoint, InvoiceFile, BankFile, PayoutReport, ExchangeRate, Run, Decision)
# Before the sandbox stands, when only the place of the data is asked.
NO_TERMS = Terms("http://127.0.0.1", "sk_test_demo", "whsec_demo", "cl", {})


def open_installation(environ: Mapping[str, str] = os.environ) -> Installation:
    return open_checked(environ, check=check_settings)


def create_app(installation: Installation, refusals: RefusalLog | None = None, keyring: Keyring | None = None) -> Flask:
    """Build the receiver and the pages of one installation."""
    app = Flask(__name__, static_folder=None)
    app.config["SECRET_KEY"] = installation.settings.secret_key.get_secret_value()
    if installation.settings.access_log:
        app.before_request(_name_route)
    app.register_blueprint(webhooks(installation, refusals=refusals, keyring=keyring))
    pages.register(app, installation, errands=errands(installation, run_in_child("reconcile"), run_in_child("closing")))
    gauges = (
        disk.DiskGauge(installation.store), InboxGauges(installation), MirrorGauges(installation),
        BackupGauges(installation),
    )  # fmt: skip
    app.register_blueprint(
        health(installation, is_allowed=pages.token_check(installation), gauges=gauges, is_shared=are_counters_shared())
    )
    if installation.settings.access_log:
        app.wsgi_app = log_access(app.wsgi_app, installation.settings.trusted_proxies)  # type: ignore[method-assign]
    return app


def _name_route() -> None:
    """Leave the route for the access log: an address may hold the key of a link."""
    request.environ[ROUTE] = "none" if request.url_rule is None else request.url_rule.rule


def serve_all() -> Flask:
    """Receiver, pages, worker and scheduler in this process: what `cuadre serve` runs."""
    configure_logs()
    installation = open_installation()
    start_worker(installation, signals=find_signals)
    start_scheduler(installation)
    return _serve(installation)


def serve_without_nights() -> Flask:
    """Run the same without the scheduler: where another process runs the nights, and in the demo."""
    configure_logs()
    installation = open_installation()
    start_worker(installation, signals=find_signals)
    start_filling(installation)
    return _serve(installation)


def serve_web() -> Flask:
    """Receiver and pages alone: what each process of `cuadre web` runs."""
    configure_logs()
    installation = open_installation()
    start_agreeing(installation)
    return _serve(installation)


def _serve(installation: Installation) -> Flask:
    """Build the application, and watch what its receiver refuses."""
    refusals, keyring = RefusalLog(), Keyring(installation)
    start_refusal_watch(installation, refusals, until=threading.Event())
    # A process that knows the webhook secrets goes on verifying when the secret key is rotated.
    keyring.refresh()
    repeat_in_background(lambda: pages.read_ahead(installation), "lists")
    return pages.warm(create_app(installation, refusals, keyring))


def start_scheduler(installation: Installation) -> Callable[[], None]:
    """Run nights that fall due, and watch the books folder, in threads; return what waits for those under way."""
    scheduler = schedule.start(
        job_table(installation), installation.store, worker=worker_name(), pings=Pings(installation.settings.ping_urls),
        nights_at_once=installation.settings.engine.nights_at_once,
    )  # fmt: skip
    stop_watching = start_watching(installation)
    start_agreeing(installation)
    start_filling(installation)
    if installation.settings.trail_url is not None:
        keep_in_background(lambda: trail.hand_on(installation, now=utc_now()), "trail", every=trail.REST_SECONDS)

    def finish() -> None:
        stop_watching()
        scheduler.shutdown()

    return finish


def start_agreeing(installation: Installation) -> None:
    """Keep mappings and calendars those of all machines, from a thread of this process."""
    keep_in_background(lambda: shared_files.agree(installation), "own files", every=shared_files.AGREE_SECONDS)


def start_filling(installation: Installation) -> None:
    """Bring into the search what was applied and kept, soon after and in batches, from a thread of this process."""
    repeat_in_background(lambda: search.fill_again(installation), "search")


def start_watching(installation: Installation) -> Callable[[], None]:
    """Watch the books folder, if one is set, from a thread; returns what stops it after the file it is at."""
    stopped = threading.Event()
    folder = installation.settings.books_folder
    if folder is None:
        return stopped.set

    def note(subject: str) -> None:
        people.note(installation.store, "books folder", "import", subject, now=utc_now())

    watch = FolderWatch(installation, folder, note)
    thread = repeat_in_background(lambda: look_again(watch), "books folder", until=stopped)

    def stop() -> None:
        stopped.set()
        thread.join()

    return stop


def job_table(installation: Installation) -> Sequence[Job]:
    """List what happens when; nights and cuts run in processes of their own, which begin at `work_for_parent`."""
    night, cut, backup = run_in_child("nightly"), run_in_child("banking-cut"), run_in_child("backup")
    jobs = table.job_table(installation, night=night, cut=cut, backup=backup, headline=find_headline, fill=search.fill)
    return [_forget_too(installation, job) if job.name == table.RETENTION else job for job in jobs]


def _forget_too(installation: Installation, job: Job) -> Job:
    return replace(job, run=lambda on: f"{job.run(on)}; {forget_old(installation, now=utc_now())}")


def work_for_parent() -> None:
    """Run one night or cut for the worker that started this process."""
    configure_logs()
    processes.work_for_parent(_work)


def _work(task: processes.Task) -> processes.Ended:
    save_memory()
    installation = open_checked(check=check_settings, may_upgrade=False)
    work = {"nightly": run_night, "banking-cut": run_cut, "backup": run_backup, "reconcile": run_now,
            "closing": close_now}[task.work]  # fmt: skip
    return work(installation, installation.settings.connection(task.connection), task.on)


def run_night(installation: Installation, connection: Connection, on: date) -> NightlyOutcome:
    """Hand the night its steps, which live in rooms it may not see."""
    steps = Steps(
        disk=lambda _c, day: disk.check_night(installation.store, day),
        backfill=lambda c: catch_up(installation, c, back=A_NIGHT_BACK),
        pull=lambda c: pull(installation, c, list(STREAMS)),
        drift=lambda c: drift(installation, c, repair=True),
        orders=lambda c, day: check_orders(installation, c, day),
        search=lambda c: search.try_to_fill(installation, c),
        report=lambda c, day: archive.night(installation, c, on=day, now=utc_now()),
    )
    return nightly(installation, connection, on=on, steps=steps)


def run_cut(installation: Installation, connection: Connection, on: date) -> NightlyOutcome:
    """Look at the running day once its payouts are made; the night compares and reads everything else."""
    steps = Steps(
        disk=lambda _c, day: disk.check_night(installation.store, day),
        backfill=lambda c: catch_up(installation, c),
        pull=lambda c: pull(installation, c, cut_streams(installation, c)),
        drift=lambda _c: Outcome(),
        report=lambda c, day: archive.night(installation, c, on=day, now=utc_now()),
    )
    return nightly(installation, connection, on=on, steps=steps, is_cut=True)


def cut_streams(installation: Installation, connection: Connection) -> list[str]:
    """Name what a payout of the running day is made of, and what else a run reads and the night could not."""
    with installation.store.reading() as session:
        left = {window.stream for window in unclosed_windows(session, connection.name)}
    return [name for name in STREAMS if name in CUT_STREAMS or (name in left and name in GATED)]


def run_now(installation: Installation, connection: Connection, on: date) -> processes.Ended:
    """Reconcile what is here, for a person who waits for it; where it stands is seen among the jobs."""
    store, job = installation.store, run_job(connection.name)
    seal = processes.end_if_canceled(store, job)
    said = run_by_hand(installation, connection, on, lambda at: ticks.note_progress(store, job, at.to_text()), seal)
    search.try_to_fill(installation, connection)
    return processes.Answer(complete=True, lines=[said.to_text()])


def close_now(installation: Installation, connection: Connection, _on: date) -> processes.Ended:
    """Close what was ordered on a page; where it stands is seen among the jobs."""
    store, job = installation.store, closing_job(connection.name)
    seal = processes.end_if_canceled(store, job)
    words = carry_out(installation, connection, lambda step: ticks.note_progress(store, job, step.to_text()), seal)
    return processes.Answer(complete=True, lines=[words.to_text()])


def run_backup(installation: Installation, _connection: Connection, _on: date) -> processes.Ended:
    """Make the backup of the night and drill it at once; next to it stands who was erased."""
    write_ledger(installation)
    return run_nightly_backup(installation, prove, now=utc_now())


def run_night_by_hand(installation: Installation, connection: Connection, on: date) -> NightlyOutcome:
    return nights.run_by_hand(installation, connection, on, run_night)


def run_nights(installation: Installation, asked: Sequence[tuple[Connection, date]]) -> Iterator[StepOutcome]:
    """Run nights that a person asked for: in this process one after another, or as many at a time as is set."""
    at_once = installation.settings.engine.nights_at_once
    if at_once is None:
        return (run_night_by_hand(installation, connection, on) for connection, on in asked)
    night = run_in_child("nightly")
    return nights.run_side_by_side(installation, asked, night, at_once=at_once)


def catch_up(installation: Installation, connection: Connection, *, back: timedelta = timedelta()) -> Outcome:
    """Backfill, then apply what came in, so that no older event waits when the lists are read."""
    with show_pages() as on_page:
        outcome = backfill(installation, connection, back=back, on_page=on_page)
    drain(installation.store, installation.settings, worker=worker_name())
    return outcome


class DemoMerchant:
    """The merchant of the demo: a real `cuadre serve` next to this process, on the configured database."""

    email, password = "finanzas@demo.cuadre", "cuadre-demo-2026"

    def __init__(self, address: Address, until_its_end: ExitStack) -> None:
        self.address, self._until_its_end = address, until_its_end
        self.webhook_url = f"{address.url}/webhooks"

    def open(self, terms: Terms) -> None:
        """Write the demo's settings, refuse a database with other data, make the login, start the server."""
        environ = _demo_environment(terms, public_url=self.address.url)
        self.installation = open_installation(environ)
        self.connection = self.installation.settings.connection("main")
        self.started_at = _claim_demo(self.installation)
        people.ensure_user(self.installation.store, self.email, self.password, people.Role.ADMIN)
        command = [sys.executable, "-P", "-m", "cuadre", "serve", "--no-nights", "--port", str(self.address.port)]
        log = self.installation.settings.data_dir / "demo.log"
        configure_logs(self._until_its_end.enter_context(log.open("a", encoding="utf-8")))
        self.server = self._until_its_end.enter_context(self.address.serve(command, environ, log=log))

    def catch_up(self) -> None:
        for outcome in (
            catch_up(self.installation, self.connection),
            pull(self.installation, self.connection, list(STREAMS)),
        ):
            if not outcome.complete:
                raise CommandError("; ".join(outcome.lines), Completion.PARTLY_DONE)
        drain(self.installation.store, self.installation.settings, worker=worker_name())

    def conclude(self, files: Files, today: datetime) -> Findings:
        installation, connection = self.installation, self.connection
        _import_once(installation, connection, files.invoices)
        if files.bank:
            _import_bank(installation, connection, files)
        outcome = runs.run(installation, connection, as_of=today.date())
        search.try_to_fill(installation, connection)
        with installation.store.reading() as session:
            stored = session.exec(select(func.count()).select_from(Event)).one()
        ending = (TickState.COMPLETE, outcome.run_id)
        ticks.finish(installation.store, DEMO, self.started_at, worker=DEMO, now=utc_now(), ending=ending)
        made = outcome.summary
        closed, no_bank = made["payouts_closed"], made["payouts_no_bank"]
        return Findings(stored, made["payouts"], closed, no_bank, made["exceptions"], outcome.run_id)


def _demo_environment(terms: Terms, *, public_url: str) -> dict[str, str]:
    """Keep only where the data lies; everything else is the sandbox's, in a file that later commands can use too."""
    own = {**terms.to_settings(), "public_url": public_url}
    settings = _demo_settings(own)
    place = {"data_dir": str(settings.data_dir), "database_url": settings.database_url}
    path = settings.data_dir / "demo.toml"
    write_settings(path, {**place, "secret_key": settings.secret_key.get_secret_value(), **own})
    foreign = {name: text for name, text in os.environ.items() if not name.startswith("CUADRE_")}
    return {**foreign, "CUADRE_CONFIG": str(path)}


def _demo_settings(own: Mapping[str, Any]) -> Settings:
    return load(os.environ, folder=Path.cwd(), overrides={**own, "connections": {}})


def _claim_demo(installation: Installation) -> datetime:
    """Mark the database as a demo's. Raise CommandError if it was never marked and holds a merchant's own work."""
    now = utc_now()
    with installation.store.reading() as session:
        is_used = any(session.exec(select(table).limit(1)).first() is not None for table in _LEFT_BY_WORK)
    if is_used and not ticks.has_run(installation.store, DEMO):
        raise CommandError(
            "this database holds data that no demo made: choose another CUADRE_DATA_DIR",
            Completion.MISUSED,
        )
    ticks.claim(installation.store, DEMO, now, worker=DEMO, now=now)
    return now


def _import_once(installation: Installation, connection: Connection, books: bytes) -> None:
    path = installation.settings.data_dir / "demo-invoices.csv"
    path.write_bytes(books)
    with installation.store.reading() as session:
        if session.get(InvoiceFile, (connection.name, hashlib.sha256(books).hexdigest())) is not None:
            return
    imported = import_invoices(installation, connection, path)
    if not imported.accepted:
        raise CommandError(f"{path.name} was refused: {imported.rejects[0].reason}", Completion.PARTLY_DONE)


def _import_bank(installation: Installation, connection: Connection, files: Files) -> None:
    path = installation.settings.data_dir / "demo-bank.csv"
    path.write_bytes(files.bank)
    imported = import_bank_file(installation, connection, path, account=files.bank_account)
    if not imported.accepted:
        raise CommandError(f"{path.name} was refused: {imported.rejects[0].reason}", Completion.PARTLY_DONE)


@click.command()
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8000, show_default=True, help="Port of the receiver and the pages."
)
@click.option("--scenario", default=DEFAULT_SCENARIO, show_default=True, help=f"One of: {', '.join(NAMES)}.")
@click.option("--once", is_flag=True, help="Do everything, print the summary and stop.")
@json_option
def demo(*, port: int, scenario: str, once: bool, as_json: bool) -> None:
    """Play a month of made-up trade through the whole product and show what came of it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with alone_in(_demo_settings(NO_TERMS.to_settings()).data_dir):
            address = Address(port)
            address.check_free()
            say("making up a month of trade; this takes about half a minute")
            summary = _play(address, scenario, once=once, as_json=as_json)
    except UnknownScenarioError as error:
        raise click.UsageError(str(error)) from None
    except NotServedError as error:
        raise CommandError(str(error)) from None
    complaints = list(summary.complaints())
    for line in complaints:
        say(f"does not agree: {line}")
    leave(Completion.PARTLY_DONE if complaints else Completion.DONE)


def _play(address: Address, scenario: str, *, once: bool, as_json: bool) -> Summary:
    """Play and show it, then serve the pages until it is stopped."""
    watch = say if sys.stderr.isatty() else lambda _line: None
    made = build_scenario(scenario, DEFAULT_SEED, 1.0, START_AT)
    with RunningSandbox(made, seed=DEFAULT_SEED) as running, ExitStack() as until_its_end:
        merchant = DemoMerchant(address, until_its_end)
        try:
            summary = play(running, merchant, seed=DEFAULT_SEED, tell=say, watch=watch)
            show(summary, as_json=as_json)
            if not once:
                login = f"login {merchant.email}   password {merchant.password}"
                click.echo(f"\npages {address.url}   {login}\nCtrl-C stops", err=as_json)
                # Ctrl-C is how a demo ends, not a failure.
                with suppress(KeyboardInterrupt):
                    merchant.server.wait()
        finally:
            say("stopping the server and the sandbox")
    return summary


if __name__ == "__main__":
    main()
