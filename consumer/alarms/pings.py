"""Pings of jobs, in the form of Healthchecks: a service elsewhere notices when none comes, which no alarm can."""

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime

import structlog
from pydantic import SecretStr

from consumer.alarms.outbound import NotSentError, post
from consumer.facts.settings import PREFIX, ConfigError, Settings
from consumer.facts.tables.jobs import TickState

log = structlog.get_logger("cuadre.alarms")

ALARMS = "alarms"
_OF_EACH = ("nightly", "banking-cut", "fiscal", "endpoint")
_OF_ALL = ("retention", "digest", "backup", ALARMS)
_START = "/start"
# The exit status that the same work has as a command.
_SUFFIXES = {TickState.COMPLETE: "", TickState.INCOMPLETE: "/3"}
_FAILED = "/1"


def check_pings(settings: Settings) -> None:
    """Raise ConfigError for an address of a job that there is not."""
    names = {setting_of(job) for job in _OF_ALL}
    names |= {setting_of(f"{job}:{connection.name}") for job in _OF_EACH for connection in settings.all_connections}
    for name in settings.ping_urls:
        if name not in names:
            known = ", ".join(sorted(one.upper() for one in names))
            raise ConfigError(f"{PREFIX}PING_URL_{name.upper()}: there is no such job; there are {known}")


def setting_of(job: str) -> str:
    """Return the end of a job's setting: `nightly:main` is `nightly`, `banking-cut:mexico` is `banking_cut_mexico`."""
    return job.removesuffix(":main").replace("-", "_").replace(":", "_")


class Pings:
    """Calls the address of a job, where it has one; what goes wrong is logged and hinders no job."""

    def __init__(
        self,
        urls: Mapping[str, SecretStr],
        *,
        send: Callable[[str, bytes, Mapping[str, str]], None] = post,
    ) -> None:
        self._urls = urls
        self._send = send

    def started(self, job: str, at: datetime) -> None:
        self._ping(job, at, _START)

    def ended(self, job: str, at: datetime, state: TickState) -> None:
        """Say how a job ended; called when its result is stored."""
        self._ping(job, at, _SUFFIXES.get(state, _FAILED))

    def _ping(self, job: str, at: datetime, suffix: str) -> None:
        url = self._urls.get(setting_of(job))
        if url is None:
            return
        # The same for start and end, also where another worker took the job over.
        run = uuid.uuid5(uuid.NAMESPACE_OID, f"{job} {at.isoformat()}")
        address, _, query = url.get_secret_value().partition("?")
        asked = f"{query}&rid={run}" if query else f"rid={run}"
        try:
            self._send(f"{address.rstrip('/')}{suffix}?{asked}", b"", {})
        except NotSentError as error:
            log.warning("ping not sent", job=job, why=str(error))
