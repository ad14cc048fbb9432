"""Made-up results at size: lines as a run stores them, and a database of many payouts for the pages."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import sqlalchemy as sa

from consumer.facts.bankdays import calendar_of
from consumer.facts.clock import local_date
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.types import core_of
from reconcile.kept import chunks
from reconcile.rules.inputs import BANK_RESULTS, DOCUMENT_RESULTS, SUMMARY, Result, Schema, to_types
from reconcile.rules.inputs import LINES as LINE_COLUMNS
from reconcile.runs.publication import insert_results
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import ResultChunk, Run, RunFinding
from reports.access.people import Role, add_user, to_user
from tests.benchmarks.reports import made_up_facts as facts

_A_CHUNK = 10_000
_ZONE = "America/Santiago"
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def lines(rows: int, payouts: int | None = None) -> Iterator[pa.Table]:
    """Give tables of lines, eight to a payout where their number is not given."""
    for start in range(0, rows, _A_CHUNK):
        numbers = range(start, min(rows, start + _A_CHUNK))
        yield pa.Table.from_pandas(_frame(_line(n, payouts or rows // 8 or 1) for n in numbers), preserve_index=False)


def _frame(rows: Iterable[dict[str, Any]], schema: Schema = LINE_COLUMNS) -> pd.DataFrame:
    return to_types(pd.DataFrame(rows, columns=list(schema)), schema)


def _line(number: int, payouts: int) -> dict[str, Any]:
    at = _BEGIN + timedelta(seconds=31 * number)
    amount, folio, (name, tax_id) = facts.total(number), str(10_000 + number), facts.customer(number)
    is_matched = number % 10 > 0
    document = {
        "doc_country": "cl", "doc_type": "33", "doc_folio": folio, "doc_date": at.date().isoformat(),
        "doc_due_date": at.date().isoformat(), "doc_total": amount, "applied_amount": amount, "doc_balance_after": 0,
        "doc_key": f"cl:33::{folio}",
    }  # fmt: skip
    return {
        "payout_id": facts.payout_id(number // facts.ITEMS % payouts),
        "resource_type": "payment_intent", "resource_subtype": "bank_transfer", "resource_id": facts.payment_id(number),
        "line": 1, "source_event_id": f"evt_{number:020d}", "occurred_at_utc": f"{at:%Y-%m-%dT%H:%M:%S}Z",
        "local_date": at.date().isoformat(), "local_time": f"{at:%H:%M:%S}", "bank_day": at.date().isoformat(),
        "amount_signed": amount, "fee_total": amount // 60, "fee_net": amount // 71, "fee_vat": amount // 380,
        "net_amount": amount - amount // 60, "currency": "CLP", "customer_tax_id": tax_id,
        "customer_name": name, "order_ref": f"ORD-{number:07d}",
        "outcome": "matched" if is_matched else "no_document", "match_stage": "key" if is_matched else "none",
        "match_rule": "order_ref" if is_matched else None, "difference": 0, "expected_doc": "33",
        "exception_code": None if is_matched else "PAYMENT_NO_INVOICE", "note": None,
        **(document if is_matched else {}),
    }  # fmt: skip


def _payout(number: int) -> dict[str, Any]:
    on = date(2024, 1, 1) + timedelta(days=number // 150)
    return {
        "payout_id": facts.payout_id(number), "mode": "test", "country": "cl", "currency": "CLP", "status": "succeeded",
        "created_at_utc": f"{on}T12:00:00Z", "succeeded_at_utc": f"{on}T15:00:00Z", "payout_date": on.isoformat(),
        "bank_day": on.isoformat(), "window_start": f"{on}T12:00:00Z", "window_end": f"{on}T12:00:00Z",
        "recipient_institution": "cl_banco_security", "recipient_account_last4": "2296", "payments_count": 8,
        "payments_gross": 800_000, "charges_count": 0, "charges_gross": 0, "refunds_count": 0, "refunds_gross": 0,
        "refund_adjustments": 0, "disputes": 0, "fee_total": 13_000, "fee_net": 10_924, "fee_vat": 2_076,
        "fee_rate_pct": "1.63", "fee_source": "tariff", "computed_amount": 787_000, "payout_amount": 787_000,
        "difference": 0 if number % 50 else -5, "expected_arrival": on.isoformat(), "bank_date": on.isoformat(),
        "bank_movement_id": f"mov_{number}", "bank_amount": 787_000, "bank_difference": 0, "days_late": 0,
        "matched_count": 7, "unmatched_count": 1, "status_recon": "closed" if number % 50 else "open", "exceptions": 1,
    }  # fmt: skip


def _bank_line(number: int) -> dict[str, Any]:
    """Make the line that brought a payout; every fiftieth has none, and every other is in a file too."""
    return {
        "account_last4": "2296", "bank_day": (date(2024, 1, 1) + timedelta(days=number // 150)).isoformat(),
        "amount_signed": 787_000, "currency": "CLP", "description": f"ABONO PROVEEDOR {number}",
        "reference": f"{number:09d}", "source": "movements", "movement_id": f"mov_{number}",
        "file_line_id": f"bl_{number}" if number % 2 else None,
        "payout_id": facts.payout_id(number) if number % 50 else None,
    }  # fmt: skip


def bank_lines(count: int) -> pd.DataFrame:
    return _frame(map(_bank_line, range(count)), BANK_RESULTS)


def _document(number: int) -> dict[str, Any]:
    line = _line(number, 1)
    total, folio, is_paid = line["amount_signed"], str(10_000 + number), number % 10 > 0
    return {
        "doc_key": f"cl:33::{folio}", "doc_type": "33", "folio": folio, "issue_date": line["local_date"],
        "due_date": line["local_date"], "customer_tax_id": line["customer_tax_id"], "currency": "CLP",
        "customer_name": line["customer_name"], "total": total, "outcome": "paid" if is_paid else "overdue",
        "paid": total if is_paid else 0, "credited": 0, "balance": 0 if is_paid else total, "payments": int(is_paid),
        "exception_code": None if is_paid else "INVOICE_NO_PAYMENT",
    }  # fmt: skip


def result(payouts: int) -> Result:
    """Make a run's result: eight items a payout, every tenth without its invoice, and some that wait for a payout."""
    count = facts.ITEMS * payouts
    numbers = [range(start, min(count, start + _A_CHUNK)) for start in range(0, count, _A_CHUNK)]
    waiting = ({**_line(count + n, payouts), "payout_id": None} for n in range(payouts // 50))
    found = [*(_frame(_line(n, payouts) for n in part) for part in numbers), _frame(waiting)]
    documents = [_frame((_document(n) for n in part), DOCUMENT_RESULTS) for part in numbers]
    summary = _frame((_payout(number) for number in range(payouts)), SUMMARY)
    every, papers = (pd.concat(tables, ignore_index=True) for tables in (found, documents))
    return Result(summary, every, papers, (), complete=True, bank=bank_lines(payouts))


def fill(store: Store, payouts: int, *, email: str, password: str) -> None:
    """Keep facts and a month of runs, the last with its rows; for each payout an event, for a fifth an exception."""
    now, count = datetime.now(UTC), facts.ITEMS * payouts
    sizes = dict.fromkeys(("document", "payment", "item"), count) | dict.fromkeys(("payout", "bank_line"), payouts)
    for kind, size in sizes.items():
        facts.write(store, kind, range(size), size)
    with store.transaction() as session:
        for number in range(1, 31):
            session.add(_run(number, now - timedelta(days=30 - number), payouts))
        add_user(session, to_user(email, password, Role.ADMIN, now=now))
        insert_results(session, result(payouts), {}, connection="main", run_id="run-30")
    with store.connection() as connection:
        connection.execute(_the_night_before())
        of_exceptions = range(payouts // 5)
        connection.execute(sa.insert(ExceptionRow), [_exception(number, now.date()) for number in of_exceptions])
        for run in range(1, 31):
            connection.execute(sa.insert(RunFinding), [_finding(run, number) for number in of_exceptions])
        for start in range(0, payouts, _A_CHUNK):
            connection.execute(sa.insert(Event), [_event(n, now) for n in range(start, min(payouts, start + _A_CHUNK))])


def _the_night_before() -> sa.Insert:
    """Copy the last run to the one before it, without what still waited for a payout on the last day."""
    table = core_of(ResultChunk)
    names = [column.name for column in table.columns]
    copied = [sa.literal("run-29") if name == "run_id" else table.c[name] for name in names]
    last = sa.select(sa.func.max(table.c.number)).where(table.c.kind == chunks.LINE).scalar_subquery()
    is_last = sa.and_(table.c.kind == chunks.LINE, table.c.number == last)
    return sa.insert(table).from_select(names, sa.select(*copied).where(~is_last))


def _run(number: int, at: datetime, payouts: int) -> Run:
    summary = {
        "payouts": payouts, "payouts_closed": payouts, "payouts_no_bank": 0, "items": 7 * payouts, "documents": 0,
        "ahead_of_data": False, "inputs": {}, "tolerances": {"due_days": 30, "bank_amount_bps": 1000},
        "items_by_outcome": {"matched": 7 * payouts},
        "value_at_risk": {"CLP": {"amount": sum(range(payouts // 5)), "exceptions": payouts // 5}},
        "exceptions": {"PAYMENT_NO_INVOICE": payouts // 5},
    }  # fmt: skip
    # By the merchant's clock: in the evening of Chile it is tomorrow already elsewhere, and no page shows that day.
    days: dict[str, Any] = {"as_of": local_date(at, _ZONE), "started_at": at, "finished_at": at}
    text = json.dumps(summary)
    calendar = calendar_of("cl").edition
    return Run(
        connection="main", id=f"run-{number}", complete=True, calendar=calendar, summary=text, number=number, **days
    )


def _finding(run: int, number: int) -> dict[str, Any]:
    found = _exception(number, _BEGIN.date())
    same = {name: found[name] for name in ("connection", "code", "severity", "subject", "amount_at_risk", "currency")}
    return same | {"run_id": f"run-{run}", "exception_id": found["id"]}


def _exception(number: int, today: date) -> dict[str, Any]:
    codes = ("PAYMENT_NO_INVOICE", "INVOICE_NO_PAYMENT", "AMOUNT_DIFF", "PAYOUT_IDENTITY")
    return {
        "connection": "main", "id": f"{number:016x}", "code": codes[number % 4],
        "severity": ("medium", "medium", "medium", "high")[number % 4],
        "subject": f"resource:{facts.payment_id(number)}",
        "title": "Something", "opened_on": today - timedelta(days=number % 90),
        "fact_on": today - timedelta(days=number % 90),
        "customer_name": facts.customer(number)[0], "last_seen_on": today,
        "amount_at_risk": number, "currency": "CLP", "payout_id": facts.payout_id(number // facts.ITEMS),
        "resource_id": facts.payment_id(number),
        "evidence": "{}", "suggested_action": "Look", "owner": "", "note": "", "state": "open", "resolution": "",
        "run_first": "run-1", "run_last": "run-30", "version": 1,
    }  # fmt: skip


def _event(number: int, now: datetime) -> dict[str, Any]:
    made = now - timedelta(seconds=number)
    return {
        "connection": "main", "id": f"evt_{number:020d}", "type": "payout.succeeded", "mode": "test",
        "created_at": made, "received_at": made + timedelta(seconds=number % 60), "source": "webhook",
        "state": "applied",
        "resource_id": facts.payout_id(number), "body": b"{}" * 400,
        "raw_sha256": "0", "meaning_sha256": "0", "arrivals": 1,
        "last_arrival_at": made, "attempts": 1,
    }  # fmt: skip
