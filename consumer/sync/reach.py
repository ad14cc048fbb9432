"""How far each stream reaches: gaps, what is behind and why, what drifted and what does not add up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time

import sqlalchemy as sa
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlmodel import Session, col, select

from consumer.facts.clock import day_start, format_duration, format_instant, local_date, utc_now
from consumer.facts.completeness import Percentiles, Way, percentiles
from consumer.facts.installation import Installation
from consumer.facts.patience import NoAnswerError, Patience
from consumer.facts.settings import Connection
from consumer.facts.tables.sync import Checkpoint, Drift, StreamFinding, Window, WindowState
from consumer.facts.tables.types import core_of
from consumer.sync.windows import unclosed_windows

_CHECKPOINT = core_of(Checkpoint)
_DRIFT = core_of(Drift)
_FINDING = core_of(StreamFinding)
_WINDOW = core_of(Window)

Late = tuple[str, Way, Percentiles]
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Standing:
    """How one stream of one connection stands at a moment; `reached` is None where no part of it is complete."""

    connection: str
    stream: str
    reached: datetime | None
    gaps: int
    drift_left: int
    drift_repaired: int
    findings: int


@dataclass(frozen=True, slots=True)
class Left:
    """How many differences of a stream the last comparison could not or was not asked to mend."""

    stream: str
    count: int


def drift_left(session: Session, connection: str) -> list[Left]:
    counted = _counts(session, _DRIFT, (_DRIFT.c.connection == connection) & _DRIFT.c.repaired_at.is_(None))
    return [Left(stream, count) for (_, stream), count in sorted(counted.items())]


def streams_read(session: Session, connection: str) -> set[str]:
    """Return the streams that were read to some end, or found not to be offered."""
    return set(session.execute(sa.select(_CHECKPOINT.c.stream).where(_CHECKPOINT.c.connection == connection)).scalars())


def look(session: Session) -> list[Standing]:
    """Measure every stream that was ever read; a handful of grouped counts for tables of any size."""
    gaps = _counts(session, _WINDOW, _WINDOW.c.state != WindowState.CLOSED)
    left = _counts(session, _DRIFT, _DRIFT.c.repaired_at.is_(None))
    repaired = _counts(session, _DRIFT, _DRIFT.c.repaired_at.is_not(None))
    findings = _counts(session, _FINDING, sa.true())
    asked = sa.select(_CHECKPOINT.c.connection, _CHECKPOINT.c.stream, _CHECKPOINT.c.complete_until)
    reached = {(row.connection, row.stream): row.complete_until for row in session.execute(asked)}
    return [
        Standing(*key, reached.get(key), gaps.get(key, 0), left.get(key, 0), repaired.get(key, 0), findings.get(key, 0))
        for key in sorted({*reached, *gaps, *left, *repaired, *findings})
    ]


def _counts(session: Session, table: sa.Table, condition: sa.ColumnElement[bool]) -> dict[tuple[str, str], int]:
    keys = table.c.connection, table.c.stream
    asked = sa.select(*keys, sa.func.count()).where(condition).group_by(*keys)
    return {(connection, stream): count for connection, stream, count in session.execute(asked)}


class MirrorGauges(Collector):
    """Gauges read from the database when they are asked for, so that any number of processes agrees."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self._patience = Patience[tuple[list[Standing], list[Late]]]()

    def describe(self) -> Iterator[Metric]:
        yield from ()

    def collect(self) -> Iterator[Metric]:
        try:
            found, late = self._patience.ask(self._look)
        except NoAnswerError:
            found, late = [], []
        now = utc_now()
        reached = {one: (now - one.reached).total_seconds() for one in found if one.reached is not None}
        yield _gauge("stream_behind_seconds", "Age of the moment up to which a stream is complete.", reached)
        yield _gauge("stream_gaps", "Windows of a stream that are not closed.", {one: one.gaps for one in found})
        text = "Differences from the provider that the last comparison left."
        yield _gauge("drift_left", text, {one: one.drift_left for one in found})
        text = "Differences from the provider that the last comparison mended."
        yield _gauge("drift_repaired", text, {one: one.drift_repaired for one in found})
        text = "What the last pull of a stream brought whole and found not to add up."
        yield _gauge("stream_findings", text, {one: one.findings for one in found})
        yield _lateness(late)

    def _look(self) -> tuple[list[Standing], list[Late]]:
        """Without its database the process still has counters to show."""
        now = utc_now()
        names = [connection.name for connection in self.installation.settings.all_connections]
        try:
            with self.installation.store.reading() as session:
                measured = [(name, way, percentiles(session, name, way, now=now)) for name in names for way in Way]
                return look(session), [(name, way, found) for name, way, found in measured if found is not None]
        except sa.exc.SQLAlchemyError:
            return [], []


