"""Provider JSON to table rows: one kind per table, found by its own name and never by an id's prefix.

The provider reuses words: `invoice` is a billing or a fiscal one, `movement` and `account` belong to a business
account or to a link. The caller knows which, from the event's family or the stream it reads.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import msgspec
import sqlalchemy as sa

from consumer.facts.meaning import JsonObject, sale_of
from consumer.facts.store import Row
from consumer.facts.tables import provider as tables
from consumer.facts.tables.types import UtcDateTime, core_of
from consumer.facts.versions import KEPT, Known, register
from consumer.provider import fields
from consumer.provider.fields import Data, UnusableObjectError

ReadColumns = Callable[[Data], Row]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of provider object: its table, and how that table's columns are read from its JSON."""

    table: type[tables.ProviderObject]
    columns: ReadColumns
    _ranks: dict[str | None, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        steps = enumerate(self.table.steps, start=1)
        self._ranks.update((state, place) for place, states in steps for state in states)

    @property
    def object_name(self) -> str:
        """Return what the provider calls it."""
        return self.table.object_name or str(self.table.__tablename__)

    def rank(self, status: str | None) -> int:
        return self._ranks.get(status, 0)


_CARD_SUBTYPES = {"credit": "credit_card", "debit": "debit_card", "prepaid": "prepaid_card"}


def money(data: Data) -> Row:
    """Return the three columns without which an object of money cannot be counted."""
    return {
        "status": fields.required_text(data, "status"),
        "amount": fields.required_amount(data),
        "currency": fields.required_currency(data),
    }


def customer_tax_id(customer: Data) -> str | None:
    raw = customer.get("tax_id")
    return fields.tax_id(raw.get("value") if isinstance(raw, dict) else raw)


def subtype(data: Data) -> str | None:
    """Name the row as the provider's payout report does: cards by their kind, anything else by its payment type."""
    payment_type = fields.text(data, "payment_type")
    if payment_type != "card":
        return payment_type
    kind = fields.part(fields.part(data, "payment_type_options"), "card").get("kind")
    return _CARD_SUBTYPES.get(kind, payment_type) if isinstance(kind, str) else payment_type


def _payment_intent(data: Data) -> Row:
    customer = fields.part(data, "customer")
    people = {
        "customer_tax_id": customer_tax_id(customer),
        "customer_name": fields.text(customer, "name"),
        "sender_tax_id": fields.tax_id(fields.part(data, "sender_account").get("holder_id")),
    }
    return money(data) | sale_of(data) | {"subtype": subtype(data)} | people


def _charge(data: Data) -> Row:
    return money(data) | sale_of(data) | {"customer_tax_id": customer_tax_id(fields.part(data, "customer"))}


def _about_a_payment(data: Data) -> Row:
    return money(data) | {"resource_id": fields.text(data, "resource_id")}


def _dispute(data: Data) -> Row:
    return _about_a_payment(data) | {"due_at": fields.instant(data, "documentation_upload_deadline")}


def _refund(data: Data) -> Row:
    return _about_a_payment(data) | sale_of(data)


def _payout(data: Data) -> Row:
    recipient = fields.part(data, "recipient_account")
    return money(data) | {
        "recipient_institution": fields.text(recipient, "institution_id"),
        "recipient_number": fields.text(recipient, "number"),
    }


def _customer(data: Data) -> Row:
    return {"tax_id": customer_tax_id(data), "name": fields.text(data, "name")}


def _subscription(data: Data) -> Row:
    return {"status": fields.text(data, "status"), "currency": fields.currency(data)}


def _billing_invoice(data: Data) -> Row:
    return {
        "status": fields.required_text(data, "status"),
        "amount": fields.amount(data, "total"),
        "currency": fields.currency(data),
    }


def _payment_method(data: Data) -> Row:
    """Return the status, which may lie under a field named after the type."""
    details = fields.part(data, fields.text(data, "type") or "")
    return {"status": fields.text(data, "status") or fields.text(details, "status")}


def status_only(data: Data) -> Row:
    return {"status": fields.text(data, "status")}


def _account(data: Data) -> Row:
    return status_only(data) | {
        "amount": fields.amount(data, "available_balance"),
        "currency": fields.currency(data),
    }


def _transfer(data: Data) -> Row:
    return {
        "status": fields.required_text(data, "status"),
        "amount": fields.unsigned_amount(data),
        "currency": fields.required_currency(data),
        "direction": fields.required_text(data, "direction"),
    }


def _account_movement(data: Data) -> Row:
    return status_only(data) | {
        "amount": fields.unsigned_amount(data),
        "currency": fields.required_currency(data),
        "direction": fields.required_text(data, "direction"),
        "account_id": fields.required_text(data, "account_id"),
        "balance": fields.amount(data, "balance"),
    }


def _account_statement(data: Data) -> Row:
    return status_only(data) | {"account_id": fields.required_text(data, "account_id")}


def _link_account(data: Data) -> Row:
    return status_only(data) | {
        "amount": fields.amount(fields.part(data, "balance"), "available"),
        "currency": fields.currency(data),
    }


def _link_movement(data: Data) -> Row:
    return status_only(data) | {
        "amount": fields.required_amount(data),
        "currency": fields.required_currency(data),
        "account_id": fields.text(data, "account_id"),
    }


def _tax_invoice(data: Data) -> Row:
    return {
        "status": fields.text(fields.part(data, "institution_invoice"), "invoice_status"),
        "amount": fields.amount(data, "total_amount"),
        "currency": fields.currency(data),
        **place_of_tax_invoice(data),
    }


def place_of_tax_invoice(data: Data) -> Row:
    """Return month, number and side of a document of the register; the month is written as 10/2026."""
    month, _, year = (fields.text(data, "tax_period") or "").partition("/")
    number = fields.text(data, "number")
    return {
        "period": f"{year}-{month:0>2}" if year else None,
        "number": number.lower() if number else None,
        "direction": fields.text(data, "issue_type"),
    }


def _tax_statement(data: Data) -> Row:
    """Return the form's period and number; the year comes as a number and the month as text."""
    year, month = data.get("fiscal_year"), fields.text(data, "period")
    return status_only(data) | {
        "document_number": _document_number(data),
        "period": f"{year}-{month:0>2}" if year is not None and month and "-" not in month else month,
    }


def _document_number(data: Data) -> str | None:
    value = data.get("document_number")
    return (
        str(value) if isinstance(value, int) and not isinstance(value, bool) else fields.text(data, "document_number")
    )


def _as_declared(table: type[tables.ProviderObject]) -> ReadColumns:
    """Read the status and each column of a table's own under its own name, as its type says."""
    declared = core_of(table).c
    own = [(name, _field_reader(declared[name].type)) for name in table.model_fields if name not in _COMMON]
    if table.has_amount:
        own += [("amount", fields.amount), ("currency", fields.currency)]
    return lambda data: status_only(data) | {name: read(data, name) for name, read in own}


def _field_reader(kind: sa.types.TypeEngine[object]) -> Callable[[Data, str], object]:
    if isinstance(kind, UtcDateTime):
        return fields.instant
    return fields.amount if isinstance(kind, sa.BigInteger) else fields.text


_COMMON = frozenset(tables.ProviderObject.model_fields)
# Whose fields lie deeper, bear other names or are required.
_OWN_READERS: dict[type[tables.ProviderObject], ReadColumns] = {
    tables.PaymentIntent: _payment_intent,
    tables.Charge: _charge,
    tables.Refund: _refund,
    tables.Dispute: _dispute,
    tables.Payout: _payout,
    tables.Customer: _customer,
    tables.Subscription: _subscription,
    tables.BillingInvoice: _billing_invoice,
    tables.PaymentMethod: _payment_method,
    tables.Account: _account,
    tables.AccountMovement: _account_movement,
    tables.AccountStatement: _account_statement,
    tables.Transfer: _transfer,
    tables.LinkAccount: _link_account,
    tables.LinkMovement: _link_movement,
    tables.TaxInvoice: _tax_invoice,
    tables.TaxStatement: _tax_statement,
}
KINDS = {
    str(table.__tablename__): Kind(table, _OWN_READERS.get(table) or _as_declared(table))
    for table in (*tables.ProviderObject.__subclasses__(), *tables.SaleObject.__subclasses__())
    if table is not tables.SaleObject
}

_OBJECTS = {kind.object_name for kind in KINDS.values()}


class Observation(msgspec.Struct, frozen=True):
    """Where and when an object was seen: in an event (its id and created_at) or in a read (the answer's Date)."""

    connection: str
    mode: str
    seen_at: datetime
    event_id: str = ""
    account_id: str | None = None


def observe(name: str, data: Data, seen: Observation) -> Known:
    """Convert one observed object for `merge_all`; raise UnusableObjectError with the field that stands in the way."""
    kind = KINDS[name]
    body = _check_shape(name, kind, data, seen)
    columns = _columns(kind, body)
    status = columns.get("status")
    version = (columns["updated_at"] or seen.seen_at, kind.rank(status), seen.event_id)
    return Known(
        table=kind.table,
        connection=seen.connection,
        id=fields.identifier(body),
        mode=seen.mode,
        version=version,
        body=body,
        kept={},
        reached={column: _reached_at(kind, column, body, status, seen) for column in kind.table.reached},
        gone_at=None,
        ready=(columns, fields.body_text(body)),
    )


def to_payout_item(data: Data, seen: Observation, *, payout_id: str, resource_type: str) -> tables.PayoutItem:
    """Convert one row of a payout's resources into the fact that the payout carries it."""
    return tables.PayoutItem(
        connection=seen.connection,
        payout_id=payout_id,
        resource_type=resource_type,
        resource_id=fields.identifier(data),
        mode=seen.mode,
        amount=fields.required_amount(data),
        currency=fields.required_currency(data),
        body=fields.body_text(fields.drop_secrets(data)),
    )


def _check_shape(name: str, kind: Kind, data: Data, seen: Observation) -> JsonObject:
    if not isinstance(data, dict):
        raise UnusableObjectError(f"a {name} must be a JSON object")
    mode = data.get("mode")
    if mode is not None and mode != seen.mode:
        raise UnusableObjectError(f"mode of the {name} is not {seen.mode}")
    claimed = data.get("object")
    if isinstance(claimed, str) and claimed in _OBJECTS and claimed != kind.object_name:
        raise UnusableObjectError(f"object is {claimed}, not {name}")
    body = fields.drop_secrets(data)
    body.pop(KEPT, None)
    if seen.account_id is not None:
        body.setdefault("account_id", seen.account_id)
    return body


def _columns(kind: Kind, body: Data) -> Row:
    times = {"created_at": fields.instant(body, "created_at"), "updated_at": fields.instant(body, "updated_at")}
    return kind.columns(body) | times


def _reached_at(kind: Kind, column: str, body: Data, status: str | None, seen: Observation) -> datetime | None:
    """Return when a state was reached: the object's own word, else the event that carried it, else its last update."""
    reached = kind.table.reached[column]
    own = [fields.instant(body, name) for name in reached.fields]
    known = [moment for moment in own if moment is not None]
    if known:
        return min(known)
    if status not in reached.states:
        return None
    return seen.seen_at if seen.event_id else fields.instant(body, "updated_at")


for _kind in KINDS.values():
    register(_kind.table, partial(_columns, _kind), tuple(_kind.table.reached))
