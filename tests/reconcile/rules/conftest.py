"""Small literal tables in, and the result of one reconciliation out."""

from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Any

import pandas as pd
import pytest
from pandas.api.extensions import ExtensionArray

from consumer.facts.bankdays import calendar_of
from reconcile.rules.fees import choose_fees
from reconcile.rules.inputs import (
    BANK,
    CHANGED_DOCUMENTS,
    CONFLICTS,
    DECISIONS,
    DISPUTES,
    DOCUMENTS,
    FEES,
    GAPS,
    ITEMS,
    NUMBERS,
    OPERATIONS,
    ORDERS,
    PAYERS,
    PAYOUTS,
    RATES,
    SETTLED,
    UNKNOWN_CUSTOMERS,
    Finding,
    Inputs,
    Result,
    Schema,
    empty_frame,
    to_types,
)
from reconcile.rules.lines import build_documents, build_lines
from reconcile.rules.payouts import place_items
from reconcile.rules.pipeline import match_payments, reconcile
from reconcile.rules.terms import to_rules, to_tariff
from reconcile.rules.verdicts import decide_documents

Row = dict[str, Any]

ANA, BRUNO = "11111111-1", "22222222-2"
MONDAY = "2026-10-05T15:00:00Z"  # noon in Santiago, a bank day


def frame(rows: list[Row], schema: Schema) -> pd.DataFrame:
    given = {name: dtype for name, dtype in schema.items() if any(name in row for row in rows)}
    said = to_types(pd.DataFrame(rows, columns=list(given)), given)
    cells = {name: said[name].array if name in given else _missing(dtype, len(rows)) for name, dtype in schema.items()}
    return pd.DataFrame(cells)


@cache
def _missing(dtype: str, count: int) -> ExtensionArray:
    cells: ExtensionArray = pd.Series([None] * count, dtype=dtype).array
    return cells


@dataclass
class Case:
    """A case under construction: every method adds one row with plain defaults and gives back its id."""

    country: str = "cl"
    as_of: date = date(2026, 10, 6)
    voucher_model: str = "voucher"
    tariff: dict[str, Any] = field(default_factory=dict)
    rules: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in _SCHEMAS})

    @property
    def currency(self) -> str:
        return "CLP" if self.country == "cl" else "MXN"

    def payout(self, payout_id: str, amount: int, **given: Any) -> str:
        row = {
            "payout_id": payout_id,
            "currency": self.currency,
            "status": "succeeded",
            "amount": amount,
            "created_at": "2026-10-05T17:20:00Z",
            "succeeded_at": "2026-10-05T18:00:00Z",
            "recipient_institution": "cl_banco_de_chile",
            "recipient_last4": "0001",
        }
        self.rows["payouts"].append(row | given)
        return payout_id

    def payout_without_fee(self, payout_id: str, amount: int, **given: Any) -> str:
        """A payout under a tariff that takes nothing of bank transfers."""
        self.tariff = {"vat_bps": 1900, "bank_transfer": {"bps": 0}}
        return self.payout(payout_id, amount, **given)

    def item(self, resource_type: str, resource_id: str, amount: int, **given: Any) -> str:
        row = {
            "resource_type": resource_type,
            "resource_id": resource_id,
            "resource_subtype": "bank_transfer",
            "status": "succeeded",
            "currency": self.currency,
            "amount": amount,
            "occurred_at": MONDAY,
        }
        self.rows["items"].append(row | given)
        return resource_id

    def payment(self, resource_id: str, amount: int, **given: Any) -> str:
        return self.item("payment_intent", resource_id, amount, **given)

    def refund(self, resource_id: str, parent_id: str, amount: int, **given: Any) -> str:
        return self.item("refund", resource_id, amount, parent_id=parent_id, resource_subtype=None, **given)

    def invoice(self, folio: str, total: int, **given: Any) -> str:
        row = {
            "doc_key": f"{self.country}:33::{folio}",
            "doc_type": "33",
            "folio": folio,
            "issue_date": date(2026, 10, 1),
            "due_date": date(2026, 10, 30),
            "total": total,
            "currency": self.currency,
            "status": "valid",
            "order_ref": f"PED-{folio}",
            "customer_tax_id": ANA,
        }
        self.rows["documents"].append(row | given)
        return str((row | given)["doc_key"])

    def note(self, folio: str, invoice: str, total: int, **given: Any) -> str:
        row = {
            "doc_key": f"cl:61::{folio}",
            "doc_type": "61",
            "ref_type": "33",
            "ref_number": invoice,
            "order_ref": None,
        }
        return self.invoice(folio, total, **(row | given))

    def add(self, table: str, **row: Any) -> None:
        self.rows[table].append(row)

    def inputs(self) -> Inputs:
        return Inputs(
            connection="main",
            country=self.country,
            mode="test",
            as_of=self.as_of,
            tariff=to_tariff(self.tariff),
            rules=to_rules(self.rules),
            calendar=calendar_of(self.country),
            voucher_model=self.voucher_model,
            **{
                name: frame(self.rows[name], schema) if self.rows[name] else empty_frame(schema)
                for name, schema in _SCHEMAS.items()
            },
        )

    def run(self) -> "Run":
        result = reconcile(self.inputs())
        return Run(result.lines, result.documents, result)

    def match(self) -> "Matched":
        """Enter where payments meet documents: no sums of payouts, no findings, and so no codes of exceptions."""
        inputs = self.inputs()
        rows = place_items(inputs)
        ledger = match_payments(rows, inputs)
        applied = ledger.applications()
        lines = build_lines(rows, choose_fees(rows, inputs), ledger, applied, disputes=[], inputs=inputs)
        documents = build_documents(ledger, decide_documents(ledger, inputs), applied, ())
        return Matched(*(table.drop(columns="exception_code") for table in (lines, documents)))


