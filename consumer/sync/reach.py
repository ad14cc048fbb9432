"""Which streams do not reach the running day although nothing asked of them is open, and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time

from sqlmodel import Session, col, select

from consumer.facts.clock import day_start, format_duration, format_instant, local_date
from consumer.facts.settings import Connection
from consumer.facts.tables.sync import Checkpoint
from consumer.sync.windows import unclosed_windows

MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Short:
    """Streams that end before the running day for one and the same reason; `reached` is how far the freshest is."""

    streams: tuple[str, ...]
    reached: datetime
    told: str

    def __str__(self) -> str:
        named = self.streams[0] if len(self.streams) == 1 else f"{len(self.streams)} streams"
        reach = "reaches" if len(self.streams) == 1 else "reach"
        return f"{named} {reach} no further than {format_instant(self.reached)}: {self.told}{self._some()}"

    def _some(self) -> str:
        if len(self.streams) == 1:
            return ""
        more = len(self.streams) - MOST_NAMED
        return f" ({' '.join(self.streams[:MOST_NAMED])}{f' and {more} more' if more > 0 else ''})"


def short_of_today(session: Session, connection: Connection, *, now: datetime) -> list[Short]:
    """Tell streams that were read today, by a provider whose clock stands behind, from those nobody read today."""
    zone = connection.country.zone
    begins = min(day_start(local_date(now, zone), zone), datetime.combine(now.date(), time(), tzinfo=UTC))
    mine = (col(Checkpoint.connection) == connection.name) & col(Checkpoint.complete_until).is_not(None)
    behind = mine & (col(Checkpoint.complete_until) < begins)
    open_ones = {window.stream for window in unclosed_windows(session, connection.name)}
    known = session.exec(select(Checkpoint).where(behind).order_by(col(Checkpoint.stream)))
    # What a gap holds back is told by the gap.
    found = [one for one in known if one.stream not in open_ones]
    read = [one for one in found if one.pulled_at >= begins]
    left = [one for one in found if one.pulled_at < begins]
    return [short for short in (_behind_the_clock(read), _not_read(left)) if short is not None]


def _behind_the_clock(read: Sequence[Checkpoint]) -> Short | None:
    if not read:
        return None
    lags = [one.pulled_at - one.complete_until for one in read if one.complete_until is not None]
    told = f"read today, but the provider's clock stood {format_duration(min(lags))} behind this machine's"
    return Short(_names(read), _farthest(read), told)


def _not_read(left: Sequence[Checkpoint]) -> Short | None:
    if not left:
        return None
    last = format_instant(max(one.pulled_at for one in left).replace(microsecond=0))
    return Short(_names(left), _farthest(left), f"last read {last}: cuadre backfill and cuadre pull all")


def _names(some: Sequence[Checkpoint]) -> tuple[str, ...]:
    return tuple(one.stream for one in some)


def _farthest(some: Sequence[Checkpoint]) -> datetime:
    return max(one.complete_until for one in some if one.complete_until is not None)
