"""What is kept of people is declared, shown, written down, and goes by its age."""

from datetime import timedelta

import sqlalchemy as sa
from click.testing import CliRunner

from consumer.backup.making import PLACES
from consumer.facts.installation import Installation
from consumer.facts.tables.types import UtcDateTime
from cuadre import Commands
from reports.erasing.declared import columns_of, list_tables, objects_of_provider, read_declared
from reports.erasing.erase import WAITING
from reports.erasing.retention import forget_old
from tests.merchant import ROOT, rows_of
from tests.reports.erasing.conftest import AT

_WORDLESS = (sa.Integer, sa.Boolean, sa.Date, UtcDateTime)


def test_every_column_of_text_is_declared() -> None:
    """A new column holds something of people or does not: personal.toml says which, and names no column twice."""
    undeclared, declared = [], read_declared()["none"]
    for table in list_tables():
        # Whatever is no number and no time may hold words.
        texts = {column.name for column in table.columns if not isinstance(column.type, _WORDLESS)}
        shared = declared["provider"] if table in objects_of_provider() else ""
        personal, none = set(columns_of(table)), {*shared.split(), *declared.get(table.name, "").split()}
        undeclared += [f"{table.name}.{name}" for name in texts - personal - none]
        undeclared += [f"{table.name}.{name} twice" for name in personal & none]
        undeclared += [f"{table.name}.{name} is not there" for name in (personal | none) - texts]
    assert undeclared == []


def test_every_folder_of_files_is_declared() -> None:
    """What lies in files is named too: every folder that a backup takes, and those whose files wait for a reader."""
    assert {*PLACES, *WAITING} - set(read_declared()["files"]) == {"mappings", "calendars"}


def test_what_is_kept_is_shown() -> None:
    """The command prints each place with what it holds, without settings or a database."""
    shown = CliRunner().invoke(Commands(), ["erase", "--kept", "--json"], obj=None)
    rows = {(row["place"], row["column"]): row["what"] for row in rows_of(shown)}
    assert rows["customer", "name"] == "name"
    assert rows["bank_line", "text"] == "what the bank wrote, names and tax ids"
    assert "CUADRE_RETENTION_DAYS" in rows["bodies of events and conflicts", ""]


def test_the_page_for_operators_names_every_place() -> None:
    """docs/operate.md has each table and folder that holds something of people."""
    page = (ROOT / "docs" / "operate.md").read_text("utf-8").partition("## Personal data")[2]
    declared = read_declared()
    assert [name for name in (*declared["tables"], *declared["files"]) if f"`{name}`" not in page] == []


def test_old_entries_of_staff_go(lived: Installation) -> None:
    """What a class keeps for so many days is deleted after them, and without a number of days it stays."""
    settings = lived.settings.model_copy(update={"retention_trail_days": 30})
    assert forget_old(lived, now=AT + timedelta(days=31)) == "0 entries of staff"
    changed = Installation(settings, lived.store)
    assert forget_old(changed, now=AT + timedelta(days=29)) == "0 entries of staff"
    assert forget_old(changed, now=AT + timedelta(days=31)) == "1 entries of staff"
