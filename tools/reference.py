"""Write the tables of docs/reference.md that repeat the program: commands, reports, streams; `make golden` runs it."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from cuadre import cli
from reconcile.rules.streams import STREAMS, withheld_by
from reports.shapes.definitions import CATALOGUE, title_of

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference.md"
Row = tuple[str, ...]


def commands(command: click.Command = cli, path: tuple[str, ...] = ("cuadre",)) -> Iterator[tuple[str, click.Command]]:
    """Yield every command by its full name."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from commands(child, (*path, name))
    else:
        yield " ".join(path), command


def _command_rows() -> Iterator[Row]:
    for name, command in sorted(commands(), key=lambda one: one[0]):
        options = [max(param.opts, key=len) for param in command.params if isinstance(param, click.Option)]
        yield f"`{name}`", " ".join(f"`{option}`" for option in options), _sentence(command)


def _sentence(command: click.Command) -> str:
    """Return the first paragraph of a command's help, and what it takes."""
    context = click.Context(command)
    taken = [param.make_metavar(context) for param in command.params if isinstance(param, click.Argument)]
    help_text = " ".join((command.help or "").partition("\n\n")[0].split())
    return help_text + (f" Takes `{' '.join(taken).replace('|', ' or ')}`." if taken else "")


def _report_rows() -> Iterator[Row]:
    return ((f"`{name}`", title_of(name, "en"), ", ".join(one.names)) for name, one in CATALOGUE.items())


def _stream_rows() -> Iterator[Row]:
    for name, gate in STREAMS.items():
        yield f"`{name}`{'*' if gate.is_needed else ''}", f"`{' '.join(withheld_by([name]))}`", str(gate.touches)


TABLES = {"Commands": _command_rows, "Reports": _report_rows, "Streams a run reads": _stream_rows}


def render(text: str) -> str:
    """Return the reference with its tables as the program has them; headings and all other text stay."""
    for heading, rows in TABLES.items():
        before, mark, section = text.partition(f"\n## {heading}\n")
        above, _, below = section.partition("|---")
        rule, _, below = below.partition("\n")
        end = next(place for place, line in enumerate(below.split("\n")) if not line.startswith("|"))
        after = "\n".join(below.split("\n")[end:])
        text = f"{before}{mark}{above}|---{rule}\n{_lines(rows())}{after}"
    return text


def _lines(rows: Iterable[Row]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    REFERENCE.write_text(render(REFERENCE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
