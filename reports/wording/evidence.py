"""Evidence of an exception in a reader's words; whole numbers are amounts or counts by their names. Pure."""

from collections.abc import Mapping

import msgspec

from consumer.facts.columns import Kind, kind_of
from consumer.facts.messages import is_translated, word
from consumer.facts.names import name_keys
from reports.shapes import notation
from reports.wording import phrases, stored

# Why a bank gave a transfer back, by its code: the provider's words differ between its versions.
RETURNS = {
    "01": "account does not exist",
    "02": "account blocked",
    "03": "account cancelled",
    "05": "account in another currency",
    "06": "account is not of that institution",
    "14": "mandatory data missing",
    "15": "payment type wrong",
    "16": "operation type wrong",
    "17": "account type does not take it",
    "19": "invalid character",
    "20": "balance limit exceeded",
    "21": "monthly deposit limit exceeded",
    "22": "mobile number not registered",
    "23": "additional data wrong",
    "24": "additional data wrong",
    "25": "payment restricted",
    "26": "protection agreement of the sender's bank",
    "27": "optional payment type not accepted",
    "28": "credit notice late",
    "30": "duplicate tracking key of the issuer that day",
    "31": "issuer's certificate expired",
}
_RULES = {"rule", "key"}
_GROUPS = {
    "cause": "tax_cause", "changed_fields": "field", "direction": "direction", "dispute_state": "dispute",
    "expected_doc": "expected", "fee_source": "fee", "figure": "tax_figure", "return_reason": "return",
    "status": "transfer",
}  # fmt: skip
_decode = msgspec.json.Decoder(dict[str, object]).decode


def with_known_reasons(parts: Mapping[str, object]) -> dict[str, object]:
    """Return evidence with the reason of a returned transfer by its code; one without a code we know stays."""
    known = RETURNS.get(str(parts.get("return_code")))
    return {**parts, "return_reason": known} if known and "return_reason" in parts else dict(parts)


def format_evidence(text: str, language: str, currency: str) -> str:
    """Say all of it in one line, part by part, documents by their names; what is no JSON object stays as it is."""
    try:
        parts = _decode(text)
    except msgspec.DecodeError:
        return text
    said = " · ".join(
        f"{name_of(name, language)}: {format_value(name, part, currency, language)}"
        for name, part in with_known_reasons(parts).items()
    )
    return name_keys(said, language)


def name_of(name: str, language: str) -> str:
    return word("evidence", name, language) if is_translated(f"evidence.{name}", language) else name.replace("_", " ")


def format_value(name: str, value: object, currency: str, language: str) -> str:
    """Show one piece of evidence: amounts as amounts, days as days, lists and tables as their parts."""
    match value:
        case bool():
            return word("answer", "yes" if value else "no", language)
        case int() if name == "year":
            return str(value)
        case int() if kind_of(name) is Kind.INT:
            return notation.format_count(value, language)
        case int():
            return notation.format_amount(value, currency, language)
        case dict():
            parts = (
                f"{name_of(key, language)}: {format_value(key, part, currency, language)}"
                for key, part in value.items()
            )
            return ", ".join(parts)
        case list() if value and all(isinstance(part, list) for part in value):
            sets = (" + ".join(format_value(name, one, currency, language) for one in part) for part in value)
            return "; ".join(sets)
        case list():
            return "; ".join(format_value(name, part, currency, language) for part in value)
        case None:
            return "–"
    return _text(name, str(value), currency, language)


def _text(name: str, text: str, currency: str, language: str) -> str:
    if name in _RULES:
        return phrases.rule(text, language)
    if name == "withheld":
        return phrases.code_title(text, language)
    if name in _GROUPS:
        return word(_GROUPS[name], text, language)
    said = stored.sentence(text, language, currency)
    return stored.format_text(text, language) if said == text else said
