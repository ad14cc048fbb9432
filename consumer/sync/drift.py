"""The mirror held against the provider: every object touched in the last days, stream by stream."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.provider.client import Provider, Transport, open_provider
from consumer.provider.errors import KeyRefused, ProviderError, Unreachable
from consumer.provider.routes import EVENTS
from consumer.sync.comparison import Difference
from consumer.sync.mirror import Mirror
from consumer.sync.offers import was_unoffered
from consumer.sync.outcome import Outcome, StreamResult, StreamState
from consumer.sync.progress import OnRead, read_quietly
from consumer.sync.streams import STREAMS, Stream


@dataclass(slots=True)
class DriftOutcome(Outcome):
    """What was found; `left` is what still differs after a repair, or all of it without one."""

    found: list[tuple[str, Difference]] = field(default_factory=list)
    left: int = 0


def drift(
    installation: Installation,
    connection: Connection,
    *,
    days: int = 7,
    repair: bool = False,
    transport: Transport | None = None,
    on_read: OnRead = read_quietly,
) -> DriftOutcome:
    """Compare every stream of one connection with the provider; with `repair`, mend what differs."""
    with open_provider(installation, connection, transport=transport) as provider:
        return compare_streams(installation, provider, STREAMS.values(), days=days, repair=repair, on_read=on_read)


def compare_streams(
    installation: Installation,
    provider: Provider,
    streams: Iterable[Stream],
    *,
    days: int,
    repair: bool,
    on_read: OnRead = read_quietly,
) -> DriftOutcome:
    """Compare one stream after the other; a stream whose list fails is incomplete and the next one goes on."""
    outcome = DriftOutcome(started=False)
    name = provider.connection.name
    try:
        now = min(utc_now(), provider.page(EVENTS, size=1).at or utc_now())
    except ProviderError as error:
        outcome.results.append(StreamResult(name, "drift", StreamState.INCOMPLETE, reason=str(error)))
        return outcome
    outcome.started = True
    for stream in streams:
        if stream.by_link and not provider.connection.link_tokens:
            continue
        mirror = Mirror(installation, provider, stream, since=now - timedelta(days=days), on_read=on_read)
        try:
            mirror.compare_all()
            failure = _mend(mirror) if repair else None
        except ProviderError as error:
            if was_unoffered(installation.store, name, stream.name, error):
                continue
            outcome.results.append(StreamResult(name, stream.name, StreamState.INCOMPLETE, reason=str(error)))
            if isinstance(error, (KeyRefused, Unreachable)):
                break
            continue
        # What was found stands, whatever ended its mending.
        mirror.record()
        outcome.left += mirror.left
        outcome.found += [(stream.name, difference) for difference in mirror.found]
        outcome.results.append(_to_result(name, mirror, failure, repair=repair))
        if isinstance(failure, (KeyRefused, Unreachable)):
            break
    return outcome


def _mend(mirror: Mirror) -> ProviderError | None:
    try:
        mirror.repair_all()
    except ProviderError as error:
        return error
    return None


def _to_result(name: str, mirror: Mirror, failure: ProviderError | None, *, repair: bool) -> StreamResult:
    left = mirror.left
    reasons = list(dict.fromkeys([*mirror.unusable, *([str(failure)] if failure else [])]))
    if left and repair:
        reasons.append("1 difference is left" if left == 1 else f"{left} differences are left")
    state = StreamState.INCOMPLETE if mirror.unusable or (repair and left) else StreamState.COMPLETE
    stream = mirror.stream.name
    return StreamResult(name, stream, state, mirror.pages, mirror.read, len(mirror.found), "; ".join(reasons) or None)
