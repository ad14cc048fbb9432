"""Commands of reconciliation: one run, a whole night, and why a row is what it is."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta

import click
from rich.console import Console
from sqlmodel import Session

from consumer.commands.terminal import (
    CommandError,
    Connections,
    LocalDate,
    check_range,
    json_option,
    leave,
    on_connection,
    on_connections,
    print_rows,
    say,
)
from consumer.facts.bankdays import read_calendar
from consumer.facts.clock import local_date, utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.money import format_decimal
from consumer.facts.store import Row
from consumer.facts.tables.jobs import find_newest
from consumer.facts.texts import shorten
from consumer.facts.work import DEMO, Completion
from reconcile.commands import explanations, printed
from reconcile.commands.decisions import find_key
from reconcile.commands.printed import to_plain
from reconcile.kept import records, whole
from reconcile.reading.process import save_memory
from reconcile.rules.outcomes import SEVERITIES
from reconcile.rules.pipeline import UnbalancedError
from reconcile.runs.nightly import StepOutcome, join
from reconcile.runs.run import TOTALS, RunOutcome, Watch, ignore_step
from reconcile.runs.run import run as start_run
from reconcile.tables.runs import Run

OUTCOME_KEYS = (
    "connection", "run_id", "number", "as_of", "complete", "new", "dry_run", "payouts", "payouts_closed",
    "payouts_no_bank", "payouts_by_status", "items", "items_by_outcome", "documents", "documents_by_outcome", "totals",
    "exceptions",
)  # fmt: skip
FINDING_KEYS = (
    "code", "severity", "title", "amount_at_risk", "currency", "payout_id", "resource_id", "doc_key", "evidence",
    "suggested_action", "fact_on", "due_on", "customer_name",
)  # fmt: skip
# What scripts know as closed is not the standing of a payout, which pages call so.
_FIGURES = {"payouts_closed": "payouts explained to the peso", "payouts_no_bank": "payouts no bank data shows"}
GLANCE_KEYS = ("code", "severity", "at risk", "about")


@contextmanager
def show_steps() -> Iterator[Watch]:
    """Show each step while it lasts; Ctrl-C ends the run before it writes."""
    save_memory()
    try:
        if not sys.stderr.isatty():
            yield ignore_step
            return
        with Console(stderr=True).status("reconciling") as status:
            yield lambda step: status.update(str(step))
    except KeyboardInterrupt:
        raise CommandError("canceled: nothing was published") from None


@click.command()
@click.option("--from", "since", type=LocalDate(), help="First payout date to publish.")
@click.option("--to", "until", type=LocalDate(), help="Last payout date to publish.")
@click.option(
    "--as-of", type=LocalDate(), help="The day that decides what is due (default today; in the demo its last)."
)
@click.option("--payout", "payout_id", help="Publish one payout only.")
@click.option("--dry-run", is_flag=True, help="The full result, and nothing written.")
@click.option("--whole", is_flag=True, help="Read closed periods too, and exit 3 where they are not as frozen.")
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit 3 on an exception this severe or worse.")
@on_connection
@json_option
def reconcile(
    installation: Installation, connection: Connection, *, since: date | None, until: date | None, as_of: date | None,
    payout_id: str | None, dry_run: bool, whole: bool, fail_on: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Match payouts, payments and documents once, and say what does not tie out."""
    check_range(since, until, "--from and --to")
    day = as_of or _today(installation, connection)
    try:
        with show_steps() as watch:
            outcome = start_run(
                installation, connection, as_of=day, since=since, until=until, payout_id=payout_id, dry_run=dry_run,
                whole=whole, watch=watch,
            )  # fmt: skip
    except UnbalancedError as error:
        raise CommandError(str(error), Completion.PARTLY_DONE) from None
    with installation.store.reading() as session:
        standings = standings_of(session, outcome)
    _show_outcome(outcome, standings, dry_run=dry_run, as_json=as_json)
    if outcome.doubt is not None:
        say(str(outcome.doubt))
    if outcome.differs:
        say("closed days are not as they were frozen: this run read everything, and so does the next one")
    is_severe = fail_on is not None and has_severity(outcome, fail_on)
    leave(Completion.PARTLY_DONE if is_severe else outcome.status)


def _today(installation: Installation, connection: Connection) -> date:
    """Return the local day; in the demo's month that of its newest run, since nothing is known of any later one."""
    today = local_date(utc_now(), connection.country.zone)
    with installation.store.reading() as session:
        run = records.last_run(session, connection.name, today=today) if find_newest(session, DEMO) else None
    if run is None:
        return today
    say(f"this is the demo's month: as of {run.as_of}, the day of its newest run; --as-of names another")
    return run.as_of


def has_severity(outcome: RunOutcome, least: str) -> bool:
    worse = SEVERITIES[: SEVERITIES.index(least) + 1]
    return any(outcome.summary["severities"].get(severity, 0) for severity in worse)


def to_outcome_row(outcome: RunOutcome, standings: Mapping[str, int], *, dry_run: bool) -> Row:
    """A run as one object: how its payouts stand, amounts of the control totals in major units."""
    # Kept as text of sorted keys, a published run has them in another order than a new one.
    totals = {
        currency: {name: format_decimal(sums[name], currency) for name in TOTALS}
        for currency, sums in outcome.summary["totals"].items()
    }
    return {
        **outcome.summary,
        "connection": outcome.connection, "run_id": outcome.run_id, "number": outcome.number,
        "as_of": outcome.as_of, "new": outcome.is_new, "dry_run": dry_run, "totals": totals,
        "payouts_by_status": dict(standings),
    }  # fmt: skip


