"""Pure: what the journal posts. Each kind of line moves an amount from one account of the map to another."""

import hashlib
from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import NamedTuple

import msgspec
from msgspec import Struct

_DIGEST_BYTES = 10


class Nature(StrEnum):
    """What an account is; the neutral layouts begin their names with it."""

    ASSET = "Assets"
    LIABILITY = "Liabilities"
    EXPENSE = "Expenses"


class AccountKey(NamedTuple):
    """A key of the account map; `by_means` and `by_reason` say what may have accounts of their own."""

    nature: Nature
    by_means: bool = False
    by_reason: bool = False


KEYS: Mapping[str, AccountKey] = {
    "clearing": AccountKey(Nature.ASSET),
    "in_transit": AccountKey(Nature.ASSET),
    "bank": AccountKey(Nature.ASSET),
    "customers": AccountKey(Nature.ASSET, by_means=True),
    "suspense": AccountKey(Nature.LIABILITY, by_means=True),
    "refunds": AccountKey(Nature.ASSET, by_means=True),
    "disputes": AccountKey(Nature.EXPENSE, by_means=True),
    "shares": AccountKey(Nature.LIABILITY, by_means=True),
    "fee_pending": AccountKey(Nature.ASSET),
    "fee_expense": AccountKey(Nature.EXPENSE),
    "vat_credit": AccountKey(Nature.ASSET),
    "vat_pending_mx": AccountKey(Nature.LIABILITY),
    "vat_collected_mx": AccountKey(Nature.LIABILITY),
    "differences": AccountKey(Nature.EXPENSE, by_reason=True),
    "rounding": AccountKey(Nature.EXPENSE),
    # Accepted and not posted yet: the provider states no fee of a dispute apart from the others.
    "chargeback_fee": AccountKey(Nature.EXPENSE),
}


# Why an amount is a difference: what a person accepted it as, or where it was found.
ROUNDING = "rounding"
OF_PAYOUT, OF_BANK = "payout", "bank"
REASONS = ("bank_fee", "discount", "exchange", "write_off", "other", OF_PAYOUT, OF_BANK)


class Sides(NamedTuple):
    """The accounts of one kind of line; a negative amount goes the other way."""

    debit: str
    credit: str


# Their words are messages `posting.<kind>`.
KINDS: Mapping[str, Sides] = {
    "payment": Sides("clearing", "customers"),
    "payment_open": Sides("clearing", "suspense"),
    "paid_again": Sides("clearing", "suspense"),
    "overpaid": Sides("clearing", "suspense"),
    "payment_accepted": Sides("clearing", "differences"),
    "payment_rounding": Sides("clearing", "rounding"),
    "paid_twice": Sides("clearing", "suspense"),
    "share": Sides("shares", "clearing"),
    "vat_collected": Sides("vat_pending_mx", "vat_collected_mx"),
    "vat_returned": Sides("vat_collected_mx", "vat_pending_mx"),
    "accepted": Sides("differences", "customers"),
    "accepted_rounding": Sides("rounding", "customers"),
    "refund": Sides("refunds", "clearing"),
    "refund_failed": Sides("clearing", "refunds"),
    "dispute": Sides("disputes", "clearing"),
    "payout": Sides("in_transit", "clearing"),
    "fee": Sides("fee_pending", "clearing"),
    "fee_vat": Sides("fee_pending", "clearing"),
    "difference": Sides("clearing", "differences"),
    "arrival": Sides("bank", "in_transit"),
    "bank_difference": Sides("differences", "in_transit"),
    "fee_document": Sides("fee_expense", "fee_pending"),
    "fee_document_vat": Sides("vat_credit", "fee_pending"),
    "fee_rounding": Sides("rounding", "fee_pending"),
}
# Lines of what a person accepted, which name the reason.
ACCEPTED = frozenset({"accepted", "payment_accepted"})
# What later facts do to a line that was exported.
REVERSAL, RECLASSIFIED = "reversal", "reclassified"
# A payment whose document was found later moves from the one account to the other.
RECLASSIFIES: Mapping[str, str] = dict.fromkeys(("payment_open", "paid_again", "overpaid"), "payment")


class EntryType(StrEnum):
    INCOME = "I"
    EXPENSE = "E"
    TRANSFER = "T"


class Posting(Struct, frozen=True, array_like=True):
    """One amount between two accounts, named by its kind and subject within its entry; never zero."""

    kind: str
    subject: str
    amount: int
    currency: str
    operation: str = ""
    means: str = ""
    tax_id: str = ""
    doc_type: str = ""
    doc_folio: str = ""
    doc_uuid: str = ""
    doc_total: int = 0

    @property
    def sides(self) -> Sides:
        sides = KINDS[self.kind]
        return sides if self.amount > 0 else Sides(sides.credit, sides.debit)

    @property
    def name(self) -> tuple[str, str]:
        return self.kind, self.subject


class Entry(Struct, frozen=True):
    """What a run says of one day, payout or month of fees: postings of one date and one currency.

    `key` says what it is about and never changes; the first word of it is a kind of `ENTRY_TYPES`.
    """

    key: str
    on: date
    currency: str
    postings: tuple[Posting, ...]

    def digest(self) -> bytes:
        return hashlib.blake2b(msgspec.json.encode([self.on, self.postings]), digest_size=_DIGEST_BYTES).digest()


# The kinds of entries in the order of a day; their words are messages `entry.<kind>`.
ENTRY_TYPES: Mapping[str, EntryType] = {
    "day": EntryType.INCOME,
    "accepted": EntryType.TRANSFER,
    "payout": EntryType.TRANSFER,
    "arrival": EntryType.TRANSFER,
    "fees": EntryType.TRANSFER,
}


def kind_of_entry(key: str) -> str:
    return key.partition("/")[0]


def subject_of_entry(key: str) -> str:
    return key.split("/")[1]


def name_by_content(*parts: str) -> str:
    """Return an id that the same content always has, in any run."""
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=_DIGEST_BYTES).hexdigest()
