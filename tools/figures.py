"""Figures of the code: how large it is, how its modules hang together, and how it speaks.

    python tools/figures.py [FOLDER …]

prints one column for each folder, this checkout where none is named. Tests, migrations and benchmarks are left out.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

LEFT_OUT = {"tests", "test", "migrations", "tools", "docs", "examples", "node_modules", "build", "instance"}
RIDDLES = {"nobody", "somebody"}
MOCKS = re.compile(r"\b(?:MagicMock|Mock\(|patch\(|patch\.|monkeypatch\.setattr)")
SILENCED = re.compile(r"#\s*(?:noqa|type:\s*ignore|pyright:\s*ignore|pylint:\s*disable)")


@dataclass(frozen=True, slots=True)
class Module:
    """One source file, parsed."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def folder(self) -> str:
        return self.name.rpartition(".")[0]


def read_modules(root: Path) -> list[Module]:
    """Return the modules below a folder, those left out excepted."""
    modules = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if any(part in LEFT_OUT or part.startswith(".") for part in parts):
            continue
        text = path.read_text(encoding="utf-8")
        own = parts[:-1] if parts[-1] == "__init__" else parts
        modules.append(Module(".".join(own) or root.name, path, text, ast.parse(text)))
    return modules


def read_imports(modules: list[Module]) -> dict[str, set[str]]:
    """Return for each module which others of the same checkout it imports, at any depth of its text.

    Imports for type checkers alone count too: whoever reads the file has to know both.
    """
    names = {module.name for module in modules}
    packages = {module.name for module in modules if module.path.name == "__init__.py"}
    found: dict[str, set[str]] = {}
    for module in modules:
        is_package = module.name in packages
        targets = {
            target for node in ast.walk(module.tree) for target in _targets(node, module, names, is_package=is_package)
        }
        found[module.name] = targets - {module.name}
    return found


def _targets(node: ast.AST, module: Module, names: set[str], *, is_package: bool) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (known for alias in node.names if (known := _longest_module(alias.name, names)))
    elif isinstance(node, ast.ImportFrom):
        start = node.module or ""
        if node.level:
            above = module.name.split(".")
            above = above[: len(above) - node.level + is_package]
            start = ".".join([*above, *filter(None, [node.module])])
        for alias in node.names:
            known = _longest_module(f"{start}.{alias.name}", names)
            if known:
                yield known


def _longest_module(name: str, names: set[str]) -> str | None:
    """Return the longest beginning of a dotted name that is a module of the checkout."""
    while name:
        if name in names:
            return name
        name = name.rpartition(".")[0]
    return None


def find_circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of two and more that reach each other, by Tarjan's algorithm without recursion."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    circles = []
    for start in sorted(arrows):
        if start in order:
            continue
        work: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(arrows[start])))]
        order[start] = low[start] = len(order)
        stack.append(start)
        on_stack.add(start)
        while work:
            here, further = work[-1]
            following = next(further, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[here])
                if low[here] == order[here]:
                    at = stack.index(here)
                    group, stack[at:] = stack[at:], []
                    on_stack.difference_update(group)
                    if len(group) > 1:
                        circles.append(sorted(group))
            elif following not in order:
                order[following] = low[following] = len(order)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(sorted(arrows.get(following, ())))))
            elif following in on_stack:
                low[here] = min(low[here], order[following])
    return circles


def folder_arrows(modules: list[Module], imports: dict[str, set[str]], *, depth: int) -> dict[str, set[str]]:
    """Return which folder imports which, folders named by their first `depth` parts; a file on top is its own."""
    packages = {module.name for module in modules if module.path.name == "__init__.py"}

    def folder(name: str) -> str:
        own = name if name in packages else name.rpartition(".")[0] or name
        return ".".join(own.split(".")[:depth])

    arrows: dict[str, set[str]] = {folder(module.name): set() for module in modules}
    for name, targets in imports.items():
        arrows[folder(name)] |= {folder(target) for target in targets} - {folder(name)}
    return arrows


