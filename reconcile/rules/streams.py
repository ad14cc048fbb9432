"""The streams a run reads, and what it withholds while one of them is incomplete: the one table of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from reconcile.rules.outcomes import Code

# What the gaps call the lists of what each payout is made of: read with the payouts, and incomplete by payout.
ITEMS_STREAM = "payout-items"


class Touches(StrEnum):
    """Which payouts show `incomplete` while a stream has a gap."""

    ALIVE = "alive or with its window in the gap"
    AT_BANK = "of these, those that succeeded and that the bank does not show with their amount"
    NONE = "only those of which something is withheld"


@dataclass(frozen=True, slots=True)
class Gate:
    """What one incomplete stream does to a run.

    `is_needed` streams are a gap when they were never read; of the others only what was asked for can be missing.
    """

    withheld: frozenset[Code]
    touches: Touches = Touches.ALIVE
    is_needed: bool = False
    needs_link_token: bool = False


_MISSING = frozenset(
    {
        Code.INVOICE_NO_PAYMENT,
        Code.ITEM_IN_NO_PAYOUT,
        Code.PAYOUT_NOT_IN_BANK,
        Code.CREDIT_NOTE_NO_REFUND,
        Code.ORDER_NOT_PAID,
    }
)
_BANK = frozenset({Code.PAYOUT_NOT_IN_BANK, Code.BANK_AMOUNT_DIFF, Code.BANK_SOURCES_DIFFER})
# Of payouts that the gap touches: a lost dispute or another's share of a payment is a part of their sum.
OF_SUMS = frozenset({Code.PAYOUT_IDENTITY, Code.FEE_OUT_OF_BAND})
# Of payments whose customer is unknown, and of documents while such a payment is left.
_PAYERS = frozenset(
    {
        Code.CUSTOMER_DIFF, Code.SPLIT_MISMATCH, Code.PAYMENT_NO_INVOICE, Code.INVOICE_NO_PAYMENT,
        Code.EXPECTED_DOC_MISSING,
    }
)  # fmt: skip
PAYER_STREAMS = frozenset({"customers", "entities"})

STREAMS: Mapping[str, Gate] = {
    "events": Gate(_MISSING, is_needed=True),
    "payouts": Gate(_MISSING | {Code.PAYOUT_LATE}, is_needed=True),
    ITEMS_STREAM: Gate(_MISSING | {Code.PAYOUT_LATE}),
    "payment-intents": Gate(_MISSING, is_needed=True),
    "charges": Gate(_MISSING, is_needed=True),
    "refunds": Gate(_MISSING, is_needed=True),
    "disputes": Gate(_MISSING | OF_SUMS | {Code.DISPUTE_LOST, Code.DISPUTE_OPEN}, is_needed=True),
    "customers": Gate(_PAYERS, Touches.NONE),
    "entities": Gate(_PAYERS | OF_SUMS),
    "transfers": Gate(frozenset({Code.TRANSFER_RETURNED}), Touches.NONE),
    "accounts": Gate(_BANK, Touches.AT_BANK),
    "account-numbers": Gate(_BANK, Touches.AT_BANK),
    "account-movements": Gate(_BANK, Touches.AT_BANK),
    "link-accounts": Gate(_BANK, Touches.AT_BANK, needs_link_token=True),
    "link-movements": Gate(_BANK, Touches.AT_BANK, needs_link_token=True),
}
NEEDED = tuple(name for name, gate in STREAMS.items() if gate.is_needed)


def withheld_by(streams: Iterable[str]) -> list[str]:
    """Return the codes that a run may withhold while these streams are incomplete, in order; others withhold none."""
    return sorted({str(code) for name in streams if name in STREAMS for code in STREAMS[name].withheld})
