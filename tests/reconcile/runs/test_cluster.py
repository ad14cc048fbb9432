"""Runs judged by a Dask cluster: real scheduler and workers over TCP, each in a folder of its own."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import dask
import pytest
from distributed import Client
from sqlmodel import col, select

from consumer.facts.engines import Engine
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.facts.settings import ConfigError, Settings
from reconcile.rules.inputs import Inputs, Result
from reconcile.rules.pipeline import reconcile as judge
from reconcile.runs import cluster as clusters
from reconcile.runs.cluster import (
    Answer,
    Cluster,
    ClusterRules,
    OtherProgramError,
    Work,
    check_settings,
    judge_packed,
    name_program,
    pack,
    to_result,
)
from reconcile.runs.run import RunOutcome, run
from reconcile.tables.runs import ResultChunk, Run
from tests.certificates import make_certificate
from tests.ports import free_port
from tests.reconcile.runs.waiting import sign, wait_and_sign
from tests.thoroughness import for_run

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

ROOT = Path(__file__).resolve().parents[3]
AS_OF = date(2026, 9, 11)
DAY_IS_OVER = datetime(2026, 9, 12, 4, 0, tzinfo=UTC)
SOON = timedelta(seconds=60)
WORKERS = for_run(short=(1, 2), full=(1, 2, 3, 7))


class Machines:
    """A scheduler and its workers as processes that share no folder, no setting and no database."""

    def __init__(self, folder: Path, until_their_end: ExitStack, *, certificate: Path | None = None) -> None:
        self._folder, self._until_their_end = folder, until_their_end
        parts = ("ca-file", "cert", "key") if certificate else ()
        self._tls = [word for part in parts for word in (f"--tls-{part}", str(certificate))]
        self._protocol = "tls" if certificate else "tcp"
        self.port = free_port()
        self.engine = Engine(cluster=f"127.0.0.1:{self.port}")
        self.scheduler = self.start_scheduler()

    def start_scheduler(self) -> "subprocess.Popen[bytes]":
        place = ("--protocol", self._protocol, "--host", "127.0.0.1", "--port", str(self.port))
        scheduler = self.start("scheduler", *place)
        until = time.monotonic() + SOON.total_seconds()
        while scheduler.poll() is None and time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return scheduler
            time.sleep(0.02)
        raise AssertionError((self._folder / "scheduler" / "log").read_text())

    def start_worker(self, name: str, *, code: str = "") -> "subprocess.Popen[bytes]":
        """Start a worker; it imports the program from `code` where another version of it is wanted."""
        one = ("--nthreads", "1", "--no-nanny", "--name", name, "--host", "127.0.0.1", "--death-timeout", "60")
        return self.start("worker", f"{self._protocol}://127.0.0.1:{self.port}", *one, name=name, code=code)

    def start(self, *arguments: str, name: str = "scheduler", code: str = "") -> "subprocess.Popen[bytes]":
        place = self._folder / name
        place.mkdir(exist_ok=True)
        environ = {"PATH": os.environ["PATH"], "HOME": str(place), "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "1h"}
        environ["PYTHONPATH"] = code or str(ROOT)
        command = [sys.executable, "-P", "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
        command += [*self._tls, "--no-dashboard"]
        with (place / "log").open("ab") as log:
            process = subprocess.Popen(command, cwd=place, env=environ, stdout=log, stderr=log)
        self._until_their_end.callback(end, process)
        return process


def end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with ExitStack() as until_their_end:
        folder = tmp_path / "machines"
        folder.mkdir()
        yield Machines(folder, until_their_end)


@pytest.fixture
def month(world: "World") -> "World":
    world.payment("pi_1", 1000)
    world.payment("pi_2", 500)
    world.payout("po_1", 984, ("payment_intent", "pi_1", 1000))
    world.invoice("7", 1000)
    world.complete(DAY_IS_OVER)
    return world


def published(installation: Installation) -> tuple[list[str], list[bytes]]:
    """Return the ids of the runs and the bytes of their lines, documents and extracts."""
    with installation.store.reading() as session:
        ids = list(session.exec(select(Run.id)))
        rows = session.exec(select(ResultChunk).order_by(col(ResultChunk.kind), col(ResultChunk.number))).all()
    return ids, [row.content for row in rows]


def judge_with(
    installation: Installation, main: Connection, engine: Engine, **how: timedelta
) -> tuple[RunOutcome, ClusterRules]:
    rules = ClusterRules(installation, Cluster(engine, **({"answers_within": SOON} | how)))
    return run(installation, main, as_of=AS_OF, rules_of=rules.of), rules


@pytest.mark.usefixtures("month")
def test_a_cluster_says_what_this_machine_says(
    installation: Installation, main: Connection, machines: Machines
) -> None:
    """The run has the id and every byte that it has when it is judged here, and nothing is left of its result."""
    machines.start_worker("one")
    machines.start_worker("two")

    outcome, rules = judge_with(installation, main, machines.engine)
    (run_id,), elsewhere = published(installation)
    kept = list((installation.settings.files_dir / "judged").iterdir())
    rules.forget()
    with installation.store.transaction() as session:
        for row in session.exec(select(ResultChunk)):
            session.delete(row)
        session.delete(session.exec(select(Run)).one())
    here = run(installation, main, as_of=AS_OF)

    assert (rules.lines, outcome.is_new, here.is_new) == ([], True, True)
    assert [path.name for path in kept] == [f"{run_id}-{name_program()}"]
    assert not kept[0].exists()
    assert published(installation) == ([run_id], elsewhere)
    assert outcome.summary == here.summary


@pytest.mark.usefixtures("month")
def test_any_number_of_workers_in_any_order_says_the_same(
    installation: Installation, main: Connection, machines: Machines
) -> None:
    """Three days of books, in another order each time: every cell that comes back is that of this machine."""
    packed: dict[str, bytes] = {}

    def pack_only(run_id: str, inputs: Inputs) -> Result:
        packed[run_id] = pack(inputs)
        return judge(inputs)

    for day in (9, 10, 11):
        run(installation, main, as_of=date(2026, 9, day), rules_of=lambda run_id: partial(pack_only, run_id))
    here = {run_id: read_cells(judge_packed(name_program(), inputs)) for run_id, inputs in packed.items()}
    chance = Random(20)  # noqa: S311 - repeatable
    started, found = 0, []
    for workers in WORKERS:
        while started < workers:
            started += 1
            machines.start_worker(str(started))
        wait_for_workers(machines, workers)
        for _ in range(2):
            order = chance.sample(sorted(packed), len(packed))
            asked = {run_id: packed[run_id] for run_id in order}
            answers = list(Cluster(machines.engine, answers_within=SOON).map(judge_packed, asked))
            assert [one.name for one in answers] == order
            found.append({one.name: read_cells(one.packed or b"") for one in answers})

    assert len(here) == 3
    assert found == [here] * (2 * len(WORKERS))


def read_cells(packed: bytes) -> list[object]:
    """Return what a packed result holds; its bytes differ by how often a process met one string."""
    result = to_result(packed)
    frames = (result.payouts, result.lines, result.documents, result.bank)
    return [*(frame.to_csv() for frame in frames), result.findings, result.complete]


def wait_for_workers(machines: Machines, count: int) -> None:
    with Client(f"tcp://127.0.0.1:{machines.port}", set_as_default=False) as client:
        client.wait_for_workers(count, timeout=SOON.total_seconds())


def test_certificates_of_both_sides_are_asked_for(tmp_path: Path) -> None:
    """With them a cluster answers over TLS; without them it does not."""
    certificate = make_certificate(tmp_path / "here.pem")
    names = ("ca-file", "client.cert", "client.key")
    with ExitStack() as until_their_end:
        (tmp_path / "tls").mkdir()
        encrypted = Machines(tmp_path / "tls", until_their_end, certificate=certificate)
        encrypted.start_worker("one")
        with dask.config.set({f"distributed.comm.tls.{name}": str(certificate) for name in names}):
            (answer,) = Cluster(encrypted.engine, answers_within=SOON).map(sign, {"a": b"input"})
        (refused,) = Cluster(encrypted.engine, answers_within=timedelta(seconds=2)).map(sign, {"a": b"input"})

    assert answer == Answer("a", name_program().encode() + b" input")
    assert refused.packed is None
    assert refused.problem.startswith("the cluster does not answer")


def test_a_cluster_without_tls_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the other end speaks before the line is encrypted Dask raises ValueError: no night ends with that."""

    def speak_first(*_address: object, **_options: object) -> None:
        raise ValueError("IOStream is not idle; cannot convert to SSL")

    monkeypatch.setattr("distributed.Client", speak_first)
    (answer,) = Cluster(Engine(cluster="10.0.0.5:8786")).map(sign, {"a": b"input"})

    problem = "the cluster does not answer (ConnectionError: it speaks without TLS)"
    assert answer == Answer("a", None, problem)


