"""Events as the provider writes them, about 1.5 kB each and every one unique, and their signatures."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

SECRET = "whsec_bench_0123456789abcdef"
START = datetime(2026, 10, 1, tzinfo=UTC)
_RUTS = ("11.111.111-1", "22.222.222-2", "12.345.678-5", "76.086.428-5", "9.999.999-3")
_BANKS = ("cl_banco_estado", "cl_banco_santander", "cl_banco_de_chile", "cl_banco_bci")
# In a hundred events, as a shop would see them; the rest are payments.
_SHARES = (("charge", 8), ("transfer", 10), ("refund", 8), ("payout", 2))


def signed(body: bytes, at: int) -> str:
    """The signature header of a body sent at a second."""
    stamp = str(at).encode()
    return f"t={at},v1={hmac.new(SECRET.encode(), stamp + b'.' + body, hashlib.sha256).hexdigest()}"


def payment_event(number: int) -> bytes:
    """One succeeded payment as bytes."""
    return _to_bytes(number, "payment_intent.succeeded", _payment(number))


def month_of_events(count: int) -> Iterator[bytes]:
    """A shop's mixture: most are payments; refunds and payouts announce themselves twice, so rows are read again.

    Numbers begin at 1: an id of nothing but zeros is the provider's trial delivery, which is not applied.
    """
    for number in range(1, count + 1):
        kind = _kind_of(number)
        if kind == "payment_intent":
            yield payment_event(number)
        elif kind == "charge":
            yield _to_bytes(number, "charge.succeeded", _charge(number))
        elif kind == "transfer":
            yield _to_bytes(number, "transfer.inbound.succeeded", _transfer(number))
        elif kind == "refund":
            status = "succeeded" if number % 2 else "in_progress"
            yield _to_bytes(number, f"refund.{status}", _refund(number, status))
        else:
            status = "succeeded" if number % 2 else "in_progress"
            name = "payout.succeeded" if number % 2 else "payout.created"
            yield _to_bytes(number, name, _payout(number, status))


def _kind_of(number: int) -> str:
    place = number % 100
    for kind, share in _SHARES:
        if place < share:
            return kind
        place -= share
    return "payment_intent"


def _to_bytes(number: int, name: str, data: dict[str, Any]) -> bytes:
    at = _at(number)
    event = {"id": f"evt_{number:032x}", "object": "event", "type": name, "mode": "test", "created_at": at}
    return json.dumps(event | {"data": data}, ensure_ascii=False).encode()


def _at(number: int, *, before: int = 0) -> str:
    moment = START + timedelta(milliseconds=number * 137) - timedelta(seconds=before)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _account(number: int) -> dict[str, Any]:
    return {
        "holder_id": _RUTS[number % len(_RUTS)],
        "holder_name": f"Comercial Ñuñoa {number % 997} SpA",
        "number": f"{10_000_000 + number}",
        "type": "checking_account",
        "institution_id": _BANKS[number % len(_BANKS)],
        "institution": {"id": _BANKS[number % len(_BANKS)], "name": "Banco del Estado de Chile", "country": "cl"},
    }


def _money(number: int, kind: str) -> dict[str, Any]:
    return {
        "id": f"{kind}_{number:024x}",
        "mode": "test",
        "amount": 1_000 + number * 7 % 900_000,
        "currency": "CLP",
        "created_at": _at(number, before=40),
        "updated_at": _at(number),
    }


def _payment(number: int) -> dict[str, Any]:
    return _money(number, "pi") | {
        "object": "payment_intent",
        "status": "succeeded",
        "payment_type": "bank_transfer",
        "payment_type_options": {},
        "error_reason": None,
        "next_action": None,
        "expires_at": None,
        "reference_id": f"{900_000_000 + number}",
        "transaction_date": _at(number),
        "widget_token": None,
        "customer": {
            "id": f"cus_{number % 5_000:024x}",
            "name": f"María José Peña {number % 5_000}",
            "email": f"persona{number % 5_000}@ejemplo.cl",
            "tax_id": {"type": "cl_rut", "value": _RUTS[number % len(_RUTS)]},
        },
        "sender_account": _account(number),
        "recipient_account": _account(1),
        "metadata": {"order_ref": f"pedido-{number}", "channel": "web", "store": "Providencia", "terms": "accepted"},
        "split_applied": [],
        "business_profile": {"category": "453210", "name": "Comercial Providencia", "tax_id": "76.086.428-5"},
    }


def _charge(number: int) -> dict[str, Any]:
    return _money(number, "ch") | {
        "object": "charge",
        "status": "succeeded",
        "subscription_id": f"sub_{number % 1_000:024x}",
        "recipient_account": _account(1),
        "sender_account": _account(number),
        "customer": {"id": f"cus_{number % 5_000:024x}", "tax_id": _RUTS[number % len(_RUTS)]},
        "metadata": {"order_ref": f"cuota-{number}", "note": "plan anual en doce cuotas" * 8},
    }


def _transfer(number: int) -> dict[str, Any]:
    return _money(number, "tr") | {
        "object": "transfer",
        "status": "succeeded",
        "direction": "inbound",
        "tracking_key": f"{number:030d}",
        "comment": "pago factura",
        "counterparty": _account(number),
        "account_number": {"id": "acno_1", "number": "813990168825000001", "description": "Ventas"},
        "return_reason": None,
        "error_reason": None,
        "receipt_url": "https://ejemplo.cl/recibos/" + "r" * 300,
        "metadata": {"order_ref": f"pedido-{number}"},
    }


def _refund(number: int, status: str) -> dict[str, Any]:
    at = {"created_at": _at(number - number % 2, before=40), "updated_at": _at(number)}
    return (
        _money(number - number % 2, "re")
        | at
        | {
            "object": "refund",
            "status": status,
            "resource_id": f"pi_{number + 1_000:024x}",
            "resource_type": "payment_intent",
            "recipient_account": _account(number),
            "metadata": {"reason": "talla equivocada; " * 30},
        }
    )


def _payout(number: int, status: str) -> dict[str, Any]:
    at = {"created_at": _at(number - number % 2, before=40), "updated_at": _at(number)}
    return (
        _money(number - number % 2, "po")
        | at
        | {
            "object": "payout",
            "status": status,
            "recipient_account": _account(1),
            "metadata": {"cycle": "daily; " * 60},
        }
    )


def stripe_event(number: int, *, kind: str = "charge.succeeded") -> bytes:
    """An event of about the same size in the shape the peers read."""
    charge = {
        "id": f"ch_{number:024x}",
        "object": "charge",
        "amount": 1_000 + number * 7 % 900_000,
        "amount_captured": 1_000,
        "amount_refunded": 0,
        "balance_transaction": f"txn_{number:024x}",
        "captured": True,
        "created": int(START.timestamp()) + number,
        "currency": "clp",
        "customer": f"cus_{number % 5_000:024x}",
        "description": f"pedido-{number}",
        "livemode": False,
        "metadata": {"order_ref": f"pedido-{number}", "note": "Comercial Providencia " * 26},
        "paid": True,
        "payment_intent": f"pi_{number:024x}",
        "payment_method_details": {"card": {"brand": "visa", "last4": "4242", "country": "CL"}, "type": "card"},
        "refunded": False,
        "status": "succeeded",
    }
    event = {
        "id": f"evt_{number:032x}",
        "object": "event",
        "account": "acct_bench",
        "api_version": "2020-08-27",
        "created": int(START.timestamp()) + number,
        "livemode": False,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": None},
        "type": kind,
        "data": {"object": charge},
    }
    return json.dumps(event).encode()
