"""Change money, time, signatures and windows in small ways, one at a time, and count how often a test notices.

    python tools/mutants.py [--count 150] [--seed 14] [--package consumer] [--only next_place]

The tests are collected once. Each mutant is a process forked from there in which one function has other code, so the
files stay as they are. It runs tests that call the function, on SQLite, at most ten cases of each and 80 together,
until one fails: then the mutant died.
"""

import argparse
import ast
import builtins
import copy
import hashlib
import importlib
import inspect
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
SUBJECTS = {
    "money": "consumer/facts/money reconcile/rules/fees reconcile/rules/payouts reconcile/rules/terms",
    "time": "consumer/facts/clock consumer/facts/bankdays reconcile/rules/columns",
    "signature": "consumer/webhooks/signature",
    "windows": "consumer/facts/completeness consumer/sync/lateness consumer/sync/backfill consumer/sync/windows"
    " reconcile/reading/gaps",
}
ROOMS = (
    "consumer/facts",
    "consumer/jobs",
    "consumer/sync",
    "consumer/webhooks",
    "reconcile/reading",
    "reconcile/rules",
)
PATIENCE, MOST, CASES = 300, 80, 10
_TERMINAL = os.dup(1)
SEEN = "_units_called"

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unit:
    """A function of a module, or a method of one of its classes: what can be given other code."""

    subject: str
    path: str
    name: str
    function: FunctionType
    tree: ast.Module


@dataclass(frozen=True, slots=True)
class Mutant:
    unit: Unit
    change: str
    code: CodeType

    @property
    def place(self) -> str:
        """A number that depends on the function and the change alone, not on the file they stand in."""
        return hashlib.sha256(f"{self.unit.name} {self.change}".encode()).hexdigest()


def read_units(package: str) -> Iterator[Unit]:
    """Yield the functions of the subjects' modules in a package; the empty text stands for all."""
    for subject, paths in SUBJECTS.items():
        for path in paths.split():
            if path.startswith(package) and (ROOT / f"{path}.py").exists():
                yield from _units_of(subject, f"{path}.py", importlib.import_module(path.replace("/", ".")))


def _units_of(subject: str, path: str, module: ModuleType) -> Iterator[Unit]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    owners: list[tuple[str, object, list[ast.stmt]]] = [("", module, tree.body)]
    owners += [
        (f"{node.name}.", getattr(module, node.name), node.body) for node in tree.body if isinstance(node, ast.ClassDef)
    ]
    for prefix, owner, body in owners:
        for node in body:
            if isinstance(node, ast.FunctionDef):
                function = _bare(inspect.getattr_static(owner, node.name))
                if function is not None:
                    yield Unit(subject, path, prefix + node.name, function, tree)


def _bare(found: object) -> FunctionType | None:
    """Return the function below decorators."""
    if isinstance(found, property):
        found = found.fget
    found = getattr(found, "__func__", getattr(found, "func", found))
    bare = inspect.unwrap(found) if callable(found) else None
    return bare if isinstance(bare, FunctionType) else None


def _code_of(tree: ast.Module, unit: Unit) -> CodeType:
    waiting = [compile(ast.fix_missing_locations(tree), unit.path, "exec")]
    while waiting:
        code = waiting.pop()
        if code.co_qualname == unit.name:
            return code
        waiting += [const for const in code.co_consts if isinstance(const, CodeType)]
    raise LookupError(f"{unit.path} has no code of {unit.name}")


def _body_of(tree: ast.Module, name: str) -> ast.FunctionDef:
    found: ast.Module | ast.ClassDef | ast.FunctionDef = tree
    for part in name.split("."):
        found = next(
            node for node in found.body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == part
        )
    assert isinstance(found, ast.FunctionDef)
    return found


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr | ast.Raise | ast.arguments | ast.AnnAssign)


def _nodes(function: ast.FunctionDef) -> list[ast.AST]:
    """Return what may be changed in a function: no annotation, no message, no default."""
    waiting: list[ast.AST] = list(function.body)
    found = []
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            waiting.insert(0, node.value)
        elif not _is_text(node):
            found.append(node)
            waiting[:0] = ast.iter_child_nodes(node)
    return found


def _changes_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield copies of a node that say something else."""
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            new = copy.deepcopy(node)
            new.ops[index] = COMPARISONS[type(operator)]()
            yield new
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        new_operation = copy.deepcopy(node)
        new_operation.op = OPERATORS[type(node.op)]()
        yield new_operation
    elif isinstance(node, ast.BoolOp):
        new_junction = copy.deepcopy(node)
        new_junction.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield new_junction
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield copy.deepcopy(node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.copy_location(self.new, node) if node is self.old else self.generic_visit(node)


def _replace(tree: ast.Module, old: ast.AST, new: ast.AST) -> ast.Module:
    _Replace(old, new).visit(tree)
    return tree


def mutants_of(unit: Unit) -> Iterator[Mutant]:
    alike: Counter[str] = Counter()
    nodes = _nodes(_body_of(unit.tree, unit.name))
    for index, node in enumerate(nodes):
        for nth, _ in enumerate(_changes_of(node)):
            tree = copy.deepcopy(unit.tree)
            old = _nodes(_body_of(tree, unit.name))[index]
            new = list(_changes_of(old))[nth]
            change = f"{ast.unparse(old)} -> {ast.unparse(new)}"
            alike[change] += 1
            yield Mutant(unit, f"{change} #{alike[change]}", _code_of(_replace(tree, old, new), unit))


def _watch(unit: Unit) -> CodeType:
    """Return the unit's code with a note that it was called before everything else."""
    tree = copy.deepcopy(unit.tree)
    _body_of(tree, unit.name).body.insert(
        0, ast.parse(f"__import__('builtins').{SEEN}.add({unit.path + unit.name!r})").body[0]
    )
    return _code_of(tree, unit)