def test_the_inputs_of_a_killed_worker_go_to_another(machines: Machines, tmp_path: Path) -> None:
    """The answer is that of the worker that is left."""
    workers = {one.pid: one for one in (machines.start_worker("one"), machines.start_worker("two"))}
    place = tmp_path / "place"
    place.mkdir()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(
            lambda: list(Cluster(machines.engine, answers_within=SOON).map(wait_and_sign, {"a": str(place).encode()}))
        )
        (first,) = wait_for(place)
        end(workers.pop(first))
        (place / "go").touch()
        (answer,) = asked.result(60)

    assert answer == Answer("a", str(next(iter(workers))).encode())


def test_a_cluster_that_never_ends_is_waited_for_so_long(machines: Machines, tmp_path: Path) -> None:
    """An input that is worked on for longer than any run takes has a problem in place of an answer."""
    machines.start_worker("one")
    place = tmp_path / "place"
    place.mkdir()
    cluster = Cluster(machines.engine, answers_within=SOON, judges_within=timedelta(seconds=0.2))

    (answer,) = cluster.map(wait_and_sign, {"a": str(place).encode()})

    assert (answer.name, answer.packed) == ("a", None)
    assert answer.problem.startswith("the cluster does not answer (TimeoutError")


def test_a_scheduler_that_starts_anew_has_lost_what_it_was_given(machines: Machines, tmp_path: Path) -> None:
    """The input under way has a problem in place of an answer; asked again of the new one, it is worked on."""
    machines.start_worker("one")
    place = tmp_path / "place"
    place.mkdir()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(
            lambda: list(Cluster(machines.engine, answers_within=SOON).map(wait_and_sign, {"a": str(place).encode()}))
        )
        wait_for(place)
        end(machines.scheduler)
        machines.start_scheduler()
        machines.start_worker("two")
        (answer,) = asked.result(60)

    assert (answer.name, answer.packed) == ("a", None)
    assert answer.problem.startswith("the cluster does not answer (FutureCancelledError")
    (again,) = Cluster(machines.engine, answers_within=SOON).map(sign, {"b": b"input"})
    assert again == Answer("b", name_program().encode() + b" input")


