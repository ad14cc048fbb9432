"""The description of the programs' lists against rows of every table, filled whole and as empty as it may be."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from flask.testing import FlaskClient
from sqlmodel import AutoString, SQLModel

from consumer.facts.installation import Installation
from consumer.facts.tables.types import UtcDateTime
from tests.reports.pages.test_api import fetch, fits

AT = datetime(2026, 10, 5, 12, tzinfo=UTC)
# Values by the column's name where its type says too little; all else is one value for each type.
NAMED: dict[str, Any] = {
    "connection": "main", "mode": "test", "currency": "CLP", "run_id": "run-1", "body": "{}", "columns": "{}",
    "summary": "{}", "evidence": "{}",
}  # fmt: skip
TYPED: dict[type, Any] = {str: "x", int: 5, bool: True, bytes: b"{}", date: date(2026, 10, 5), datetime: AT}
# These types of columns name no type of Python.
KINDS: dict[type, type] = {AutoString: str, UtcDateTime: datetime}
# What these show is read from whole objects of the provider, or from two runs; their own tests fill them.
OTHERWISE = {
    "/approvals", "/closed-figures", "/drift", "/payment-complements", "/run-diff", "/search", "/statement-check",
    "/tax-invoices", "/tax-returns", "/tax-statements", "/transfers", "/tax-causes",
    "/tax-tie-out", "/tax-vouchers",
}  # fmt: skip
LEFT_OUT = {
    "account_movement", "account_statement", "approval_request", "journal_entry", "result_chunk", "run",
    "tax_invoice", "tax_return", "tax_statement", "transfer", "fiscal_document", "fiscal_payment",
    "register_row", "declared_figure",
}  # fmt: skip


def _row(table: sa.Table, *, is_whole: bool) -> dict[str, Any]:
    """Make up a row; the empty one has another key and nothing where nothing may stand."""
    row = {}
    for column in table.columns:
        kind = KINDS.get(type(column.type)) or column.type.python_type
        value = NAMED[column.name] if kind is str and column.name in NAMED else TYPED[kind]
        if not is_whole and column.primary_key and column.name not in NAMED:
            value = {str: "y", int: 6}.get(kind, value)
        row[column.name] = None if column.nullable and not is_whole else value
    return row


@pytest.fixture
def filled(reconciled: Installation) -> set[str]:
    """Rows in all tables that lists are read from; gives the names of the tables."""
    tables = [table for table in SQLModel.metadata.sorted_tables if table.name not in LEFT_OUT]
    with reconciled.store.transaction() as session:
        for table in tables:
            for is_whole in (True, False):
                session.execute(sa.insert(table).prefix_with("OR IGNORE"), [_row(table, is_whole=is_whole)])
    return {table.name for table in tables}


def test_rows_of_every_table_are_as_described(filled: set[str], client: FlaskClient) -> None:
    """Whatever a list shows has the fields and types of its description, also where a row says nothing."""
    assert len(filled) >= 60
    empty = set[str]()
    wrong: dict[tuple[str, str], object] = {}
    lists = {path: methods for path, methods in fetch(client, "openapi.json")["paths"].items() if "get" in methods}
    for path, methods in lists.items():
        schema = methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        rows, described = fetch(client, path.removeprefix("/"))["data"], schema["properties"]["data"]["items"]
        empty |= set() if rows else {path}
        for row in rows:
            assert sorted(row) == sorted(described["required"]), path
            wrong |= {
                (path, name): value for name, value in row.items() if not fits(value, described["properties"][name])
            }
    assert wrong == {}
    assert empty <= OTHERWISE
