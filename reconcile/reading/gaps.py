"""Is what we hold complete up to the as-of day: one row per stream the run reads that is not, with its reason; pure.

`reconcile.rules.streams` lists them. Six are needed: never read, they are a gap. The others are a gap once they were
asked for: a merchant without business accounts has none to read. A stream is complete when no part asked of it has
failed and it reaches the as-of day. A part that is being read again takes nothing away: what was complete stays so.

- a day that is over at the provider must be reached to its end. It is over when some stream has passed it, or when the
  provider's clock has: our clock, less how far the freshest stream stood behind it when it was read;
- the running day must be reached at all: data pulled on that day, however early, is today's data. The day begins at
  local or UTC midnight, whichever is first, since a job may name its day by either.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from pandas import DataFrame

from consumer.facts.clock import day_start, format_instant
from consumer.facts.messages import Message, Value
from reconcile.rules.inputs import GAPS, empty_frame, to_types
from reconcile.rules.streams import ITEMS_STREAM, NEEDED, STREAMS

_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Asked:
    """A window of a stream that is not closed."""

    stream: str
    since: datetime | None
    until: datetime
    reason: str | None


@dataclass(frozen=True, slots=True)
class Listed:
    """How many items of one payout and type were announced, None if the provider did not say, and how many kept."""

    payout_id: str
    created_at: datetime | None
    announced: int | None
    kept: int | None


def clock_of_provider(read: Iterable[tuple[datetime | None, datetime]], *, now: datetime) -> datetime | None:
    """Estimate the provider's clock from how far each stream reached and when, by our clock, it was read.

    A sandbox stands weeks from us and a real provider seconds; a stream that was asked only for the past stands
    further behind than the clock does, so the freshest one counts.
    """
    behind = [read_at - reached for reached, read_at in read if reached is not None]
    return now - min(behind) if behind else None


def find_gaps(  # noqa: PLR0913 - all it judges by is given, so that it stays pure
    as_of: date,
    zone: str,
    *,
    reached: Mapping[str, datetime | None],
    asked: Sequence[Asked],
    listed: Iterable[Listed],
    settle: timedelta,
    unreadable: Iterable[tuple[str, str]] = (),
    provider_now: datetime | None = None,
    left_out: Collection[str] = (),
) -> DataFrame:
    """Build the frame of gaps; `reached` says of each stream that was ever read how far it is complete.

    Streams `left_out` are no gaps: the provider never offered them, or no link token is set.
    """
    ends = day_start(as_of + timedelta(days=1), zone)
    begins = min(day_start(as_of, zone), datetime.combine(as_of, time(), tzinfo=UTC))
    known = [moment for moment in reached.values() if moment is not None]
    is_over = any(moment + settle >= ends for moment in (*known, *([provider_now] if provider_now else [])))
    needed = ends - settle if is_over else begins - settle
    rows = []
    for stream in (name for name in STREAMS if name not in left_out):
        short = _short_reach(stream, reached, needed, ends)
        row = _open_window(stream, asked, ends, is_short=short is not None) or short
        rows += [row] if row else []
    rows += _items(listed)
    rows += [(ITEMS_STREAM, None, ends, reason, payout_id) for payout_id, reason in sorted(unreadable)]
    return to_types(DataFrame(rows, columns=list(GAPS)), GAPS) if rows else empty_frame(GAPS)


def is_ahead_of_data(gaps: DataFrame) -> bool:
    """Return True if no needed stream reaches the as-of day, but some were read: a look ahead, or no pull."""
    streams = gaps[gaps["stream"].isin(NEEDED)]
    return set(NEEDED) <= set(streams["stream"]) and bool(streams["since"].notna().any())


Row = tuple[str, datetime | None, datetime | None, str, str | None]


def _open_window(stream: str, asked: Sequence[Asked], ends: datetime, *, is_short: bool) -> Row | None:
    mine = [window for window in asked if window.stream == stream and (window.since is None or window.since < ends)]
    mine = [window for window in mine if window.reason or is_short]
    if not mine:
        return None
    first = min(mine, key=lambda window: (window.since or datetime.min.replace(tzinfo=UTC), window.until))
    reasons = sorted({window.reason or Message("note.not_read_to_end").code for window in mine})
    return stream, first.since, max(window.until for window in mine), "\n".join(reasons), None


def _short_reach(stream: str, reached: Mapping[str, datetime | None], needed: datetime, ends: datetime) -> Row | None:
    if stream not in reached:
        never = (stream, None, ends, Message("note.never_read").code, None)
        return never if STREAMS[stream].is_needed else None
    until = reached[stream]
    if until is None:
        return stream, None, ends, Message("note.not_complete").code, None
    if until >= needed:
        return None
    return stream, until, ends, Message("note.read_up_to", {"until": format_instant(until)}).to_text(), None


def _items(listed: Iterable[Listed]) -> list[Row]:
    """Return one row per payout whose list of items is short, spanning the payout's own moment."""
    rows: list[Row] = []
    for row in sorted(listed, key=lambda row: row.payout_id):
        if row.kept is not None and row.announced in {None, row.kept}:
            continue
        reason = Message("note.items_never_listed", {"payout": row.payout_id})
        if row.kept is not None and row.announced is not None:
            counts: dict[str, Value] = {"payout": row.payout_id, "announced": row.announced, "kept": row.kept}
            reason = Message("note.items_short", counts)
        until = None if row.created_at is None else row.created_at + _MOMENT
        rows.append((ITEMS_STREAM, row.created_at, until, reason.to_text(), row.payout_id))
    return rows
