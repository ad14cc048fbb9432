"""Commands of the journal: entries in the layouts of ledgers, the account map, and what was exported."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import click

from consumer.commands.terminal import (
    CommandError,
    Connections,
    LocalDate,
    check_range,
    format_count,
    json_option,
    leave,
    login_name,
    on_connection,
    on_connections,
    print_rows,
    print_wrapped,
    say,
)
from consumer.facts.clock import local_date, utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import RefusalError
from consumer.facts.work import Completion
from reconcile.commands.decisions import author_option
from reconcile.journal import files
from reconcile.journal.accounts import FILE, Account, AccountMap
from reconcile.journal.entries import JournalError
from reconcile.journal.exporting import EARLIEST
from reconcile.journal.files import Outcome, Wanted
from reconcile.journal.postings import KEYS
from reconcile.journal.profiles import Profile, ProfileError, find_profile, find_profiles, profile_names
from reconcile.journal.remembered import exports_of
from reconcile.journal.source import Days, choose_days, choose_periods, find_period, load_accounts, open_book
from reconcile.kept.records import last_run, read_closed_periods

FILE_KEYS = ("connection", "profile", "file", "since", "until", "run_id", "entries", "lines", "drafts")
ACCOUNT_KEYS = ("connection", "key", "means", "account", "name", "cost_centre", "lines", "state")
PROFILE_KEYS = ("profile", "title", "source", "tested", "limits")
EXPORT_KEYS = ("connection", "export", "since", "until", "run_id", "profiles", "entries", "author", "at")
_OPTION = re.compile(r"([A-Za-z]+)=(.*)")


@click.command("journal")
@click.option("--from", "since", type=LocalDate(), help="First local business date (default: the first not exported).")
@click.option("--to", "until", type=LocalDate(), help="Last local business date, included (default: the last closed).")
@click.option("--period", type=int, help="The days of one closed period, in place of --from and --to.")
@click.option("--profile", "names", default="journal", show_default=True, help="Layouts, or .toml files of your own; "
              "several with commas: cuadre accounts profiles.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=".",
              help="The folder of the files (default: the current one).")  # fmt: skip
@click.option("--draft", "with_drafts", is_flag=True, help="Days that are not closed too; nothing is remembered.")
@click.option("--set", "options", multiple=True, metavar="NAME=VALUE", help="A value that a layout asks for.")
@click.option("--language", type=click.Choice(["es-CL", "es-MX", "en"]), help="Of the texts (default: the country's).")
@author_option
@on_connections
@json_option
def journal(
    installation: Installation, connections: Connections, *, since: date | None, until: date | None,
    period: int | None, names: str, out: Path, with_drafts: bool, options: tuple[str, ...], language: str | None,
    author: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Entries of the ledger from closed days, in the layouts of ledgers; what was exported is never rewritten."""
    check_range(since, until, "--from/--to")
    if period is not None and (since or until or with_drafts):
        raise CommandError("--period takes the days of a closed period: leave out --from, --to and --draft",
                      Completion.MISUSED)  # fmt: skip
    if str(out) == "-":
        raise CommandError("a journal is several files: --out names a folder, not standard output", Completion.MISUSED)
    profiles = _find_profiles(names)
    wanted = Wanted(
        profiles, out, language or "", author or login_name(), utc_now(), _read_options(options, profiles), with_drafts
    )
    connections = _choose_connections(installation, connections, period)
    made, refused = _Made(), []
    for connection in connections:
        try:
            _export(installation, connection, wanted, made, asked=(since, until, period))
        except RefusalError as error:
            refused.append(f"{connection.name}: {error}" if len(connections) > 1 else str(error))
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error.strerror}") from None
    _print_made(made, as_json=as_json)
    for reason in (*made.refused, *refused):
        say(f"Error: {reason}")
    if refused and not made.outcomes:
        leave(Completion.NOTHING_DONE)
    if refused or made.refused or made.is_incomplete:
        leave(Completion.PARTLY_DONE)


