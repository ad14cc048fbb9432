"""Saved payment methods and the sessions in which customers leave them."""

from datetime import datetime, timedelta
from typing import Any

from sandbox.scenarios.chance import Chance
from sandbox.scenarios.people import Person, to_provider_tax_id
from sandbox.scenarios.wire import to_millis
from sandbox.state.happening import Happening

LINK_LIFE = timedelta(days=3)


def to_payment_method(chance: Chance, kind: str, owner: Person, at: datetime, *, status: str) -> dict[str, Any]:
    """A saved method, its details under the name of its type."""
    details: dict[str, dict[str, Any]] = {
        "card": {"brand": "visa", "last_four_digits": chance.digits(4), "status": status},
        "pac": {"institution_id": owner.institution, "account_holder_id": to_provider_tax_id(owner.tax_id),
                "account_number": owner.account, "status": status},
        "bank_transfer": {
            "account_holder_id": to_provider_tax_id(owner.tax_id), "account_number": owner.account,
            "account_type": "sight_account", "institution_id": owner.institution, "institution_name": None,
            "mfa_type": "app", "status": status,
        },
        "mx_direct_debit": {
            "status": status, "institution": {"id": owner.institution, "country": "mx", "name": None},
            "account_number_last4": owner.account[-4:], "max_amount": 500_000,
            "account_holder_id": to_provider_tax_id(owner.tax_id),
        },
    }  # fmt: skip
    return {
        "id": chance.id("pm"),
        "object": "payment_method",
        "mode": "test",
        "type": kind,
        "customer": owner.customer_id,
        "metadata": {},
        "created_at": to_millis(at),
        kind: details[kind],
    }


def save_method(chance: Chance, kind: str, owner: Person, at: datetime) -> list[Happening]:
    """A method waiting for its bank, then active; both told as events do."""
    pending = to_payment_method(chance, kind, owner, at, status="pending")
    active = pending | {kind: pending[kind] | {"status": "active"}}
    intent = {
        "id": chance.id("seti"),
        "object": "setup_intent",
        "mode": "test",
        "status": "succeeded",
        "customer": owner.customer_id,
        "payment_method": pending["id"],
        "payment_type": kind,
        "error_reason": None,
        "created_at": to_millis(at - timedelta(minutes=2)),
    }
    return [
        Happening(at, "payment_methods", pending),
        Happening(at, "setup_intents", intent),
        Happening(chance.later(at, 3_600, 90_000), "payment_methods", active, "payment_method.activated"),
    ]


def lose_method(chance: Chance, kind: str, owner: Person, at: datetime) -> list[Happening]:
    """A method whose bank never answered: pending for a week, then gone."""
    pending = to_payment_method(chance, kind, owner, at, status="pending")
    gone = pending | {kind: pending[kind] | {"status": "expired"}}
    ended_at = at + timedelta(days=7)
    return [
        Happening(at, "payment_methods", pending),
        Happening(ended_at, "payment_methods", gone, "payment_method.canceled"),
    ]


def to_payment_link(chance: Chance, amount: int, currency: str, at: datetime, *, status: str) -> dict[str, Any]:
    """An address that asks for one payment."""
    id_ = chance.id("plink")
    return {
        "id": id_,
        "object": "payment_link",
        "mode": "test",
        "status": status,
        "amount": amount,
        "currency": currency,
        "url": f"https://pagos.example/l/{chance.digits(10)}",
        "expires_at": to_millis(at + LINK_LIFE),
        "customer_email": None,
        "checkout": {"description": "Pedido por teléfono"},
        "recipient_account": None,
        "metadata": {},
        "created_at": to_millis(at),
    }
