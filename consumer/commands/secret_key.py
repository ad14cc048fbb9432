"""`cuadre secret-key`: the key that everything encrypted is kept under."""

import sys
from pathlib import Path

import click

from consumer.commands.terminal import CommandError, leave, say
from consumer.facts.installation import OpenInstallation
from consumer.facts.work import Completion
from consumer.secret_key import rotate

_AGAIN = (
    "Start every cuadre process again: until then it verifies webhooks with the secrets it has read, and refuses codes "
    "of second factors. Everybody logs in again. Make a backup: those before it hold the old key"
)


@click.group("secret-key")
def secret_key() -> None:
    """The key that everything encrypted is kept under."""


@secret_key.command("rotate")
@click.option(
    "--new-key-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The new key, where CUADRE_SECRET_KEY gives the old one; without it a prompt asks.",
)
@click.pass_obj
def rotate_command(open_installation: OpenInstallation, *, new_key_file: Path | None) -> None:
    """Encrypt everything that is kept under a new key, in one transaction."""
    installation = open_installation()
    path = installation.settings.generated_key
    given = new_key_file.read_text("utf-8").strip() if new_key_file else None
    if path is None and given is None:
        given = _ask()
    found = rotate(installation, given)
    for one in found:
        say(f"{one.purpose}: {one.rows - len(one.lost)} are encrypted under the new key")
    lost = [f"{one.purpose} {', '.join(one.lost)}" for one in found if one.lost]
    if lost:
        say(f"kept under another key than the one until now, and left as they are: {'; '.join(lost)}")
    say("Set CUADRE_SECRET_KEY to the new key on every machine." if path is None else f"The new key is in {path}.")
    say(_AGAIN)
    if lost:
        leave(Completion.PARTLY_DONE)


def _ask() -> str:
    if not sys.stdin.isatty():
        raise CommandError("the key comes from CUADRE_SECRET_KEY: give the new one with --new-key-file",
                           Completion.MISUSED)  # fmt: skip
    answer: str = click.prompt("new key", hide_input=True, confirmation_prompt=True, err=True)
    return answer
