"""The true ledger a scenario is planned on: what was sold, paid, given back and paid out, and why."""

from dataclasses import dataclass, field
from datetime import date, datetime

from sandbox.scenarios.people import Person
from sandbox.state.happening import BankFile, Happening


@dataclass(frozen=True, slots=True)
class LocalDocument:
    """A row of the merchant's books."""

    doc_type: str
    folio: str
    issue_on: date
    known_at: datetime
    net: int
    vat: int
    total: int
    currency: str
    due_on: date | None = None
    series: str = ""
    uuid: str = ""
    buyer: Person | None = None
    buyer_tax_id: str = ""
    status: str = "valid"
    order_ref: str = ""
    refers_to: "LocalDocument | None" = None
    payment_method: str = ""
    payment_form: str = ""
    exempt: int = 0
    owed_back: bool = False  # a note on a paid document that is never refunded

    @property
    def key(self) -> str:
        """Return the document's name in the contract."""
        if self.uuid:
            return f"mx:uuid:{self.uuid.lower()}"
        return f"{'cl' if self.doc_type.isdigit() else 'mx'}:{self.doc_type}:{self.series}:{self.folio}"

    @property
    def is_note(self) -> bool:
        """Return whether the document lowers another one."""
        return self.doc_type in {"61", "112", "E"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a right reconciliation says about one payment, apart from its payout."""

    outcome: str
    applied: tuple[tuple[str, int], ...] = ()  # doc_key and the amount that lowers its balance
    suggested: tuple[str, ...] = ()  # doc_keys it belongs to without evidence enough to say so
    code: str | None = None
    at_risk: int = 0
    decidable: bool = True


@dataclass(frozen=True, slots=True)
class Share:
    """What one recipient gets of a split payment."""

    entity_id: str
    amount: int
    pays_fee: bool = False
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Payment:
    """One payment that succeeded."""

    id: str
    subtype: str
    amount: int
    currency: str
    created_at: datetime
    succeeded_at: datetime
    verdict: Verdict
    customer: Person | None = None
    sender: Person | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    reference_id: str | None = None
    forgotten: bool = False  # no payout ever carries it
    repeated: bool = False  # a second payout carries it too
    misfee: str = ""  # how the provider errs in its fee: tariff, vat or rounding
    shares: tuple[Share, ...] = ()
    payment_method: str | None = None  # set where a saved method was charged
    subscription: str | None = None

    @property
    def is_charge(self) -> bool:
        """Return whether the provider calls it a charge: the direct debit of old."""
        return self.subtype == "pac"

    @property
    def own_amount(self) -> int:
        """Return what of it is the merchant's own."""
        return sum(share.amount for share in self.shares if share.is_own) if self.shares else self.amount


@dataclass(frozen=True, slots=True)
class Refund:
    """Money going back to a payer."""

    id: str
    payment: Payment
    amount: int
    created_at: datetime
    in_progress_at: datetime
    succeeded_at: datetime | None
    failed_at: datetime | None
    doc_key: str | None  # the sale it gives back, where there is one
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dispute:
    """A payer's bank asking for the money of a payment back."""

    id: str
    payment: Payment
    opened_at: datetime
    review_at: datetime | None = None
    ended_at: datetime | None = None
    ending: str | None = None  # won, lost, expired

    @property
    def costs(self) -> bool:
        """Return whether the merchant loses the money."""
        return self.ending in {"lost", "expired"}


@dataclass(frozen=True, slots=True)
class Line:
    """One resource inside one payout."""

    resource_type: str
    resource: str
    signed: int
    fee: int
    fee_vat: int
    fee_off: int = 0  # how much more than agreed was taken


@dataclass(frozen=True, slots=True)
class Payout:
    """One transfer of the provider to the merchant."""

    id: str
    created_at: datetime
    lines: tuple[Line, ...]
    amount: int
    currency: str
    succeeded_at: datetime | None = None
    returned_at: datetime | None = None
    canceled_at: datetime | None = None
    short_by: int = 0
    disputes: tuple[Dispute, ...] = ()
    arrived_at: datetime | None = None  # when the merchant's account shows it, where that account is known
    arrived: int = 0

    @property
    def gone_at(self) -> datetime | None:
        """Return when its items became free again, if they did."""
        return self.returned_at or self.canceled_at


@dataclass(frozen=True, slots=True)
class Transfer:
    """One transfer on the merchant's business account."""

    id: str
    at: datetime
    amount: int
    currency: str
    inbound: bool
    counterparty: Person
    comment: str
    undone_at: datetime | None = None  # when it failed, or came back
    undoing: str | None = None  # failed, returned, reversed, rejected, return_failed
    reason: tuple[str, str] = ("01", "non_existing_account")
    tracking_key: str | None = None
    payout: str = ""  # which payout arrives with it
    sweeps: bool = False  # takes all that the account holds


@dataclass(slots=True)
class Ledger:
    """Everything one scenario holds, in the order it was planned."""

    country: str
    currency: str
    since: date
    until: date
    documents: list[LocalDocument] = field(default_factory=list)
    payments: list[Payment] = field(default_factory=list)
    refunds: list[Refund] = field(default_factory=list)
    disputes: list[Dispute] = field(default_factory=list)
    payouts: list[Payout] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    has_bank: bool = False  # whether the account payouts arrive on is in the provider's own bank
    bank_file: BankFile | None = None  # what a file of that account tells, where the merchant has one
