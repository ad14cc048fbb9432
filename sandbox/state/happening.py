"""What happens in the imitated provider and when: the boundary between scenarios and the engine."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from sandbox.state.papers import TaxView
from sandbox.state.store import Object

# Every kind of object a scenario may hold, named after the API's paths. `subscriptions` and `invoices` are the v2 ones;
# `legacy_subscriptions` are of direct debit, `tax_*` fiscal, `link_*` of the Movements API, `account_*` of accounts.
COLLECTIONS = (
    "account_movements", "account_numbers", "account_statements", "account_verifications", "accounts", "charges",
    "checkout_sessions", "customers", "disputes", "entities", "institutions", "invoices", "legacy_subscriptions",
    "link_accounts", "link_movements", "links", "onboardings", "payment_intents", "payment_links", "payment_methods",
    "payout_resources", "payouts", "previews", "refresh_intents", "refunds", "setup_intents", "subscription_intents",
    "subscriptions", "tax_invoices", "tax_returns", "tax_statements", "transfer_batches", "transfers",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Happening:
    """One change of one object at one moment of the sandbox's clock.

    Fields of the object that begin with an underscore (`_account`, `_link`: whose it is) stay inside the sandbox.
    A link's object holds its `link_token`, which lists do not show. Of `previews` the id is null: events only.
    """

    at: datetime  # aware UTC
    collection: str  # one of COLLECTIONS
    object: Object  # the whole JSON-ready object after the change, with its id, object, mode
    event: str | None = None  # event type emitted for this change, None = silent change
    event_only: Object = field(default_factory=dict)  # fields that appear only in the event's data


@dataclass(frozen=True, slots=True)
class Document:
    """One row of the merchant's books, in the canonical columns of the invoice file, all text."""

    known_at: datetime  # from when the file that is downloaded holds this row
    row: dict[str, str]


@dataclass(frozen=True, slots=True)
class Truth:
    """What a right reconciliation must say about one subject."""

    kind: str  # payment, charge, refund, refund_adjustment, dispute, payout, transfer, document, bank_day
    id: str  # the provider's id, the doc_key, or the last four digits of an account and a day
    links: tuple[str, ...]  # the doc_keys, resources and payouts it belongs to, also where no evidence says so
    outcome: str
    exceptions: tuple[str, ...]  # the codes whose subject is this row
    amount_at_risk: int  # minor units, of all exceptions of the row together
    currency: str
    decidable: bool


@dataclass(frozen=True, slots=True)
class BankFile:
    """The bank's own file of an account whose movements the provider shows too."""

    account: str  # its whole number
    lacks: str | None  # the transfer it does not tell


@dataclass(frozen=True)
class Scenario:
    """A deterministic stretch of trade: what happens, what the books say, what must be found.

    Happenings and documents may be made anew each time they are walked through, and are the same each time.
    """

    name: str
    country: str  # "cl" / "mx"
    happenings: Iterable[Happening]  # sorted by (at, order of writing); history and the trade to come
    documents: Iterable[Document]  # the merchant's books
    tariff: Object  # what the merchant writes under [tariff] in cuadre.toml
    truth: Callable[[datetime], Iterable[Truth]]  # what a right reconciliation must find as of that moment
    bank_lines: tuple[dict[str, str], ...] = ()  # where the merchant's bank lies outside
    bank_file: BankFile | None = None
    tax: TaxView | None = None  # the tax papers, where they are more than what follows from the books
    signed_transfers: bool = False  # whether sending money needs a signature, as recorded traffic has it


@dataclass(frozen=True)
class WholeScenario(Scenario):
    """A scenario small enough to be held in memory."""

    happenings: tuple[Happening, ...]
    documents: tuple[Document, ...]
    truth: Callable[[datetime], list[Truth]]
