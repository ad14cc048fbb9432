"""How a run of reading ended, stream by stream, and the exit status a script can rely on."""

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
        return [result.line for result in self.results]

    @property
    def pages(self) -> int:
        return sum(result.pages for result in self.results)

    @property
    def status(self) -> Exit:
        if self.complete:
            return Exit.DONE
        return Exit.PARTLY_DONE if self.started else Exit.NOTHING_DONE
