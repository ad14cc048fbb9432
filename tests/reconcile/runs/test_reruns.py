"""A run made again from its kept inputs: the same rows, or which differ; dropped rows come back under their id."""

import json
import signal
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from click.testing import Result
from sqlmodel import col, select

from consumer.facts.installation import Installation
from reconcile.kept import packing, snapshots
from reconcile.kept.retention import prune
from reconcile.kept.snapshots import SnapshotError
from reconcile.rules.inputs import PAYOUTS, empty_frame
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import PayoutResult, ResultChunk, Run, RunFinding
from tests.merchant import row_of, start_apart

if TYPE_CHECKING:
    from tests.reconcile.conftest import Prepare, World

Call = Callable[..., Result]
AT = datetime(2027, 6, 1, 6, tzinfo=UTC)
# Dies when everything is written and nothing is committed.
KILLED = """
import os, signal
from cuadre import cli
from reconcile.runs import reruns

write = reruns.insert_results

def written_and_gone(*given, **named):
    write(*given, **named)
    os.kill(os.getpid(), signal.SIGKILL)

reruns.insert_results = written_and_gone
cli(["runs", "rerun", "1", "--restore"])
"""


@pytest.fixture
def made(world: "World", call: Call, prepare: "Prepare", monkeypatch: pytest.MonkeyPatch) -> str:
    """A run of two payouts with a line in each chunk; gives its id."""
    monkeypatch.setattr(packing, "ROWS_A_CHUNK", 1)
    return prepare("two payouts", lambda: _make(world, call))


def _make(world: "World", call: Call) -> str:
    world.payment("pi_1", 1190, body={"metadata": {"order_ref": "PED-1"}})
    world.payment("pi_2", 777)
    world.payout("po_1", 1180, ("payment_intent", "pi_1", 1190))
    world.payout("po_2", 770, ("payment_intent", "pi_2", 777))
    world.invoice("7", 1190, order_ref="PED-1")
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    return _reconciled(call, "2026-09-11")


def _reconciled(call: Call, day: str, *options: str) -> str:
    answer = call("reconcile", "--as-of", day, "--json", *options)
    assert answer.exit_code == 0, answer.output
    return str(json.loads(answer.stdout)["run_id"])


def _written(installation: Installation) -> list[Any]:
    """Everything a rerun could have touched."""
    with installation.store.reading() as session:
        counts = [session.scalar(sa.select(sa.func.count()).select_from(table)) for table in (ResultChunk, RunFinding)]
        runs = [(run.id, run.number, run.finished_at, run.pruned_at) for run in session.exec(select(Run))]
        cases = [(row.id, row.version, row.run_last) for row in session.exec(select(ExceptionRow))]
    return [*counts, runs, cases]


def test_the_same_inputs_give_the_same_rows(call: Call, installation: Installation, made: str) -> None:
    """Every line, payout, document and finding is counted and alike; nothing is written."""
    before = _written(installation)
    answer = call("runs", "rerun", "1", "--json")
    row = row_of(answer)
    assert answer.exit_code == 0
    assert (row["run_id"], row["same"], row["changed_since"], row["differences"]) == (made, True, {}, [])
    assert [(one["kind"], one["published"], one["rerun"], one["differing"]) for one in row["rows"][1:]] == [
        ("payout", 2, 2, 0), ("item", 2, 2, 0), ("document", 1, 1, 0), ("exception", 1, 1, 0),
    ]  # fmt: skip
    assert _written(installation) == before
    assert f"run 1 ({made}): every row is as it was published" in call("runs", "rerun", made[:8]).stderr


def test_facts_that_came_later_make_no_difference(call: Call, world: "World", made: str) -> None:
    """A rerun reads what the run read, not what the database says today."""
    world.payment("pi_3", 500)
    world.invoice("8", 777)
    assert row_of(call("runs", "rerun", made, "--json"))["same"] is True


@pytest.mark.usefixtures("made")
def test_a_run_of_one_payout_is_made_again_as_narrow(call: Call) -> None:
    """The scope is part of what was kept."""
    narrow = _reconciled(call, "2026-09-11", "--payout", "po_2")
    row = row_of(call("runs", "rerun", narrow, "--json"))
    assert (row["same"], row["rows"][1]["published"], row["rows"][2]["published"]) == (True, 1, 1)


