"""The rules of the code that a test can hold: arrows, homes of libraries, pure modules, sizes and manners."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tools.figures import circles_of_folders, find_circles, read_imports, read_modules

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("consumer", "reconcile", "reports", "sandbox")
TOPS = ("app", "cuadre")
SOURCES = [
    *(ROOT / f"{top}.py" for top in TOPS),
    *(path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))),
]
TESTS = sorted((ROOT / "tests").rglob("*.py"))

# What a room may import of another room, by prefix.
DOORS = {
    "app": (*ROOMS, "cuadre"),
    "cuadre": (*ROOMS, "app"),
    "consumer": (),
    "reconcile": ("consumer.facts",),
    "reports": (
        "consumer.facts",
        "reconcile.tables",
        "reconcile.kept.chunks",
        "reconcile.kept.day_end",
        "reconcile.kept.extracts",
        "reconcile.kept.records",
        "reconcile.kept.snapshots",
        "reconcile.rules.at_risk",
        "reconcile.rules.outcomes",
        "reconcile.desk.archive",
        "reconcile.desk.attachments",
        "reconcile.desk.casework",
        "reconcile.desk.decisions",
        "reconcile.desk.ties",
        "reconcile.runs.close_period",
        "reconcile.runs.ordered_closing",
        "reconcile.books.intake",
        "reconcile.desk.payers",
        "reconcile.desk.removals",
        "reconcile.desk.worklist",
        "reconcile.runs.comparison",
        "reconcile.runs.pending",
        "reconcile.runs.previews",
        "reconcile.journal",
        "reconcile.fiscal",
    ),
    "sandbox": (),
}
# What commands of any room may import besides: how the terminal is written to.
TERMINAL = "consumer.commands.terminal"
COMMANDS = ("app", "cuadre", "consumer.commands", "reconcile.commands", "reports.commands", "sandbox")
# The floors of reconcile from the top: each stands on those below it.
FLOORS = (
    "commands",
    "runs",
    "closing",
    "journal",
    "fiscal",
    "desk",
    "exceptions",
    "kept",
    "reading",
    "books",
    "rules",
    "tables",
)
# A library's home, by prefix of the importing module.
HOMES = {
    "httpx": ("consumer.provider", "consumer.alarms.outbound", "reports.access.oidc", "sandbox"),
    "authlib": ("reports.access.oidc",),
    "joserfc": ("reports.access.oidc",),
    "smtplib": ("consumer.alarms.sending",),
    "apscheduler": ("consumer.jobs",),
    "flask": ("app", "consumer.health", "consumer.webhooks.blueprint", "reports.pages", "sandbox"),
    "flask_login": ("app", "reports.pages"),
    "flask_wtf": ("app", "reports.pages"),
    "pandas": ("reconcile", "reports"),
    "scipy": ("reconcile.rules", "reconcile.closing.settled_rows"),
    "dask": ("reconcile.runs.cluster",),
    "distributed": ("reconcile.runs.cluster",),
    "pyarrow": ("reconcile", "reports"),
    "argon2": ("reports",),
    "granian": ("consumer.commands.serving",),
    "xlsxwriter": ("reconcile.journal.layouts", "reports"),
    "openpyxl": ("reconcile.books",),
    "xlrd": ("reconcile.books",),
    "mt940": ("reconcile.books",),
    "defusedxml": ("reconcile.books",),
    "cryptography": (
        "consumer.backup",
        "consumer.facts.encryption",
        "consumer.webhooks",
        "reports.packs",
        "reports.access.second_factor",
        "sandbox",
    ),
    "fpdf": ("reports.packs",),
    "segno": ("reports.pages",),
    "babel": ("consumer.facts.messages",),
    "alembic": ("consumer.facts.migrating", "consumer.facts.migrations"),
    "holidays": ("consumer.facts.bankdays",),
    # Two copies of SQLite in one process break each other's locks on one file; the sandbox opens a nameless one.
    "click": COMMANDS,
    "rich": COMMANDS,
    "pysqlite3": ("consumer.facts.embedded",),
    "sqlite3": ("consumer.facts.embedded", "sandbox.state.store"),
}
PURE = (
    "reconcile.rules",
    "reconcile.fiscal.collecting",
    "reconcile.fiscal.comparing",
    "reconcile.fiscal.tie_out",
    "reconcile.fiscal.witnesses",
    "reports.shapes.build",
    "reports.output.export",
    "reports.shapes.definitions",
    "reports.wording",
    "consumer.webhooks.signature",
    "consumer.facts.money",
    "consumer.facts.taxids",
    "consumer.facts.bankdays",
)
IMPURE = {"flask", "httpx", "sqlalchemy", "sqlmodel", "apscheduler", "os", "socket", "subprocess", "random", "requests"}
BANNED_NAMES = {"utils", "helpers", "common", "base", "manager", "core", "misc", "service", "services", "models"}
FILE_LINES, FUNCTION_LINES = 450, 60
# Where anything may go wrong and work must go on: the per-event loop, the worker, and the wrappers of a job.
BROAD_EXCEPTS = {
    "consumer/inbox/apply.py",
    "consumer/jobs/processes.py",
    "consumer/jobs/schedule.py",
    "consumer/jobs/worker.py",
}


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_under(module: str, prefixes: tuple[str, ...]) -> bool:
    return any(module == prefix or module.startswith(prefix + ".") for prefix in prefixes)


@cache
def imports_of(path: Path) -> tuple[tuple[str, int], ...]:
    return tuple(_list_imports(path))


def _list_imports(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            assert node.module is not None
            yield node.module, node.lineno
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def offences(rule: str) -> list[str]:
    return [f"{path.relative_to(ROOT)}:{line} {name}" for path, line, name in RULES[rule]()]


def foreign_imports() -> Iterator[tuple[Path, int, str]]:
    """Imports of another room that no door allows."""
    for path in SOURCES:
        here = module_of(path).split(".")[0]
        for name, line in imports_of(path):
            room = name.split(".")[0]
            if room not in (*ROOMS, *TOPS) or room == here or is_through_a_door(name, DOORS[here]):
                continue
            if not (is_under(module_of(path), COMMANDS) and is_through_a_door(name, (TERMINAL,))):
                yield path, line, name


def is_through_a_door(name: str, doors: tuple[str, ...]) -> bool:
    # `from consumer import facts` names the package above the door.
    return is_under(name, doors) or any(door.startswith(name + ".") for door in doors)


def terminal_imports() -> Iterator[tuple[Path, int, str]]:
    """Imports of the terminal by what is no command."""
    for path in SOURCES:
        if not is_under(module_of(path), COMMANDS):
            yield from ((path, line, name) for name, line in imports_of(path) if is_under(name, (TERMINAL,)))


def arrows_up() -> Iterator[tuple[Path, int, str]]:
    """Imports within reconcile from a floor above."""
    for path in SOURCES:
        own = floor_of(module_of(path))
        for name, line in imports_of(path):
            other = floor_of(name)
            if own is not None and other is not None and other < own:
                yield path, line, name


def floor_of(module: str) -> int | None:
    room, _, rest = module.partition(".")
    name = rest.split(".")[0]
    return FLOORS.index(name) if room == "reconcile" and name in FLOORS else None


def circles() -> Iterator[tuple[Path, int, str]]:
    """Circles of files, and of folders at any level."""
    modules = [module for module in read_modules(ROOT) if module.text.strip()]
    imports = read_imports(modules)
    for circle in [*find_circles(imports), *circles_of_folders(modules, imports)]:
        yield ROOT / "README.md", 1, " → ".join(circle)


def homeless_imports() -> Iterator[tuple[Path, int, str]]:
    """Imports of a library outside its one home."""
    for path in SOURCES:
        for name, line in imports_of(path):
            home = HOMES.get(name.split(".")[0])
            if home is not None and not is_under(module_of(path), home):
                yield path, line, name


def second_sqlites() -> Iterator[tuple[Path, int, str]]:
    """Imports of a SQLite in tests and benchmarks, which open the file as the program does."""
    for path in TESTS:
        for name, line in imports_of(path):
            if name.split(".")[0] in {"sqlite3", "pysqlite3"}:
                yield path, line, name


def impure_imports() -> Iterator[tuple[Path, int, str]]:
    """Imports that a pure module must not have."""
    for path in SOURCES:
        if is_under(module_of(path), PURE):
            for name, line in imports_of(path):
                if name.split(".")[0] in IMPURE or name in {"consumer.facts.store", "consumer.facts.clock.utc_now"}:
                    yield path, line, name


def environment_reads() -> Iterator[tuple[Path, int, str]]:
    """Reads of the environment outside the settings; who opens an installation hands it over whole."""
    for path in SOURCES:
        if module_of(path) in {"app", "consumer.config", "consumer.opening"}:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in {"os.environ", "os.getenv", "os.environb"}:
                yield path, node.lineno, ast.unparse(node)


def commits() -> Iterator[tuple[Path, int, str]]:
    """Commits and rollbacks below the edge: only the store ends a transaction."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if is_call and node.func.attr == "commit" and module_of(path) != "consumer.facts.store":  # type: ignore[attr-defined]
                yield path, node.lineno, "commit"  # type: ignore[attr-defined]


