"""What the documents say exists, and what exists is in the documents: commands, options, settings, routes, reports."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import app
from consumer.config import setting_names
from consumer.facts.alarms import CAUSES
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from tools import reference
from tools.reference import commands

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def table(heading: str) -> list[list[str]]:
    """Read the rows of the table under a heading, cells without their backticks."""
    section = REFERENCE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("name", reference.TABLES)
def test_the_tables_of_the_documents_are_those_of_the_program(name: str) -> None:
    """Commands, reports, streams and event types stand there as the program has them; `make golden` writes them."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert reference.render(text, reference.TABLES[name]) == text


def test_a_table_is_written_anew() -> None:
    """Rows are replaced, what stands above and below stays."""
    text = "# R\n\n## Commands\n\nAbove.\n\n| command | does |\n|---|---|\n| old | gone |\n\nBelow.\n"
    rendered = reference.render(text, {"Commands": lambda: [("`cuadre a`", "A.")]})
    assert rendered == text.replace("| old | gone |", "| `cuadre a` | A. |")


def test_every_command_says_what_it_does() -> None:
    """No command is without its sentence in --help."""
    assert [name for name, command in commands() if not command.help] == []


def test_every_setting_is_documented_and_every_documented_one_exists() -> None:
    """The reference lists exactly the settings that are read."""
    assert sorted(row[0] for row in table("Settings")) == sorted(setting_names())


def test_every_route_is_documented_and_every_documented_one_exists(installation: Installation) -> None:
    """The reference lists exactly the routes that answer."""
    rules = app.create_app(installation).url_map.iter_rules()
    served = {f"{m} {rule}" for rule in rules for m in (rule.methods or set()) - {"HEAD", "OPTIONS"}}
    # Other methods on the receiving routes exist only to be refused.
    served = {route for route in served if not re.match(r"(GET|PUT|PATCH|DELETE) /webhooks", route)}

    assert sorted(row[0] for row in table("Routes")) == sorted(served)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_only_commands_that_exist(document: Path) -> None:
    """Whatever a document tells the reader to type is there to be typed."""
    known = {name for name, _ in commands()}
    groups = {name.rsplit(" ", 1)[0] for name in known if name.count(" ") > 1}
    typed = re.findall(r"`(?:\.venv/bin/)?(cuadre [a-z-]+(?: [a-z-]+)?)", document.read_text(encoding="utf-8"))

    unknown = [text for text in typed if not ({text, text.rsplit(" ", 1)[0]} & (known | groups))]

    assert unknown == []


def typed_lines(text: str) -> Iterator[str]:
    """Yield what a document tells the reader to type: spans of code, and lines of blocks without their comments."""
    for block in re.findall(r"```(?:sh)?\n(.*?)```", text, re.DOTALL):
        yield from (line.partition("#")[0] for line in block.splitlines())
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_only_options_that_exist(document: Path) -> None:
    """Each option written behind a command is one of that command."""
    options = {name: {word for one in command.params for word in one.opts} for name, command in commands()}
    wrong = []
    for line in typed_lines(document.read_text(encoding="utf-8")):
        words = re.sub(r"^(sudo )?(\S*/bin/)?", "", line.strip()).split()
        name = next((" ".join(words[:n]) for n in (3, 2) if " ".join(words[:n]) in options), None)
        given = {word.partition("=")[0] for word in words if re.fullmatch(r"--[a-z-]+(=.*)?", word)}
        if name is not None and given - options[name] - {"--help", "--version"}:
            wrong.append(line)
    assert wrong == []


def test_every_alarm_has_a_row_that_says_what_to_type() -> None:
    """Whoever is woken finds the cause in the first table of the page, and what makes it stand in the second."""
    page = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
    for heading in ("At three in the morning", "Alarms"):
        section = page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
        rows = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("|")]
        named = {name.partition(":")[0] for row in rows for name in re.findall(r"`([a-z_]+(?::[A-Z]+)?)`", row)}
        assert sorted(set(CAUSES) - named) == []


def test_readme_names_only_targets_that_exist() -> None:
    """Every make target of the README is in the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))

    assert named - targets == set()


def anchors(document: Path) -> set[str]:
    """Return what links into a document may name: its headings, as they become addresses."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_to_headings_lead_to_one() -> None:
    """A heading that moved or was renamed takes the links to it along."""
    broken = [
        (document.name, f"{target}#{anchor}")
        for document in DOCUMENTS
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", document.read_text(encoding="utf-8"))
        if anchor not in anchors(document.parent / target if target else document)
    ]
    assert broken == []


def test_links_between_documents_lead_somewhere() -> None:
    """No document points at a file that is not there."""
    broken = [
        (document.name, target)
        for document in DOCUMENTS
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8"))
        if not (document.parent / target).exists()
    ]

    assert broken == []


@pytest.fixture
def installation(settings: Settings, migrated_sqlite: Path, tmp_path: Path) -> Iterator[Installation]:
    """One installation is enough here; the kind of database changes no route."""
    store = Store(f"sqlite:///{shutil.copy(migrated_sqlite, tmp_path)}")
    yield Installation(settings=settings, store=store)
    store.close()