def test_rows_that_differ_are_counted_and_shown(call: Call, installation: Installation, made: str) -> None:
    """A published value that the inputs do not give is named with both sides, a lost row too; the exit status is 3."""
    with installation.store.transaction() as session:
        payout = session.get_one(PayoutResult, ("main", made, "po_2"))
        payout.columns = json.dumps(json.loads(payout.columns) | {"fee_total": 8})
        session.add(payout)
        session.execute(sa.delete(ResultChunk).where(col(ResultChunk.kind) == "line", col(ResultChunk.number) == 0))
        session.execute(sa.update(RunFinding).values(amount_at_risk=770))
    answer = call("runs", "rerun", "1", "--json")
    row = row_of(answer, exit_code=3)
    assert row["same"] is False
    assert [(one["kind"], one["published"], one["rerun"], one["differing"]) for one in row["rows"]][1:] == [
        ("payout", 2, 2, 1), ("item", 1, 2, 1), ("document", 1, 1, 0), ("exception", 1, 1, 1),
    ]  # fmt: skip
    assert row["differences"] == [
        {"kind": "payout", "subject": "po_2", "column": "fee_total", "published": 8, "rerun": 7},
        {"kind": "item", "subject": "po_1 payment_intent pi_1 1", "column": "row", "published": "absent",
         "rerun": "there"},
        {"kind": "exception", "subject": "PAYMENT_NO_INVOICE resource:pi_2", "column": "amount_at_risk",
         "published": 770, "rerun": 777},
    ]  # fmt: skip
    shown = call("runs", "rerun", "1", "--limit", "1")
    assert shown.exit_code == 3
    assert "fee_total 1" in shown.stdout
    assert "amount_at_risk 1" in shown.stdout
    assert f"run 1 ({made}) differs in 3 rows; 1 of 3 values are shown" in shown.stderr


