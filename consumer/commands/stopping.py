"""Stopping on request: said at once with what is awaited, and a second time at once."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from consumer.commands.terminal import say

STOP_SECONDS = 10
_STOPPED = 128 + signal.SIGINT


class Stop:
    """What Ctrl-C and SIGTERM do: `begin` the first time, `end` and leave the second time.

    Leaving at once is as safe as being killed, which is allowed at any moment.
    """

    def __init__(self, awaited: str, *, begin: Callable[[], None], end: Callable[[], None] = lambda: None) -> None:
        self._awaited = awaited
        self._begin = begin
        self._end = end
        self.is_asked = False

    def __call__(self, *_: int | FrameType | None) -> None:
        if self.is_asked:
            # The second signal may come while the first is still writing: a stream refuses a write inside a write.
            with suppress(RuntimeError):
                say("stopped without waiting")
            self._end()
            os._exit(_STOPPED)
        self.is_asked = True
        say(f"stopping: {self._awaited} may take up to {STOP_SECONDS} seconds; Ctrl-C again ends at once")
        self._begin()

    def listen(self) -> None:
        """Take over both signals of this process."""
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, self)
