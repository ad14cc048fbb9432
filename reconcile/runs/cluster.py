"""Judging elsewhere: a Dask cluster is given the inputs of a run and returns its result, and no more.

Its workers need neither the database nor a secret nor a file of ours. What the cluster cannot do is done here.
"""

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from datetime import timedelta
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import pyarrow as pa
import structlog

import reconcile
from consumer import facts
from consumer.facts.durable import write_durably
from consumer.facts.engines import Engine
from consumer.facts.installation import Installation
from consumer.facts.settings import PREFIX, ConfigError, Settings
from reconcile.kept.snapshots import digest_of_code
from reconcile.rules.inputs import Inputs, Result
from reconcile.rules.pipeline import reconcile as judge
from reconcile.rules.terms import check_terms

if TYPE_CHECKING:
    from distributed import Client

log = structlog.get_logger("cuadre.runs")

# Of Dask's own configuration; the environment names them DASK_DISTRIBUTED__COMM__TLS__CA_FILE and so on.
_TLS = "distributed.comm.tls"
_CERTIFICATES = ("ca-file", "client.cert", "client.key")
_ANSWERS_WITHIN = timedelta(seconds=20)
# Longer than any run takes: a cluster that hangs is not waited for.
_JUDGES_WITHIN = timedelta(hours=2)
# Libraries whose versions may change what the rules say.
_LIBRARIES = ("numpy", "pandas", "pyarrow", "scipy", "msgspec", "holidays")
_DIGEST_BYTES = 32
# Results wait here for their publication.
JUDGED = "judged"
Rules = Callable[[Inputs], Result]
# What a task may be: the program it is for, and its input, packed.
Work = Callable[[str, bytes], bytes]


class OtherProgramError(Exception):
    """A worker that runs another version of the program, or of a library that the rules stand on."""


class Answer(NamedTuple):
    """What came of one input: its result, or why there is none."""

    name: str
    packed: bytes | None
    problem: str = ""


def check_settings(settings: Settings) -> None:
    """Raise an error for terms or an engine that cannot be used: no library for it, or no encryption on its way."""
    check_terms(settings)
    if settings.engine.cluster is None:
        return
    if find_spec("distributed") is None:
        raise ConfigError(f"{PREFIX}ENGINE: Dask is not installed: pip install 'cuadre[dask]'")
    missing = _list_missing_certificates()
    if settings.engine.is_elsewhere and missing:
        names = ", ".join(f"DASK_{name.upper().replace('-', '_').replace('.', '__')}" for name in missing)
        raise ConfigError(
            f"{PREFIX}ENGINE: what goes to another machine must be encrypted: set {names} to the certificates"
        )


def _list_missing_certificates() -> list[str]:
    import dask  # noqa: PLC0415 - an extra

    return [name for part in _CERTIFICATES if not dask.config.get(name := f"{_TLS}.{part}", None)]


class Cluster:
    """A Dask cluster that maps a pure function over packed inputs, each named by its content."""

    def __init__(
        self, engine: Engine, *, answers_within: timedelta = _ANSWERS_WITHIN, judges_within: timedelta = _JUDGES_WITHIN
    ) -> None:
        self._engine, self._within, self._judges_within = engine, answers_within, judges_within

    def map(self, work: Work, inputs: Mapping[str, bytes]) -> Iterator[Answer]:
        """Yield what came of each input, in their order; an input without an answer has a problem instead.

        When a worker dies its inputs go to another one.
        """
        left = dict(inputs)
        try:
            with self._connect() as client:
                for answer in _work_out(client, work, inputs, self._judges_within):
                    del left[answer.name]
                    yield answer
        except (OSError, TimeoutError, CancelledError) as error:
            why = f"the cluster does not answer ({_shorten(error)})"
            yield from (Answer(name, None, why) for name in left)

    def _connect(self) -> "Client":
        import dask  # noqa: PLC0415 - an extra
        from distributed import Client  # noqa: PLC0415 - an extra
        from distributed.security import Security  # noqa: PLC0415 - an extra

        is_encrypted = self._engine.is_elsewhere or not _list_missing_certificates()
        # Inputs lie with the scheduler, so that a worker's death loses none; it warns of large ones otherwise.
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"})
        seconds = self._within.total_seconds()
        try:
            client = Client(
                f"{'tls' if is_encrypted else 'tcp'}://{self._engine.cluster}",
                timeout=seconds,
                security=Security(require_encryption=True) if is_encrypted else None,
                set_as_default=False,
            )
        except ValueError as error:
            # The other end spoke before the line was encrypted.
            raise ConnectionError("it speaks without TLS") from error
        try:
            client.wait_for_workers(1, timeout=seconds)
        except BaseException:
            client.close()
            raise
        return client


