"""Reads the fields and files of a request's body and refuses, in the provider's words, what cannot be read."""

import re
from collections.abc import Mapping
from datetime import datetime

from werkzeug.datastructures import FileStorage

from sandbox.state.clock import to_moment
from sandbox.state.refusal import RefusalError, invalid, invalid_enum, missing_parameter
from sandbox.state.store import Object

Body = Mapping[str, object]
CURRENCIES = ("CLP", "MXN")
CATEGORY_LENGTH = 6
LARGEST = 999_999_999_999
WHOLE = re.compile(r"[0-9]{1,12}")
MEGABYTE = 1_000_000
# What the first bytes say; a file's name is not believed.
SIGNATURES = {"application/pdf": b"%PDF", "image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n"}


def require(body: Body, name: str) -> object:
    """Return a field that must be there."""
    value = body.get(name)
    if value is None:
        raise missing_parameter(name)
    return value


def read_text(body: Body, name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise invalid("string", name, "text or null")
    return value


def require_text(body: Body, name: str) -> str:
    require(body, name)
    text = read_text(body, name)
    if not text:
        raise missing_parameter(name)
    return text


def read_whole(body: Body, name: str, *, least: int = 0, most: int = LARGEST) -> int | None:
    """Return a whole number; forms send it as text."""
    value = body.get(name)
    if isinstance(value, str) and WHOLE.fullmatch(value):
        value = int(value)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most):
        raise invalid("integer", name, f"a whole number from {least} to {most}")
    return value


def require_amount(body: Body, name: str = "amount") -> int:
    """Money in the smallest unit, above 0."""
    amount = require(body, name)
    if not isinstance(amount, int) or isinstance(amount, bool) or not 0 < amount <= LARGEST:
        raise invalid("amount", name, f"a whole number from 1 to {LARGEST}, in the smallest unit of the currency")
    return amount


def require_currency(body: Body, allowed: tuple[str, ...] = CURRENCIES) -> str:
    """Return a currency, given in any case, in capitals."""
    currency = require_text(body, "currency").upper()
    if currency not in allowed:
        raise invalid("currency", "currency", " or ".join(allowed))
    return currency


def read_choice(body: Body, name: str, allowed: tuple[str, ...], *, default: str | None = None) -> str:
    """Return one of the words; without a default it must be there."""
    value = body.get(name, default) if default else require(body, name)
    if value not in allowed:
        raise invalid_enum(name, value, allowed)
    return str(value)


def read_flag(body: Body, name: str) -> bool:
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise invalid("boolean", name, "true or false")
    return value


def read_mapping(body: Body, name: str) -> Object:
    """Return an object, empty when it is not there."""
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid("hash", name, "an object")
    return value


def require_mapping(body: Body, name: str) -> Object:
    require(body, name)
    return read_mapping(body, name)


def read_list(body: Body, name: str) -> list[object]:
    """Return a list, empty when it is not there."""
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise invalid("array", name, "a list")
    return value


def require_mappings(body: Body, name: str) -> list[Object]:
    """Return a list of objects with at least one in it."""
    found = read_list(body, name)
    if not found:
        raise missing_parameter(name)
    objects = [entry for entry in found if isinstance(entry, dict)]
    if len(objects) < len(found):
        raise invalid("array", name, "a list of objects")
    return objects


def read_metadata(body: Body) -> Object:
    """Free pairs of text and simple values."""
    metadata = read_mapping(body, "metadata")
    if not all(isinstance(value, str | int | float | bool | None) for value in metadata.values()):
        raise invalid("hash", "metadata", "pairs of a name and a simple value")
    return metadata


def read_moment(body: Body, name: str) -> datetime | None:
    """Return a date or datetime in ISO 8601."""
    text = read_text(body, name)
    if text is None:
        return None
    try:
        return to_moment(text)
    except ValueError:
        raise invalid("date", name, "an ISO 8601 date or datetime") from None


def read_business_profile(body: Body) -> Object | None:
    """Who sells, where the organization names it payment by payment."""
    if body.get("business_profile") is None:
        return None
    profile = read_mapping(body, "business_profile")
    category = require_text(profile, "category")
    if len(category) != CATEGORY_LENGTH:
        raise invalid("string", "business_profile.category", "a merchant category code of six characters")
    return {"category": category, "name": require_text(profile, "name"), "tax_id": require_text(profile, "tax_id")}


def check_status(what: str, found: Object, *allowed: str, named: str = "") -> None:
    """Raise the 409 of an operation that comes at the wrong moment of the object's life."""
    if found["status"] not in allowed:
        raise refuse_status(what, found, named or allowed[0])


def refuse_status(what: str, found: Object, allowed: str) -> RefusalError:
    """Return the 409 that names the status and what it should be."""
    code = f"invalid_{what.replace(' ', '_')}_status"
    return RefusalError(409, code, f"The {what} is {found['status']}; this works only while {allowed}", param="id")


def check_file(file: FileStorage, *, smallest: int = 1, largest: int) -> None:
    """Raise 422 unless the file is a PDF, JPEG or PNG of that many bytes."""
    content = file.stream.read()
    file.stream.seek(0)
    if not smallest <= len(content) <= largest:
        raise _unprocessable(f"A document must have {smallest} to {largest} bytes; this one has {len(content)}")
    if not any(content.startswith(signature) for signature in SIGNATURES.values()):
        raise _unprocessable("A document must be a PDF, JPEG or PNG")


def _unprocessable(message: str) -> RefusalError:
    return RefusalError(422, "invalid_document", message, param="file")