@dataclass
class Plugin:
    """Runs mutants instead of tests."""

    count: int
    seed: int
    package: str
    only: str
    died: Counter[str] = field(default_factory=Counter)
    all: Counter[str] = field(default_factory=Counter)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        cases: Counter[str] = Counter()
        kept = []
        for item in items:
            function = item.nodeid.partition("[")[0]
            cases[function] += "postgresql" not in item.nodeid
            if "postgresql" not in item.nodeid and cases[function] <= CASES:
                kept.append(item)
        items[:] = kept

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        units = list(read_units(self.package))
        every = [mutant for unit in units for mutant in mutants_of(unit) if self.only in unit.name]
        by_place = sorted(every, key=lambda mutant: hashlib.sha256(f"{self.seed} {mutant.place}".encode()).hexdigest())
        calls = _record_calls(session, units)
        say(
            f"{len(every)} mutants of {len(units)} functions; {len(calls)} tests pass and are watched; {self.count} run"
        )
        for mutant in by_place[: self.count]:
            self._judge(mutant, session, calls)
        for subject, count in sorted(self.all.items()):
            say(f"{subject}: {self.died[subject]} of {count} died")
        say(f"together: {self.died.total()} of {self.all.total()} died")
        return True

    def _judge(self, mutant: Mutant, session: pytest.Session, calls: dict[str, tuple[float, list[str]]]) -> None:
        unit = mutant.unit
        calling = [item for item in session.items if unit.path + unit.name in calls.get(item.nodeid, (0.0, []))[1]]
        items = _most_telling(mutant, calling, {name: seconds for name, (seconds, _) in calls.items()})
        self.all[unit.subject] += 1
        status = _in_child(lambda: _run_mutant(mutant, session, items))
        self.died[unit.subject] += status != 0
        if status > 0:
            say(f"died: {unit.path} {unit.name}: {mutant.change}")
        else:
            what = "too slow, counted as died" if status else f"survived {len(items)} tests"
            say(f"{what}: {unit.path} {unit.name}: {mutant.change}")


def _most_telling(mutant: Mutant, items: list[pytest.Item], seconds: dict[str, float]) -> list[pytest.Item]:
    """Return tests that bear a name of the function or its module before others, and quick ones before slow ones."""
    names = re.findall("[a-z]{4,}", f"{Path(mutant.unit.path).stem} {mutant.unit.name.lower()}")
    words = {name.rstrip("s") for name in names}

    def rank(item: pytest.Item) -> tuple[int, float]:
        return -sum(word in item.nodeid for word in words), seconds[item.nodeid]

    return sorted(items, key=rank)[:MOST]


def _in_child(run: Callable[[], int], *, patience: float = PATIENCE) -> int:
    """Run in a forked process and return its exit status; below zero where it had to be ended."""
    pid = os.fork()
    if not pid:
        os.setsid()
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        status = 1
        try:
            status = run()
        finally:
            os._exit(status)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1
        time.sleep(0.01)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1


def _silence(session: pytest.Session) -> None:
    session.config.pluginmanager.unregister(name="terminalreporter")


def _run_mutant(mutant: Mutant, session: pytest.Session, items: list[pytest.Item]) -> int:
    _silence(session)
    mutant.unit.function.__code__ = mutant.code
    for index, item in enumerate(items):
        following = items[index + 1] if index + 1 < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


def _record_calls(session: pytest.Session, units: list[Unit]) -> dict[str, tuple[float, list[str]]]:
    """Run every test unchanged; return for each that passes its seconds of processor and the units it calls."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as answer:

        def run() -> int:
            called: dict[str, tuple[float, list[str]]] = {}
            _silence(session)
            for unit in units:
                unit.function.__code__ = _watch(unit)
            for index, item in enumerate(session.items):
                seen: set[str] = set()
                setattr(builtins, SEEN, seen)
                failed, began = session.testsfailed, time.process_time()
                following = session.items[index + 1] if index + 1 < len(session.items) else None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.testsfailed == failed:
                    called[item.nodeid] = time.process_time() - began, sorted(seen)
            Path(answer.name).write_text(json.dumps(called), encoding="utf-8")
            return 0

        assert _in_child(run, patience=3600) == 0
        return dict(json.loads(answer.read()))


def say(line: str) -> None:
    os.write(_TERMINAL, f"{line}\n".encode())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=150)
    options.add_argument("--seed", type=int, default=14)
    options.add_argument("--package", choices=["consumer", "reconcile"], default="")
    options.add_argument("--only", default="", help="a part of the names of functions to change")
    given = options.parse_args()
    rooms = [str(ROOT / "tests" / room) for room in ROOMS if room.startswith(given.package)]
    with tempfile.TemporaryDirectory(prefix="cuadre-mutants-") as folder:
        quiet = ["-q", "-p", "no:cacheprovider", "--basetemp", f"{folder}/tests"]
        sys.exit(pytest.main([*quiet, *rooms], plugins=[Plugin(given.count, given.seed, given.package, given.only)]))


if __name__ == "__main__":
    main()