def _work_out(client: "Client", work: Work, inputs: Mapping[str, bytes], within: timedelta) -> Iterator[Answer]:
    program = name_program()
    # A key that another client has just let go of may never be worked on again: each question has keys of its own.
    futures = {
        name: client.submit(work, program, packed, key=f"cuadre-{program}-{name}-{uuid4()}")
        for name, packed in inputs.items()
    }
    for name, future in futures.items():
        error = future.exception(timeout=within.total_seconds())
        yield Answer(name, future.result()) if error is None else Answer(name, None, _explain_failure(error))


def _explain_failure(error: BaseException) -> str:
    return str(error) if isinstance(error, OtherProgramError) else f"no worker finished it ({_shorten(error)})"


def _shorten(error: BaseException) -> str:
    """Return the kind of an error and its first line."""
    first_line = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {first_line}".removesuffix(": ")


class ClusterRules:
    """The rules as a cluster applies them, for the run of one night; `lines` says what was done here instead.

    A result is on the disk from its arrival until its run is published: a night that is killed between asks for nothing
    again.
    """

    def __init__(self, installation: Installation, cluster: Cluster | None = None) -> None:
        self.lines: list[str] = []
        self._folder = installation.settings.files_dir / JUDGED
        self._cluster = cluster or Cluster(installation.settings.engine)
        self._kept: list[Path] = []

    def of(self, run_id: str) -> Rules:
        """Return the rules for the inputs that this id names."""
        return lambda inputs: self._judge(run_id, inputs)

    def forget(self) -> None:
        """Remove the results whose runs are published."""
        for path in self._kept:
            path.unlink(missing_ok=True)

    def _judge(self, run_id: str, inputs: Inputs) -> Result:
        path = self._folder / f"{run_id}-{name_program()}"
        self._kept.append(path)
        with suppress(FileNotFoundError, ValueError):
            return to_result(path.read_bytes())
        (answer,) = self._cluster.map(judge_packed, {run_id: pack(inputs)})
        if answer.packed is not None:
            with write_durably(path) as file:
                file.write(answer.packed)
            return to_result(answer.packed)
        self.lines.append(f"judged on this machine: {answer.problem}")
        log.warning("judged on this machine", connection=inputs.connection, why=answer.problem)
        return judge(inputs)


@cache
def name_program() -> str:
    """Return the digest of everything a result depends on besides its inputs: the code and the libraries below it."""
    rooms = [Path(room.__path__[0]) for room in (facts, reconcile)]
    libraries = [f"{name} {version(name)}" for name in _LIBRARIES]
    parts = [digest_of_code(*rooms), f"python {sys.version_info[:2]}", *libraries]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:_DIGEST_BYTES]


def judge_packed(program: str, packed: bytes) -> bytes:
    """Return the packed result of packed inputs: what a worker does. Raise OtherProgramError before it reads them."""
    if program != name_program():
        raise OtherProgramError("a worker runs another version: install the same one on every machine")
    inputs = _unpack(packed)
    assert isinstance(inputs, Inputs)
    return pack(judge(inputs))


def to_result(packed: bytes) -> Result:
    """Return the result that was packed; raise ValueError if its bytes were changed."""
    result = _unpack(packed)
    assert isinstance(result, Result)
    return result


def pack(content: Inputs | Result) -> bytes:
    """Return inputs or a result as bytes that name themselves: their digest, their length, and they compressed."""
    plain = pickle.dumps(content, protocol=5)
    squeezed: bytes = pa.Codec("zstd").compress(plain, asbytes=True)
    body = len(plain).to_bytes(8, "big") + squeezed
    return hashlib.sha256(body).digest() + body


def _unpack(packed: bytes) -> Inputs | Result:
    digest, body = packed[:_DIGEST_BYTES], packed[_DIGEST_BYTES:]
    if hashlib.sha256(body).digest() != digest:
        raise ValueError("packed bytes were changed")
    plain = pa.Codec("zstd").decompress(body[8:], int.from_bytes(body[:8], "big"), asbytes=True)
    content: Inputs | Result = pickle.loads(plain)  # noqa: S301 - of the same program, over an encrypted line or of this disk
    return content
