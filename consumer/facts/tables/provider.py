"""Provider objects as we last knew them: one row per object and mode, typed columns and the whole JSON.

A table also says what is known of its objects on the wire: their name, their states and the events that carry them.
The provider reuses words and these names do not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import sqlalchemy as sa
from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import minor_units, moment


@dataclass(frozen=True, slots=True)
class Reached:
    """When an object first reached one of these states; `fields` are the object's own fields for that moment."""

    fields: tuple[str, ...]
    states: frozenset[str]


_SUCCEEDED = Reached(("succeeded_at",), frozenset({"succeeded"}))


def _by_writing(table: str) -> tuple[Index]:
    """Declare the index by which what was written since a moment is found, without rows from before the column."""
    known = sa.text("written_at IS NOT NULL")
    return (Index(f"{table}_written", "connection", "written_at", sqlite_where=known, postgresql_where=known),)


def _events(family: str, changes: str) -> tuple[str, ...]:
    return tuple(f"{family}.{change}" for change in changes.split())


class ProviderObject(SQLModel):
    """What every provider object carries; `version_*` decide which observation is newer in any order of arrival.

    `object_name` is what the provider calls the object where that is not the table's name. `steps` orders the states:
    those of a later step can follow those of an earlier one, and win a tie in time. A state reached from `succeeded`,
    such as returned, stands behind it; undocumented states rank before all. `reached` names the columns that say when
    a state was first reached, and `events` the event types whose `data` is such an object. `has_amount`: its `amount`
    and `currency` are read as they are, where they are there.
    """

    object_name: ClassVar[str] = ""
    steps: ClassVar[tuple[tuple[str, ...], ...]] = ()
    reached: ClassVar[Mapping[str, Reached]] = {}
    events: ClassVar[tuple[str, ...]] = ()
    has_amount: ClassVar[bool] = False

    connection: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    mode: str
    status: str | None = None
    amount: int | None = minor_units()
    currency: str | None = None
    created_at: datetime | None = moment()
    updated_at: datetime | None = moment()
    version_at: datetime = moment(optional=False)
    version_rank: int = 0
    version_event: str = ""
    gone_at: datetime | None = moment()
    body: str


class SaleObject(ProviderObject):
    """What identifies a sale, taken from the body when it is kept: reading a million bodies again would cost more."""

    metadata_json: str | None = None
    texts: str | None = None
    split_json: str | None = None
    customer_id: str | None = None
    # When it was last written here; None from before this column.
    written_at: datetime | None = moment()


class PaymentIntent(SaleObject, table=True):
    __tablename__ = "payment_intent"
    __table_args__ = _by_writing("payment_intent")
    events = _events("payment_intent", "succeeded rejected failed pending expired")
    steps = (
        ("created",),
        ("requires_action", "in_progress"),
        ("pending",),
        ("expired", "failed", "rejected"),
        ("succeeded",),
    )
    reached = {"succeeded_at": _SUCCEEDED}

    succeeded_at: datetime | None = moment()
    subtype: str | None = None
    customer_tax_id: str | None = None
    customer_name: str | None = None
    sender_tax_id: str | None = None


class Charge(SaleObject, table=True):
    __tablename__ = "charge"
    __table_args__ = _by_writing("charge")
    events = _events("charge", "succeeded failed")
    steps = (("pending",), ("in_progress",), ("canceled", "failed"), ("succeeded",))
    reached = {"succeeded_at": _SUCCEEDED}

    succeeded_at: datetime | None = moment()
    customer_tax_id: str | None = None


class Refund(SaleObject, table=True):
    __tablename__ = "refund"
    __table_args__ = _by_writing("refund")
    events = _events("refund", "succeeded failed in_progress")
    # A bank may send a succeeded refund back, so failed stands behind it.
    steps = (("created", "pending"), ("in_progress",), ("canceled",), ("succeeded",), ("failed",))
    reached = {"succeeded_at": _SUCCEEDED, "failed_at": Reached(("failed_at",), frozenset({"failed"}))}

    resource_id: str | None = Field(default=None, index=True)
    succeeded_at: datetime | None = moment()
    failed_at: datetime | None = moment()


class Dispute(ProviderObject, table=True):
    __tablename__ = "dispute"
    events = _events("dispute", "waiting_documentation in_review won lost expired")
    steps = (("waiting_documentation",), ("in_review",), ("expired",), ("lost", "won"))
    reached = {"ended_at": Reached(("ended_at",), frozenset({"won", "lost", "expired"}))}

    resource_id: str | None = Field(default=None, index=True)
    due_at: datetime | None = moment()
    ended_at: datetime | None = moment()


class Payout(ProviderObject, table=True):
    __tablename__ = "payout"
    events = _events("payout", "created canceled succeeded returned")
    steps = (("in_progress",), ("succeeded",), ("canceled",), ("returned",))
    reached = {
        "succeeded_at": _SUCCEEDED,
        "ended_at": Reached(("canceled_at", "returned_at"), frozenset({"canceled", "returned"})),
    }

    succeeded_at: datetime | None = moment()
    ended_at: datetime | None = moment()
    recipient_institution: str | None = None
    recipient_number: str | None = None


class PayoutItem(SQLModel, table=True):
    """One resource that a payout carries, as the provider's list of its resources says."""

    __tablename__ = "payout_item"
    __table_args__ = _by_writing("payout_item")

    connection: str = Field(primary_key=True)
    payout_id: str = Field(primary_key=True)
    resource_type: str = Field(primary_key=True)
    resource_id: str = Field(primary_key=True, index=True)
    mode: str
    amount: int = minor_units(optional=False)
    currency: str
    body: str
    written_at: datetime | None = moment()


