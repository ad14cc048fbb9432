"""How far a long reading is, drawn on a terminal and never in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from consumer.facts.tables.sync import Window, WindowState
from consumer.sync.outcome import OnPage, OnRead, read_quietly, say_nothing


@contextmanager
def show_pages() -> Iterator[OnPage]:
    """Draw a bar of closed windows with the events that were new and the time that is left."""
    if not sys.stderr.isatty():
        yield say_nothing
        return
    columns = (
        TextColumn("events"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[added]} new"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("events", total=None, added=0)

        def on_page(window: Window, windows: int, added: int) -> None:
            closed = 1 if window.state == WindowState.CLOSED else 0
            bar.update(task, total=windows, added=added, advance=closed)

        yield on_page


@contextmanager
def show_streams(count: int) -> Iterator[OnRead]:
    """Draw a bar of streams with the one that is read and how much of it came."""
    if not sys.stderr.isatty():
        yield read_quietly
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[objects]} objects, {task.fields[pages]} pages"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("streams", total=count, objects=0, pages=0)
        seen: list[str] = []

        def on_read(stream: str, pages: int, objects: int) -> None:
            if stream not in seen:
                seen.append(stream)
            bar.update(task, description=stream, completed=len(seen) - 1, pages=pages, objects=objects)

        yield on_read