@dataclass(slots=True)
class _Made:
    """The exports that were made, and what of them was refused."""

    outcomes: list[tuple[str, Outcome]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    is_incomplete: bool = False


def _choose_connections(installation: Installation, known: Connections, period: int | None) -> Connections:
    """Return the connection whose closed period it is, without one all that were asked for."""
    if period is None:
        return known
    with installation.store.reading() as session:
        own = [one for one in known if any(each.id == period for each in read_closed_periods(session, one.name))]
    return tuple(own) or known[:1]


def _export(
    installation: Installation, connection: Connection, wanted: Wanted, made: _Made, *,
    asked: tuple[date | None, date | None, int | None],
) -> None:  # fmt: skip
    """Export one connection, each closed period apart; a layout of another country is refused alone."""
    fitting = [one for one in wanted.profiles if not one.countries or connection.country_code in one.countries]
    refused = [JournalError("journal.other_country", name=one.name, country=connection.country_code)
               for one in wanted.profiles if one not in fitting]  # fmt: skip
    if not fitting:
        raise refused[0]
    accounts = load_accounts(installation.settings, connection)
    language = wanted.language or f"es-{connection.country_code.upper()}"
    for days in _choose(installation, connection, *asked, with_drafts=wanted.with_drafts):
        own = replace(wanted, profiles=fitting, language=language)
        made.outcomes.append((connection.name, files.export(installation, connection, accounts, days, own)))
        made.is_incomplete |= wanted.with_drafts and not days.run.complete
    made.refused += [f"{connection.name}: {reason}" for reason in refused]


def _choose(
    installation: Installation, connection: Connection, since: date | None, until: date | None, period: int | None,
    *, with_drafts: bool,
) -> list[Days]:  # fmt: skip
    with installation.store.reading() as session:
        if period is not None:
            closed = find_period(session, connection.name, period)
            since, until = closed.since or EARLIEST, closed.until
        today = local_date(utc_now(), connection.country.zone)
        if with_drafts:
            return [choose_days(session, connection.name, since=since, until=until, with_drafts=True, today=today)]
        return choose_periods(session, connection.name, since=since, until=until, today=today)


def _find_profiles(names: str) -> list[Profile]:
    try:
        return find_profiles(name.strip() for name in names.split(","))
    except ProfileError as error:
        raise CommandError(str(error), Completion.MISUSED) from None


def _read_options(options: Sequence[str], profiles: Sequence[Profile]) -> dict[str, str]:
    found = {}
    known = sorted({name for profile in profiles for name in profile.options})
    for option in options:
        parts = _OPTION.fullmatch(option)
        if parts is None:
            raise CommandError(f"--set {option} is not NAME=VALUE", Completion.MISUSED)
        if parts[1] not in known:
            asked = ", ".join(profile.name for profile in profiles)
            layouts = f"the layout {asked} asks for" if len(profiles) == 1 else f"the layouts {asked} ask for"
            raise CommandError(f"--set {parts[1]}: {layouts} {', '.join(known) or 'no values'}", Completion.MISUSED)
        found[parts[1]] = parts[2]
    return found


def _print_made(made: _Made, *, as_json: bool) -> None:
    """Print the files; people read what an export holds once, programs in every row."""
    if made.outcomes or as_json:
        keys = FILE_KEYS if as_json else ("connection", "profile", "file")
        print_rows([row for name, one in made.outcomes for row in _to_rows(name, one)], keys, as_json=as_json)
    for name, outcome in made.outcomes:
        drafts = f", {format_count(outcome.drafts, 'draft')} among them" if outcome.drafts else ""
        held = f"{format_entries(outcome.entries)} with {format_count(outcome.lines, 'line')}{drafts}"
        say(f"{name}, {_first_day(outcome)} to {outcome.until}: {held}")
        _say_notes(outcome)
    if made.is_incomplete:
        say("the run is incomplete, its DATA_GAP says why: cuadre backfill, cuadre pull all, cuadre reconcile")


def format_entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _first_day(outcome: Outcome) -> date:
    """Return the first day asked for, or of all days that of the first entry."""
    return outcome.since if outcome.since != EARLIEST else outcome.first_on or outcome.until


def _to_rows(connection: str, outcome: Outcome) -> Iterator[dict[str, object]]:
    for profile, paths in outcome.files.items():
        for path in paths:
            yield {
                "connection": connection, "profile": profile, "file": str(path), "since": _first_day(outcome),
                "until": outcome.until, "run_id": outcome.run_id, "entries": outcome.entries, "lines": outcome.lines,
                "drafts": outcome.drafts,
            }  # fmt: skip


def _say_notes(outcome: Outcome) -> None:
    for profile, notes in outcome.notes.items():
        for column, count in notes.changed.items():
            before, after = notes.first[column]
            changed = f"{format_count(count, 'text')} of {column} changed to fit"
            say(f"{profile}: {changed}, the first from {before!r} to {after!r}")
        if notes.unnamed:
            left = format_count(len(notes.unnamed), "payment")
            say(f"{profile}: {left} without a field that it requires stay in the journal, the first {notes.unnamed[0]}")
        if notes.undone:
            undone = format_count(len(notes.undone), "payment")
            say(f"{profile}: {undone} taken off a document, the first {notes.undone[0]}: take it off in the ledger too")


@click.group("accounts")
def accounts_group() -> None:
    """The accounts that the journal posts to, its layouts, and what was exported."""


@accounts_group.command("check")
@on_connection
@json_option
def check_accounts(installation: Installation, connection: Connection, *, as_json: bool) -> None:
    """The account of every key for the newest run, with what is missing; 3 if anything is."""
    accounts = load_accounts(installation.settings, connection)
    _check_layouts(accounts)
    used = _count_used(installation, connection, accounts)
    rows = list(_list_accounts(connection, accounts, used))
    print_rows(rows, ACCOUNT_KEYS, as_json=as_json)
    if any(row["state"] == "missing" for row in rows):
        leave(Completion.PARTLY_DONE)


def _check_layouts(accounts: AccountMap) -> None:
    """Raise ProfileError if the file names a layout that is none, CommandError if no layout asks for an option."""
    layouts = find_profiles([*profile_names(), *accounts.profiles])
    known = sorted({name for layout in layouts for name in layout.options})
    unknown = sorted(set(accounts.options) - set(known))
    if unknown:
        raise CommandError(f"{FILE}: no layout asks for the option {unknown[0]}; they ask for {', '.join(known)}")


def _count_used(installation: Installation, connection: Connection, accounts: AccountMap) -> Counter[tuple[str, str]]:
    """Count the lines of the newest run by the key they post to and the means of payment."""
    used: Counter[tuple[str, str]] = Counter()
    with installation.store.reading() as session:
        today = local_date(utc_now(), connection.country.zone)
        run = last_run(session, connection.name, today=today)
        if run is None:
            raise JournalError("journal.no_run", connection=connection.name)
        book, _ = open_book(session, run, connection, accounts)
        for entry in book.entries():
            for posting in entry.postings:
                used.update((key, posting.means) for key in posting.sides)
    return used


def _list_accounts(
    connection: Connection, accounts: AccountMap, used: Counter[tuple[str, str]]
) -> Iterator[dict[str, object]]:
    """Yield the accounts in the order of the keys, and where a line has none, what is missing."""
    lines: Counter[tuple[str, Account | None]] = Counter()
    for (key, means), count in used.items():
        lines[key, accounts.find(key, means)] += count
    known = list(accounts.all_accounts())
    for key in KEYS:
        for means, account in known:
            if account.key == key:
                yield {
                    "connection": connection.name, "key": key, "means": means, "account": account.code,
                    "name": account.name, "cost_centre": account.cost_centre, "lines": lines[key, account],
                    "state": "used" if lines[key, account] else "unused",
                }  # fmt: skip
        if lines[key, None]:
            yield {
                "connection": connection.name, "key": key, "means": "", "account": None, "name": None,
                "cost_centre": None, "lines": lines[key, None], "state": "missing",
            }  # fmt: skip


@accounts_group.command("profiles")
@json_option
def list_profiles(*, as_json: bool) -> None:
    """The layouts of ledgers: where each was learned, whether the product itself took a file of it, its limits."""
    found = [find_profile(name) for name in profile_names()]
    rows = [
        {"profile": one.name, "title": one.title, "source": one.source, "tested": one.tested,
         "limits": "; ".join(one.limits)}
        for one in found
    ]  # fmt: skip
    if as_json:
        print_rows(rows, PROFILE_KEYS, as_json=True)
        return
    for one in found:
        print_wrapped(f"{one.name:<20} {one.title}", indent=21)
        for words in (f"from {one.source}", one.tested, *one.limits):
            print_wrapped(f"{'':21}{words}", indent=23)


@accounts_group.command("exports")
@on_connections
@json_option
def list_exports(installation: Installation, connections: Connections, *, as_json: bool) -> None:
    """What was exported to a ledger, when and by whom, newest first."""
    with installation.store.reading() as session:
        rows = [
            {name: getattr(export, name) for name in EXPORT_KEYS if name != "export"}
            | {"export": export.id, "since": None if export.since == EARLIEST else export.since}
            for connection in connections
            for export in exports_of(session, connection.name)
        ]
    print_rows(rows, EXPORT_KEYS, as_json=as_json)
