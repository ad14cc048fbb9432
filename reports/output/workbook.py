"""Pure: built reports as one XLSX workbook: typed cells, text identifiers, frozen header, filters, parameters."""

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from consumer.facts.columns import Column, Kind
from consumer.facts.messages import RefusalError, translate, word
from consumer.facts.money import digits_of
from consumer.facts.texts import LONGEST_CELL, fit_cell
from reports.output.export import Profile, header
from reports.shapes.build import CURRENCY, Report, are_living, labels
from reports.wording.inputs import fact, format_value

MOST_ROWS = 1_048_575
_CREATED = datetime(2000, 1, 1, tzinfo=UTC)
_WIDTHS = {Kind.TEXT: 18, Kind.ID: 22, Kind.MONEY: 15, Kind.INT: 10, Kind.DATE: 12, Kind.INSTANT: 19, Kind.DECIMAL: 10}
_WIDEST = 48
_DAYS_BEFORE_1970 = 25_569
_DAYS = {"machine": "yyyy-mm-dd", "cl": "dd-mm-yyyy", "mx": "dd/mm/yyyy"}
_UNPRINTABLE = {code: None for code in range(32) if chr(code) not in "\t\n\r"}
_LABELS = ("parameters", "report", "rows", "since", "until", "as_of", "sum")
ROUNDING = "half up, to the smallest unit of the currency"


class TooManyRowsError(RefusalError):
    """A sheet holds 1,048,576 rows; CSV and Parquet hold any number."""


def to_xlsx(reports: Sequence[Report], profile: Profile, language: str) -> bytes:
    """Write one sheet a report and one of parameters; the creation date is fixed so that reruns are byte-identical."""
    buffer = io.BytesIO()
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    book = xlsxwriter.Workbook(buffer, options)
    book.set_properties({"created": _CREATED.replace(tzinfo=None), "title": reports[0].definition.title(language)})
    styles = _Styles(book, _DAYS[profile.name])
    for report in reports:
        _write_sheet(book, styles, report, header(report, profile, language), language)
    _write_parameters(book, styles, reports, heads=language if profile.for_people else None, language=language)
    book.close()
    return buffer.getvalue()


class _Styles:
    """The cell formats of one workbook, made once each."""

    def __init__(self, book: Workbook, day: str) -> None:
        self._book = book
        self.head = book.add_format({"bold": True, "text_wrap": True, "valign": "top", "bottom": 1})
        self.plain = book.add_format()
        self._by_kind = {
            Kind.TEXT: self.plain,
            Kind.ID: book.add_format({"num_format": "@"}),
            Kind.INT: book.add_format({"num_format": "0"}),
            Kind.DATE: book.add_format({"num_format": day}),
            Kind.INSTANT: book.add_format({"num_format": f"{day} hh:mm:ss"}),
            Kind.DECIMAL: book.add_format({"num_format": "0.00####"}),
        }
        self._money: dict[str, Format] = {}

    def of(self, kind: Kind, currency: str) -> Format:
        return self.money(currency) if kind is Kind.MONEY else self._by_kind[kind]

    def money(self, currency: str) -> Format:
        if currency not in self._money:
            digits = _digits(currency)
            shape = "#,##0" + ("." + "0" * digits if digits else "")
            self._money[currency] = self._book.add_format({"num_format": shape})
        return self._money[currency]


def _write_sheet(book: Workbook, styles: _Styles, report: Report, titles: Sequence[str], language: str) -> None:
    table, columns = report.table, report.definition.columns
    if table.num_rows > MOST_ROWS:
        raise TooManyRowsError(
            "reports.too_many_rows", report=report.definition.name, rows=table.num_rows, most=MOST_ROWS
        )
    sheet = book.add_worksheet(report.definition.title(language)[:31])
    for index, (column, title) in enumerate(zip(columns, titles, strict=True)):
        width = min(_WIDEST, max(_WIDTHS[column.kind], len(title) + 2))
        sheet.set_column(index, index, width, styles.of(column.kind, "CLP"))
        sheet.write_string(0, index, title, styles.head)
    sheet.freeze_panes(1, 1)
    sheet.autofilter(0, 0, table.num_rows, len(columns) - 1)
    _set_print(sheet, report)
    _write_cells(sheet, styles, report)


def _write_cells(sheet: Worksheet, styles: _Styles, report: Report) -> None:
    """Write row by row, as constant memory wants it, with everything that holds for a column done before."""
    table, columns = report.table.combine_chunks(), report.definition.columns
    currencies = table.column(CURRENCY).to_pylist()
    writers = [_writer(sheet, column.kind) for column in columns]
    formats = {currency: [styles.of(column.kind, currency) for column in columns] for currency in set(currencies)}
    values = [_values(table, column, currencies) for column in columns]
    for row, (currency, *cells) in enumerate(zip(currencies, *values, strict=True), start=1):
        for index, (write, value, style) in enumerate(zip(writers, cells, formats[currency], strict=True)):
            if value is not None:
                write(row, index, value, style)


