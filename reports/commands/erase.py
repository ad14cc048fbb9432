"""`cuadre erase`: one person's data taken out, shown first and asked for twice."""

import sys

import click

from consumer.commands.terminal import CommandError, json_option, leave, login_name, print_rows, say
from consumer.facts.clock import format_instant, utc_now
from consumer.facts.installation import Installation, OpenInstallation
from consumer.facts.work import Completion
from reports.erasing import declared
from reports.erasing.erase import check_quiet, count, erase, find_earlier, finish, look
from reports.erasing.finding import ErasureError

KEYS = ("place", "changed")


@click.command("erase")
@click.argument("person", required=False)
@click.option("--dry-run", is_flag=True, help="Show how much of what would be erased, and erase nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--kept", is_flag=True, help="Print what is kept of people and for how long.")
@json_option
@click.pass_obj
def erase_command(
    open_installation: OpenInstallation, *, person: str | None, dry_run: bool, yes: bool, kept: bool, as_json: bool
) -> None:
    """Take out what is kept of one person; amounts stay. PERSON is a tax id, a customer's id or a mail."""
    if kept:
        print_rows(declared.list_kept(), declared.KEPT_KEYS, as_json=as_json)
        return
    if person is None:
        raise click.UsageError("name a PERSON: a tax id, a customer's id or a mail")
    _erase(open_installation(), person, is_dry=dry_run, is_sure=yes, as_json=as_json)


def _erase(installation: Installation, person: str, *, is_dry: bool, is_sure: bool, as_json: bool) -> None:
    now = utc_now()
    check_quiet(installation, now=now)
    earlier = find_earlier(installation, person)
    try:
        erasing = look(installation, person)
    except ErasureError as error:
        if earlier is None or error.message.code != "erase.unknown":
            raise
        is_compact = finish(installation, earlier.id or 0, replaced=earlier.replaced, who=login_name(), now=now)
        say(f"was erased on {format_instant(earlier.at)}, and nothing of it is kept")
        _conclude(is_compact=is_compact)
        return
    counts = count(erasing, now=now)
    print_rows([{"place": place, "changed": changed} for place, changed in sorted(counts.items())], KEYS,
               as_json=as_json)  # fmt: skip
    if is_dry:
        return
    if not is_sure:
        _ask_twice(person)
    _conclude(is_compact=erase(erasing, who=login_name(), now=now))
    say("erased; backups made before hold it until newer ones take their place, and a restore of one erases it again")


def _ask_twice(person: str) -> None:
    if not sys.stdin.isatty():
        raise CommandError("nothing was erased: add --yes where no one can be asked", Completion.MISUSED)
    click.confirm("Erase this for good?", abort=True, err=True)
    if click.prompt("Type what names the person once more", err=True).strip() != person:
        raise CommandError("nothing was erased: that is another person")


def _conclude(*, is_compact: bool) -> None:
    if not is_compact:
        say("other processes still read the log of the database: call this again once they rest, to empty it")
        leave(Completion.PARTLY_DONE)
