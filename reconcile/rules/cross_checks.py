"""A payment compared with the documents it could have meant: every test with both values; pure.

This looks at rows alone and shares no code with the stages that decide: it is how a decision is checked again.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

import pandas as pd
from pandas import DataFrame

from consumer.facts.bankdays import BankCalendar
from consumer.facts.money import format_decimal
from consumer.facts.taxids import GENERIC_RFCS, GENERIC_RUTS
from reconcile.rules.inputs import Row
from reconcile.rules.keys import decode_metadata, list_loose_words, to_text
from reconcile.rules.kinds import VOID_STATES
from reconcile.rules.names import fold, normalize
from reconcile.rules.terms import RuleSet

_NAMES = ("order_ref", "order_id", "uuid", "invoice", "invoice_id", "folio")
_NEAREST = 3
_WORD = re.compile(r"[A-Za-z0-9]+")
_MOST_PARTS = 5  # a UUID has as many
HOLDS = "holds"


@dataclass(frozen=True, slots=True)
class Check:
    """One test of a pair: what each side says, and whether they agree; None where it could not be asked."""

    name: str
    payment: str
    document: str
    holds: bool | None

    def __str__(self) -> str:
        word = {True: HOLDS, False: "fails", None: "not known"}[self.holds]
        return f"{word}: payment {self.payment or 'unknown'}, document {self.document or 'unknown'}"


def choose_candidates(item: Row, documents: DataFrame, rules: RuleSet) -> DataFrame:
    """Choose the documents to compare: those it names, its customer's nearest amounts, any equal amounts."""
    said = _read_names(item)
    columns = [documents[name].astype("string").str.upper() for name in ("order_ref", "uuid", "doc_key", "folio")]
    is_named = pd.Series(data=False, index=documents.index)
    for column in columns:
        is_named |= column.isin(said).fillna(value=False)
    payer = _find_payer(item, rules)
    own = documents[(documents["customer_tax_id"] == payer) & (documents["currency"] == item.currency)]
    distance = (own["total"] - item.amount).abs()
    near = own.loc[distance.sort_values(kind="stable").index].head(_NEAREST)
    parts = [documents[is_named].head(_NEAREST), near]
    same = (documents["currency"] == item.currency) & (documents["total"] == item.amount)
    parts.append(documents[same].head(_NEAREST))
    return DataFrame(pd.concat(parts).drop_duplicates("doc_key"))


def check_pair(item: Row, document: Row, *, balance: int, rules: RuleSet, calendar: BankCalendar) -> Iterator[Check]:
    """Ask what the stages ask, in their order; `balance` is what the document asked for without this payment."""
    yield _check_reference(item, document)
    yield Check("currency", item.currency, document.currency, item.currency == document.currency)
    is_valid = str(document.status).strip().lower() not in VOID_STATES
    yield Check("state", "valid", str(document.status), is_valid)
    payer, owner = _find_payer(item, rules), _first_own((document.customer_tax_id,), rules)
    yield Check("customer", payer, owner, payer == owner if payer and owner else None)
    left, total = (format_decimal(amount, document.currency) for amount in (balance, int(document.total)))
    is_equal = item.currency == document.currency and int(item.amount) == balance
    yield Check("amount", format_decimal(int(item.amount), item.currency), f"{left} open of {total}", is_equal)
    # An item whose payment is gone has no moment.
    paid_on = None if pd.isna(item.occurred_at) else item.occurred_at.tz_convert(calendar.country.zone).date()
    due = document.issue_date.date() + timedelta(days=rules.due_days) if pd.isna(document.due_date) else None
    due = due or document.due_date.date()
    first = calendar.shift(document.issue_date.date(), -rules.days_before_issue)
    last = calendar.shift(due, rules.days_after_due)
    is_within = None if paid_on is None else first <= paid_on <= last
    yield Check("window", "" if paid_on is None else paid_on.isoformat(), f"{first} to {last}", is_within)


def _check_reference(item: Row, document: Row) -> Check:
    """Compare the names in the metadata, or, where it has none, those in the texts; other words are no evidence."""
    said, named = sorted(_read_names(item)), _find_name(item, document)
    borne = (document.order_ref, document.uuid, document.doc_key, document.folio)
    names = {normalize(str(value)).lstrip("0") for value in borne if not pd.isna(value)}
    bears = [to_text(value) for value in (document.order_ref, document.folio) if not pd.isna(value)]
    holds = bool(names & {normalize(word).lstrip("0") for word in said}) if said else (True if named else None)
    return Check("reference", " ".join(said) or named, " ".join(bears), holds)


def _find_name(item: Row, document: Row) -> str:
    """Find the document's name among the words of the payment's texts, as they are written there."""
    texts = [*([] if pd.isna(item.texts) else [item.texts]), *list_loose_words(item.metadata)]
    words = _WORD.findall("\n".join(text if text.isascii() else fold(text) for text in texts))
    borne = {name: to_text(getattr(document, name)) for name in ("order_ref", "uuid", "folio", "doc_type", "series")
             if not pd.isna(getattr(document, name))}  # fmt: skip
    folio = borne.get("folio", "")
    heads = (borne[name] + folio for name in ("doc_type", "series") if name in borne and folio)
    names = {_squeeze(name) for name in (borne.get("order_ref", ""), borne.get("uuid", ""), folio, *heads)} - {""}
    runs = (words[start:end] for start in range(len(words)) for end in range(start + 1, start + 1 + _MOST_PARTS))
    found = (" ".join(run) for run in runs if _squeeze("".join(run)) in names and len(_squeeze("".join(run))) > 1)
    return max(found, key=len, default="")


def _squeeze(text: str) -> str:
    """Write a name as people do and do not: without separators and leading zeros, O read as zero."""
    return "".join(_WORD.findall(text.upper())).replace("O", "0").lstrip("0")


def name_first_failed(checks: list[Check]) -> str:
    return next((check.name for check in checks if check.holds is False), "none")


def _read_names(item: Row) -> set[str]:
    words: Mapping[str, object] = decode_metadata(item.metadata)
    return {to_text(words.get(name)).upper() for name in _NAMES} - {""}


def _find_payer(item: Row, rules: RuleSet) -> str:
    return _first_own((item.customer_tax_id, item.sender_tax_id), rules)


def _first_own(tax_ids: Iterable[str | None], rules: RuleSet) -> str:
    """Return the first tax id that is known and belongs to one customer."""
    generic = GENERIC_RUTS | GENERIC_RFCS | set(rules.generic_tax_ids)
    return next((str(value) for value in tax_ids if not pd.isna(value) and value not in generic), "")
