"""Every method of the provider's own client libraries against the sandbox, as docs/sandbox.md says it works."""

import json
import re
from pathlib import Path

import pytest

from sandbox.serve import RunningSandbox
from tests.clients.conftest import LIBRARIES, Install, Library
from tests.clients.given import prepare

DOCUMENT = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text(encoding="utf-8")
SECTION = DOCUMENT.partition("## The provider's own client libraries")[2].partition("\n## ")[0]
SCENARIOS = {"cl": "busy-month", "mx": "mexico"}
METHOD = re.compile(r"(\w+)(?: \((cl|mx|no)\))?")
OFFERED = re.compile(r"^\| `([\w.]+)` \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)
REASONS = SECTION.partition("| method | works in | whose reading |")[2]


def documented(library: Library) -> dict[str, str | None]:
    """Every method of the table and the one country it works in, `no` for neither, None for both."""
    found: dict[str, str | None] = {}
    for resource, *cells in OFFERED.findall(SECTION):
        cell = cells[LIBRARIES.index(library)]
        found |= {f"{resource}.{name}": where or None for name, where in METHOD.findall(cell)}
    return found


@pytest.mark.parametrize("country", SCENARIOS)
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_every_method_works_as_documented(library: Library, country: str, install: Install, tmp_path: Path) -> None:
    """Each is called over HTTP, in both countries; those that do not work are those of the table."""
    folder = install(library)
    with RunningSandbox(SCENARIOS[country], scale=0.3) as running:
        given = prepare(running.url, tmp_path / "key.pem")
        driven = library.run(folder, "drive", running.url, str(tmp_path / "key.pem"), json.dumps(given))

    outcomes = driven["outcomes"]
    assert set(driven["offered"]) - set(outcomes) == set()
    expected = {name: where in {None, country} for name, where in documented(library).items()}
    works = {name: outcome == "works" for name, outcome in outcomes.items()}
    assert works == expected, {name: outcome for name, outcome in outcomes.items() if outcome != "works"}


def test_what_does_not_work_has_its_reason() -> None:
    """Each method that fails in a country, and no other, is in the table of reasons."""
    failing = {name for library in LIBRARIES for name, where in documented(library).items() if where}
    first_cells = [row.split(" | ")[0] for row in REASONS.splitlines()]
    explained = {name for cell in first_cells for name in re.findall(r"`([\w.]+)`", cell)}
    assert failing == explained


def test_the_document_names_the_versions() -> None:
    """The head of the table is what is installed."""
    assert f"| resource | {' | '.join(library.name for library in LIBRARIES)} |" in SECTION
