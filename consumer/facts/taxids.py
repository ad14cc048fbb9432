"""Tax ids and account numbers in one canonical form: RUT and RFC; the caller keeps the raw value."""

import re
from itertools import cycle

from consumer.facts.messages import Message, RefusalError

# These stand for the public or for foreigners and identify no one taxpayer.
GENERIC_RUTS = frozenset({"66666666-6", "55555555-5"})
GENERIC_RFCS = frozenset({"XAXX010101000", "XEXX010101000"})

_ACCOUNT_KEYS = frozenset({"account_number", "clabe", "iban"})
_RFC = re.compile(r"[A-ZÑ&]{3,4}\d{6}[A-Z0-9]{3}")
_NOT_RFC = re.compile(r"[\s.\-]")
# Of any number of digits it could not be read as a number; no register has come past nine.
_RUT = re.compile(r"\d{1,12}[0-9K]")
_FACTORS = range(2, 8)
_NOT_RUT = re.compile(r"[^0-9K]")


class TaxIdError(RefusalError):
    """A tax id whose form or check digit is wrong; `problem` alone is for places that show the id too."""

    def __init__(self, text: str, problem: Message) -> None:
        super().__init__(Message("facts.tax_id", {"text": text, "problem": problem}))
        self.problem = problem


def rut_check_digit(body: int) -> str:
    total, factors = 0, cycle(_FACTORS)
    while body:
        body, digit = divmod(body, 10)
        total += digit * next(factors)
    return "0123456789K0"[11 - total % 11]


def to_rut(text: str) -> str:
    """Return the canonical `12345678-5`: no dots, hyphen, capital K; the check digit must be right."""
    digits = _NOT_RUT.sub("", text.upper()).lstrip("0")
    if not _RUT.fullmatch(digits):
        raise TaxIdError(text, Message("facts.not_a_rut"))
    body, check = digits[:-1], digits[-1]
    if rut_check_digit(int(body)) != check:
        raise TaxIdError(text, Message("facts.rut_check_digit"))
    return f"{body}-{check}"


def to_rfc(text: str) -> str:
    """Return the canonical RFC: upper case without separators; only the form is checked, generic ones included."""
    cleaned = _NOT_RFC.sub("", text.upper())
    if not _RFC.fullmatch(cleaned):
        raise TaxIdError(text, Message("facts.not_an_rfc"))
    return cleaned


def to_tax_id(text: str, country: str) -> str:
    return to_rfc(text) if country == "mx" else to_rut(text)


def mask_account(number: str) -> str:
    """Keep the last four characters of an account number, which is all that people need to see."""
    return f"****{number[-4:]}" if number else ""


def mask_accounts(value: object, *, key: str = "", inside: str = "") -> object:
    """Mask every account number in a JSON value by the names it stands under; a document's number is none."""
    if isinstance(value, dict):
        about = inside if key == "" else key
        kind = str(value.get("object") or "")
        return {name: mask_accounts(part, key=name, inside=f"{about} {kind}") for name, part in value.items()}
    if isinstance(value, list):
        return [mask_accounts(part, key=key, inside=inside) for part in value]
    return mask_account(value) if isinstance(value, str) and _names_account(key, inside) else value


def _names_account(key: str, inside: str) -> bool:
    return key in _ACCOUNT_KEYS or key.endswith("_account_number") or (key == "number" and "account" in inside)
