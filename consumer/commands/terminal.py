"""How commands speak: exit statuses, tables for people, JSON lines for machines, dates as options."""

import getpass
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from functools import partial, wraps
from textwrap import wrap
from typing import Any, NoReturn, TypeAlias, TypeVar

import click
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from consumer.facts.approvals import ApprovalNeededError, Subject, ask
from consumer.facts.clock import format_instant, utc_now
from consumer.facts.columns import Kind, kind_of
from consumer.facts.installation import Connection, Installation, OpenInstallation
from consumer.facts.messages import translate
from consumer.facts.texts import may_be_erased, say_erased, shorten
from consumer.facts.work import Completion

Command = TypeVar("Command", bound=Callable[..., object])
Day = TypeVar("Day", bound=date)
Connections: TypeAlias = tuple[Connection, ...]

_WIDTH = 100
_BETWEEN, _INDENT = "  ", "    "
# A column with less room than this is read letter by letter.
_NARROWEST = 24
_FIRST_YEAR, _LAST_YEAR = 1970, 2999
_MOST_ROWS = 1_000_000_000
# What the caller's script may rely on.
EXIT_STATUSES = {
    Completion.DONE: 0,
    Completion.NOTHING_DONE: 1,
    Completion.MISUSED: 2,
    Completion.PARTLY_DONE: 3,
}
_MONEY = re.compile(r"-?\d+(\.\d+)? [A-Z]{3}")


class CommandError(click.ClickException):
    """One clear line for a person, with the exit status a script can branch on."""

    def __init__(self, message: str, completion: Completion = Completion.NOTHING_DONE) -> None:
        super().__init__(message)
        self.completion = completion

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        return EXIT_STATUSES[self.completion]


@contextmanager
def asking(installation: Installation, reason: str) -> Iterator[None]:
    """Turn a deed that needs a second person into a request, and say where it waits."""
    try:
        yield
    except ApprovalNeededError as error:
        number = ask(installation.store, error.wish, Subject(login_name()), reason=reason, now=utc_now())
        sentence = f"{error}: request {number} waits on the page Approvals for two people; a terminal proves none"
        raise CommandError(sentence, Completion.PARTLY_DONE) from None


def leave(completion: Completion) -> NoReturn:
    sys.exit(EXIT_STATUSES[completion])


def say(message: str) -> None:
    """Tell a person something that is not a result: on standard error; a terminal gets it broken between words."""
    width = shutil.get_terminal_size().columns
    for line in message.splitlines() or [""]:
        is_wide = sys.stderr.isatty() and len(line) > width
        parts = wrap(line, width, break_long_words=False, break_on_hyphens=False) if is_wide else [line]
        click.echo("\n".join(parts), err=True)


def login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise CommandError("this machine does not say who you are: give --author", Completion.MISUSED) from None


