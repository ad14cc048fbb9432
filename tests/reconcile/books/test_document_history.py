"""What later files changed of a document, as the command shows it."""

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

HEADER = "doc_type,folio,issue_date,total,status,currency"
Call = Callable[..., Result]


def _import(call: Call, folder: Path, name: str, row: str) -> None:
    path = folder / name
    path.write_text(f"{HEADER}\n{row}\n", encoding="utf-8")
    assert call("invoices", "import", path).exit_code == 0


def test_each_import_shows_what_it_changed(call: Call, tmp_path: Path) -> None:
    """Oldest first: the file, the field, both sides, amounts in major units."""
    _import(call, tmp_path, "september.csv", "33,7,2026-09-01,11.90,valid,USD")
    assert "cl:33::7: nothing changed since it came in at " in call("invoices", "history", "cl:33::7").stderr
    assert call("invoices", "history", "cl:33::7", "--json").stdout == ""
    _import(call, tmp_path, "october.csv", "33,7,2026-09-01,12.90,valid,USD")
    _import(call, tmp_path, "november.csv", "33,7,2026-09-01,12.90,anulada,USD")
    rows = [json.loads(line) for line in call("invoices", "history", "cl:33::7", "--json").stdout.splitlines()]
    assert [(row["doc_key"], row["file"], row["field"], row["before"], row["after"]) for row in rows] == [
        ("cl:33::7", "october.csv", "total", "11.90", "12.90"),
        ("cl:33::7", "november.csv", "status", "valid", "void"),
    ]
    assert "november.csv" in call("invoices", "history", "cl:33::7").stdout
    assert "november.csv" in call("invoices", "history", "7").stdout
    assert "there is no document 8 in connection main" in call("invoices", "history", "8").stderr


def test_a_document_nobody_knows_is_named(call: Call) -> None:
    """A typing error is not an empty history."""
    refused = call("invoices", "history", "cl:33::8")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "there is no document cl:33::8 in connection main: cuadre invoices list" in refused.stderr
