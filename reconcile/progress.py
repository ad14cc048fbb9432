"""How far a run is, shown on a terminal only, and a run that somebody breaks off."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from consumer.commands.terminal import Refusal

Watch = Callable[[str], None]


def say_nothing(_step: str) -> None:
    pass


@contextmanager
def show_steps() -> Iterator[Watch]:
    """Show each step while it lasts; Ctrl-C ends the run, which leaves nothing behind."""
    try:
        if not sys.stderr.isatty():
            yield say_nothing
            return
        with Console(stderr=True).status("reconciling") as status:
            yield status.update
    except KeyboardInterrupt:
        raise Refusal("canceled: nothing was published") from None