@pytest.mark.usefixtures("made")
def test_other_rules_since_are_said(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads a difference must know that it may be the program's; without any the run is still the same."""
    monkeypatch.setattr(snapshots, "rules_code", lambda: "other")
    answer = call("runs", "rerun", "1")
    assert answer.exit_code == 0
    assert "rules code changed since: " in answer.stderr
    assert " → other" in answer.stderr


@pytest.mark.usefixtures("made")
def test_what_cannot_be_made_again_is_one_sentence(call: Call, installation: Installation) -> None:
    """An unknown run, changed inputs and inputs that lie elsewhere are distinguished, each with what to do."""
    unknown = call("runs", "rerun", "99")
    assert (unknown.exit_code, unknown.stderr) == (
        1, "Error: no single run of connection main is called 99: cuadre runs list\n",
    )  # fmt: skip
    folder = next((installation.settings.data_dir / "runs" / "main").iterdir())
    empty_frame(PAYOUTS).to_parquet(folder / "payouts.parquet", index=False)
    changed = call("runs", "rerun", "1")
    assert (changed.exit_code, changed.stderr) == (
        1, f"Error: the kept payouts of run {folder.name} were changed after the run\n",
    )  # fmt: skip
    folder.rename(folder.with_name("elsewhere"))
    absent = call("runs", "rerun", "1")
    assert absent.exit_code == 1
    assert absent.stderr == (
        f"Error: the inputs of run {folder.name} are not kept on this machine: bring runs/main/{folder.name}"
        " of the data folder here from the machine or the backup that has it\n"
    )


def _manifest(folder: Path, **changes: Any) -> dict[str, Any]:
    return dict(json.loads((folder / "run.json").read_text(encoding="utf-8"))) | changes


def test_a_manifest_that_was_changed_is_refused(installation: Installation, made: str) -> None:
    """The day and the rules stand in the manifest: an edited one cannot pass for the run's."""
    folder = snapshots.folder_of(installation.settings.data_dir, "main", made)
    (folder / "run.json").write_text(json.dumps(_manifest(folder, as_of="2026-09-12")), encoding="utf-8")
    with pytest.raises(SnapshotError, match=rf"^the kept run\.json of run {made} was changed after the run$"):
        snapshots.read(installation.settings.data_dir, "main", made)


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"frames": {}}, r"run \w+ was kept by an earlier version, which read no payouts"),
        ({"chosen_rules": {"old_rule": 1}}, r"run \w+ was kept by an earlier version: \[rules\] old_rule .*"),
    ],
)  # fmt: skip
def test_inputs_of_an_earlier_version_are_said_to_be_so(
    installation: Installation, made: str, changes: dict[str, Any], shown: str
) -> None:
    """What an earlier version did not read, or knew by another name, is no damage and is not guessed."""
    folder = snapshots.folder_of(installation.settings.data_dir, "main", made)
    manifest = _manifest(folder, **changes)
    earlier = folder.rename(folder.with_name(snapshots.name_of(manifest)))
    (earlier / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(SnapshotError, match=f"^{shown}$"):
        snapshots.read(installation.settings.data_dir, "main", earlier.name)


@pytest.fixture
def pruned(installation: Installation, call: Call, made: str) -> str:
    """The run is old and its rows were dropped; a newer one stands. Its inputs were brought here from a backup."""
    _reconciled(call, "2026-09-12")
    with installation.store.transaction() as session:
        assert prune(session, "main", today=date(2027, 6, 1), months_until=timedelta(days=400), at=AT) == [made]
    return made


def test_of_dropped_rows_the_figures_are_compared(call: Call, pruned: str) -> None:
    """What is left of the run is its summary: that is held against today's and said to be all there is."""
    answer = call("runs", "rerun", pruned, "--json")
    row = row_of(answer)
    assert (answer.exit_code, row["same"], row["rows_dropped_at"]) == (0, True, "2027-06-01T06:00:00Z")
    assert [one["kind"] for one in row["rows"]] == ["summary"]
    assert "its rows were dropped on 2027-06-01" in call("runs", "rerun", pruned).stderr


def test_dropped_rows_come_back_under_their_id(call: Call, installation: Installation, pruned: str) -> None:
    """They are the rows that were there, under the same number; the work list does not move."""
    before = _written(installation)
    answer = call("runs", "rerun", pruned, "--restore", "--json")
    assert (answer.exit_code, row_of(answer)["restored"]) == (0, True)
    after = _written(installation)
    assert [run[:3] for run in after[2]] == [run[:3] for run in before[2]]
    assert after[3] == before[3]
    again = row_of(call("runs", "rerun", pruned, "--restore", "--json"))
    assert (again["same"], again["restored"], again["rows_dropped_at"]) == (True, False, None)
    assert [one["differing"] for one in again["rows"]] == [0, 0, 0, 0, 0]
    assert "item pi_1" in call("explain", "pi_1", "--run", pruned).stdout


def test_other_rules_bring_no_rows_back(
    call: Call, installation: Installation, pruned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The id names the rules too, so what other rules make cannot stand under it."""
    monkeypatch.setattr(snapshots, "rules_code", lambda: "other")
    before = _written(installation)
    answer = call("runs", "rerun", pruned, "--restore")
    assert answer.exit_code == 3
    assert "its rows were not brought back" in answer.stderr
    assert _written(installation) == before


def test_a_run_whose_closed_days_went_is_not_brought_back_in_part(
    call: Call, installation: Installation, pruned: str
) -> None:
    """Its own rows alone would look like all of it, so it stays dropped and why is said."""
    with installation.store.transaction() as session:
        session.get_one(Run, ("main", pruned)).layers = f"{pruned}+1"
    answer = call("runs", "rerun", pruned, "--restore")
    assert answer.exit_code == 3
    assert "it left closed days out, and their rows of that time are no longer kept" in answer.stderr


def test_a_restore_that_is_killed_brings_nothing_back(call: Call, installation: Installation, pruned: str) -> None:
    """Its rows come in one piece: who dies before the end leaves them dropped, and the same command brings them."""
    before = _written(installation)
    url = installation.store.url.render_as_string(hide_password=False)
    died = start_apart("-c", KILLED, database_url=url, data_dir=installation.settings.data_dir)
    assert died.wait(timeout=300) == -signal.SIGKILL
    assert _written(installation) == before
    again = row_of(call("runs", "rerun", pruned, "--restore", "--json"))
    assert (again["same"], again["restored"]) == (True, True)


@pytest.mark.parametrize("command", [("runs", "rerun", "1"), ("explain", "pi_1"), ("runs", "diff", "1", "2")])
def test_rows_that_are_damaged_are_one_sentence(
    call: Call, installation: Installation, made: str, command: tuple[str, ...]
) -> None:
    """Whatever command reads them names run and piece and says what to do; nothing is written over them."""
    _reconciled(call, "2026-09-12")
    with installation.store.transaction() as session:
        first = (col(ResultChunk.run_id) == made) if command[0] == "runs" else (col(ResultChunk.run_id) != made)
        where = (first, col(ResultChunk.kind) == "line", col(ResultChunk.number) == 0)
        session.execute(sa.update(ResultChunk).where(*where).values(content=b"PAR1 of another day PAR1"))
    before = _written(installation)
    number = 1 if command[0] == "runs" else 2
    answer = call(*command)
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr == (
        f"Error: the kept rows of run {number} of main (piece 0, line) are damaged:"
        " restore the database, or wait for the next run\n"
    )
    assert _written(installation) == before
