"""Lists of the provider read into facts: everything at first, later from where the stream was complete."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from consumer.config import Connection
from consumer.facts.house import House
from consumer.provider.client import Provider, Transport, open_provider
from consumer.provider.errors import KeyRefused, ProviderError, Unreachable
from consumer.sync.outcome import Outcome, StreamResult, StreamState
from consumer.sync.reading import NotOffered, Reading
from consumer.sync.streams import STREAMS
from consumer.sync.streams.stream import Stream

__all__ = ["STREAMS", "pull", "read_streams"]


def pull(
    house: House,
    connection: Connection,
    streams: Sequence[str],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    transport: Transport | None = None,
) -> Outcome:
    """Fetch and keep the named streams of one connection."""
    with open_provider(house, connection, transport=transport) as provider:
        return read_streams(house, provider, [STREAMS[name] for name in streams], since=since, until=until)


def read_streams(
    house: House,
    provider: Provider,
    streams: Iterable[Stream],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Outcome:
    """Read one stream after the other; a stream that fails leaves its window in the ledger and the next one goes on.

    A provider that cannot be reached before anything was read, and a key that is refused, end the run.
    """
    results: list[StreamResult] = []
    over: str | None = None
    for stream in streams:
        reading = Reading(house, provider, stream, since=since, until=until)
        if stream.by_link and not provider.connection.link_tokens:
            reason = "skipped, it needs a link token (CUADRE_LINK_TOKENS)"
            results.append(StreamResult(provider.connection.name, stream.name, StreamState.SKIPPED, reason=reason))
            continue
        try:
            if over is not None:
                reading.record_unread(over)
            else:
                reading.run()
            results.append(_to_result(reading, over))
        except NotOffered as error:
            reason = f"skipped, the organisation has no access to this product: {error}"
            results.append(StreamResult(provider.connection.name, stream.name, StreamState.SKIPPED, reason=reason))
        except ProviderError as error:
            results.append(_to_result(reading, str(error)))
            is_first = not any(result.pages for result in results)
            if isinstance(error, KeyRefused) or (isinstance(error, Unreachable) and is_first):
                over = f"not read, since {error}"
    outcome = Outcome(results)
    outcome.started = outcome.pages > 0
    return outcome


def _to_result(reading: Reading, failure: str | None) -> StreamResult:
    return StreamResult(
        reading.connection,
        reading.stream.name,
        StreamState.COMPLETE if failure is None else StreamState.INCOMPLETE,
        pages=reading.pages,
        read=reading.objects,
        changed=reading.changed,
        reason=failure,
    )
