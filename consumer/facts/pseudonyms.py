"""Words in the place of a person's: one word always becomes the same, so that what was matched by it still is.

They are made with the secret key of the installation and cannot be read back. In texts, numbers of up to seven digits
stay, with one or two letters before them, and so do fiscal UUIDs: these name documents.
"""

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache

from consumer.facts.taxids import GENERIC_RFCS, GENERIC_RUTS, TaxIdError, rut_check_digit, to_rfc, to_rut
from consumer.facts.texts import ERASED

_LETTERS, _ALPHABET = "ABCDEFGHIJKLMNOP", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PART = re.compile(
    rf"(?P<erased>{ERASED.pattern})"
    r"|(?P<uuid>(?<!\w)[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?!\w))"
    r"|(?P<mail>[^\s@<>()\"',;:]+@[^\s@<>()\"',;:]+\.\w+)"
    r"|(?P<rfc>(?<!\w)[A-ZÑ&a-zñ]{3,4}-?\d{6}-?[A-Za-z0-9]{3}(?!\w))"
    r"|(?P<number>\+\d[\d .-]{6,}\d|(?<!\d)\d(?:[.-]?\d){6,}(?:-?[kK](?!\w))?)"
    r"|(?P<document>(?<!\w)[A-Za-z]{1,2}[-_/#.]?(?=\d))"
    r"|(?P<word>[^\W\d_]+)"
)
_SHORTEST_NUMBER = 8
# Of a provider's object: what is no person's under any name, and what is one's.
_KEPT_KEY = re.compile(
    r"(?:^|_)(?:id|ids|object|type|status|mode|currency|country|at|on|url|date|kind|brand|subtype|state|direction|period|"
    r"code|flow|method|category|fields?)$"
)
_PERSONAL_KEY = re.compile(
    r"holder|tax_id|reference|order|external|mail|phone|name|number|address|comment|description|rut|rfc|curp|clabe|iban|"
    r"title|note|message|value"
)
_WHOLE_KEY = re.compile(r"holder_id|tax_id|number|phone|rut|rfc|curp|clabe|iban|last_four|^value$")
_SAFE_VALUE = re.compile(r"[a-z]{2,}_[A-Za-z0-9]+|\d{4}-\d\d(?:-\d\d(?:T.*)?)?|[a-z][a-z0-9_]*")
# Parts of an object that are an institution's or the merchant's own.
_NOT_OF_PEOPLE = frozenset({"institution", "bank", "business_profile", "entity", "split", "split_applied"})


def normalize(text: str) -> str:
    """Return a tax id in its canonical form, and a mail in small letters."""
    return read_tax_id(text) or (text.strip().casefold() if "@" in text else text.strip())


def read_tax_id(text: str) -> str | None:
    """Return a RUT or an RFC in its canonical form; None for any other text."""
    for form, read in _TAX_IDS if len(text) <= _LONGEST_TAX_ID else ():
        if form.fullmatch(text.strip()):
            with suppress(TaxIdError):
                return read(text)
    return None


_LONGEST_TAX_ID = 20
_TAX_IDS = (
    (re.compile(r"[\d. -]{7,14}[\dKk]"), to_rut),
    (re.compile(r"[A-ZÑ&a-zñ]{3,4}[ -]?\d{6}[ -]?[A-Za-z0-9]{3}"), to_rfc),
)


def is_generic(tax_id: str) -> bool:
    return tax_id in GENERIC_RUTS | GENERIC_RFCS


def find_identifiers(text: str) -> Iterator[str]:
    """Yield the tax ids, mails and long numbers of a text."""
    return (found.group() for found in _PART.finditer(text) if found.lastgroup in {"mail", "rfc", "number"})


class Pseudonyms:
    """What replaces a person's words under one secret key; `the sets collect what was, to find it elsewhere."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.replaced: set[str] = set()
        self.numbers: set[str] = set()
        self.names: set[str] = set()
        self.digest = lru_cache(maxsize=100_000)(self._digest)

    def _digest(self, text: str) -> str:
        """Return what an identifier is known by after it was erased, in whatever way it is written."""
        return self._hash("subject", normalize(text)).hex()

    def _hash(self, purpose: str, text: str) -> bytes:
        return hmac.digest(self._key, f"{purpose}\0{text}".encode("utf-8", "replace"), hashlib.sha256)[:16]

    def text(self, text: str) -> str:
        """Replace each word, tax id, mail and long number of a text."""
        self.replaced.add(text)
        return _PART.sub(self._part, text)

    def whole(self, text: str) -> str:
        """Replace a tax id, or the number of an account or a phone, however short it is."""
        tax_id = self._tax_id(text)
        if tax_id is not None or ERASED.fullmatch(text) or not text.strip():
            return tax_id or text
        if not any(map(str.isdigit, text)):
            return self.text(text)
        self.numbers.add(text)
        return self._number(text)

    def _part(self, match: re.Match[str]) -> str:
        found = match.group()
        match match.lastgroup:
            case "mail" | "word":
                folded = unicodedata.normalize("NFKC", found).upper()
                return "ERASED" + "".join(_LETTERS[byte % 16] for byte in self._hash("word", folded)[:10])
            case "rfc":
                return self._tax_id(found) or found
            case "number":
                is_long = sum(map(str.isdigit, found)) >= _SHORTEST_NUMBER
                return self._tax_id(found) or (self._number(found) if is_long else found)
        return found

    def _number(self, text: str) -> str:
        number = int.from_bytes(self._hash("number", re.sub(r"\W", "", text.upper()))) % 10**9
        return f"999{number:09}"

    def _tax_id(self, text: str) -> str | None:
        """Return another tax id of the same country, which none can bear; None for any other text."""
        tax_id = read_tax_id(text)
        if tax_id is None or is_generic(tax_id) or ERASED.fullmatch(text.strip()):
            return tax_id and text
        if tax_id[-2] == "-":
            body = self._number(tax_id)
            return f"{body}-{rut_check_digit(int(body))}"
        mark = self._hash("rfc", tax_id)
        letters = "".join(_ALPHABET[byte % 26] for byte in mark[:3])
        return f"Z{letters}000000" + "".join(_ALPHABET[byte % 26] for byte in mark[3:6])

    def body(self, node: object, is_own: Callable[[str], bool], key: str = "", *, free: bool = False) -> object:
        """Return a provider's object without what it says of a person; a part that names another person stays."""
        if isinstance(node, dict):
            if key in _NOT_OF_PEOPLE or _names_another(node, is_own):
                return node
            free = free or key == "metadata"
            return {name: self.body(part, is_own, name, free=free) for name, part in node.items()}
        if isinstance(node, list):
            return [self.body(part, is_own, key, free=free) for part in node]
        if not isinstance(node, str) or (key in _NOT_OF_PEOPLE and not free):
            return node
        if not free and _PERSONAL_KEY.search(key) is None and (_KEPT_KEY.search(key) or _SAFE_VALUE.fullmatch(node)):
            return node
        if "name" in key or "order" in key:
            self.names.add(node)
        return self.whole(node) if _WHOLE_KEY.search(key) and not free else self.text(node)


def _names_another(node: dict[str, object], is_own: Callable[[str], bool]) -> bool:
    tax_id = node.get("tax_id", node.get("holder_id", node.get("account_holder_id")))
    value = tax_id.get("value") if isinstance(tax_id, dict) else tax_id
    return isinstance(value, str) and bool(value.strip()) and not is_own(value)
