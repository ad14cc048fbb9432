"""Commands of the history of runs: what each found, what changed between two, and one made again from its inputs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from consumer.commands.terminal import (
    CommandError,
    Connections,
    format_count,
    json_option,
    leave,
    limit_option,
    on_connection,
    on_connections,
    print_rows,
    say,
)
from consumer.facts.clock import format_instant
from consumer.facts.erasures import is_touched
from consumer.facts.installation import Connection, Installation
from consumer.facts.tables.erasures import RUN
from consumer.facts.work import Completion
from reconcile.commands import printed
from reconcile.commands.reconcile import OUTCOME_KEYS, figures_of, run_called, show_steps, standings_of, to_outcome_row
from reconcile.kept import records
from reconcile.kept.snapshots import NotKeptError, SnapshotError
from reconcile.rules.pipeline import UnbalancedError
from reconcile.runs import comparison, reruns
from reconcile.runs.reruns import Difference, Held, Rerun
from reconcile.runs.run import RunOutcome, is_published
from reconcile.tables.runs import Run

DIFF_KEYS = (*comparison.KEYS, "connection")
RERUN_KEYS = ("connection", "run_id", "number", "as_of", "same", "changed_since", "rows_dropped_at", "restored", "rows",
              "differences")  # fmt: skip
HELD_KEYS = ("kind", "published", "rerun", "differing", "columns")


@click.group()
def runs() -> None:
    """The history of runs."""


@runs.command("list")
@on_connections
@limit_option
@json_option
def list_runs(installation: Installation, connections: Connections, *, limit: int | None, as_json: bool) -> None:
    """Every run, newest first."""
    with installation.store.reading() as session:
        found = [run for one in connections for run in records.runs(session, one.name)]
    found.sort(key=lambda run: run.finished_at, reverse=True)
    print_rows([records.to_run_row(run) for run in found[:limit]], records.RUN_KEYS, as_json=as_json)


@runs.command("show")
@click.argument("run_id")
@on_connection
@json_option
def show_run(installation: Installation, connection: Connection, *, run_id: str, as_json: bool) -> None:
    """One run by its id, the beginning of it, or its number."""
    with installation.store.reading() as session:
        found = RunOutcome.of(run_called(session, connection, run_id))
        row = to_outcome_row(found, standings_of(session, found), dry_run=False)
    if as_json:
        print_rows([row], OUTCOME_KEYS, as_json=True)
    else:
        print_rows(list(figures_of(row)), ("figure", "value"), as_json=False)


@runs.command("diff")
@click.argument("before")
@click.argument("after")
@on_connection
@json_option
def diff_runs(installation: Installation, connection: Connection, *, before: str, after: str, as_json: bool) -> None:
    """What changed between two runs, and why."""
    with installation.store.reading() as session:
        old, new = (run_called(session, connection, name) for name in (before, after))
        comparison.bring_inputs(installation, old, new)
        changes = list(comparison.diff(session, installation.settings.files_dir, old, new))
    rows = [printed.in_english(asdict(change)) | {"connection": old.connection} for change in changes]
    print_rows(rows, DIFF_KEYS, as_json=as_json)


@runs.command("rerun")
@click.argument("run_id")
@click.option("--restore", is_flag=True, help="Bring rows that were dropped for their age back under the run's id.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=20,
    show_default=True,
    help="Print only the first N values that differ.",
)
@on_connection
@json_option
def rerun_run(
    installation: Installation, connection: Connection, *, run_id: str, restore: bool, limit: int, as_json: bool
) -> None:
    """Make a run again from its kept inputs and say whether every row is as it was published; 3 if any is not."""
    with installation.store.reading() as session:
        found = run_called(session, connection, run_id)
    comparison.bring_inputs(installation, found)
    made = _make_again(installation.settings.files_dir, found)
    with installation.store.reading() as session:
        held = list(reruns.compare(session, found, made, most=limit))
        if is_touched(session.connection(), RUN, found.connection, found.id):
            say("a person was erased from it: only amounts and outcomes are compared")
        has_layers = reruns.has_layers(session, found)
    is_same = not any(one.differing for one in held)
    restored = restore and is_same and has_layers and not made.changed_since and not is_published(found)
    if restored:
        with installation.store.transaction() as session:
            reruns.restore(session, found, made)
    _show(found, made, held, limit=limit, restored=restored, as_json=as_json)
    is_refused = restore and not restored and not is_published(found)
    if is_refused:
        why = (
            "what is made today could not bear the id of that run"
            if has_layers
            else "it left closed days out, and their rows of that time are no longer kept"
        )
        say(f"its rows were not brought back: {why}")
    leave(Completion.DONE if is_same and not is_refused else Completion.PARTLY_DONE)


def _make_again(data_dir: Path, run: Run) -> Rerun:
    try:
        with show_steps() as watch:
            return reruns.rerun(data_dir, run, watch)
    except NotKeptError as problem:
        place = f"runs/{run.connection}/{run.id} of the data folder"
        raise CommandError(f"{problem}: bring {place} here from the machine or the backup that has it") from None
    except SnapshotError as problem:
        raise CommandError(str(problem)) from None
    except UnbalancedError as problem:
        raise CommandError(f"made again, run {run.id} does not balance: {problem}", Completion.PARTLY_DONE) from None


def _show(run: Run, made: Rerun, held: Sequence[Held], *, limit: int, restored: bool, as_json: bool) -> None:
    differences = [difference for one in held for difference in one.first][:limit]
    rows = [{key: getattr(one, key) for key in HELD_KEYS} for one in held]
    if as_json:
        known = {"connection": run.connection, "run_id": run.id, "number": run.number, "as_of": run.as_of}
        dropped = None if run.pruned_at is None else format_instant(run.pruned_at)
        answer = known | {
            "same": not any(one.differing for one in held), "changed_since": made.changed_since,
            "rows_dropped_at": dropped, "restored": restored, "rows": rows,
            "differences": [difference._asdict() for difference in differences],
        }  # fmt: skip
        print_rows([answer], RERUN_KEYS, as_json=True)
        return
    print_rows(
        [row | {"columns": ", ".join(f"{name} {count}" for name, count in row["columns"].items())} for row in rows],
        HELD_KEYS,
        as_json=False,
    )
    if differences:
        print_rows([difference._asdict() for difference in differences], Difference._fields, as_json=False)
    for sentence in _sentences(run, made, held, shown=len(differences), restored=restored):
        say(sentence)


def _sentences(run: Run, made: Rerun, held: Sequence[Held], *, shown: int, restored: bool) -> Iterator[str]:
    count, values = sum(one.differing for one in held), sum(one.columns.total() for one in held)
    name = f"run {run.number} ({run.id})"
    if count:
        yield f"{name} differs in {format_count(count, 'row')}; {shown} of {values} values are shown"
    elif run.pruned_at is None:
        yield f"{name}: every row is as it was published"
    else:
        yield f"{name}: its figures are as they were published; its rows were dropped on {run.pruned_at:%Y-%m-%d}"
    for what, (was, is_now) in made.changed_since.items():
        yield f"{what.replace('_', ' ')} changed since: {was} → {is_now}"
    if restored:
        yield "its rows are here again, until the next night drops them"
