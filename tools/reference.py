"""Write the tables of the documents that repeat the program: commands, reports, streams, event types: `make golden`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import getmodule, isfunction, ismodule
from pathlib import Path

import click

from consumer.facts.messages import word
from cuadre import cli
from reconcile.journal.postings import KINDS
from reconcile.journal.profiles import find_profile, profile_names
from reconcile.rules.streams import STREAMS, withheld_by
from reports.shapes.definitions import CATALOGUE, title_of
from sandbox.api import routes
from sandbox.api.call import Route
from sandbox.api.routes import ROUTES
from sandbox.state.events import TYPES, Family

DOCS = Path(__file__).resolve().parent.parent / "docs"
Row = tuple[str, ...]


def commands(command: click.Command = cli, path: tuple[str, ...] = ("cuadre",)) -> Iterator[tuple[str, click.Command]]:
    """Yield every command by its full name."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from commands(child, (*path, name))
    if not isinstance(command, click.Group) or command.invoke_without_command:
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


def _route_rows() -> Iterator[Row]:
    """Yield the routes that no other section of the document has, with their function or the table they stand in."""
    proof = "`api/test_fuzzing.py::test_no_operation_breaks`"
    sections = (DOCS / "spec-coverage.md").read_text(encoding="utf-8").split("\n## ")
    others = "".join(section for section in sections if not section.startswith("Every other route\n"))
    for route in ROUTES:
        name = f"{route.method} {route.path}"
        if f"\n| {name} |" not in others:
            yield name, f"`{_place_of(route)}`", proof


def _place_of(route: Route) -> str:
    if isfunction(route.operation) and hasattr(getmodule(route.operation), route.operation.__qualname__):
        return f"{route.operation.__module__}.{route.operation.__qualname__}"
    tables = (
        (module, name, value)
        for module in vars(routes).values()
        if ismodule(module)
        for name, value in vars(module).items()
    )
    return next(
        f"{module.__name__}.{name}" for module, name, value in tables if isinstance(value, tuple) and route in value
    )


def _posting_rows() -> Iterator[Row]:
    return ((f"`{kind}`", word("posting", kind, "en"), *sides) for kind, sides in KINDS.items())


def _profile_rows() -> Iterator[Row]:
    for one in map(find_profile, profile_names()):
        yield f"`{one.name}`", one.title, one.source, one.tested, "; ".join(one.limits)


def _event_rows() -> Iterator[Row]:
    proof = "state/test_event_types.py::test_each_type_reaches_an_endpoint_with_its_object"
    return ((name, f"`{Family.__module__}.FAMILIES`", f"`{proof}`") for name in TYPES)


TABLES = {
    "reference.md": {
        "Commands": _command_rows,
        "Reports": _report_rows,
        "Lines of the journal": _posting_rows,
        "Layouts of ledgers": _profile_rows,
        "Streams a run reads": _stream_rows,
    },
    "spec-coverage.md": {"Every other route": _route_rows, "Events": _event_rows},
}


def render(text: str, tables: Mapping[str, Callable[[], Iterable[Row]]]) -> str:
    """Return a document with the tables under these headings as the program has them; all other text stays."""
    for heading, rows in tables.items():
        before, mark, section = text.partition(f"\n## {heading}\n")
        above, _, below = section.partition("|---")
        rule, *lines = below.split("\n")
        end = next(place for place, line in enumerate(lines) if not line.startswith("|"))
        written = "".join(f"| {' | '.join(row)} |\n" for row in rows())
        text = f"{before}{mark}{above}|---{rule}\n{written}" + "\n".join(lines[end:])
    return text


def main() -> None:
    for name, tables in TABLES.items():
        path = DOCS / name
        path.write_text(render(path.read_text(encoding="utf-8"), tables), encoding="utf-8")


if __name__ == "__main__":
    main()
