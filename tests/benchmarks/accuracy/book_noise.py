"""Damages of the books, and trade that the sandbox does not know: subscriptions, split documents, notes next month."""

import json
from datetime import timedelta

from tests.benchmarks.accuracy.noise import Trade, later, said_by
from tests.benchmarks.accuracy.scoring import Row

PRICES = (9_990, 14_990, 19_990, 29_990)


def reuse_orders(trade: Trade) -> None:
    """Order numbers begin anew every hundred: customers and months share them."""
    for document in trade.claims():
        if document["order_ref"]:
            document["order_ref"] = _short(document["order_ref"])
    for row in trade.payments.values():
        words = said_by(row)
        for name in ("order_ref", "order_id"):
            if name in words:
                words[name] = _short(str(words[name]))
                row["metadata"] = json.dumps(words)


def _short(order: str) -> str:
    digits = "".join(sign for sign in order if sign.isdigit())
    return f"PED-{digits[-2:]}"


def lack_documents(trade: Trade) -> None:
    """A tenth of the invoices have not reached the books; their payments have no owner yet."""
    gone = {document["doc_key"] for document in trade.claims() if trade.random.random() < 0.1}
    for key in gone:
        del trade.documents[key]


def issue_late(trade: Trade) -> None:
    """A quarter of the invoices are issued up to three weeks after they were paid."""
    for row, document in trade.some_paid(0.25):
        days = trade.random.randrange(1, 21)
        issued = later(row, days).tz_localize(None).normalize()
        term = (document["due_date"] or document["issue_date"]) - document["issue_date"]
        document["issue_date"], document["due_date"] = issued, issued + term


def split_documents(trade: Trade) -> None:
    """A tenth of the sales are invoiced in two documents; the second may or may not name the order."""
    for row, document in trade.some_paid(0.1):
        part = int(document["total"]) * trade.random.randrange(20, 80) // 100
        order = document["order_ref"] if trade.random.random() < 0.5 else None
        other = trade.add_document(document, total=part, net=None, vat=None, order_ref=order)
        document["total"] = int(document["total"]) - part
        trade.meant[row["resource_id"]].add(other["doc_key"])


def credit_next_month(trade: Trade) -> None:
    """A tenth of what was paid is lowered by a note some weeks later, for some of it to exactly another amount."""
    totals = sorted({int(document["total"]) for document in trade.claims()})
    for row, document in trade.some_paid(0.1):
        total = int(document["total"])
        smaller = [amount for amount in totals if total // 2 < amount < total]
        left = trade.random.choice(smaller) if smaller and trade.random.random() < 0.5 else total * 7 // 10
        issued = later(row, trade.random.randrange(5, 30)).tz_localize(None).normalize()
        trade.add_document(
            document, doc_key=f"cl:61::8{document['folio']}", doc_type="61", total=total - left, issue_date=issued,
            ref_type=document["doc_type"], ref_number=document["folio"],
        )  # fmt: skip


def subscribe(trade: Trade) -> None:
    """Eighty subscribers are billed one of four prices a month; they pay on the same days, some unsigned or unkeyed."""
    paid = next(iter(trade.payments.values()))
    alike = [row for row in trade.claims() if row["customer_tax_id"] and row["currency"] == paid["currency"]]
    like = next(row for row in alike if row["status"] == "valid")
    for number in range(80):
        price, owner = trade.random.choice(PRICES), f"{9_000_000 + number // 2}-{number % 2}"
        start = like["issue_date"].replace(day=1, month=8)
        for month in range(3):
            issued = start + timedelta(days=31 * month)
            document = trade.add_document(like, total=price, customer_tax_id=owner, customer_name="Juan Pérez Soto",
                                          issue_date=issued, due_date=issued + timedelta(days=15),
                                          order_ref=f"SUS-{number}")  # fmt: skip
            if trade.random.random() < 0.85:
                _pay_subscription(trade, paid, document)
            if trade.random.random() < 0.04:
                _pay_subscription(trade, paid, document)


def _pay_subscription(trade: Trade, like: Row, document: Row) -> None:
    kind = trade.random.choice(("key", "key", "signed", "unsigned", "other price", "names the month"))
    issued, day = document["issue_date"], trade.random.choice((5, 5, 5, 6, 20))
    changed: Row = {
        "amount": document["total"],
        "occurred_at": like["occurred_at"].replace(year=issued.year, month=issued.month, day=day),
        "customer_name": "Juan Pérez Soto",
        "customer_tax_id": None if kind == "unsigned" else document["customer_tax_id"],
        "sender_tax_id": None,
    }
    if kind == "key":
        changed["metadata"] = json.dumps({"order_ref": document["order_ref"]})
    if kind == "other price":
        changed["amount"] = trade.random.choice(PRICES)
    if kind == "names the month":
        changed["texts"] = f"suscripcion mes {issued.month} {trade.random.randrange(100)}"
    trade.add_payment(like, {str(document["doc_key"])}, **changed)