def circles_of_folders(modules: list[Module], imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the circles of folders at every level, each once."""
    deepest = max(name.count(".") for name in imports) + 1
    found = {
        tuple(circle)
        for depth in range(1, deepest + 1)
        for circle in find_circles(folder_arrows(modules, imports, depth=depth))
    }
    return [list(circle) for circle in sorted(found)]


def lone_importers(imports: dict[str, set[str]]) -> int:
    counts = Counter(target for targets in imports.values() for target in targets)
    return sum(1 for count in counts.values() if count == 1)


def functions_of(modules: Iterable[Module]) -> list[int]:
    """Return the length in lines of each function."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for module in modules for node in ast.walk(module.tree) if isinstance(node, kinds))
    return [(node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes]


def count_any(modules: Iterable[Module]) -> int:
    return sum(isinstance(node, ast.Name) and node.id == "Any" for module in modules for node in ast.walk(module.tree))


def count_broad(modules: Iterable[Module]) -> int:
    handlers = (node for module in modules for node in ast.walk(module.tree) if isinstance(node, ast.ExceptHandler))
    return sum(node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"} for node in handlers)


def words_of(module: Module) -> list[str]:
    """Return the words of the docstrings and comments of a module, in lower case."""
    texts = [
        ast.get_docstring(node) or ""
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    texts += [token.string for token in tokens if token.type == tokenize.COMMENT]
    return re.findall(r"[a-z']+", " ".join(texts).lower())


def spread(sizes: list[int]) -> str:
    return f"{median(sizes):.0f}/{quantiles(sizes, n=10)[8]:.0f}/{max(sizes)}"


def measure(root: Path) -> dict[str, str]:
    """Return the figures of one checkout."""
    modules = [module for module in read_modules(root) if module.text.strip()]
    imports = read_imports(modules)
    lines = sum(module.lines for module in modules)
    texts = "\n".join(module.text for module in modules)
    tests = "\n".join(
        path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*.py"))
        if path.relative_to(root).parts[0] == "tests" or "tests" in path.relative_to(root).parts[1:2]
    )
    words = [word for module in modules for word in words_of(module)]
    riddles = sum(word in RIDDLES for word in words)
    thousand = lines / 1000
    return {
        "lines / files": f"{lines:,} / {len(modules)}",
        "file median / 90th / max": spread([module.lines for module in modules]),
        "function median / 90th / max": spread(functions_of(modules)),
        "`Any` per 1,000 lines": f"{count_any(modules) / thousand:.1f}",
        "circles of files / of folders": f"{len(find_circles(imports))} / {len(circles_of_folders(modules, imports))}",
        "modules with one importer": f"{100 * lone_importers(imports) / len(modules):.0f} %",
        "broad excepts per 1,000": f"{count_broad(modules) / thousand:.2f}",
        "mocks per 1,000 lines of tests": f"{1000 * len(MOCKS.findall(tests)) / max(tests.count(chr(10)), 1):.1f}",
        "silenced checks per 1,000": f"{len(SILENCED.findall(texts)) / thousand:.1f}",
        "*nobody/somebody* per 10,000 words": f"{10_000 * riddles / max(len(words), 1):.1f}",
    }


def lines_by_room(root: Path) -> dict[str, int]:
    """Return the lines of each package and of the files on top."""
    lines: Counter[str] = Counter()
    for module in read_modules(root):
        lines[module.name.split(".")[0]] += module.lines
    return dict(sorted(lines.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="*", type=Path, default=[Path(__file__).resolve().parent.parent])
    parser.add_argument("--circles", action="store_true", help="name the circles, and the lines of each room")
    chosen = parser.parse_args()
    measured = [measure(folder) for folder in chosen.folder]
    write = sys.stdout.write
    write(f"| measured | {' | '.join(folder.resolve().name for folder in chosen.folder)} |\n")
    write(f"|---|{'---|' * len(measured)}\n")
    for name in measured[0]:
        write(f"| {name} | {' | '.join(figures[name] for figures in measured)} |\n")
    if chosen.circles:
        for folder in chosen.folder:
            modules = [module for module in read_modules(folder) if module.text.strip()]
            imports = read_imports(modules)
            for circle in [*find_circles(imports), *circles_of_folders(modules, imports)]:
                write(f"circle: {', '.join(circle)}\n")
            write(f"lines: {', '.join(f'{room} {lines:,}' for room, lines in lines_by_room(folder).items())}\n")


if __name__ == "__main__":
    main()