def broad_excepts() -> Iterator[tuple[Path, int, str]]:
    """Handlers of everything that do not raise it again, outside the places where work must go on."""
    for path in SOURCES:
        if str(path.relative_to(ROOT)) in BROAD_EXCEPTS:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                caught = ast.unparse(node.type) if node.type else "everything"
                goes_on = not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)
                if caught in {"everything", "Exception", "BaseException"} and goes_on:
                    yield path, node.lineno, caught


def large_things() -> Iterator[tuple[Path, int, str]]:
    """Files past 450 lines and functions past 60."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if "migrations/versions" in str(path):
            continue
        if text.count("\n") > FILE_LINES:
            yield path, text.count("\n"), "lines"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno and node.end_lineno - node.lineno > FUNCTION_LINES:
                yield path, node.lineno, f"{node.name} is too long"


def bad_names() -> Iterator[tuple[Path, int, str]]:
    for path in SOURCES:
        if set(module_of(path).split(".")) & BANNED_NAMES:
            yield path, 1, module_of(path)


def silent_modules() -> Iterator[tuple[Path, int, str]]:
    """Modules that do not say in a sentence what they are."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if text.strip() and not ast.get_docstring(ast.parse(text)):
            yield path, 1, "no docstring"


def silent_tests() -> Iterator[tuple[Path, int, str]]:
    """Tests whose docstring does not state the behaviour."""
    for path in TESTS:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node):
                yield path, node.lineno, node.name


