"""What witnesses say of a period: tax documents, payments, declared figures; plain rows, pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import NamedTuple

from reconcile.books.vat_rates import RateSum
from reconcile.fiscal.complements import Cause
from reconcile.rules.kinds import SUMMED


class Witness(StrEnum):
    """Who says a figure."""

    BOOKS = "books"
    REGISTER = "register"
    LINK = "register_link"  # the same register as the provider shows it
    XML = "xml"
    COLLECTED = "collected"
    FEES = "fees"  # what the provider kept from payouts
    DECLARED = "declared"
    COMPUTED = "computed"  # of declared lines, as the form does it
    TAX_OFFICE = "tax_office"  # what the tax office would compute


class State(StrEnum):
    """Whether a document counts for its witness."""

    VALID = "valid"
    CANCELLED = "cancelled"
    CLAIMED = "claimed"
    WAITING = "waiting"  # in the register, but not in its section that counts


class Paper(NamedTuple):
    """A tax document as one witness sees it, or with `is_sum` the sum of a month's documents of a kind."""

    key: str
    side: str
    kind: str
    period: str
    net: int = 0
    exempt: int = 0
    vat: int = 0
    total: int = 0
    state: State = State.VALID
    on: date | None = None
    tax_id: str = ""
    is_sum: bool = False
    # The document that a note refers to, and its day.
    ref_on: date | None = None
    ref_key: str = ""
    # What a note takes from each document it lowers, where it names several.
    lowered: tuple[tuple[str, int], ...] = ()
    # Base and tax by rate, where not all of it is at the general one; what is exempt stands apart.
    rates: tuple[RateSum, ...] = ()
    no_debit_right: bool = False
    third_party: int = 0
    method: str = ""
    is_global: bool = False
    # Whether another document takes its place, whatever the tax office was asked to do with it.
    is_replaced: bool = False
    # Whether its amounts are in the country's money; without a rate they are not.
    is_priced: bool = True
    # Whether its witness states its VAT, and not its total alone.
    is_split: bool = True
    # Its id at the provider, where the provider shows it.
    source_id: str = ""


class Fee(NamedTuple):
    """What the provider kept from the payouts of a month, of so many items; its VAT may be unknown."""

    total: int
    vat: int | None
    items: int


class Payment(NamedTuple):
    """Money of one local day as it was applied to one document, or to none; what went back is below zero."""

    id: str
    on: date
    subtype: str
    amount: int
    doc_key: str = ""
    doc_on: date | None = None
    doc_kind: str = ""
    vat: int = 0
    tax_id: str = ""
    # Whether it is what documents within the tolerance left of a payment, or took beyond it.
    is_rounding: bool = False

    @property
    def period(self) -> str:
        return self.on.isoformat()[: len("2026-10")]


class Complement(NamedTuple):
    """What a payment complement says was paid of one document."""

    key: str
    paid_key: str
    period: str
    on: date
    instalment: int
    paid: int
    vat: int
    is_priced: bool = True
    # What it settled without its tax, all of it or by rate where several are stated.
    base: int = 0
    rates: tuple[RateSum, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """What one witness says, and as of when; None of both where it was never asked.

    Where it was asked by side and month, `months` holds when, and it says no more than these; `sums` are those of which
    it came with its summary.
    """

    papers: Sequence[Paper] = ()
    as_of: datetime | None = None
    months: Mapping[tuple[str, str], datetime] | None = None
    sums: Collection[tuple[str, str]] | None = None

    @property
    def is_known(self) -> bool:
        return self.as_of is not None

    def asked_at(self, side: str, period: str, kinds: Collection[str] = ()) -> datetime | None:
        """Return when it was asked for these kinds of a month of one side; some of them only its summary holds."""
        if self.sums is not None and (side, period) not in self.sums:
            summed = SUMMED.intersection(kinds)
            if summed and not any(paper.period == period and paper.kind in summed for paper in self.papers):
                return None
        return self.as_of if self.months is None else self.months.get((side, period))


@dataclass(frozen=True, slots=True)
class Figures:
    """Declared figures of one period by code, and when the newest of them was stated."""

    amounts: Mapping[str, int]
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What a country and a connection ask for: the model of vouchers, months in which a note lowers tax, and who bills.

    `income_by` says whether income counts as it is paid or as it is issued (Mexico).
    `provider_tax_id` is the issuer of the documents over fees, empty where it is not known.
    """

    country: str
    voucher_model: str = "voucher"
    note_months: int = 6
    provider_tax_id: str = ""
    income_by: str = "paid"


@dataclass(frozen=True, slots=True)
class World:
    """All that is known of a connection, of every period."""

    terms: Terms
    books: Said = Said()
    register: Said = Said()
    link: Said = Said()
    xml: Said = Said()
    payments: Sequence[Payment] = ()
    collected_as_of: datetime | None = None
    fees: Mapping[str, Fee] = field(default_factory=dict)
    complements: Sequence[Complement] = ()
    # What complements and forms of payment are wrong in, and no money says.
    causes: Sequence[Cause] = ()
    declared: Mapping[str, Figures] | None = None
