"""How old the newest backup and the newest proof are: for the doctor, the alarms and the metrics."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec
import sqlalchemy as sa
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlmodel import Session

from consumer.backup.certificates import Certificate, Standing, read_standing
from consumer.facts.clock import format_duration, format_instant, utc_now
from consumer.facts.installation import Installation
from consumer.facts.patience import NoAnswerError, Patience
from consumer.health.disk import Check, Verdict

# A night each day and the time one takes; a drill each week where none is nightly.
MOST_AGE, MOST_UNPROVEN = timedelta(hours=26), timedelta(days=8)
BACKUP, PROOF = "backup", "backup:drill"


def check_backups(session: Session, *, is_nightly: bool, now: datetime) -> Iterator[Check]:
    """Yield how old the newest backup is, and what the last drill said."""
    standing = read_standing(session)
    again = (
        "cuadre jobs shows why the nightly one did not run" if is_nightly else "set CUADRE_BACKUP_DIR for nightly ones"
    )
    if standing.backup is None:
        yield Check("", BACKUP, Verdict.WARNING, "none was made yet", f"cuadre backup makes one; {again}")
        return
    yield _check_age(BACKUP, "the newest is of", standing.backup.made_at, again, most=MOST_AGE, now=now)
    drill, proven = standing.drill, standing.proven
    if drill is not None and not drill.is_proven:
        certificate = msgspec.json.decode(drill.content, type=Certificate)
        failed = "; ".join(f"{one.name}: {one.found}" for one in certificate.proofs if not one.is_good)
        advice = "cuadre backup makes another, cuadre backup drill tries it; docs/operate.md says how"
        yield Check("", PROOF, Verdict.FAILURE, f"failed on {format_instant(drill.drilled_at)}: {failed}", advice)
    elif proven is None:
        found, advice = "no backup was ever restored to try it", "cuadre backup drill"
        yield Check("", PROOF, Verdict.WARNING, found, advice)
    else:
        yield _check_age(PROOF, "last proven", proven.drilled_at, "cuadre backup drill", most=MOST_UNPROVEN, now=now)


def _check_age(name: str, words: str, at: datetime, advice: str, *, most: timedelta, now: datetime) -> Check:
    found = f"{words} {format_instant(at)}, {format_duration(now - at)} ago"
    return Check("", name, Verdict.WARNING, found, advice) if now - at > most else Check("", name, Verdict.OK, found)


class BackupGauges(Collector):
    """Ages of the newest backup and of the newest proof, read when asked; absent where there is none."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._patience = Patience[Standing]()

    def describe(self) -> Iterator[Metric]:
        yield from ()

    def collect(self) -> Iterator[Metric]:
        try:
            standing = self._patience.ask(self._read)
        except (NoAnswerError, sa.exc.SQLAlchemyError):
            return
        now = utc_now()
        made_at = None if standing.backup is None else standing.backup.made_at
        proven_at = None if standing.proven is None else standing.proven.drilled_at
        yield _to_gauge("age", "Age of the newest backup.", made_at, now)
        yield _to_gauge("proof_age", "Time since a drill last proved a backup.", proven_at, now)

    def _read(self) -> Standing:
        with self._installation.store.reading() as session:
            return read_standing(session)


def _to_gauge(name: str, text: str, at: datetime | None, now: datetime) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(f"cuadre_backup_{name}_seconds", text)
    if at is not None:
        gauge.add_metric([], (now - at).total_seconds())
    return gauge
