"""Every kind of provider object: its table, the names it goes by, its state graph and how its columns are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from consumer.facts.sales import sale_of
from consumer.facts.store import Row
from consumer.facts.tables.provider import (
    Account,
    AccountMovement,
    AccountNumber,
    AccountStatement,
    AccountVerification,
    BillingInvoice,
    Charge,
    CheckoutSession,
    Customer,
    Dispute,
    Entity,
    Institution,
    Link,
    LinkAccount,
    LinkMovement,
    PaymentIntent,
    PaymentLink,
    PaymentMethod,
    Payout,
    ProviderObject,
    RefreshIntent,
    Refund,
    Subscription,
    TaxInvoice,
    TaxReturn,
    TaxStatement,
    Transfer,
    TransferBatch,
    WebhookEndpoint,
)
from consumer.provider import fields
from consumer.provider.fields import Data

ReadColumns = Callable[[Data], Row]


@dataclass(frozen=True, slots=True)
class Reached:
    """A column that says when an object first reached one of these states; `named` is the object's own field for it."""

    named: tuple[str, ...]
    states: frozenset[str]


@dataclass(frozen=True, slots=True)
class Kind:
    """`steps` orders the states: those of a later step can follow those of an earlier one, and win a tie in time.

    A state reached from `succeeded`, such as returned, stands behind it; undocumented states rank before all.
    """

    table: type[ProviderObject]
    columns: ReadColumns
    objects: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...] = ()
    reached: Mapping[str, Reached] = field(default_factory=dict)
    _ranks: dict[str | None, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._ranks.update((state, place) for place, states in enumerate(self.steps, start=1) for state in states)

    def rank(self, status: str | None) -> int:
        return self._ranks.get(status, 0)


_CARD_SUBTYPES = {"credit": "credit_card", "debit": "debit_card", "prepaid": "prepaid_card"}
SUCCEEDED = Reached(("succeeded_at",), frozenset({"succeeded"}))


def money(data: Data) -> Row:
    """The three columns without which an object of money cannot be counted."""
    return {
        "status": fields.required_text(data, "status"),
        "amount": fields.required_amount(data),
        "currency": fields.required_currency(data),
    }


def offer(data: Data) -> Row:
    """An object that may come without amount or currency, as where the payer still chooses."""
    return {
        "status": fields.text(data, "status"),
        "amount": fields.amount(data),
        "currency": fields.currency(data),
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
    """The status sits under a field named after the type."""
    details = fields.part(data, fields.text(data, "type") or "")
    return {"status": fields.text(data, "status") or fields.text(details, "status")}


def status_only(data: Data) -> Row:
    return {"status": fields.text(data, "status")}


def _account(data: Data) -> Row:
    return status_only(data) | {
        "amount": fields.amount(data, "available_balance"),
        "currency": fields.currency(data),
    }


def _account_number(data: Data) -> Row:
    return status_only(data) | {
        "account_id": fields.text(data, "account_id"),
        "number": fields.text(data, "number"),
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
    }


def _tax_statement(data: Data) -> Row:
    """The year comes as a number and the month as text, and a month alone names no period."""
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


KINDS = {
    "payment_intent": Kind(
        PaymentIntent,
        _payment_intent,
        ("payment_intent",),
        (
            ("created",),
            ("requires_action", "in_progress"),
            ("pending",),
            ("expired", "failed", "rejected"),
            ("succeeded",),
        ),
        {"succeeded_at": SUCCEEDED},
    ),
    "charge": Kind(
        Charge,
        _charge,
        ("charge",),
        (("pending",), ("in_progress",), ("canceled", "failed"), ("succeeded",)),
        {"succeeded_at": SUCCEEDED},
    ),
    # A bank may send a succeeded refund back, so failed stands behind it.
    "refund": Kind(
        Refund,
        _refund,
        ("refund",),
        (("created", "pending"), ("in_progress",), ("canceled",), ("succeeded",), ("failed",)),
        {"succeeded_at": SUCCEEDED, "failed_at": Reached(("failed_at",), frozenset({"failed"}))},
    ),
    "dispute": Kind(
        Dispute,
        _dispute,
        ("dispute",),
        (("waiting_documentation",), ("in_review",), ("expired",), ("lost", "won")),
        {"ended_at": Reached(("ended_at",), frozenset({"won", "lost", "expired"}))},
    ),
    "checkout_session": Kind(
        CheckoutSession, offer, ("checkout_session",), (("created",), ("in_progress",), ("expired",), ("finished",))
    ),
    "payment_link": Kind(PaymentLink, offer, ("payment_link",), (("active",), ("expired",), ("canceled",))),
    "payout": Kind(
        Payout,
        _payout,
        ("payout",),
        (("in_progress",), ("succeeded",), ("canceled",), ("returned",)),
        {
            "succeeded_at": SUCCEEDED,
            "ended_at": Reached(("canceled_at", "returned_at"), frozenset({"canceled", "returned"})),
        },
    ),
    "customer": Kind(Customer, _customer, ("customer",)),
    "subscription": Kind(
        Subscription, _subscription, ("subscription",), (("incomplete",), ("trialing",), ("active",), ("canceled",))
    ),
    "billing_invoice": Kind(
        BillingInvoice, _billing_invoice, ("invoice",), (("draft",), ("open",), ("paid",), ("void",))
    ),
    "payment_method": Kind(
        PaymentMethod, _payment_method, ("payment_method",), (("pending",), ("active",), ("canceled", "expired"))
    ),
    "entity": Kind(
        Entity,
        status_only,
        ("entity",),
        (
            ("draft",),
            ("under_review",),
            ("pending_signature",),
            ("waiting_initialization",),
            ("operational",),
            ("paused",),
            ("canceled", "rejected"),
        ),
    ),
    "account": Kind(Account, _account, ("account",)),
    "account_number": Kind(
        AccountNumber, _account_number, ("account_number",), (("enabled",), ("disabled",), ("deleted",))
    ),
    "account_movement": Kind(AccountMovement, _account_movement, ("movement",)),
    "account_statement": Kind(AccountStatement, _account_statement, ("account_statement",)),
    "account_verification": Kind(
        AccountVerification, status_only, ("account_verification",), (("pending",), ("failed", "succeeded"))
    ),
    # Succeeded is not the end: returns and reversals come up to 90 days later.
    "transfer": Kind(
        Transfer,
        _transfer,
        ("transfer",),
        (
            ("pending",),
            ("reject_failed",),
            ("failed", "rejected"),
            ("partially_succeeded",),
            ("succeeded",),
            ("return_pending", "reverse_pending"),
            ("returned", "reversed"),
        ),
    ),
    "transfer_batch": Kind(
        TransferBatch,
        offer,
        ("transfer_batch",),
        (("pending_authorization",), ("in_progress",), ("failed", "partially_succeeded", "succeeded")),
    ),
    "link": Kind(Link, status_only, ("link",)),
    "link_account": Kind(LinkAccount, _link_account, ("account",)),
    "link_movement": Kind(
        LinkMovement, _link_movement, ("movement",), (("pending",), ("confirmed",), ("duplicated", "reversed"))
    ),
    "refresh_intent": Kind(
        RefreshIntent, status_only, ("refresh_intent",), (("created",), ("failed", "rejected", "succeeded"))
    ),
    "institution": Kind(Institution, status_only, ("institution",)),
    "tax_invoice": Kind(TaxInvoice, _tax_invoice, ("invoice",)),
    "tax_return": Kind(TaxReturn, status_only, ("tax_return",)),
    "tax_statement": Kind(TaxStatement, _tax_statement, ("tax_statement",)),
    "webhook_endpoint": Kind(WebhookEndpoint, status_only, ("webhook_endpoint",)),
}