@pytest.mark.usefixtures("month")
def test_a_worker_of_another_version_judges_nothing(
    installation: Installation, main: Connection, machines: Machines, tmp_path: Path
) -> None:
    """One changed line in its rules is another program; the run is judged here, as it says."""
    code = tmp_path / "code"
    for room in ("consumer", "reconcile"):
        shutil.copytree(ROOT / room, code / room, ignore=shutil.ignore_patterns("__pycache__"))
    with (code / "reconcile" / "rules" / "fees.py").open("a") as file:
        file.write("\n# another version\n")
    machines.start_worker("one", code=str(code))

    outcome, rules = judge_with(installation, main, machines.engine)

    assert rules.lines == [
        "judged on this machine: a worker runs another version: install the same one on every machine"
    ]
    assert (outcome.number, outcome.summary["payouts_closed"]) == (1, 1)


@pytest.mark.usefixtures("month")
def test_a_cluster_that_does_not_answer_is_said_and_the_run_is_judged_here(
    installation: Installation, main: Connection, machines: Machines
) -> None:
    """No scheduler listens, or one that has no worker: both end within the time that an answer may take."""
    nobody = Engine(cluster=f"127.0.0.1:{free_port()}")
    _, rules = judge_with(installation, main, nobody, answers_within=timedelta(seconds=1))
    answers = list(Cluster(machines.engine, answers_within=timedelta(seconds=3)).map(sign, {"a": b"", "b": b""}))

    assert len(rules.lines) == 1
    assert rules.lines[0].startswith("judged on this machine: the cluster does not answer (OSError: Timed out")
    assert [(one.name, one.packed) for one in answers] == [("a", None), ("b", None)]
    assert "the cluster does not answer (WorkerStartTimeoutError: Only 0/1 workers arrived" in answers[0].problem
    assert len(published(installation)[0]) == 1


