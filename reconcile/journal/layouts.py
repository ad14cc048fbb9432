"""Entries written as files of a layout, one entry at a time, so that a year of them needs no memory."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache
from typing import BinaryIO
from xml.sax.saxutils import quoteattr

from consumer.facts.messages import Message, translate
from consumer.facts.money import digits_of
from reconcile.journal.accounts import Account
from reconcile.journal.booking import Booked, BookedEntry
from reconcile.journal.cells import Cell, Fields, LayoutError, Notes, to_cell
from reconcile.journal.exporting import EARLIEST
from reconcile.journal.postings import ACCEPTED, KEYS, kind_of_entry, subject_of_entry
from reconcile.journal.profiles import Of, Profile, ProfileError, Record

_ONE_DAY = timedelta(days=1)
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9]+")
_DECLARED = (Of.ACCOUNT, Of.CURRENCY)
# What a line that is a sum has not.
_BARE: Fields = {
    **dict.fromkeys(("tax_id", "tax_id_body", "doc_type", "doc_folio", "doc_uuid", "operation", "reverses"), ""),
    "doc_total": 0,
}
# Opens a file by its name; what is written there is kept only if the whole export is.
Open = Callable[[str], BinaryIO]


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


@dataclass(slots=True)
class _Compiled:
    """A record with its cells made ready."""

    record: Record
    cells: Sequence[tuple[str, Cell]]

    def write(self, fields: Fields) -> list[str]:
        return [cell(fields) for _, cell in self.cells]


@dataclass(slots=True)
class _Output:
    """One open file, how many lines of the journal it holds, and what was declared in it."""

    stream: BinaryIO
    lines: int = 0
    accounts: dict[str, Fields] = field(default_factory=dict)
    currencies: dict[str, Fields] = field(default_factory=dict)


class Writer:
    """Writes the files of one layout. Raise LayoutError if an entry does not fit into it."""

    def __init__(self, profile: Profile, about: About, open_file: Open) -> None:
        self.profile, self.about, self.notes = profile, about, Notes()
        self.names: list[str] = []
        self._open_file = open_file
        options = _choose_options(profile, about)
        if profile.countries and about.country not in profile.countries:
            raise ProfileError("journal.other_country", name=profile.name, country=about.country)
        self._records = {
            of: [
                _Compiled(record, [(column.title, to_cell(column, profile, options, self.notes))
                                   for column in record.columns])
                for record in profile.records(of)
            ]
            for of in Of
        }  # fmt: skip
        self._output: _Output | None = None
        self._part: object = None
        self._number = 0
        self._written = 0

    def write(self, entry: BookedEntry) -> None:
        """Write one entry whole into the file it belongs to."""
        file = self.profile.file
        self._written += 1
        of_entry = _describe_entry(entry, self.about, self._written)
        lines = list(_describe_lines(entry, of_entry, self.about.language))
        if file.summed:
            lines = list(_sum_lines(lines, of_entry))
        if 0 < file.most_lines_an_entry < len(lines):
            raise LayoutError(
                "journal.entry_too_long", profile=self.profile.name, entry=entry.external_id, on=entry.on,
                lines=len(lines), most=file.most_lines_an_entry,
            )  # fmt: skip
        output = self._choose(entry, of_entry, len(lines))
        output.lines += len(lines)
        self._put(output, Of.ENTRY, of_entry)
        for fields in lines:
            self._put(output, Of.LINE, fields)
            self._put(output, Of.UUID, fields)
            self._close(output, Of.LINE)
            self._declare(output, fields)
        self._put(output, Of.END, of_entry)
        self._close(output, Of.ENTRY)

    def write_balance(self, on: date, account: Account, amount: int, currency: str, *, of: Of = Of.BALANCE) -> None:
        """Write that an account has a balance at the end of a day, where the layout says such things."""
        if self._records[of] and (self._output is not None or of in {Of.OPENING, Of.OTHER}):
            output = self._output or self._start()
            fields = _describe_balance(on, account, amount, currency)
            self._put(output, of, fields)
            self._declare(output, fields)

    def finish(self) -> None:
        """End the last file; an export without entries is a file without them."""
        if not self.names:
            self._start()
        self._end()

    def close(self) -> None:
        """Close what is open, where an export ended early."""
        if self._output is not None:
            self._output.stream.close()

    def _choose(self, entry: BookedEntry, of_entry: Fields, count: int) -> _Output:
        file = self.profile.file
        part = {"export": None, "month": of_entry["period"], "entry": entry.external_id}[file.per]
        lines = 0 if self._output is None else self._output.lines
        is_full = 0 < file.most_lines < lines + count
        if self._output is None or part != self._part or is_full:
            self._end()
            self._part = part
            return self._start(of_entry)
        return self._output

    def _start(self, of_entry: Fields | None = None) -> _Output:
        about, file = self.about, self.profile.file
        self._number += 1
        owner: Fields = {**_describe_file(about), **(of_entry or {})}
        part = f"_{self._number}" if file.per == "entry" or file.most_lines else ""
        part = f"_{owner['period']}" if file.per == "month" else part
        since = "start" if about.since == EARLIEST else about.since
        name = file.name.format(since=since, until=about.until, profile=self.profile.name, part=part, **_texts(owner))
        name = f"{name}.{file.extension}"
        self.names.append(name)
        output = _Output(self._open_file(name))
        self._output = output
        if file.encoding == "utf-8-sig":
            output.stream.write(b"\xef\xbb\xbf")
        if file.kind == "xml":
            self._raw(output, '<?xml version="1.0" encoding="UTF-8"?>')
        self._put(output, Of.FILE, owner)
        if file.header and file.kind == "csv":
            for compiled in self._records[Of.LINE][:1]:
                self._raw(output, self._to_row([title for title, _ in compiled.cells]))
        return output

    def _end(self) -> None:
        output = self._output
        if output is None:
            return
        for fields in output.accounts.values():
            self._put(output, Of.ACCOUNT, fields)
        for fields in output.currencies.values():
            self._put(output, Of.CURRENCY, fields)
        self._close(output, Of.FILE)
        output.stream.close()
        self._output = None

    def _close(self, output: _Output, of: Of) -> None:
        """End the element of a record, which the records after it stand in."""
        if self.profile.file.kind == "xml":
            for compiled in self._records[of]:
                self._raw(output, f"</{compiled.record.element}>")

    def _declare(self, output: _Output, fields: Fields) -> None:
        if any(self._records[of] for of in _DECLARED):
            output.accounts.setdefault(str(fields["account_path"]), fields)
            output.currencies.setdefault(str(fields["currency"]), fields)

    def _put(self, output: _Output, of: Of, fields: Fields) -> None:
        for compiled in self._records[of]:
            if not compiled.record.has or fields[compiled.record.has]:
                self._raw(output, self._render(compiled, of, fields))

    def _render(self, compiled: _Compiled, of: Of, fields: Fields) -> str:
        cells = compiled.write(fields)
        kind = self.profile.file.kind
        if kind == "csv":
            return self._to_row(cells)
        if kind == "fixed":
            return "".join(cells)
        if kind == "text":
            return compiled.record.template.format(*cells)
        pairs = (f" {title}={quoteattr(cell)}" for (title, _), cell in zip(compiled.cells, cells, strict=True) if cell)
        closing = {Of.UUID: "/"}.get(of, "")
        return f"<{compiled.record.element}{''.join(pairs)}{closing}>"

    def _to_row(self, cells: Sequence[str]) -> str:
        text = io.StringIO()
        csv.writer(text, delimiter=self.profile.file.separator, lineterminator="").writerow(cells)
        return text.getvalue()

    def _raw(self, output: _Output, text: str) -> None:
        file = self.profile.file
        data = (text + "\n").replace("\n", file.line_end)
        encoding = "utf-8" if file.encoding == "utf-8-sig" else file.encoding
        try:
            output.stream.write(data.encode(encoding))
        except UnicodeEncodeError as problem:
            letter = problem.object[problem.start : problem.end]
            raise LayoutError("journal.not_in_encoding", profile=self.profile.name, text=letter) from None


def _choose_options(profile: Profile, about: About) -> Mapping[str, str]:
    chosen = {}
    for name, option in profile.options.items():
        given = about.options.get(name, option.default)
        if given is None or (given and not re.fullmatch(option.pattern, given)):
            raise ProfileError("journal.option_missing", profile=profile.name, option=name, example=option.example)
        chosen[name] = given
    return chosen


def _texts(fields: Fields) -> Mapping[str, object]:
    return {name: fields[name] for name in ("connection", "owner_tax_id", "period", "year", "month", "date")}


def _describe_file(about: About) -> Fields:
    return {
        "connection": about.connection,
        "run_id": about.run_id,
        "owner_tax_id": about.owner_tax_id,
        "period": f"{about.since:%Y-%m}",
        "year": f"{about.since:%Y}",
        "month": f"{about.since:%m}",
        "date": about.since,
    }


def _describe_entry(entry: BookedEntry, about: About, number: int) -> Fields:
    kind = "correction" if entry.sequence else kind_of_entry(entry.key)
    subject = subject_of_entry(entry.key)
    description = translate(Message(f"entry.{kind}", {"subject": subject}), about.language)
    if entry.is_draft:
        description = translate(Message("entry.as_draft", {"text": description}), about.language)
    return {
        **_describe_file(about),
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


def _describe_lines(entry: BookedEntry, of_entry: Fields, language: str) -> Iterator[Fields]:
    words: dict[tuple[str, str], str] = {}
    number = 0
    for line in entry.lines:
        reason = line.posting.means if line.kind in ACCEPTED else ""
        if (line.kind, reason) not in words:
            words[line.kind, reason] = _describe_kind(line.kind, reason, language)
        of_line = {**of_entry, **_describe_posting(line, words[line.kind, reason])}
        for side, account in (("debit", line.debit), ("credit", line.credit)):
            number += 1
            is_debit = side == "debit"
            yield {
                **of_line,
                **_describe_account(account),
                "line": number,
                "line_id": f"{line.external_id}-{side[0]}",
                "side": side,
                "debit": line.amount if is_debit else 0,
                "credit": 0 if is_debit else line.amount,
                "signed": line.amount if is_debit else -line.amount,
            }


def _describe_kind(kind: str, reason: str, language: str) -> str:
    words = translate(Message(f"posting.{kind}"), language)
    return f"{words}: {translate(Message(f'adjustment.{reason}'), language)}" if reason else words


def _sum_lines(lines: Iterable[Fields], of_entry: Fields) -> Iterator[Fields]:
    """Yield one line for each side of each account, without what only single lines have."""
    sums: dict[tuple[object, object, object], dict[str, str | int | date]] = {}
    for line in lines:
        name = (line["account_path"], line["cost_centre"], line["side"])
        if name not in sums:
            sums[name] = {**line, **_BARE, "line": len(sums) + 1, "text": of_entry["description"]}
        else:
            for amount in ("debit", "credit", "signed", "amount"):
                sums[name][amount] = int(sums[name][amount]) + int(line[amount])  # type: ignore[arg-type]
    for number, total in enumerate(sums.values(), start=1):
        identity = f"{of_entry['entry_id']}-{number}"
        yield total | {"external_id": identity, "line_id": identity}


def _describe_posting(line: Booked, words: str) -> dict[str, str | int]:
    posting = line.posting
    document = "-".join(part for part in (posting.doc_type, posting.doc_folio) if part)
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
        "operation": posting.operation,
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


def _describe_balance(on: date, account: Account, amount: int, currency: str) -> Fields:
    return {
        **_describe_account(account),
        "date": on,
        "next_date": on + _ONE_DAY,
        "balance": amount,
        "currency": currency,
        "decimals": "0" * digits_of(currency),
        "entry_id": "",
    }
