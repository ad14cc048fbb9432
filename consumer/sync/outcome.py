"""How a run of reading ended, stream by stream, and the exit status a script can rely on."""

from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum

from consumer.facts.terminal import Exit


class StreamState(StrEnum):
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class StreamResult:
    """What was read of one stream; a stream that was skipped needs something the settings do not hold."""

    connection: str
    stream: str
    state: StreamState
    pages: int = 0
    read: int = 0
    changed: int = 0
    reason: str | None = None

    @property
    def unread_for(self) -> str | None:
        """Why nothing of the stream was read although it was asked for."""
        return self.reason if self.state is StreamState.INCOMPLETE and not self.pages else None

    @property
    def line(self) -> str:
        counts = f"{self.read} read, {self.changed} new or changed, {self.pages} pages"
        told = self.reason if self.state is StreamState.SKIPPED else f"{self.state}, {counts}"
        more = f": {self.reason}" if self.reason and self.state is not StreamState.SKIPPED else ""
        return f"{self.connection}: {self.stream}: {told}{more}"


RESULT_KEYS = ("connection", "stream", "state", "pages", "read", "changed", "reason")


@dataclass(slots=True)
class Outcome:
    """`started` is false where the provider gave nothing at all: unreachable, or the key refused at once."""

    results: list[StreamResult] = field(default_factory=list)
    started: bool = True

    @property
    def complete(self) -> bool:
        return all(result.state is not StreamState.INCOMPLETE for result in self.results)

    @property
    def lines(self) -> list[str]:
        """A line for each stream; streams that were not read for one and the same reason share theirs."""
        unread: dict[str, list[StreamResult]] = defaultdict(list)
        for result in self.results:
            if result.unread_for is not None:
                unread[result.unread_for].append(result)
        shared = {reason: some for reason, some in unread.items() if len(some) > 1}
        lines = [result.line for result in self.results if result.unread_for not in shared]
        for reason, some in shared.items():
            names = " ".join(result.stream for result in some)
            lines.append(f"{some[0].connection}: {len(some)} streams {reason}: {names}")
        return lines

    @property
    def pages(self) -> int:
        return sum(result.pages for result in self.results)

    @property
    def status(self) -> Exit:
        if self.complete:
            return Exit.DONE
        return Exit.PARTLY_DONE if self.started else Exit.NOTHING_DONE
