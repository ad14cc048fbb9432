"""How the provider writes moments, people and accounts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sandbox.scenarios.people import Person, to_provider_tax_id

TAX_ID_TYPES = {"cl": "cl_rut", "mx": "mx_rfc"}


@dataclass(frozen=True, slots=True)
class Merchant:
    """Whose money it is: the account payouts arrive on and the one buyers send to."""

    country: str
    name: str
    tax_id: str
    account: str
    institution: str
    collecting_account: str
    collecting_institution: str


CHILEAN_MERCHANT = Merchant(
    "cl", "Almacenes Tres Puentes SpA", "76543210-3", "000071402296", "cl_banco_security", "990013377", "cl_banco_bice"
)
MEXICAN_MERCHANT = Merchant(
    "mx", "Almacenes Tres Puentes SA de CV", "ATP190301KX8", "012180004118359719", "mx_banco_bbva",
    "646180157000000004", "mx_stp",
)  # fmt: skip


def to_seconds(at: datetime) -> str:
    """A moment without its fraction, as payment intents show it."""
    return at.isoformat(timespec="seconds")[:19] + "Z"


def to_millis(at: datetime) -> str:
    """A moment with milliseconds, as most other objects show it."""
    return at.isoformat(timespec="milliseconds")[:23] + "Z"


def to_account(person: Person) -> dict[str, Any]:
    """The account a person pays from."""
    return {
        "holder_id": to_provider_tax_id(person.tax_id),
        "institution_id": person.institution,
        "number": person.account,
        "type": "checking_account",
    }


def to_payout_account(merchant: Merchant) -> dict[str, Any]:
    """The merchant's account payouts arrive on."""
    return {
        "holder_id": to_provider_tax_id(merchant.tax_id),
        "institution_id": merchant.institution,
        "number": merchant.account,
        "type": "checking_account",
    }


def to_collecting_account(merchant: Merchant) -> dict[str, Any]:
    """The account buyers send their transfers to."""
    return to_payout_account(merchant) | {
        "institution_id": merchant.collecting_institution,
        "number": merchant.collecting_account,
    }


def to_customer(person: Person, merchant: Merchant, *, created_at: datetime, mode: str) -> dict[str, Any]:
    """A customer as the provider stores it."""
    return {
        "id": person.customer_id,
        "object": "customer",
        "mode": mode,
        "created_at": to_millis(created_at),
        "name": person.name,
        "email": person.email,
        "phone": None,
        "address": {"country": merchant.country},
        "tax_id": {"type": TAX_ID_TYPES[merchant.country], "value": to_provider_tax_id(person.tax_id)},
        "metadata": {},
    }
