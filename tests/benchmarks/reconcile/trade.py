"""A month of made-up trade of any size, written into a database as the provider's facts and the merchant's books."""

import json
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel

from consumer.facts.meaning import sale_of
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import PaymentIntent, Payout, PayoutCount, PayoutItem
from consumer.facts.tables.sync import Checkpoint
from consumer.facts.tables.types import core_of
from consumer.facts.taxids import rut_check_digit
from reconcile.tables.books import LocalInvoice

START = datetime(2026, 9, 1, 13, tzinfo=UTC)
AS_OF = date(2026, 10, 20)
DAYS = 28
PRICES = (4_990, 9_990, 14_990, 19_990, 29_990, 39_990, 49_990, 59_990, 79_990, 99_990, 129_990, 149_990)
STREAMS = ("events", "payouts", "payment-intents", "charges", "refunds", "disputes")
TARIFF = {"vat_bps": 1900, "bank_transfer": {"bps": 135}}
_AT_ONCE = 20_000


def fill(store: Store, count: int, *, seed: int = 1) -> None:
    """Invoices and payments: 85 % with a key, 5 % with a text, the rest by customer, anonymous or orphans."""
    _add(store, range(count), of=count, prefix="po", seed=seed, written_at=START)
    with store.connection() as database:
        _count(database)


def add(store: Store, more: int, *, of: int) -> None:
    """As much trade again as one night brings to books of some size: new invoices, payments and payouts."""
    _add(store, range(of, of + more), of=of, prefix="pn", seed=2, written_at=START + timedelta(days=DAYS))
    with store.connection() as database:
        database.execute(sa.delete(PayoutCount))
        database.execute(sa.delete(Checkpoint))
        _count(database)


def _add(store: Store, numbers: range, *, of: int, prefix: str, seed: int, written_at: datetime) -> None:
    random = Random(seed)  # noqa: S311 - repeatable trade
    worth: dict[str, int] = {}
    rows: dict[type[SQLModel], list[dict[str, Any]]] = {LocalInvoice: [], PaymentIntent: [], PayoutItem: [], Event: []}
    order = list(numbers)
    random.shuffle(order)
    for number in order:
        invoice, issued = _invoice(random, number, of)
        rows[LocalInvoice].append(invoice | {"updated_at": written_at})
        if random.random() < 0.95:
            payment, day = _payment(random, invoice, number, issued)
            payout = f"{prefix}_{day:04}"
            rows[PaymentIntent].append(payment | {"written_at": written_at})
            rows[PayoutItem].append(_item(payment, payout))
            rows[Event].append(_event(payment))
            worth[payout] = worth.get(payout, 0) + payment["amount"]
        if len(rows[LocalInvoice]) == _AT_ONCE:
            _insert(store, rows)
    _insert(store, rows | {Payout: [_payout(name, gross) for name, gross in sorted(worth.items())]})


def _insert(store: Store, rows: dict[type[SQLModel], list[dict[str, Any]]]) -> None:
    with store.connection() as database:
        for table, some in rows.items():
            if some:
                core = core_of(table)
                empty = {column.name: None for column in core.columns if column.nullable}
                database.execute(sa.insert(core), [empty | row for row in some])
                some.clear()


def _count(database: sa.Connection) -> None:
    items = core_of(PayoutItem)
    kinds = sa.select(items.c.payout_id, items.c.resource_type, sa.func.count()).group_by(
        items.c.payout_id, items.c.resource_type
    )
    counts = [
        {"connection": "main", "payout_id": payout, "resource_type": kind, "announced": count, "kept": count,
         "pulled_at": START}
        for payout, kind, count in database.execute(kinds)
    ]  # fmt: skip
    database.execute(sa.insert(PayoutCount), counts)
    until = datetime(2026, 10, 22, tzinfo=UTC)
    reached = {"connection": "main", "complete_until": until, "pulled_at": until, "objects": 0, "offered": True}
    database.execute(sa.insert(Checkpoint), [reached | {"stream": stream} for stream in STREAMS])


