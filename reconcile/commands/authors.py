"""Who decides at a terminal: the author a command names, or else whoever is logged in."""

import getpass
from collections.abc import Callable
from typing import Any, TypeVar

import click

from consumer.commands.terminal import Refusal
from consumer.facts.clock import utc_now
from consumer.facts.work import Completion
from reconcile.desk.decisions import Signature

Command = TypeVar("Command", bound=Callable[..., Any])


def signed(command: Command) -> Command:
    """Who decides, and the version that was looked at."""
    command = click.option("--version", type=int, help="The row version you looked at; refused if it is older.")(
        command
    )
    return click.option("--author", default=None, help="Who decides (default: your login name).")(command)


def login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise Refusal("this machine does not say who you are: give --author", Completion.MISUSED) from None


def signature(author: str | None, reason: str) -> Signature:
    return Signature(author or login_name(), reason, utc_now())
