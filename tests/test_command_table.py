"""The table of commands: it names every command the rooms have, says what each says, and loads nothing too early."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cuadre import GROUPS, TABLE, Commands, Row, cli, command_of

HEAVY = {"pandas", "scipy", "pyarrow"}


@pytest.mark.parametrize(("name", "row"), TABLE.items(), ids=list(TABLE))
def test_the_table_says_what_the_command_says(name: str, row: Row) -> None:
    """The sentence beside a command is the first of its own help, and it bears the name it is called by."""
    command = command_of(row)

    assert (command.name, command.get_short_help_str(1000)) == (name, row.sentence)


def test_the_help_groups_commands_by_who_uses_them() -> None:
    """Each group has its heading, in the order of use, and no command stands in two."""
    shown = CliRunner().invoke(cli, ["--help"]).output
    places = [shown.index(f"\n{title}:\n") for title in ("Every day", "Finance", "Data in", "Setting up")]

    assert places == sorted(places)
    assert shown.index("\nLooking deeper:\n") > places[-1]
    assert sum(map(len, GROUPS.values())) == len(TABLE)


def test_the_reference_lists_the_groups_of_the_help() -> None:
    """The reference names every command under the heading that the help shows it under."""
    text = (Path(__file__).parents[1] / "docs/reference.md").read_text()

    for title, group in GROUPS.items():
        assert f"- {title}: {', '.join(f'`{name}`' for name in sorted(group))}\n" in text


def test_no_command_of_the_rooms_is_left_out() -> None:
    """A command that a room has and the table does not reach could never be called."""
    reached = set(_all_below(Commands()))
    orphans = {
        f"{module.__name__}:{name}"
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").split(".")[0] in {"app", "consumer", "reconcile", "reports", "sandbox"}
        for name, value in vars(module).items()
        if isinstance(value, click.Command) and value not in reached
    }

    assert orphans == set()


def test_light_commands_load_no_heavy_library() -> None:
    """The commands that look at the inbox, the gaps and the jobs start without the libraries of tables of numbers."""
    light = ("gaps", "events", "doctor", "jobs", "db", "serve", "webhook", "users")
    calls = (f"cli(['{name}', '--help'], standalone_mode=False)" for name in light)

    assert _modules_after(*calls) & HEAVY == set()


def test_help_loads_no_room() -> None:
    """The help of the program is the table alone: neither the store nor the settings are needed for it."""
    assert (
        _modules_after("cli(['--help'], standalone_mode=False)") & {*HEAVY, "sqlmodel", "pydantic", "flask", "httpx"}
        == set()
    )


def test_what_draws_paper_and_reads_workbooks_is_loaded_when_asked_for() -> None:
    """Fonts, PDF and workbooks are a sixth of what the start of a server or a night's process costs."""
    code = "import sys, app; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"fpdf", "fontTools", "openpyxl", "xlrd"} & set(ran.stdout.split()) == set()
    assert "reports.packs.summary" in ran.stdout


def _modules_after(*calls: str) -> set[str]:
    quiet = "with contextlib.redirect_stdout(sys.stderr): "
    lines = ("import contextlib, sys", "from cuadre import cli", *(quiet + call for call in calls))
    code = "\n".join((*lines, "print(*{name.partition('.')[0] for name in sys.modules})"))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr.count("Usage: ") == len(calls)
    return set(ran.stdout.split())


def _all_below(group: click.Group) -> list[click.Command]:
    ctx = click.Context(group)
    found: list[click.Command] = []
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        found += [command, *(_all_below(command) if isinstance(command, click.Group) else [])]
    return found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("reconcil", "Error: there is no command 'reconcil': did you mean reconcile?"),
        ("zzz", "Error: No such command 'zzz'."),
    ],
)
def test_a_mistyped_command_is_answered_with_the_one_it_resembles(given: str, said: str) -> None:
    """One that resembles none is refused alone."""
    answer = CliRunner().invoke(Commands(), [given])
    assert (answer.exit_code, answer.stderr.splitlines()[-1]) == (2, said)
