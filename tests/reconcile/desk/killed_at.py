"""A process that is killed while it adds a file to an exception, or takes one away: start it with the step's name."""

import os
import signal
import sys
from typing import NoReturn

from consumer.facts import kept_files
from consumer.facts.clock import utc_now
from consumer.opening import open_installation
from reconcile.desk import attachments
from reconcile.desk.decisions import Signature


def die(*_given: object, **_named: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def add_until(step: str) -> None:
    if step == "half a file":
        os.fsync = die
    elif step == "a file without a row":
        vars(kept_files)["sync_folder"] = die
    given = attachments.Given("recibo.pdf", b"%PDF-1.4 receipt", "ana", utc_now())
    installation = open_installation(check=lambda _settings: None)
    with installation.store.transaction() as session:
        attachments.attach(session, installation, "main", "ex_1", given)
    die()


def take_away_until() -> None:
    installation = open_installation(check=lambda _settings: None)
    with installation.store.transaction() as session:
        attachments.detach(session, "main", "ex_1", 1, Signature("ana", "a file", utc_now()))
    die()


if __name__ == "__main__":
    take_away_until() if sys.argv[1] == "no row, and its file" else add_until(sys.argv[1])
