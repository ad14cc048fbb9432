"""The processes that work: what `cuadre worker` runs, and the worker inside `cuadre serve`."""

import os
import threading
import time
from collections.abc import Callable, Sequence

import click

from consumer.commands.stopping import STOP_SECONDS, Stop
from consumer.commands.terminal import say
from consumer.facts.alarms import Signals
from consumer.facts.installation import Installation, OpenInstallation
from consumer.health.causes import start_alarms
from consumer.inbox.apply import drain
from consumer.jobs.processes import stop_children
from consumer.jobs.worker import Worker, worker_name


def start_worker(installation: Installation, *, signals: Signals) -> Worker:
    """Apply the inbox and watch it, from threads of this process."""
    worker = Worker(lambda: drain(installation.store, installation.settings, worker=worker_name()).claimed)
    worker.start()
    start_alarms(installation, until=worker.stopped, signals=signals)
    return worker


def _wait_for(endings: Sequence[Callable[[], None]], *, seconds: float) -> None:
    """Let several things end at the same time, and wait so long for all of them."""
    threads = [threading.Thread(target=ending, daemon=True) for ending in endings]
    ends = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, ends - time.monotonic()))


def worker_command(*, start_scheduler: Callable[[Installation], Callable[[], None]], signals: Signals) -> click.Command:
    """Make the command; which jobs there are, and what rooms above raise, is known to `app.py`."""

    @click.command()
    @click.pass_obj
    def worker(open_installation: OpenInstallation) -> None:
        """Apply the inbox and run the nights; start as many as needed."""
        installation = open_installation()
        work = start_worker(installation, signals=signals)
        finish_jobs = start_scheduler(installation)
        stopped = threading.Event()
        Stop("events and jobs under way", begin=stopped.set).listen()
        say("working; Ctrl-C stops")
        stopped.wait()
        stop_children()
        _wait_for([work.stop, finish_jobs], seconds=STOP_SECONDS)
        # What is still under way would be waited for to its end; killed, another worker or the next start takes it up.
        os._exit(0)

    return worker
