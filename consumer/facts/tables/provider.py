"""Provider objects as we last knew them: one row per object and mode, typed columns and the whole JSON.

The provider reuses words and these names do not.
"""

from datetime import datetime

from sqlmodel import Field, SQLModel

from consumer.facts.tables.columns import minor_units, moment


class ProviderObject(SQLModel):
    """What every provider object carries; `version_*` decide which observation is newer, whatever the order."""

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


class PaymentIntent(SaleObject, table=True):
    __tablename__ = "payment_intent"

    succeeded_at: datetime | None = moment()
    subtype: str | None = None
    customer_tax_id: str | None = None
    customer_name: str | None = None
    sender_tax_id: str | None = None


class Charge(SaleObject, table=True):
    __tablename__ = "charge"

    succeeded_at: datetime | None = moment()
    customer_tax_id: str | None = None


class Refund(SaleObject, table=True):
    __tablename__ = "refund"

    resource_id: str | None = Field(default=None, index=True)
    succeeded_at: datetime | None = moment()
    failed_at: datetime | None = moment()


class Dispute(ProviderObject, table=True):
    __tablename__ = "dispute"

    resource_id: str | None = Field(default=None, index=True)
    due_at: datetime | None = moment()
    ended_at: datetime | None = moment()


class Payout(ProviderObject, table=True):
    __tablename__ = "payout"

    succeeded_at: datetime | None = moment()
    ended_at: datetime | None = moment()
    recipient_institution: str | None = None
    recipient_number: str | None = None


class PayoutItem(SQLModel, table=True):
    """One resource that a payout carries, as the provider's list of its resources says."""

    __tablename__ = "payout_item"

    connection: str = Field(primary_key=True)
    payout_id: str = Field(primary_key=True)
    resource_type: str = Field(primary_key=True)
    resource_id: str = Field(primary_key=True, index=True)
    mode: str
    amount: int = minor_units(optional=False)
    currency: str
    body: str


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


class Customer(ProviderObject, table=True):
    __tablename__ = "customer"

    tax_id: str | None = None
    name: str | None = None


class PaymentLink(ProviderObject, table=True):
    __tablename__ = "payment_link"


class PaymentMethod(ProviderObject, table=True):
    __tablename__ = "payment_method"


class Subscription(ProviderObject, table=True):
    __tablename__ = "subscription"


class BillingInvoice(ProviderObject, table=True):
    __tablename__ = "billing_invoice"


class WebhookEndpoint(ProviderObject, table=True):
    __tablename__ = "webhook_endpoint"


class Entity(ProviderObject, table=True):
    __tablename__ = "entity"


class Account(ProviderObject, table=True):
    __tablename__ = "account"


class AccountNumber(ProviderObject, table=True):
    __tablename__ = "account_number"

    account_id: str | None = Field(default=None, index=True)
    number: str | None = None


class AccountMovement(ProviderObject, table=True):
    """A movement of a business account: the amount is unsigned and the direction says which way."""

    __tablename__ = "account_movement"

    account_id: str | None = Field(default=None, index=True)
    direction: str | None = None
    balance: int | None = minor_units()


class AccountStatement(ProviderObject, table=True):
    __tablename__ = "account_statement"

    account_id: str | None = Field(default=None, index=True)


class AccountVerification(ProviderObject, table=True):
    __tablename__ = "account_verification"


class Transfer(ProviderObject, table=True):
    __tablename__ = "transfer"

    direction: str | None = None


class TransferBatch(ProviderObject, table=True):
    """Outbound transfers that were asked for in one request and approved together."""

    __tablename__ = "transfer_batch"


class Link(ProviderObject, table=True):
    __tablename__ = "link"


class LinkAccount(ProviderObject, table=True):
    __tablename__ = "link_account"


class LinkMovement(ProviderObject, table=True):
    """A movement of a linked external account: the amount is signed."""

    __tablename__ = "link_movement"

    account_id: str | None = Field(default=None, index=True)


class RefreshIntent(ProviderObject, table=True):
    __tablename__ = "refresh_intent"


class TaxInvoice(ProviderObject, table=True):
    __tablename__ = "tax_invoice"


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
