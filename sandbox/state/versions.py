"""The API versions and the shapes objects have in the older ones."""

from collections.abc import Callable

from sandbox.state.store import Json, Object

OLDEST = "2023-11-15"
MIDDLE = "2025-08-13"
LATEST = "2026-02-01"
VERSIONS = (OLDEST, MIDDLE, LATEST)

OLD_RETURN_REASONS = {"non_existing_account": "non_existent_account", "wrong_currency": "account_in_different_currency"}


def present(body: Json, version: str) -> Json:
    """Return an answer's body as that version of the API writes it."""
    if isinstance(body, list):
        return [to_version(row, version) for row in body]
    return to_version(body, version)


def to_version(found: Object, version: str) -> Object:
    """Return the object as that version of the API writes it, without the fields that are only the sandbox's own."""
    if any(name.startswith("_") for name in found):
        found = {name: value for name, value in found.items() if not name.startswith("_")}
    reshape = None if version == LATEST else RESHAPED.get(str(found.get("object")))
    return reshape(found) if reshape else found


def _old_refresh_intent(found: Object) -> Object:
    names = {"refreshed_object": "refreshedObject", "refreshed_object_id": "refreshedObjectId"}
    return {names.get(key, key): value for key, value in found.items()}


def _old_transfer(found: Object) -> Object:
    reason = found.get("return_reason")
    return {**found, "return_reason": OLD_RETURN_REASONS.get(reason, reason)} if isinstance(reason, str) else found


def _old_payment_method(found: Object) -> Object:
    details = found.get("mx_direct_debit")
    if not isinstance(details, dict):
        return found
    old = {
        key: value for key, value in details.items() if key not in {"institution", "account_number_last4", "max_amount"}
    }
    old["institution_id"] = details["institution"]["id"]
    old["last_four_digits"] = details["account_number_last4"]
    old["max_amount_cents"] = details["max_amount"]
    old["max_amount_currency"] = "MXN"
    return {**found, "mx_direct_debit": old}


RESHAPED: dict[str, Callable[[Object], Object]] = {
    "refresh_intent": _old_refresh_intent,
    "transfer": _old_transfer,
    "payment_method": _old_payment_method,
}
