"""What one run over an event log has read so far, counted over all the windows that threads read side by side."""

import threading
from dataclasses import dataclass, field

from consumer.facts.tables.sync import Window
from consumer.provider.paging import Page
from consumer.sync.outcome import OnPage, say_nothing


@dataclass(slots=True)
class Counts:
    """`under_way` windows of all `windows` are not read to their end; `failures` are those since the last good page."""

    on_page: OnPage = say_nothing
    windows: int = 0
    under_way: int = 0
    pages: int = 0
    read: int = 0
    added: int = 0
    failures: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, windows: int) -> None:
        with self._lock:
            self.windows += windows
            self.under_way += windows

    def end(self) -> None:
        with self._lock:
            self.under_way -= 1

    def note_page(self, window: Window, page: Page, *, added: int) -> None:
        with self._lock:
            self.pages += 1
            self.read += len(page.items)
            self.added += added
            self.failures = 0
            self.on_page(window, self.windows, self.added)

    def note_failure(self) -> int:
        """Count one more failure and say how many came in a row."""
        with self._lock:
            self.failures += 1
            return self.failures
