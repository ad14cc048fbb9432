"""Alarms: what the doctor would warn of, said in the log once when it begins and once when it ends."""

import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

import sqlalchemy as sa
import structlog
from sqlmodel import Session

from consumer import disk
from consumer.checks import Check, Verdict
from consumer.doctor import ENDPOINT, check_inbox
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.inbox.watch import endpoint_trouble
from consumer.jobs.worker import keep_at

EVERY_SECONDS = 60.0

log = structlog.get_logger("cuadre.alarms")


class Alarms:
    """Remembers what it has said, so a state is one line however long it lasts; a restart says it once more."""

    def __init__(self, installation: Installation, *, now: Callable[[], datetime] = utc_now) -> None:
        self._installation = installation
        self._now = now
        self._raised: set[tuple[str, str]] = set()

    def look(self) -> None:
        """Compare what is with what was said; a database that is away is the worker's to report."""
        # A damaged file may answer no question any more.
        for check in disk.check_disk(self._installation.store):
            self._say(check)
        try:
            self._say(disk.check_database(self._installation.store))
            with self._installation.store.reading() as session:
                found = [
                    check
                    for connection in self._installation.settings.all_connections
                    for check in self._checks(session, connection.name)
                ]
        except sa.exc.SQLAlchemyError:
            return
        for check in found:
            self._say(check)

    def _checks(self, session: Session, name: str) -> Iterator[Check]:
        yield from check_inbox(session, name, now=self._now())
        trouble = endpoint_trouble(session, name)
        if trouble is None:
            yield Check(name, ENDPOINT, Verdict.OK, "the last look found nothing wrong")
        else:
            yield Check(name, ENDPOINT, Verdict.WARNING, trouble, "cuadre doctor looks again")

    def _say(self, check: Check) -> None:
        name = (check.connection, check.check)
        if check.verdict is not Verdict.OK and name not in self._raised:
            self._raised.add(name)
            log.warning("alarm", connection=check.connection, check=check.check, found=check.found, advice=check.advice)
        elif check.verdict is Verdict.OK and name in self._raised:
            self._raised.discard(name)
            log.info("alarm over", connection=check.connection, check=check.check, found=check.found)


def start(installation: Installation, *, until: threading.Event) -> None:
    """Look every minute, from a thread of the process that works; where several work, each says what it sees."""
    alarms = Alarms(installation)

    def look() -> float:
        alarms.look()
        return EVERY_SECONDS

    watch = partial(keep_at, look, until=until, pause=EVERY_SECONDS)
    threading.Thread(target=watch, name="alarms", daemon=True).start()