def _lateness(late: list[Late]) -> GaugeMetricFamily:
    text = "How late the events of the last month came, by webhook or in the list."
    gauge = GaugeMetricFamily("cuadre_lateness_seconds", text, labels=["connection", "way", "quantile"])
    for name, way, found in late:
        for quantile, value in (("0.5", found.p50), ("0.95", found.p95), ("0.99", found.p99), ("0.999", found.p999)):
            gauge.add_metric([name, way.value, quantile], value)
    return gauge


def _gauge(name: str, text: str, values: dict[Standing, int] | dict[Standing, float]) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(f"cuadre_{name}", text, labels=["connection", "stream"])
    for one, value in values.items():
        gauge.add_metric([one.connection, one.stream], value)
    return gauge


@dataclass(frozen=True, slots=True)
class Short:
    """Streams that end before the running day for one and the same reason; `reached` is how far the freshest is."""

    streams: tuple[str, ...]
    reached: datetime
    sentence: str

    def __str__(self) -> str:
        named = self.streams[0] if len(self.streams) == 1 else f"{len(self.streams)} streams"
        reach = "reaches" if len(self.streams) == 1 else "reach"
        return f"{named} {reach} no further than {format_instant(self.reached)}: {self.sentence}{self._some()}"

    def _some(self) -> str:
        if len(self.streams) == 1:
            return ""
        more = len(self.streams) - MOST_NAMED
        return f" ({' '.join(self.streams[:MOST_NAMED])}{f' and {more} more' if more > 0 else ''})"


def short_of_today(session: Session, connection: Connection, *, now: datetime) -> list[Short]:
    """Return the streams that end before the running day, those read today and those not read today apart."""
    zone = connection.country.zone
    begins = min(day_start(local_date(now, zone), zone), datetime.combine(now.date(), time(), tzinfo=UTC))
    mine = (col(Checkpoint.connection) == connection.name) & col(Checkpoint.complete_until).is_not(None)
    behind = mine & (col(Checkpoint.complete_until) < begins)
    open_ones = {window.stream for window in unclosed_windows(session, connection.name)}
    known = session.exec(select(Checkpoint).where(behind).order_by(col(Checkpoint.stream)))
    # Streams with an open window are listed as gaps.
    found = [one for one in known if one.stream not in open_ones]
    read = [one for one in found if one.pulled_at >= begins]
    left = [one for one in found if one.pulled_at < begins]
    return [short for short in (_behind_the_clock(read), _not_read(left)) if short is not None]


def _behind_the_clock(read: Sequence[Checkpoint]) -> Short | None:
    if not read:
        return None
    lags = [one.pulled_at - one.complete_until for one in read if one.complete_until is not None]
    sentence = f"read today, but the provider's clock stood {format_duration(min(lags))} behind this machine's"
    return Short(_names(read), _farthest(read), sentence)


def _not_read(left: Sequence[Checkpoint]) -> Short | None:
    if not left:
        return None
    last = format_instant(max(one.pulled_at for one in left).replace(microsecond=0))
    return Short(_names(left), _farthest(left), f"last read {last}: cuadre backfill and cuadre pull all")


def _names(some: Sequence[Checkpoint]) -> tuple[str, ...]:
    return tuple(one.stream for one in some)


def _farthest(some: Sequence[Checkpoint]) -> datetime:
    return max(one.complete_until for one in some if one.complete_until is not None)
