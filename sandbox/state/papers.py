"""What a tax document says, before it is written as XML, and what the tax office holds of it."""

from dataclasses import dataclass
from datetime import date, datetime

PUBLIC = {"cl": "66666666-6", "mx": "XAXX010101000"}
NOTES = {"cl": ("61", "112"), "mx": ("E",)}
VOIDS, CORRECTS = "1", "3"  # CodRef of Chile
CREDITS, REPLACES, APPLIES = "01", "04", "07"  # TipoRelacion of Mexico


@dataclass(frozen=True, slots=True)
class Party:
    """Who issues or receives a document."""

    tax_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Relation:
    """What a document says of another one; `number` is its folio, or its UUID."""

    code: str
    kind: str
    number: str
    on: date
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Settled:
    """One document that a payment of a complement settles, in minor units."""

    uuid: str
    series: str
    folio: str
    instalment: int
    before: int
    paid: int
    vat: int

    @property
    def after(self) -> int:
        """Return what is left to pay."""
        return self.before - self.paid


@dataclass(frozen=True, slots=True)
class Settlement:
    """One payment of a complement."""

    paid_at: datetime
    form: str
    amount: int
    operation: str
    settled: tuple[Settled, ...]


@dataclass(frozen=True, slots=True)
class Paper:
    """One tax document. Amounts are minor units of `currency`; `known_at` is when its issuer handed it out."""

    country: str
    kind: str  # 33 … 112, or I, E, P
    issuer: Party
    receiver: Party
    folio: str
    issued_at: datetime
    currency: str
    net: int
    exempt: int
    vat: int
    total: int
    series: str = ""
    uuid: str = ""
    method: str = ""  # PUE or PPD
    form: str = ""
    due_on: date | None = None
    order_ref: str = ""
    relations: tuple[Relation, ...] = ()
    settlements: tuple[Settlement, ...] = ()
    global_month: str = ""  # the month a global invoice sums up, as 2026-08
    third_party: Party | None = None  # for whom the goods were sold
    no_debit_right: bool = False
    cancelled_at: datetime | None = None
    is_received: bool = False

    @property
    def key(self) -> str:
        """Return the document's name in the contract."""
        if self.uuid:
            return f"mx:uuid:{self.uuid.lower()}"
        parts = (self.issuer.tax_id, self.kind) if self.is_received else (self.kind, self.series)
        return ":".join(("cl", *parts, self.folio))

    @property
    def month(self) -> str:
        """Return the month it was issued in, by its own clock."""
        return f"{self.issued_at:%Y-%m}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the tax office's register."""

    paper: Paper
    period: str
    side: str = "sales"  # or purchases
    state: str = "registro"  # or pendiente, no_incluir, reclamado
    received_at: datetime | None = None
    claimed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Vouchers:
    """The electronic payment vouchers that operators sent for one day of Chile."""

    on: date
    count: int
    total: int


@dataclass(frozen=True, slots=True)
class Cause:
    """A planted cause of a difference, as `tax-causes` names it: of a document, a payment or a period."""

    code: str
    period: str
    subject: str  # doc_key, payment id, or the provider's tax id
    amount: int
    tax: int


@dataclass(frozen=True, slots=True)
class TaxView:
    """A world as its tax papers show it, apart from the books."""

    papers: tuple[Paper, ...]
    register: tuple[Entry, ...]
    vouchers: tuple[Vouchers, ...] = ()
    causes: tuple[Cause, ...] = ()
    unreported: frozenset[str] = frozenset()  # keys of documents that no return of tax counts
