"""Lists of the provider read into facts: everything at first, later from where the stream was complete."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.provider.client import Provider, Transport, open_provider
from consumer.provider.errors import KeyRefused, ProviderError, Unreachable
from consumer.sync.offers import NotOffered
from consumer.sync.outcome import OnRead, Outcome, StreamResult, StreamState, read_quietly
from consumer.sync.reading import Reading
from consumer.sync.streams import STREAMS, Stream

__all__ = ["STREAMS", "pull", "read_streams"]


def pull(  # noqa: PLR0913 - what to read, from where, how far, and who watches
    installation: Installation,
    connection: Connection,
    streams: Sequence[str],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    transport: Transport | None = None,
    on_read: OnRead = read_quietly,
) -> Outcome:
    """Fetch and keep the named streams of one connection; `on_read` is told how far it is."""
    wanted = [STREAMS[name] for name in streams]
    with open_provider(installation, connection, transport=transport) as provider:
        return read_streams(installation, provider, wanted, since=since, until=until, on_read=on_read)


def read_streams(
    installation: Installation,
    provider: Provider,
    streams: Iterable[Stream],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    on_read: OnRead = read_quietly,
) -> Outcome:
    """Read one stream after the other; a stream that fails leaves its window in the ledger and the next one goes on.

    A key that is refused ends the run, and so does a provider that is away at the start or for two streams in a row.
    """
    results: list[StreamResult] = []
    over: str | None = None
    was_away = True  # nothing has been heard of the provider yet
    for stream in streams:
        reading = Reading(installation, provider, stream, since=since, until=until, on_read=on_read)
        if stream.by_link and not provider.connection.link_tokens:
            reason = "skipped, no link token is set (CUADRE_LINK_TOKENS)"
            results.append(StreamResult(provider.connection.name, stream.name, StreamState.SKIPPED, reason=reason))
            continue
        try:
            if over is not None:
                reading.record_unread(over)
            else:
                reading.run()
            results.append(_to_result(reading, over))
            was_away = False
        except NotOffered as error:
            was_away = False
            reason = f"skipped, {error.why}: {error}"
            results.append(StreamResult(provider.connection.name, stream.name, StreamState.SKIPPED, reason=reason))
        except ProviderError as error:
            results.append(_to_result(reading, str(error)))
            is_away = isinstance(error, Unreachable)
            if isinstance(error, KeyRefused):
                over = "not read: the key was refused"
            elif is_away and was_away and not reading.pages:
                over = "not read: no answer from the provider"
            was_away = is_away
    outcome = Outcome(results)
    outcome.started = outcome.pages > 0
    return outcome


def _to_result(reading: Reading, failure: str | None) -> StreamResult:
    found = "; ".join(finding.told for finding in reading.findings)
    return StreamResult(
        reading.connection,
        reading.stream.name,
        StreamState.COMPLETE if failure is None else StreamState.INCOMPLETE,
        pages=reading.pages,
        read=reading.objects,
        changed=reading.changed,
        reason=failure or found or None,
    )
