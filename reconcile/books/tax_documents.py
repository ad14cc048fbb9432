"""Tax documents as their XML states them, and what readers of both countries need: amounts, moments, digests; pure."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from operator import attrgetter
from typing import TypeAlias
from xml.etree.ElementTree import Element
from zoneinfo import ZoneInfo

from consumer.facts.messages import RefusalError
from consumer.facts.money import LARGEST_AMOUNT, digits_of
from consumer.facts.taxids import TaxIdError, to_tax_id
from reconcile.rules.kinds import CREDIT_NOTES

# Attributes of an element; children by their local names.
Attributes: TypeAlias = Mapping[str, str]
_LONGEST_AMOUNT = 24
# Amounts, days and moments as the forms of both tax offices write them; Python would read more.
_AMOUNT = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,6})?")
_MAY_BE_NEGATIVE = frozenset({"MontoNF", "MontoPeriodo", "VlrPagar"})
_DAY = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(_DAY.pattern + r"T[0-9]{2}:[0-9]{2}:[0-9]{2}")
_SUMS = ("net", "exempt", "vat", "withheld", "total", "payable", "third_party")
_RATE = re.compile(r"[0-9]+(\.[0-9]*)?|\.[0-9]+")


class TaxXmlError(RefusalError):
    """An XML that is no tax document that can be read; the message says why in one sentence."""


class NotForUsError(TaxXmlError):
    """A sound file that holds no document of sales, purchases or payments."""


class NoStampError(TaxXmlError):
    """A document that the tax office never saw."""


@dataclass(frozen=True, slots=True)
class Relation:
    """What a document says of another; `other_key` is empty where the other is no tax document of the same issuer."""

    kind: str
    other_type: str
    other_key: str
    other_number: str
    other_on: date | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Settlement:
    """What one payment of a complement settles of one document; one without documents settles none."""

    payment_number: int
    line: int
    paid_at: datetime
    payment_form: str
    currency: str
    rate: str
    amount: int
    operation: str
    paid_uuid: str
    paid_key: str
    series: str
    folio: str
    instalment: int
    paid_currency: str
    balance_before: int
    paid: int
    balance_after: int
    equivalence: str
    vat: int
    # As `vat_rates` writes them: empty where all of it is at the general rate.
    rates: str = ""


@dataclass(frozen=True, slots=True)
class TaxDocument:
    """A tax document as its XML states it; amounts are minor units of `currency`. `seal` covers its whole content."""

    doc_key: str
    country: str
    kind: str
    issuer_tax_id: str
    issuer_name: str
    receiver_tax_id: str
    receiver_name: str
    series: str
    folio: str
    uuid: str
    issued_at: datetime
    issue_date: date
    currency: str
    rate: str
    net: int
    exempt: int
    vat: int
    withheld: int
    total: int
    payable: int
    payment_method: str
    payment_form: str
    due_date: date | None
    global_of: str
    third_party: int
    no_debit_right: bool
    order_ref: str
    # The one document that it corrects or takes the place of, as the books refer to others.
    ref_type: str
    ref_number: str
    seal: str
    relations: tuple[Relation, ...] = ()
    payments: tuple[Settlement, ...] = ()
    rates: str = ""

    def digest(self) -> str:
        """Name the document by what it states."""
        parts = [[*map(str, _values_stated(self))]]
        parts += [[*map(str, _values_of_relation(one))] for one in self.relations]
        parts += [[*map(str, _values_of_payment(one))] for one in self.payments]
        return hashlib.sha256(json.dumps([_FORMAT, *parts]).encode()).hexdigest()

    def references(self) -> tuple[str, str]:
        """Return kinds and numbers of what it refers to in the books: of a note that lowers several, all of them."""
        several = {one.other_key: one for one in self.relations if one.other_key and one.kind in LOWERS[self.country]}
        if self.ref_number or self.kind not in CREDIT_NOTES:
            return self.ref_type, self.ref_number
        return " ".join(one.other_type for one in several.values()).strip(), " ".join(
            one.other_number for one in several.values()
        )

    def replaced_keys(self) -> list[str]:
        """Return the keys of the documents that this one takes the place of."""
        return [one.other_key for one in self.relations if one.kind == SUBSTITUTES and self.country == "mx"]


# What a digest covers: a field that is added later stays out, else every known document would count as changed.
_FORMAT = 1
_STATED = (
    "doc_key", "country", "kind", "issuer_tax_id", "issuer_name", "receiver_tax_id", "receiver_name", "series",
    "folio", "uuid", "issued_at", "issue_date", "currency", "rate", "net", "exempt", "vat", "withheld", "total",
    "payable", "payment_method", "payment_form", "due_date", "global_of", "third_party", "no_debit_right", "order_ref",
    "ref_type", "ref_number", "seal",
)  # fmt: skip
_OF_RELATION = ("kind", "other_type", "other_key", "other_number", "other_on", "reason")
_OF_PAYMENT = (
    "payment_number", "line", "paid_at", "payment_form", "currency", "rate", "amount", "operation", "paid_uuid",
    "paid_key", "series", "folio", "instalment", "paid_currency", "balance_before", "paid", "balance_after",
    "equivalence", "vat",
)  # fmt: skip


_values_stated, _values_of_relation, _values_of_payment = (
    attrgetter(*names) for names in (_STATED, _OF_RELATION, _OF_PAYMENT)
)
# What documents may say of others: CodRef in Chile, TipoRelacion in Mexico.
RELATIONS: Mapping[str, tuple[str, ...]] = {
    "cl": ("1", "2", "3"), "mx": ("01", "02", "03", "04", "05", "06", "07"),
}  # fmt: skip
# Relations by which a note takes from what is owed.
LOWERS: Mapping[str, tuple[str, ...]] = {"mx": ("01", "03", "07"), "cl": ("1", "3", "")}
# The relation of a document that takes another's place, in Mexico.
SUBSTITUTES = "04"


def local_name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def children(element: Element) -> dict[str, Element]:
    """Return the first child of each name; readers use it where a name stands once."""
    found: dict[str, Element] = {}
    for child in element:
        found.setdefault(child.tag.rpartition("}")[2], child)
    return found


def all_of(element: Element | None, name: str) -> list[Element]:
    # Of 100,000 files a call for each child costs a tenth of the reading.
    return [] if element is None else [child for child in element if child.tag.rpartition("}")[2] == name]


def text_of(parts: Mapping[str, Element], name: str) -> str:
    """Return the text of a child, empty where it is not there."""
    element = parts.get(name)
    return "" if element is None else (element.text or "").strip()


def to_money(text: str | None, currency: str, name: str) -> int:
    """Return minor units, half up where a part is written finer than its currency; empty is zero."""
    if not text:
        return 0
    amount = _scale(text, digits_of(currency)) if _AMOUNT.fullmatch(text) else None
    if amount is None or (amount < 0 and name not in _MAY_BE_NEGATIVE):
        raise TaxXmlError("tax.not_an_amount", name=name, value=text[:_LONGEST_AMOUNT])
    return amount


def to_stated_money(text: str | None, currency: str, name: str) -> int:
    """Return minor units of an amount that every document states."""
    if not text:
        raise TaxXmlError("tax.no_amount", name=name)
    return to_money(text, currency, name)


def check_sums(document: TaxDocument) -> TaxDocument:
    """Return a document whose sums fit the database; its parts are bounded one by one."""
    for name in _SUMS:
        if abs(getattr(document, name)) > LARGEST_AMOUNT:
            raise TaxXmlError("tax.not_an_amount", name=name, value="> 2^63")
    return document


@lru_cache(maxsize=4_096)
def _scale(text: str, digits: int) -> int | None:
    try:
        scaled = Decimal(text).scaleb(digits).quantize(Decimal(1), ROUND_HALF_UP)
    except InvalidOperation:
        return None
    return int(scaled) if scaled.is_finite() and abs(scaled) <= LARGEST_AMOUNT else None


def to_rate(text: str, name: str, *, is_zero_known: bool = False) -> str:
    """Return a rate as it is written, empty where there is none; of money none is zero, of tax one may be."""
    is_written = len(text) <= _LONGEST_AMOUNT and _RATE.fullmatch(text)
    if text and not (is_written and (is_zero_known or Decimal(text))):
        raise TaxXmlError("tax.not_a_rate", name=name, value=text[:_LONGEST_AMOUNT])
    return text


@lru_cache(maxsize=4_096)
def to_day(text: str, name: str) -> date:
    try:
        return date.fromisoformat(text[:10] if _DAY.match(text) else "")
    except ValueError:
        raise TaxXmlError("tax.not_a_day", name=name, value=text[:30]) from None


def to_moment(text: str, zone: ZoneInfo, name: str) -> datetime:
    """Return a moment written in local time without a zone."""
    try:
        return datetime.fromisoformat(text if _MOMENT.fullmatch(text) else "").replace(tzinfo=zone)
    except ValueError:
        raise TaxXmlError("tax.not_a_day", name=name, value=text[:30]) from None


@lru_cache(maxsize=4_096)
def to_party(text: str, country: str) -> str:
    """Return the tax id of an issuer or receiver in its one form; one of another form stands as it is written."""
    try:
        return to_tax_id(text, country)
    except TaxIdError:
        return text.strip().upper()[:40]
