"""What was read of each stream, as lines and rows for people, and who is told while it is read."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from consumer.facts.tables.sync import Window
from consumer.facts.work import Completion

# A window, how many windows there are, how many events were new.
OnPage = Callable[[Window, int, int], None]


# A stream, its pages and its objects so far.
OnRead = Callable[[str, int, int], None]


def say_nothing(_window: Window, _windows: int, _added: int) -> None:
    pass


def read_quietly(_stream: str, _pages: int, _objects: int) -> None:
    pass


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
    def shares(self) -> str | None:
        """Return what one line may say of several streams: complete, or not read for the same reason."""
        match self.state:
            case StreamState.COMPLETE:
                return "complete" if self.reason is None else None
            case StreamState.SKIPPED:
                return self.reason
            case _:
                return self.reason if not self.pages else None

    @property
    def line(self) -> str:
        counts = f"{self.read} read, {self.changed} new or changed, {self.pages} pages"
        state = self.reason if self.state is StreamState.SKIPPED else f"{self.state}, {counts}"
        more = f": {self.reason}" if self.reason and self.state is not StreamState.SKIPPED else ""
        return f"{self.connection}: {self.stream}: {state}{more}"


def _to_shared_line(shares: str, some: Sequence[StreamResult]) -> str:
    begin = f"{some[0].connection}: {len(some)} streams {shares}"
    if shares != "complete":
        return f"{begin}: {' '.join(result.stream for result in some)}"
    read, changed, pages = (sum(getattr(one, count) for one in some) for count in ("read", "changed", "pages"))
    return f"{begin}, {read} read, {changed} new or changed, {pages} pages"


RESULT_KEYS = ("connection", "stream", "state", "pages", "read", "changed", "reason")


@dataclass(slots=True)
class Outcome:
    """`started` is False if no page was read: the provider was unreachable, or refused the key at once."""

    results: list[StreamResult] = field(default_factory=list)
    started: bool = True

    @property
    def complete(self) -> bool:
        return all(result.state is not StreamState.INCOMPLETE for result in self.results)

    @property
    def lines(self) -> list[str]:
        """Return a line for each stream with something to report; streams with the same state share one."""
        alike: dict[str | None, list[StreamResult]] = defaultdict(list)
        for result in self.results:
            alike[result.shares].append(result)
        lines = [result.line for shares, some in alike.items() for result in some if shares is None or len(some) == 1]
        for shares, some in alike.items():
            if shares is not None and len(some) > 1:
                lines.append(_to_shared_line(shares, some))
        return lines

    @property
    def pages(self) -> int:
        return sum(result.pages for result in self.results)

    @property
    def status(self) -> Completion:
        if self.complete:
            return Completion.DONE
        return Completion.PARTLY_DONE if self.started else Completion.NOTHING_DONE
