"""The demo: a month of trade played against a real receiver, then compared with the truth the sandbox knows."""

import contextlib
import fcntl
import json
import socket
import subprocess
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

import click
import httpx

from sandbox.engine.world import TEST
from sandbox.remote import TEST_KEY, Steer
from sandbox.scenarios.calendar import ZONES
from sandbox.serve import RunningSandbox
from sandbox.state.events import TYPES
from sandbox.state.store import Object

READY_SECONDS = 60
DAYS = 31
FAULTS = {"drop": 0.1, "duplicate": 0.05, "reorder": 0.1}
_COUNTRIES = {"cl": "Chile", "mx": "Mexico"}
_DAY_SECONDS = 24 * 60 * 60


class NotServedError(Exception):
    """The program did not come up; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Address:
    """A port of loopback where a program is to answer."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def check_free(self) -> None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                raise NotServedError(f"port {self.port} is taken; name another with --port")

    @contextlib.contextmanager
    def serve(
        self, command: Sequence[str], environ: Mapping[str, str], *, log: Path
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start the program and yield it once it says that it is ready; it is stopped when the block ends."""
        with log.open("ab") as file:
            process = subprocess.Popen(command, env=dict(environ), stdout=file, stderr=file)  # noqa: S603
        try:
            if not self._becomes_ready(process):
                raise NotServedError(f"the server did not start; {log} says why")
            yield process
        finally:
            process.terminate()
            process.wait()

    def _becomes_ready(self, process: subprocess.Popen[bytes]) -> bool:
        with httpx.Client(trust_env=False, timeout=5) as client:
            ends = time.monotonic() + READY_SECONDS
            while time.monotonic() < ends and process.poll() is None:
                with contextlib.suppress(httpx.TransportError):
                    if client.get(f"{self.url}/readyz").is_success:
                        return True
                time.sleep(0.05)
        return False


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep a folder to one demo at a time; the lock goes with its process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "demo.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            advice = "stop it first, or give this one another CUADRE_DATA_DIR and --port"
            raise NotServedError(f"a demo is running in {folder} already: {advice}") from None
        yield


def write_settings(path: Path, settings: Mapping[str, object]) -> None:
    """Write settings as TOML that only its owner can read, tables last as the format wants.

    Raise NotServedError if they are another country's than those that stand there: its trade would mix with this one.
    """
    earlier = tomllib.loads(path.read_text(encoding="utf-8"))["country"] if path.is_file() else settings.get("country")
    if earlier != settings.get("country"):
        held, wanted = (_COUNTRIES[str(code)] for code in (earlier, settings["country"]))
        raise NotServedError(
            f"{path.parent} holds a demo of {held}: choose another CUADRE_DATA_DIR for one of {wanted}"
            " (with PostgreSQL another database too), or delete that folder"
        )
    plain = [f"{name} = {_to_toml(value)}" for name, value in settings.items() if not isinstance(value, Mapping)]
    tables = [
        "\n".join([f"\n[{name}]", *(f"{key} = {_to_toml(item)}" for key, item in value.items())])
        for name, value in settings.items()
        if isinstance(value, Mapping)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text("\n".join(["# Written by cuadre demo.", *plain, *tables]) + "\n", encoding="utf-8")


def _to_toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_to_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_to_toml, value)) + "]"
    # A JSON string or number is a TOML one too.
    return json.dumps(value)


@dataclass(frozen=True, slots=True)
class Findings:
    """What the merchant's side made of the month."""

    events_stored: int
    payouts: int
    payouts_closed: int
    payouts_no_bank: int
    exceptions: dict[str, int]
    run_id: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What the demo prints: what was sent and planted, what was kept and found."""

    events_sent: int
    events_stored: int
    webhooks_dropped: int
    payouts: int
    payouts_closed: int
    payouts_no_bank: int
    exceptions: dict[str, int]
    planted: dict[str, int]
    run_id: str

    def to_dict(self) -> Object:
        return asdict(self)

    def complaints(self) -> Iterator[str]:
        """Yield a sentence for each figure that does not agree."""
        if self.events_stored != self.events_sent:
            yield f"{self.events_sent} events happened and {self.events_stored} are stored"
        if self.payouts_closed != self.payouts:
            yield f"{self.payouts - self.payouts_closed} of {self.payouts} payouts hold pesos without a name"
        for code in sorted(self.planted.keys() | self.exceptions.keys()):
            found, wanted = self.exceptions.get(code, 0), self.planted.get(code, 0)
            if found != wanted:
                yield f"{code}: {wanted} planted, {found} found"


@dataclass(frozen=True, slots=True)
class Files:
    """What the merchant's own systems and its bank hand out at the end of the month."""

    invoices: bytes
    bank: bytes  # empty where the month is closed without a file of the bank
    bank_account: str


@dataclass(frozen=True, slots=True)
class Terms:
    """What a merchant needs to know of the provider before the first webhook."""

    provider_url: str
    key: str
    secret: str
    country: str
    tariff: Object

    def to_settings(self) -> Object:
        """Name the terms as the merchant's settings do."""
        return {
            "provider_url": self.provider_url,
            "api_key": self.key,
            "webhook_secrets": [self.secret],
            "country": self.country,
            "tariff": self.tariff,
        }


class Merchant(Protocol):
    """The merchant's side, however it is built."""

    webhook_url: str

    def open(self, terms: Terms) -> None:
        """Start to receive."""

    def catch_up(self) -> None:
        """Repair what webhooks lost and fetch what they do not carry."""

    def conclude(self, files: Files, today: datetime) -> Findings:
        """Take in the files and reconcile as of the provider's moment."""


def show(summary: Summary, *, as_json: bool) -> None:
    """Print the summary: one JSON object, or the two columns side by side for a person."""
    if as_json:
        click.echo(json.dumps(summary.to_dict()))
        return
    for words, value in (
        ("events at the provider, with those before it knew us", summary.events_sent),
        ("webhooks lost on purpose, one in ten of those sent to us", summary.webhooks_dropped),
        ("events stored in the end, each once", summary.events_stored),
        ("payouts", summary.payouts),
        ("payouts of which every peso has a name", summary.payouts_closed),
        ("payouts no bank data shows, and so not closed", summary.payouts_no_bank),
        ("run", summary.run_id),
    ):
        click.echo(f"{words:<52} {value}")
    click.echo(f"\n{'exception':<24} {'planted':>8} {'found':>8}")
    for code in sorted(summary.planted.keys() | summary.exceptions.keys()):
        click.echo(f"{code:<24} {summary.planted.get(code, 0):>8} {summary.exceptions.get(code, 0):>8}")


def play(
    running: RunningSandbox,
    merchant: Merchant,
    *,
    seed: int,
    tell: Callable[[str], None],
    watch: Callable[[str], None],
) -> Summary:
    """Play the demo; `tell` hears of each step, `watch` of each day of the month.

    1. The merchant learns the terms and opens its receiver; an endpoint is subscribed to every event.
    2. A month passes day by day; a tenth of the webhooks is dropped, some come twice or out of order.
    3. The merchant catches up from the event log and the lists, takes in its books and bank file and reconciles.
    4. What it found is returned with what was planted.
    """
    with Steer(running.url) as steer:
        endpoint = steer.create_endpoint(merchant.webhook_url, list(TYPES))
        country = running.world.scenario.country
        tell("starting the receiver, the worker and the pages")
        merchant.open(Terms(running.url, TEST_KEY, endpoint["secret"], country, steer.tariff()))
        for name, probability in FAULTS.items():
            steer.switch_on(name, probability, seed=seed)
        tell(f"{DAYS} days of trade: one webhook in ten is dropped, some come twice or out of order")
        for day in range(1, DAYS + 1):
            moment = steer.advance(_DAY_SECONDS)
            watch(f"day {day} of {DAYS}: the provider's clock says {moment}")
        steer.switch_off()
        tell("catching up: event log, then payouts and everything else")
        merchant.catch_up()
        tell("reconciling the month with the merchant's files")
        now = datetime.fromisoformat(moment).astimezone(ZONES[country])
        found = merchant.conclude(_files(running, steer), now)
        dropped = steer.summary().dropped_events
        planted = Counter(code for row in steer.truth() for code in row.exceptions)
    return Summary(
        events_sent=len(running.world.logs[TEST]),
        webhooks_dropped=dropped,
        planted=dict(sorted(planted.items())),
        **asdict(found),
    )


def _files(running: RunningSandbox, steer: Steer) -> Files:
    """Return the files; of a bank outside there is none, and its payouts show as not closed."""
    file = running.world.scenario.bank_file
    return Files(steer.invoices(), b"" if file is None else steer.bank(), "" if file is None else file.account)
