"""Entities, business accounts, their numbers, movements, statements, verifications and transfers as rows."""

from typing import Any

from consumer.facts.tables.business import (
    Account,
    AccountMovement,
    AccountNumber,
    AccountStatement,
    AccountVerification,
    Entity,
    Transfer,
)
from consumer.provider.rows import fields
from consumer.provider.rows.fields import Data
from consumer.provider.rows.kind import Kind


def status_only(data: Data) -> dict[str, Any]:
    return {"status": fields.text(data, "status")}


def _account(data: Data) -> dict[str, Any]:
    return status_only(data) | {
        "amount": fields.amount(data, "available_balance"),
        "currency": fields.currency(data),
    }


def _account_number(data: Data) -> dict[str, Any]:
    return status_only(data) | {
        "account_id": fields.text(data, "account_id"),
        "number": fields.text(data, "number"),
    }


def _transfer(data: Data) -> dict[str, Any]:
    return {
        "status": fields.required_text(data, "status"),
        "amount": fields.unsigned_amount(data),
        "currency": fields.required_currency(data),
        "direction": fields.required_text(data, "direction"),
    }


def _account_movement(data: Data) -> dict[str, Any]:
    return status_only(data) | {
        "amount": fields.unsigned_amount(data),
        "currency": fields.required_currency(data),
        "direction": fields.required_text(data, "direction"),
        "account_id": fields.required_text(data, "account_id"),
        "balance": fields.amount(data, "balance"),
    }


def _account_statement(data: Data) -> dict[str, Any]:
    return status_only(data) | {"account_id": fields.required_text(data, "account_id")}


KINDS = {
    "entity": Kind(
        Entity,
        status_only,
        ("entity",),
        (
            ("draft",),
            ("under_review",),
            ("pending_signature",),
            ("waiting_initialization",),
            ("operational",),
            ("paused",),
            ("canceled", "rejected"),
        ),
    ),
    "account": Kind(Account, _account, ("account",)),
    "account_number": Kind(
        AccountNumber, _account_number, ("account_number",), (("enabled",), ("disabled",), ("deleted",))
    ),
    "account_movement": Kind(AccountMovement, _account_movement, ("movement",)),
    "account_statement": Kind(AccountStatement, _account_statement, ("account_statement",)),
    "account_verification": Kind(
        AccountVerification, status_only, ("account_verification",), (("pending",), ("failed", "succeeded"))
    ),
    # Succeeded is not the end: returns and reversals come up to 90 days later.
    "transfer": Kind(
        Transfer,
        _transfer,
        ("transfer",),
        (
            ("pending",),
            ("reject_failed",),
            ("failed", "rejected"),
            ("partially_succeeded",),
            ("succeeded",),
            ("return_pending", "reverse_pending"),
            ("returned", "reversed"),
        ),
    ),
}
