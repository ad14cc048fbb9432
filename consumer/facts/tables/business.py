"""Business accounts, links and fiscal data of the provider; the provider reuses words and these names do not."""

from sqlmodel import Field

from consumer.facts.tables.columns import minor_units
from consumer.facts.tables.provider import ProviderObject


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