class PayoutCount(SQLModel, table=True):
    """How many items the provider announced for a payout and type, and how many were kept."""

    __tablename__ = "payout_count"

    connection: str = Field(primary_key=True)
    payout_id: str = Field(primary_key=True)
    resource_type: str = Field(primary_key=True)
    announced: int | None
    kept: int
    pulled_at: datetime = moment(optional=False)


class CheckoutSession(ProviderObject, table=True):
    __tablename__ = "checkout_session"
    events = _events("checkout_session", "finished expired")
    steps = (("created",), ("in_progress",), ("expired",), ("finished",))
    has_amount = True


class Customer(ProviderObject, table=True):
    __tablename__ = "customer"

    tax_id: str | None = None
    name: str | None = None


class PaymentLink(ProviderObject, table=True):
    __tablename__ = "payment_link"
    steps = (("active",), ("expired",), ("canceled",))
    has_amount = True


class PaymentMethod(ProviderObject, table=True):
    __tablename__ = "payment_method"
    events = _events("payment_method", "activated canceled")
    steps = (("pending",), ("active",), ("canceled", "expired"))


class Subscription(ProviderObject, table=True):
    __tablename__ = "subscription"
    events = _events("subscription", "payment_method_updated payment_method_update_failed")
    steps = (("incomplete",), ("trialing",), ("active",), ("canceled",))


class BillingInvoice(ProviderObject, table=True):
    __tablename__ = "billing_invoice"
    object_name = "invoice"
    events = _events("invoice", "created finalized paid payment_created payment_failed payment_succeeded voided")
    steps = (("draft",), ("open",), ("paid",), ("void",))


class WebhookEndpoint(ProviderObject, table=True):
    __tablename__ = "webhook_endpoint"


class Entity(ProviderObject, table=True):
    __tablename__ = "entity"
    steps = (
        ("draft",),
        ("under_review",),
        ("pending_signature",),
        ("waiting_initialization",),
        ("operational",),
        ("paused",),
        ("canceled", "rejected"),
    )


class Account(ProviderObject, table=True):
    __tablename__ = "account"


class AccountNumber(ProviderObject, table=True):
    __tablename__ = "account_number"
    events = _events("account_number", "deleted")
    steps = (("enabled",), ("disabled",), ("deleted",))

    account_id: str | None = Field(default=None, index=True)
    number: str | None = None


class AccountMovement(ProviderObject, table=True):
    """A movement of a business account: the amount is unsigned and the direction says which way."""

    __tablename__ = "account_movement"
    object_name = "movement"

    account_id: str | None = Field(default=None, index=True)
    direction: str | None = None
    balance: int | None = minor_units()


class AccountStatement(ProviderObject, table=True):
    __tablename__ = "account_statement"

    account_id: str | None = Field(default=None, index=True)


class AccountVerification(ProviderObject, table=True):
    __tablename__ = "account_verification"
    events = _events("account_verification", "succeeded failed")
    steps = (("pending",), ("failed", "succeeded"))


class Transfer(ProviderObject, table=True):
    __tablename__ = "transfer"
    events = (
        *_events("transfer.inbound", "succeeded returned return_failed rejected reversed"),
        *_events("transfer.outbound", "succeeded partially_succeeded failed returned reversed"),
    )
    # Succeeded is not the end: returns and reversals come up to 90 days later.
    steps = (
        ("pending",),
        ("reject_failed",),
        ("failed", "rejected"),
        ("partially_succeeded",),
        ("succeeded",),
        ("return_pending", "reverse_pending"),
        ("returned", "reversed"),
    )

    direction: str | None = None


class TransferBatch(ProviderObject, table=True):
    """Outbound transfers that were asked for in one request and approved together."""

    __tablename__ = "transfer_batch"
    events = _events("transfer_batch", "in_progress succeeded partially_succeeded failed")
    steps = (("pending_authorization",), ("in_progress",), ("failed", "partially_succeeded", "succeeded"))
    has_amount = True


class Link(ProviderObject, table=True):
    __tablename__ = "link"
    events = _events("link", "credentials_changed")


class LinkAccount(ProviderObject, table=True):
    __tablename__ = "link_account"
    object_name = "account"


class LinkMovement(ProviderObject, table=True):
    """A movement of a linked external account: the amount is signed."""

    __tablename__ = "link_movement"
    object_name = "movement"
    steps = (("pending",), ("confirmed",), ("duplicated", "reversed"))

    account_id: str | None = Field(default=None, index=True)


class RefreshIntent(ProviderObject, table=True):
    __tablename__ = "refresh_intent"
    events = (
        *_events("link.refresh_intent", "succeeded failed"),
        *_events("account.refresh_intent", "succeeded failed rejected movements_removed movements_modified"),
    )
    steps = (("created",), ("failed", "rejected", "succeeded"))


class TaxInvoice(ProviderObject, table=True):
    """A document of the register as the provider shows it; what a month's tie-out asks for is taken from the body."""

    __tablename__ = "tax_invoice"
    __table_args__ = (
        Index("tax_invoice_period", "connection", "period", "number"),
        # Counted, with the newest of each, wherever a change is looked for.
        Index("tax_invoice_version", "connection", "version_at", "gone_at"),
    )
    object_name = "invoice"

    # Month as YYYY-MM where the provider states one, else None.
    period: str | None = None
    # Folio, or UUID in lower case.
    number: str | None = None
    # issued or received
    direction: str | None = None


class TaxReturn(ProviderObject, table=True):
    """The annual F22."""

    __tablename__ = "tax_return"


class TaxStatement(ProviderObject, table=True):
    """The monthly F29; a rectified one replaces the earlier by document number."""

    __tablename__ = "tax_statement"

    document_number: str | None = None
    period: str | None = None


class Institution(ProviderObject, table=True):
    __tablename__ = "institution"