def _invoice(random: Random, number: int, count: int) -> tuple[dict[str, Any], datetime]:
    total = random.choice(PRICES) if random.random() < 0.6 else random.randrange(1_000, 2_000_000)
    issued = START + timedelta(days=random.randrange(DAYS))
    return {
        "connection": "main", "doc_key": f"cl:33::{number}", "country": "cl", "doc_type": "33", "series": "",
        "folio": str(number), "uuid": "", "issue_date": issued.date(), "due_date": issued.date() + timedelta(days=30),
        "customer_tax_id": _rut(10_000_000 + random.randrange(count // 3 + 1)), "customer_name": "Comercial Los Aromos",
        "total": total, "currency": "CLP", "status": "valid", "order_ref": f"PED-{7_000_000 + number}", "ref_type": "",
        "ref_number": "", "payment_method": "", "payment_form": "", "raw": "{}", "file_sha256": "0" * 64,
    }, issued  # fmt: skip


def _rut(body: int) -> str:
    return f"{body}-{rut_check_digit(body)}"


def _payment(random: Random, invoice: dict[str, Any], number: int, issued: datetime) -> tuple[dict[str, Any], int]:
    at = issued + timedelta(days=random.randrange(12), seconds=random.randrange(30_000))
    luck = random.random()
    is_short = luck > 0.99 and invoice["total"] > 70_000
    amount = invoice["total"] - (7_000 if is_short else 0)
    payer = invoice["customer_tax_id"] if random.random() < 0.7 else None
    identity = f"pi_{random.getrandbits(96):024x}"
    body: dict[str, Any] = {
        "id": identity, "object": "payment_intent", "mode": "test", "amount": amount, "currency": "CLP",
        "status": "succeeded", "payment_type": "bank_transfer", "created_at": f"{at:%Y-%m-%dT%H:%M:%SZ}",
        "sender_account": {"holder_id": payer, "number": "000123456789", "institution_id": "cl_banco_de_chile"},
        "recipient_account": {"holder_id": "762140398", "number": "000071402296", "institution_id": "cl_banco_security"},  # noqa: E501
        "metadata": {}, "comment": None, "reference_id": None,
    }  # fmt: skip
    if luck < 0.85 or luck > 0.99:
        body["metadata"] = {"order_ref": invoice["order_ref"]}
    elif luck < 0.90:
        body["comment"] = f"Pago factura {number}\ngracias"
    row = {
        "connection": "main", "id": identity, "mode": "test", "status": "succeeded", "amount": amount, "currency": "CLP",  # noqa: E501
        "created_at": at, "version_at": at, "version_rank": 0, "version_event": "", "body": json.dumps(body),
        "succeeded_at": at, "subtype": "bank_transfer", "sender_tax_id": payer,
        **sale_of(body),
    }  # fmt: skip
    return row, (at - START).days


def _item(payment: dict[str, Any], payout: str) -> dict[str, Any]:
    names = ("connection", "mode", "amount", "currency", "body")
    own = {"payout_id": payout, "resource_type": "payment_intent", "resource_id": payment["id"]}
    return {name: payment[name] for name in names} | own


def _event(payment: dict[str, Any]) -> dict[str, Any]:
    identity = f"evt_{payment['id'][3:]}"
    return {
        "connection": "main", "id": identity, "type": "payment_intent.succeeded", "mode": "test", "source": "webhook",
        "state": "applied", "received_at": payment["succeeded_at"], "created_at": payment["succeeded_at"],
        "resource_id": payment["id"], "raw_sha256": identity, "meaning_sha256": identity,
        "last_arrival_at": payment["succeeded_at"], "attempts": 0,
    }  # fmt: skip


def _payout(name: str, gross: int) -> dict[str, Any]:
    at = START + timedelta(days=int(name[3:]), hours=5)
    return {
        "connection": "main", "id": name, "mode": "test", "status": "succeeded", "amount": gross - gross * 16 // 1000,
        "currency": "CLP", "created_at": at, "version_at": at, "version_rank": 0, "version_event": "", "body": "{}",
        "succeeded_at": at + timedelta(minutes=30), "recipient_institution": "cl_banco_security",
        "recipient_number": "000071402296",
    }  # fmt: skip