_SCHEMAS: dict[str, Schema] = {
    "payouts": PAYOUTS,
    "items": ITEMS,
    "documents": DOCUMENTS,
    "disputes": DISPUTES,
    "fees": FEES,
    "gaps": GAPS,
    "conflicts": CONFLICTS,
    "decisions": DECISIONS,
    "bank": BANK,
    "rates": RATES,
    "unknown_customers": UNKNOWN_CUSTOMERS,
    "orders": ORDERS,
    "payers": PAYERS,
    "operations": OPERATIONS,
    "changed_documents": CHANGED_DOCUMENTS,
    "settled": SETTLED,
    "numbers": NUMBERS,
}


@dataclass(frozen=True)
class Matched:
    """What became of payments and documents, asked in the words of the tests; a missing value reads as None."""

    all_lines: pd.DataFrame
    all_documents: pd.DataFrame

    def lines(self, resource_id: str, *names: str) -> list[tuple[Any, ...]]:
        return _picked(self.all_lines, "resource_id", resource_id, names)

    def line(self, resource_id: str, *names: str) -> tuple[Any, ...]:
        (only,) = self.lines(resource_id, *names)
        return only

    def document(self, doc_key: str, *names: str) -> tuple[Any, ...]:
        (only,) = _picked(self.all_documents, "doc_key", doc_key, names)
        return only


@dataclass(frozen=True)
class Run(Matched):
    """The whole result."""

    result: Result

    def payout(self, payout_id: str, *names: str) -> tuple[Any, ...]:
        (only,) = _picked(self.result.payouts, "payout_id", payout_id, names)
        return only

    def found(self) -> set[tuple[str, str, int]]:
        return {(finding.code, finding.subject, finding.amount_at_risk) for finding in self.result.findings}

    def finding(self, code: str) -> Finding:
        (only,) = [finding for finding in self.result.findings if finding.code == code]
        return only


def _picked(table: pd.DataFrame, key: str, value: str, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    chosen = table.loc[table[key] == value, list(names)]
    return [tuple(_plain(cell) for cell in row) for row in chosen.itertuples(index=False)]


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    if isinstance(value, pd.Timestamp):
        return value.date().isoformat() if value.tz is None else value.isoformat()
    return int(value) if hasattr(value, "item") else value


@pytest.fixture
def case() -> Case:
    """A Chilean case with nothing in it."""
    return Case()


@pytest.fixture
def mexican_case() -> Case:
    return Case(country="mx")
