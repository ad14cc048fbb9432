"""The files the provider and the merchant's own systems hand out: payout report, invoices, bank lines."""

import csv
import io
from collections.abc import Iterable, Mapping

from sandbox.collection import Object
from sandbox.refusal import missing_resource
from sandbox.world import MODES, World

PAYOUT_COLUMNS = ("id", "created_at", "amount", "fee", "resource_type", "resource_subtype")
INVOICE_COLUMNS = (
    "doc_type",
    "series",
    "folio",
    "uuid",
    "issue_date",
    "due_date",
    "customer_tax_id",
    "customer_name",
    "net",
    "exempt",
    "vat",
    "total",
    "currency",
    "status",
    "order_ref",
    "ref_type",
    "ref_number",
    "payment_method",
    "payment_form",
)
CARD_SUBTYPES = {"credit": "credit_card", "debit": "debit_card", "prepaid": "prepaid_card"}
SHELVES = {
    "payment_intent": "payment_intents",
    "charge": "charges",
    "refund": "refunds",
    "refund_adjustment": "refunds",
}


def payout_report(world: World, payout_id: str) -> str:
    """The provider's CSV of one payout: a row for each resource, with the fee that was taken."""
    mode = next((mode for mode in MODES if payout_id in world.collection(mode, "payouts")), None)
    if mode is None:
        raise missing_resource("payout", payout_id)
    rows = (_payout_row(world, mode, item) for item in world.payout_items[payout_id])
    return _write(PAYOUT_COLUMNS, rows, delimiter=";")


def _payout_row(world: World, mode: str, item: Object) -> dict[str, object]:
    type_ = item["resource_type"]
    resource = world.get(mode, SHELVES[type_], item["resource"])
    # A refund that failed comes back without a fee of its own.
    fee = 0 if type_ == "refund_adjustment" else _fee(world, item)
    return {
        "id": resource["id"],
        "created_at": resource["created_at"],
        "amount": -resource["amount"] if type_ == "refund" else resource["amount"],
        "fee": fee,
        "resource_type": "refund" if type_ == "refund_adjustment" else type_,
        "resource_subtype": _subtype(type_, resource),
    }


def _fee(world: World, item: Object) -> int:
    known = world.scenario.fees.get((item["payout"], item["resource"]))
    if known is None:
        raise missing_resource("report of payout", item["payout"])
    return known[0]


def _subtype(type_: str, resource: Object) -> str:
    if type_ == "charge":
        return "pac"
    if type_ != "payment_intent":
        return ""
    if resource["payment_type"] == "card":
        return CARD_SUBTYPES[resource["payment_type_options"]["card"]["kind"]]
    return str(resource["payment_type"])


def invoices(world: World) -> str:
    """The merchant's books as far as they are known by now, in the canonical columns."""
    rows = (document.row for document in world.scenario.documents if document.known_at <= world.now())
    return _write(INVOICE_COLUMNS, rows)


def bank(world: World) -> str:
    """The merchant's bank lines, in the columns of the scenario."""
    lines = world.scenario.bank_lines
    return _write(tuple(lines[0]) if lines else (), lines)


def _write(columns: tuple[str, ...], rows: Iterable[Mapping[str, object]], *, delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
