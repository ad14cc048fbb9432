"""How far a run is, shown on a terminal only, and a run that a person breaks off."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from consumer.commands.terminal import Refusal
from reconcile.runs.progress import Watch, say_nothing


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
