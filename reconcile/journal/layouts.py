"""Entries written as files of a layout, one entry at a time, so that a year of them needs no memory."""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from tempfile import TemporaryDirectory
from typing import BinaryIO
from xml.sax.saxutils import quoteattr

import xlsxwriter
from msgspec.structs import replace

from reconcile.journal.accounts import Account
from reconcile.journal.booking import Booked, BookedEntry
from reconcile.journal.exporting import EARLIEST
from reconcile.journal.fields import About, describe_balance, describe_entry, describe_file, describe_lines, sum_lines
from reconcile.journal.layout_cells import Cell, Fields, LayoutError, Notes, to_cell
from reconcile.journal.postings import REVERSAL
from reconcile.journal.profiles import AMOUNTS, DATES, PLACEHOLDERS, Column, Of, Profile, ProfileError, Record

MOST_ROWS = 1_048_576
_CREATED = datetime(2000, 1, 1)  # noqa: DTZ001 - a workbook has no time zone
# Dates that a sheet holds as dates; in any other form they are texts.
_DAYS = {"%d/%m/%Y": "dd/mm/yyyy", "%Y-%m-%d": "yyyy-mm-dd"}
_WIDTH = 20


class Sheet:
    """Takes rows one after another; `rows` counts them."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        # Rows wait in a file of their own, so that a year of them needs no memory; an export that fails leaves none.
        self._folder = TemporaryDirectory(prefix="cuadre-sheet-")
        options = {"constant_memory": True, "strings_to_formulas": False, "tmpdir": self._folder.name}
        self._book = xlsxwriter.Workbook(stream, options)
        self._book.set_properties({"created": _CREATED})
        self._head = self._book.add_format({"bold": True})
        self._days = {form: self._book.add_format({"num_format": shape}) for form, shape in _DAYS.items()}
        self._sheet = self._book.add_worksheet(name)
        self.rows = 0

    def write_titles(self, titles: Sequence[str]) -> None:
        self._sheet.set_column(0, len(titles) - 1, _WIDTH)
        for place, title in enumerate(titles):
            self._sheet.write_string(self.rows, place, title, self._head)
        self.rows += 1

    def write(self, columns: Sequence[Column], texts: Sequence[str]) -> None:
        """Write a row: amounts as numbers, full dates as dates, all else as text; what is empty is left out."""
        for place, (column, text) in enumerate(zip(columns, texts, strict=True)):
            if not text:
                continue
            if column.number or column.source in AMOUNTS:
                self._sheet.write_number(self.rows, place, Decimal(text))
            elif column.source in DATES and column.date in _DAYS:
                day = datetime.strptime(text, column.date)  # noqa: DTZ007 - a date alone
                self._sheet.write_datetime(self.rows, place, day, self._days[column.date])
            else:
                self._sheet.write_string(self.rows, place, text)
        self.rows += 1

    def close(self) -> None:
        self._book.close()
        self._folder.cleanup()


_DECLARED = (Of.ACCOUNT, Of.CURRENCY)
_PAYMENT = "payment"
# Opens a file by its name; what is written there is kept only if the whole export is.
Open = Callable[[str], BinaryIO]


@dataclass(slots=True)
class _Compiled:
    """A record with its cells made ready."""

    record: Record
    cells: Sequence[Cell]

    @property
    def columns(self) -> Sequence[Column]:
        return self.record.columns

    def write(self, fields: Fields) -> list[str]:
        return [cell(fields) for cell in self.cells]


@dataclass(slots=True)
class _Output:
    """One open file, how many lines of the journal it holds, and what was declared in it."""

    stream: BinaryIO
    sheet: Sheet | None = None
    lines: int = 0
    accounts: dict[str, Fields] = field(default_factory=dict)
    currencies: dict[str, Fields] = field(default_factory=dict)

    def close(self) -> None:
        if self.sheet is not None:
            self.sheet.close()
        self.stream.close()


class Writer:
    """Writes the files of one layout. Raise LayoutError if an entry does not fit into it.

    `apart` are layouts of payments in the same export, whose lines this one leaves out.
    """

    def __init__(self, profile: Profile, about: About, open_file: Open, *, apart: Sequence[Profile] = ()) -> None:
        self.profile, self.about, self.notes = profile, about, Notes()
        self.names: list[str] = []
        self._open_file, self._apart = open_file, apart
        self._row = io.StringIO()
        self._csv = csv.writer(self._row, delimiter=profile.file.separator, lineterminator="")
        options = _choose_options(profile, about)
        if profile.countries and about.country not in profile.countries:
            raise ProfileError("journal.other_country", name=profile.name, country=about.country)
        self._records = {
            of: [
                _Compiled(record, [to_cell(column, profile, options, self.notes) for column in record.columns])
                for record in profile.records(of)
            ]
            for of in Of
        }
        self._output: _Output | None = None
        self._part: object = None
        self._number = 0
        self._written = 0

    def write(self, entry: BookedEntry) -> None:
        """Write one entry whole into the file it belongs to; one without lines of this layout is left out."""
        file = self.profile.file
        entry = replace(entry, lines=self._choose_lines(entry))
        if not entry.lines:
            return
        self._written += 1
        of_entry = describe_entry(entry, self.about, self._written)
        lines = list(describe_lines(entry, of_entry, self.about.language))
        if self.profile.payments_of:
            lines = [line for line in lines if line["side"] == "credit"]
        if file.summed:
            lines = list(sum_lines(lines, of_entry))
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

    def _choose_lines(self, entry: BookedEntry) -> tuple[Booked, ...]:
        """Return the lines this layout books: payments of documents or, in their journal, all but those."""
        if not self.profile.payments_of:
            return tuple(line for line in entry.lines if not any(_has(line, other) for other in self._apart))
        for line in entry.lines:
            name = f"{line.posting.operation} {line.posting.doc_type}-{line.posting.doc_folio}"
            if line.kind == REVERSAL and line.posting.kind == _PAYMENT:
                self.notes.undone.append(name)
            elif line.kind in self.profile.kinds and not _has(line, self.profile):
                self.notes.unnamed.append(name)
        return tuple(line for line in entry.lines if _has(line, self.profile))

    def write_balance(self, on: date, account: Account, amount: int, currency: str, *, of: Of = Of.BALANCE) -> None:
        """Write that an account has a balance at the end of a day, where the layout says such things."""
        if self._records[of] and (self._output is not None or of in {Of.OPENING, Of.OTHER}):
            output = self._output or self._start()
            fields = describe_balance(on, account, amount, currency)
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
            self._output.close()

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
        owner: Fields = {**describe_file(about), **(of_entry or {})}
        part = f"_{self._number}" if file.per == "entry" or file.most_lines else ""
        part = f"_{owner['period']}" if file.per == "month" else part
        is_open = about.since == EARLIEST
        since, days = ("start", about.until) if is_open else (about.since, f"{about.since}_{about.until}")
        placed = {name: owner[name] for name in PLACEHOLDERS if name in owner}
        name = file.name.format(
            since=since, until=about.until, days=days, profile=self.profile.name, part=part, **placed
        )
        name = f"{name}.{file.extension}"
        self.names.append(name)
        output = _Output(self._open_file(name))
        self._output = output
        if file.kind == "xlsx":
            output.sheet = Sheet(output.stream, file.sheet)
        if file.encoding == "utf-8-sig":
            output.stream.write(b"\xef\xbb\xbf")
        if file.kind == "xml":
            self._raw(output, '<?xml version="1.0" encoding="UTF-8"?>')
        self._put(output, Of.FILE, owner)
        if file.header:
            for compiled in self._records[Of.LINE][:1]:
                self._write_titles(output, [column.title for column in compiled.columns])
        return output

    def _write_titles(self, output: _Output, titles: Sequence[str]) -> None:
        if output.sheet is not None:
            output.sheet.write_titles(titles)
        elif self.profile.file.kind == "csv":
            self._raw(output, self._to_row(titles))

    def _end(self) -> None:
        output = self._output
        if output is None:
            return
        for fields in output.accounts.values():
            self._put(output, Of.ACCOUNT, fields)
        for fields in output.currencies.values():
            self._put(output, Of.CURRENCY, fields)
        self._close(output, Of.FILE)
        self._output = None
        output.close()

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
            has = compiled.record.has
            if not all(fields[name] for name in has):
                if fields[has[0]]:
                    self.notes.add(" with ".join(has), str(fields[has[0]]), "")
                continue
            if output.sheet is None:
                self._raw(output, self._render(compiled, of, fields))
            elif output.sheet.rows < MOST_ROWS:
                output.sheet.write(compiled.columns, compiled.write(fields))
            else:
                raise LayoutError("journal.sheet_full", profile=self.profile.name, most=MOST_ROWS)

    def _render(self, compiled: _Compiled, of: Of, fields: Fields) -> str:
        cells = compiled.write(fields)
        kind = self.profile.file.kind
        if kind == "csv":
            return self._to_row(cells)
        if kind == "fixed":
            return "".join(cells)
        if kind == "text":
            return compiled.record.template.format(*cells)
        named = zip(compiled.columns, cells, strict=True)
        pairs = (f" {column.title}={quoteattr(cell)}" for column, cell in named if cell)
        closing = {Of.UUID: "/"}.get(of, "")
        return f"<{compiled.record.element}{''.join(pairs)}{closing}>"

    def _to_row(self, cells: Sequence[str]) -> str:
        self._csv.writerow(cells)
        row = self._row.getvalue()
        self._row.seek(0)
        self._row.truncate()
        return row

    def _raw(self, output: _Output, text: str) -> None:
        file = self.profile.file
        data = (text + "\n").replace("\n", file.line_end)
        encoding = "utf-8" if file.encoding == "utf-8-sig" else file.encoding
        try:
            output.stream.write(data.encode(encoding))
        except UnicodeEncodeError as problem:
            letter = problem.object[problem.start : problem.end]
            raise LayoutError("journal.not_in_encoding", profile=self.profile.name, text=letter) from None


def _has(line: Booked, payments: Profile) -> bool:
    """Return True if a layout of payments books a line: what a document was given, with all that it requires."""
    posting = line.posting
    return line.kind in payments.kinds and posting.amount > 0 and all(getattr(posting, name) for name in payments.needs)


def _choose_options(profile: Profile, about: About) -> Mapping[str, str]:
    chosen = {}
    for name, option in profile.options.items():
        given = about.options.get(name, option.default)
        if given is None or (given and not re.fullmatch(option.pattern, given)):
            raise ProfileError("journal.option_missing", profile=profile.name, option=name, example=option.example)
        chosen[name] = given
    return chosen