def floats_of_money() -> Iterator[tuple[Path, int, str]]:
    """Calls of float() and true division in rule modules, where amounts are integers; fractions divide exactly."""
    for path in SOURCES:
        is_rule = is_under(module_of(path), ("reconcile.rules", "consumer.facts.money"))
        if not is_rule or "from fractions import Fraction" in path.read_text(encoding="utf-8"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                yield path, node.lineno, "/"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float":
                yield path, node.lineno, "float()"


RULES = {
    "rooms import one way": foreign_imports,
    "commands alone know the terminal": terminal_imports,
    "no arrow of reconcile goes up": arrows_up,
    "nothing stands in a circle": circles,
    "a library has one home": homeless_imports,
    "one SQLite opens the file": second_sqlites,
    "rules are pure": impure_imports,
    "the environment is read once": environment_reads,
    "nobody below the edge commits": commits,
    "broad excepts are counted": broad_excepts,
    "files and functions stay small": large_things,
    "names are of the trade": bad_names,
    "modules say what they are": silent_modules,
    "tests say what they hold": silent_tests,
    "money is never a float": floats_of_money,
}


@pytest.mark.parametrize("rule", RULES)
def test_the_code_keeps_its_rules(rule: str) -> None:
    """No file breaks a rule of the code."""
    assert offences(rule) == []


def test_every_migration_has_a_number_of_its_own() -> None:
    """Of two with one number Alembic would know one alone, and its tables would be missing."""
    versions = (ROOT / "consumer" / "facts" / "migrations" / "versions").glob("*.py")
    numbers = [path.name[:4] for path in versions]
    assert len(set(numbers)) == len(numbers)


def test_the_rules_see_offences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that breaks every rule is caught by each of them, so that a green run means something."""
    bad = tmp_path / "reconcile" / "rules" / "utils.py"
    bad.parent.mkdir(parents=True)
    body = [
        "import httpx",
        "import sqlite3",
        "import consumer.provider.client",
        "import consumer.commands.terminal",
        "import reconcile.rules.other",
        "import reconcile.runs",
        "import os",
        "def test_x(): os.environ; s.commit()",
    ]
    body += ["def f():", "    try: return float(1) / 2", "    except Exception: pass", *["    x = 1"] * 451]
    bad.write_text("\n".join(body), encoding="utf-8")
    bad.with_name("other.py").write_text("import reconcile.rules.utils\n", encoding="utf-8")
    here = sys.modules[__name__]
    monkeypatch.setattr(here, "ROOT", tmp_path)
    monkeypatch.setattr(here, "SOURCES", [bad])
    monkeypatch.setattr(here, "TESTS", [bad])

    assert [rule for rule in RULES if not offences(rule)] == []


def test_every_decision_has_a_number_of_its_own() -> None:
    """The number in a page's name is the one in its heading, and no other page has it."""
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [page.name[:4] for page in pages]
    assert numbers == sorted(set(numbers))
    assert [page.read_text(encoding="utf-8").split(".")[0] for page in pages] == [f"# {int(one)}" for one in numbers]