def _writer(sheet: Worksheet, kind: Kind) -> Callable[..., object]:
    if kind in {Kind.MONEY, Kind.INT, Kind.DECIMAL, Kind.DATE}:
        writer: Callable[..., object] = sheet.write_number
    else:
        writer = sheet.write_datetime if kind is Kind.INSTANT else sheet.write_string
    return writer


def _values(table: pa.Table, column: Column, currencies: Sequence[str]) -> Sequence[object]:
    """Give a column as the cells hold it; what no sheet may hold is looked for once a column."""
    found = table.column(column.name)
    if column.kind is Kind.DATE:
        # A sheet counts days from the end of 1899; as numbers they need no conversion cell by cell.
        found = pc.add(found.cast(pa.int32()), _DAYS_BEFORE_1970)
    elif column.kind is Kind.INSTANT:
        found = found.cast(pa.timestamp("us"))
    elif column.kind in {Kind.TEXT, Kind.ID}:
        return _printable(found)
    values: list[object] = found.to_pylist()
    if column.kind is Kind.DECIMAL:
        return [None if value is None else Decimal(str(value)) for value in values]
    if column.kind is not Kind.MONEY:
        return values
    digits = {currency: _digits(currency) for currency in set(currencies)}
    if any(digits.values()):
        pairs = zip(values, currencies, strict=True)
        return [None if value is None else Decimal(str(value)).scaleb(-digits[currency]) for value, currency in pairs]
    return values


def _digits(currency: str) -> int:
    """Return the digits of a currency; rows of lists that hold no amount name none."""
    return digits_of(currency) if currency else 0


def _printable(texts: pa.ChunkedArray) -> Sequence[str | None]:
    strange = pc.match_substring_regex(texts, r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
    # No text has more units than bytes.
    may_be_long = pc.greater(pc.binary_length(texts), LONGEST_CELL)
    values: list[str | None] = texts.to_pylist()
    if not pc.any(pc.or_kleene(strange, may_be_long), min_count=0).as_py():
        return values
    return [None if text is None else fit_cell(text.translate(_UNPRINTABLE)) for text in values]


def _set_print(sheet: Worksheet, report: Report) -> None:
    sheet.set_landscape()
    sheet.set_paper(9)  # A4
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)
    sheet.set_footer(f"&L{report.definition.name}&C{report.facts.get('run_numbers', '')}&R&P / &N")


def _write_parameters(
    book: Workbook, styles: _Styles, reports: Sequence[Report], *, heads: str | None, language: str
) -> None:
    name, title, rows, since, until, as_of, total = (word("workbook", key, language) for key in _LABELS)
    sheet = book.add_worksheet(name)
    sheet.set_column(0, 0, 32)
    sheet.set_column(1, 1, 64)
    first = reports[0]
    # Without headings for people the sheet is for a program, which knows facts by their keys.
    facts = sorted(first.facts.items())
    said = (
        facts if heads is None else [(fact(key, language), format_value(key, value, language)) for key, value in facts]
    )
    lines: list[tuple[str, str | int | Decimal, Format]] = [
        (title, first.definition.name if heads is None else first.definition.title(language), styles.plain),
        (since, str(first.span.since or ""), styles.plain),
        (until, str(first.span.until or ""), styles.plain),
        (as_of, first.as_of.isoformat(), styles.plain),
        *((name, value, styles.plain) for name, value in said),
    ]
    for report in reports:
        lines.append((f"{rows}: {report.definition.title(language)}", report.table.num_rows, styles.plain))
        titles = dict(zip(report.definition.names, labels(report.definition, heads), strict=True))
        if heads is not None and report.definition.name == "payout-summary" and "difference" in titles:
            lines.append((titles["difference"], translate("difference.means", language), styles.plain))
        added = [(total, report)]
        if heads is not None and report.definition.name == "payout-summary":
            living = replace(report, table=report.table.filter(are_living(report.table)))
            if living.table.num_rows < report.table.num_rows:
                added.append((f"{total}, {translate('payouts.living', language).lower()}", living))
        lines.extend(
            (
                f"{words}: {titles[column]} {currency}",
                Decimal(amount).scaleb(-digits_of(currency)),
                styles.money(currency),
            )
            for words, some in added
            for column, currency, amount in sums(some)
        )
    for row, (key, value, style) in enumerate(lines):
        sheet.write_string(row, 0, key, styles.head)
        (sheet.write_string if isinstance(value, str) else sheet.write_number)(row, 1, value, style)


def sums(report: Report) -> list[tuple[str, str, int]]:
    """Add up the money columns that add up, by currency."""
    found = []
    for currency in sorted(pc.unique(report.table.column(CURRENCY)).to_pylist()):
        own = report.table.filter(pc.equal(report.table.column(CURRENCY), currency))
        for name in report.definition.summed:
            amount = pc.sum(own.column(name)).as_py()
            if amount is not None:
                found.append((name, currency, amount))
    return found