def standings_of(session: Session, outcome: RunOutcome) -> dict[str, int]:
    """Count the payouts of a run by how they stand, also of a run that was not published."""
    if outcome.result is None or outcome.number is not None:
        return records.standings(session, outcome.connection, outcome.run_id)
    return dict(sorted(Counter(outcome.result.payouts["status_recon"]).items()))


def _show_outcome(outcome: RunOutcome, standings: Mapping[str, int], *, dry_run: bool, as_json: bool) -> None:
    row = to_outcome_row(outcome, standings, dry_run=dry_run)
    findings = list(_finding_rows(outcome)) if dry_run else []
    if as_json:
        print_rows([row | {"findings": findings}], (*OUTCOME_KEYS, *(["findings"] if dry_run else [])), as_json=True)
        return
    print_rows(list(figures_of(row)), ("figure", "value"), as_json=False)
    if findings:
        print_rows([_to_glance(found) for found in findings], GLANCE_KEYS, as_json=False)
    if outcome.summary.get("ahead_of_data"):
        say(f"no data reaches {outcome.as_of} yet: of this run the work list takes only DATA_GAP")
    elif not outcome.complete:
        say("the data is incomplete up to this day: DATA_GAP says why, and what is withheld until it is whole")


def _finding_rows(outcome: RunOutcome) -> Iterator[Row]:
    assert outcome.result is not None
    for found in outcome.result.findings:
        values = {name: getattr(found, name) for name in FINDING_KEYS}
        about = printed.about({**values, "subject": found.subject, "evidence": json.dumps(found.evidence)})
        days = {name: values[name] and values[name].isoformat() for name in ("fact_on", "due_on")}
        amount = format_decimal(found.amount_at_risk, found.currency)
        yield printed.in_english(values | days | {"amount_at_risk": amount, "about": about})


def _to_glance(found: Row) -> Row:
    """What fits a terminal's line; `--json` says all of it."""
    at_risk = f"{found['amount_at_risk']} {found['currency']}"
    return {"code": found["code"], "severity": found["severity"], "at risk": at_risk, "about": found["about"]}


def figures_of(row: Row) -> Iterator[Row]:
    """A nested object as figures, one a line, amounts with their currency."""
    for key in OUTCOME_KEYS:
        if key == "totals":
            for currency, sums in row[key].items():
                yield from ({"figure": f"total {name}", "value": f"{sums[name]} {currency}"} for name in sums)
        elif isinstance(row[key], dict):
            yield from ({"figure": f"{key} {name}", "value": value} for name, value in row[key].items())
        else:
            yield {"figure": _FIGURES.get(key, key), "value": row[key]}


def run_called(session: Session, connection: Connection, name: str) -> Run:
    found = records.find_run(session, connection.name, name)
    if found is None:
        raise CommandError(f"no single run of connection {connection.name} is called {name}: cuadre runs list")
    return found


@click.command()
@click.argument("identity")
@click.option("--run", "run_id", help="A run other than the newest.")
@on_connection
@json_option
def explain(
    installation: Installation, connection: Connection, *, identity: str, run_id: str | None, as_json: bool
) -> None:
    """Why a payout, resource or document is what it is, as the newest run says."""
    with installation.store.reading() as session:
        today = local_date(utc_now(), connection.country.zone)
        last = records.last_run(session, connection.name, today=today)
        found = run_called(session, connection, run_id) if run_id else last
        if found is None:
            raise CommandError(f"connection {connection.name} has no run yet: cuadre reconcile")
        calendar = read_calendar(installation.settings.files_dir, connection.country_code)
        whole.bring(installation, found)
        identity = find_key(session, connection, identity)
        rows = list(explanations.explain(session, installation.settings.files_dir, found, identity, calendar))
    if not rows:
        raise CommandError(
            f"run {found.number} knows no payout, resource or document {identity}: documents are named by folio or UUID"
        )
    if not as_json:
        say(f"run {found.number} of {found.as_of}")
        for line in explanations.lines_for_people(rows):
            click.echo(shorten(line))
        return
    keys = ("run_id", "about", "fact", "value")
    values = ((found.id, fact.about, fact.name, to_plain(fact)) for fact in rows)
    print_rows([dict(zip(keys, one, strict=True)) for one in values], keys, as_json=True)


def night_command(run_nights: Callable[..., Iterator[StepOutcome]]) -> click.Command:
    """Make the command; the night's steps lie in rooms that only `app.py` knows."""

    @click.command()
    @click.option("--date", "on", type=LocalDate(), help="The business date (default yesterday, local).")
    @on_connections
    def nightly(installation: Installation, connections: Connections, *, on: date | None) -> None:
        """Backfill, pull, compare, reconcile and report one business day."""
        save_memory()
        today = {one.name: local_date(utc_now(), one.country.zone) for one in connections}
        if on is not None and on > min(today.values()):
            raise CommandError(f"--date {on} has not come yet: give today or a day before it", Completion.MISUSED)
        asked = [(one, on or today[one.name] - timedelta(days=1)) for one in connections]
        statuses = []
        for outcome in run_nights(installation, asked):
            statuses.append(outcome.status)
            for line in outcome.lines:
                say(line)
        leave(join(statuses))

    return nightly