def format_count(count: int, thing: str) -> str:
    """Write how many there are of something whose plural takes an s."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


@contextmanager
def show_progress(
    what: str, *columns: ProgressColumn, count: Callable[[], int | None] = lambda: None, **fields: Any
) -> Iterator[Callable[..., None]]:
    """Draw a bar on a terminal, and give what moves it; `count` says how much there is, and is asked only then."""
    if not sys.stderr.isatty():
        yield lambda **_moved: None
        return
    shown = (TextColumn("{task.description}"), BarColumn(), *columns, TimeElapsedColumn())
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        yield partial(bar.update, bar.add_task(what, total=count(), **fields))


def print_rows(rows: Iterable[Mapping[str, object]], keys: Sequence[str], *, as_json: bool) -> None:
    """Print results: a table for people, or one JSON object a line with stable keys."""
    if as_json:
        for row in rows:
            click.echo(json.dumps({key: _plain(row[key]) for key in keys}, ensure_ascii=False))
        return
    shown = list(rows)
    if not shown:
        say("nothing to show")
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if width is not None:
        # What says nothing of any row only makes it wider.
        keys = [key for key in keys if any(row[key] not in {None, ""} for row in shown)]
    right = {key for key in keys if _is_of_figures(key, keys, shown)}
    cells = [[_cell(row[key], on_right=key in right and _is_figure(key, row[key])) for key in keys] for row in shown]
    widths = [
        max(map(cell_len, (key, *map(str, column)))) for key, column in zip(keys, zip(*cells, strict=True), strict=True)
    ]
    excess = 0 if width is None else sum(widths) + len(_BETWEEN) * (len(widths) - 1) - width
    widest = widths.index(max(widths))
    if excess > 0 and widths[widest] - excess < _NARROWEST:
        for line in _records(keys, cells, width or _WIDTH):
            click.echo(line)
        return
    widths[widest] -= max(0, excess)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for key, room in zip(keys, widths, strict=True):
        table.add_column(
            key, overflow="fold", justify="right" if key in right - {"value"} else "left", width=max(1, room)
        )
    for row_cells in cells:
        table.add_row(*row_cells)
    # A pipe has no width, and a terminal that says none has more than this library believes.
    console = Console(width=100_000)
    with console.capture() as captured:
        console.print(table, markup=False, highlight=False, soft_wrap=True)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def _records(keys: Sequence[str], cells: Sequence[Sequence[Text]], width: int) -> Iterator[str]:
    """Yield rows too wide for a table as paragraphs of names and values; only a longer word passes `width`."""
    for row in cells:
        line = ""
        for key, cell in zip(keys, row, strict=True):
            value = " ".join(str(cell).split())
            parts = wrap(f"{key}: {value}", width - len(_INDENT), break_long_words=False, break_on_hyphens=False)
            for place, part in enumerate(parts if value else ()):
                if line and (place or cell_len(line) + len(_BETWEEN) + cell_len(part) > width):
                    yield line
                    line = f"{_INDENT}{part}"
                else:
                    line = f"{line}{_BETWEEN}{part}" if line else part
        yield line


def _is_of_figures(key: str, keys: Sequence[str], rows: Sequence[Mapping[str, object]]) -> bool:
    """Return True if all values of a column are figures, or it holds the values of a column named `figure`."""
    if key == "value":
        return "figure" in keys
    values = [row[key] for row in rows if row[key] is not None and row[key] != ""]
    return bool(values) and all(_is_figure(key, value) for value in values)


def _is_figure(key: str, value: object) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool)
    # Text of digits may be a number of something, such as a folio.
    return isinstance(value, str) and (kind_of(key) is Kind.MONEY or _MONEY.fullmatch(value) is not None)


def _cell(value: object, *, on_right: bool) -> Text:
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, datetime):
        value = value.replace(microsecond=0)
    return Text("" if value is None else shorten(str(_plain(value))), justify="right" if on_right else "left")


def print_findings(found: Iterable[tuple[str, str, str]]) -> None:
    """Print what was looked at for a person: how it stands, what it is, and below it what to do, never wide."""
    for word, sentence, advice in found:
        print_wrapped(f"{word:<8} {sentence}", indent=9)
        if advice:
            print_wrapped(f"{'':9}→ {advice}", indent=11)


def print_wrapped(line: str, *, indent: int) -> None:
    """Print a line no wider than a terminal, what follows under its beginning; a word that is longer stays whole."""
    for part in wrap(
        shorten(line), _WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    ):
        click.echo(part)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, date):
        return value.isoformat()
    is_erased = isinstance(value, str) and may_be_erased(value)
    return say_erased(str(value), translate("note.erased", "en")) if is_erased else value


def _usable(day: Day) -> Day:
    """Refuse what no calendar reckons with: a day before or after it would be out of range."""
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise ValueError
    return day


class LocalDate(click.ParamType[date]):
    name = "date"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> date:
        if isinstance(value, date):
            return value
        try:
            return _usable(date.fromisoformat(str(value)))
        except ValueError:
            self.fail(f"{value!r} is not a date such as 2026-10-31", param, ctx)


class Moment(click.ParamType[date | datetime]):
    """An ISO date (local midnight of the connection) or a datetime; without a zone it is local time."""

    name = "date or time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> date | datetime:
        if isinstance(value, date):
            return value
        try:
            text = str(value)
            is_day = len(text) == len("2026-10-31")
            return _usable(date.fromisoformat(text) if is_day else datetime.fromisoformat(text))
        except ValueError:
            self.fail(f"{value!r} is not a date such as 2026-10-31 or a time such as 2026-10-31T14:00:00Z", param, ctx)


def check_range(first: date | datetime | None, last: date | datetime | None, names: str) -> None:
    """Refuse a range that ends before it begins; instants compare as such, in any zone."""
    if first is not None and last is not None and _is_after(first, last):
        raise CommandError(f"{names}: the range ends before it begins", Completion.MISUSED)


def _is_after(first: date | datetime, last: date | datetime) -> bool:
    if isinstance(first, datetime) and isinstance(last, datetime) and (first.tzinfo is None) == (last.tzinfo is None):
        return first > last
    # A day or a local time against an instant: a difference of more than a day holds in every zone.
    return first.toordinal() - last.toordinal() > int(isinstance(first, datetime) or isinstance(last, datetime))


def json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="One JSON object a line instead of a table.")(command)


def limit_option(command: Command) -> Command:
    return click.option("--limit", type=click.IntRange(1, _MOST_ROWS), help="Print only the newest N.")(command)


def connection_option(default: str | None = None) -> Callable[[Command], Command]:
    """Name one connection; without a default the command covers all."""
    scope = default or "all"
    return click.option("--connection", "connection_name", default=default, help=f"One connection (default {scope}).")


def on_connection(command: Callable[..., None]) -> Callable[..., None]:
    """Call a command with the installation and the connection it is about: the one named, else `main`."""

    @connection_option("main")
    @click.pass_obj
    @wraps(command)
    def with_connection(open_installation: OpenInstallation, /, *, connection_name: str, **options: object) -> None:
        installation = open_installation()
        command(installation, installation.settings.connection(connection_name), **options)

    return with_connection


def on_connections(command: Callable[..., None]) -> Callable[..., None]:
    """Call a command with the installation and the connections it is about: the one named, else all."""

    @connection_option()
    @click.pass_obj
    @wraps(command)
    def with_all(open_installation: OpenInstallation, /, *, connection_name: str | None, **options: object) -> None:
        installation = open_installation()
        command(installation, installation.connections(connection_name), **options)

    return with_all
