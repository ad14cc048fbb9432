"""Pure: the fields of an entry, a line, a balance or a file, by the names that layouts call them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache

from consumer.facts.messages import Message, translate
from consumer.facts.money import digits_of
from reconcile.journal.accounts import Account
from reconcile.journal.booking import Booked, BookedEntry
from reconcile.journal.layout_cells import Fields, amount_of
from reconcile.journal.postings import ACCEPTED, KEYS, kind_of_entry, subject_of_entry

_ONE_DAY = timedelta(days=1)
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9]+")
_SUMMED = ("debit", "credit", "signed", "amount")
# What a line that is a sum has not.
_BARE: Fields = {
    **dict.fromkeys(
        (
            "tax_id", "tax_id_body", "doc_type", "doc_folio", "doc_uuid", "doc_issuer", "doc_receiver", "operation",
            "means", "other_account", "other_account_name", "reverses",
        ),
        "",
    ),
    "doc_total": 0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class About:
    """What an export is of: its connection, days and run, and the language of its texts."""

    connection: str
    country: str
    since: date
    until: date
    run_id: str
    language: str
    owner_tax_id: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


def describe_file(about: About) -> Fields:
    return {
        "connection": about.connection,
        "run_id": about.run_id,
        "owner_tax_id": about.owner_tax_id,
        "period": f"{about.since:%Y-%m}",
        "year": f"{about.since:%Y}",
        "month": f"{about.since:%m}",
        "date": about.since,
    }


def describe_entry(entry: BookedEntry, about: About, number: int) -> Fields:
    kind = "correction" if entry.sequence else kind_of_entry(entry.key)
    subject = subject_of_entry(entry.key)
    description = translate(Message(f"entry.{kind}", {"subject": subject}), about.language)
    if entry.is_draft:
        description = translate(Message("entry.as_draft", {"text": description}), about.language)
    return {
        **describe_file(about),
        "entry_id": entry.external_id,
        "number": number,
        "lines": 2 * len(entry.lines),
        "date": entry.on,
        "next_date": entry.on + _ONE_DAY,
        "period": f"{entry.on:%Y-%m}",
        "year": f"{entry.on:%Y}",
        "month": f"{entry.on:%m}",
        "entry_type": str(entry.type),
        "state": "draft" if entry.is_draft else "final",
        "description": description,
        "narration": f"{description} {entry.external_id}",
        "currency": entry.currency,
        "decimals": "0" * digits_of(entry.currency),
        "total": sum(line.amount for line in entry.lines),
    }


def describe_lines(entry: BookedEntry, of_entry: Fields, language: str) -> Iterator[Fields]:
    """Yield the two sides of each line."""
    words: dict[tuple[str, str], str] = {}
    owner = str(of_entry["owner_tax_id"])
    number = 0
    for line in entry.lines:
        reason = line.posting.means if line.kind in ACCEPTED else ""
        if (line.kind, reason) not in words:
            words[line.kind, reason] = _describe_kind(line.kind, reason, language)
        of_line = {**of_entry, **_describe_posting(line, words[line.kind, reason], owner)}
        for side, account, other in (("debit", line.debit, line.credit), ("credit", line.credit, line.debit)):
            number += 1
            is_debit = side == "debit"
            yield {
                **of_line,
                **_describe_account(account),
                "other_account": other.code,
                "other_account_name": other.name or other.code,
                "line": number,
                "place": number - 1,
                "line_id": f"{line.external_id}-{side[0]}",
                "side": side,
                "debit": line.amount if is_debit else 0,
                "credit": 0 if is_debit else line.amount,
                "signed": line.amount if is_debit else -line.amount,
            }


def _describe_kind(kind: str, reason: str, language: str) -> str:
    words = translate(Message(f"posting.{kind}"), language)
    return f"{words}: {translate(Message(f'adjustment.{reason}'), language)}" if reason else words


def sum_lines(lines: Iterable[Fields], of_entry: Fields) -> Iterator[Fields]:
    """Yield one line for each side of each account, without what only single lines have."""
    sums: dict[tuple[object, object, object], dict[str, str | int | date]] = {}
    for line in lines:
        name = (line["account_path"], line["cost_centre"], line["side"])
        if name not in sums:
            sums[name] = {**line, **_BARE, "line": len(sums) + 1, "text": of_entry["description"]}
        else:
            sums[name] |= {amount: amount_of(sums[name], amount) + amount_of(line, amount) for amount in _SUMMED}
    for number, total in enumerate(sums.values(), start=1):
        identity = f"{of_entry['entry_id']}-{number}"
        yield total | {"external_id": identity, "line_id": identity}


def _describe_posting(line: Booked, words: str, owner: str) -> dict[str, str | int]:
    posting = line.posting
    document = "-".join(part for part in (posting.doc_type, posting.doc_folio) if part)
    # The merchant's own documents are of its customers, those of fees are the provider's.
    issuer, receiver = (posting.tax_id, owner) if posting.kind.startswith("fee_") else (owner, posting.tax_id)
    return {
        "external_id": line.external_id,
        "text": " ".join(part for part in (words, posting.operation, document) if part),
        "amount": line.amount,
        "tax_id": posting.tax_id,
        "tax_id_body": posting.tax_id.partition("-")[0],
        "doc_type": posting.doc_type,
        "doc_folio": posting.doc_folio,
        "doc_uuid": posting.doc_uuid,
        "doc_total": posting.doc_total,
        "doc_issuer": issuer,
        "doc_receiver": receiver,
        "operation": posting.operation,
        "means": posting.means,
        "reverses": line.reverses,
    }


@lru_cache(1_000)
def _describe_account(account: Account) -> Mapping[str, str]:
    key = account.key.title().replace("_", "")
    return {
        "account": account.code,
        "account_name": account.name or account.code,
        "account_key": account.key,
        "account_path": f"{KEYS[account.key].nature}:{key}:{_NOT_A_NAME.sub('-', account.code).strip('-') or '0'}",
        "cost_centre": account.cost_centre,
    }


def describe_balance(on: date, account: Account, amount: int, currency: str) -> Fields:
    return {
        **_describe_account(account),
        "date": on,
        "next_date": on + _ONE_DAY,
        "balance": amount,
        "currency": currency,
        "decimals": "0" * digits_of(currency),
        "entry_id": "",
    }