class Refusal(Cluster):
    """A cluster that must not be asked."""

    def map(self, work: Work, inputs: Mapping[str, bytes]) -> Iterator[Answer]:
        raise AssertionError(f"{work} was asked of {list(inputs)}")


class OnePacked(Cluster):
    """A cluster whose answer is given."""

    def map(self, work: Work, inputs: Mapping[str, bytes]) -> Iterator[Answer]:
        return (Answer(name, work(name_program(), packed)) for name, packed in inputs.items())


@pytest.mark.usefixtures("month")
def test_a_result_that_was_kept_is_asked_for_once(installation: Installation, main: Connection) -> None:
    """A night that is killed before it publishes finds its result on the disk; one that was changed there is not it."""
    first = ClusterRules(installation, OnePacked(Engine()))

    def is_killed(step: Message) -> None:
        if step.code == "run.publishing":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(installation, main, as_of=AS_OF, rules_of=first.of, watch=is_killed)
    (kept,) = (installation.settings.files_dir / "judged").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(AssertionError, match="was asked of"):
        run(installation, main, as_of=AS_OF, rules_of=ClusterRules(installation, Refusal(Engine())).of)
    kept.write_bytes(whole)
    outcome = run(installation, main, as_of=AS_OF, rules_of=ClusterRules(installation, Refusal(Engine())).of)

    assert (outcome.is_new, published(installation)[0]) == (True, [outcome.run_id])


def test_another_program_is_refused_before_its_input_is_read() -> None:
    """What is packed may not even be readable for it."""
    with pytest.raises(OtherProgramError, match=r"^a worker runs another version: install the same one"):
        judge_packed("0" * 32, b"not packed")


def test_a_cluster_elsewhere_needs_certificates(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond this machine nothing goes unencrypted: the line names what Dask must be given."""
    elsewhere = settings.model_copy(update={"engine": Engine(cluster="10.0.0.5:8786")})
    with pytest.raises(ConfigError) as refusal:
        check_settings(elsewhere)

    assert str(refusal.value) == (
        "CUADRE_ENGINE: what goes to another machine must be encrypted: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT, DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY to the certificates"
    )
    check_settings(settings.model_copy(update={"engine": Engine(cluster="127.0.0.1:8786")}))
    monkeypatch.setattr(clusters, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match=r"CUADRE_ENGINE: Dask is not installed: pip install 'cuadre\[dask\]'"):
        check_settings(elsewhere)


def wait_for(place: Path) -> list[int]:
    """Return the ids of the processes at work in a folder, once there is one."""
    end_at = time.monotonic() + 180
    while not (found := [int(path.name.split()[-1]) for path in place.glob("at work *")]):
        assert time.monotonic() < end_at, "no worker began"
        time.sleep(0.02)
    return found
