"""OFX files, of version 1 (SGML) and 2 (XML): the lines of each bank statement; pure."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from consumer.facts.money import MoneyError, to_minor
from reconcile.books.bank_statements import BankFileError, BankReading, BankRow, Statement

NAME = "OFX"
_ELEMENT = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9._]*)(?:\s[^<>]*)?>([^<]*)")
_PART = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
# A sign that begins no element, as banks write it into a text.
_SIGN = re.compile(r"<(?![/?!A-Za-z])")
_DAY = re.compile(r"(\d{8})(?:(\d{6})(?:\.\d+)?)?(?:\[\s*([+-]?\d{1,2}(?:\.\d+)?)(?::[A-Za-z]{1,5})?\])?")
_MIDNIGHT = "000000"
_AMOUNT = re.compile(r"[+-]?\d{1,15}(?:[.,]\d+)?")
_CHARSETS = (("utf-8", "utf-8"), ("1252", "cp1252"), ("8859-1", "cp1252"))
_LONGEST_HEAD = 1024
_TEXTS, _REFERENCES = ("NAME", "PAYEE", "MEMO", "EXTDNAME"), ("CHECKNUM", "REFNUM", "FITID")


@dataclass(slots=True)
class _Node:
    """One statement or one line of it: its values by the name of their element."""

    line: int
    values: dict[str, str] = field(default_factory=dict)
    rows: list["_Node"] = field(default_factory=list)


def is_ofx(beginning: str) -> bool:
    """Return True if a file that begins so is OFX; `beginning` is in lower case."""
    return "ofxheader" in beginning or "<ofx>" in beginning


def read_ofx(content: bytes, *, zone: ZoneInfo) -> BankReading:
    """Read each statement of a file.

    It states no opening balance, so it cannot prove that it is whole.
    """
    text = _decode(content)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise BankFileError("books.xml_entities")
    # A part in which signs need no escape is escaped, so that one pattern reads both versions.
    text = _SIGN.sub("&lt;", _PART.sub(lambda part: html.escape(part[1]), text))
    found = [_to_statement(node, zone) for node in _nodes(text)]
    if not found:
        raise BankFileError("books.ofx_no_statement")
    return BankReading(NAME, tuple(found))


def _decode(content: bytes) -> str:
    head = content[:_LONGEST_HEAD].decode("ascii", errors="ignore").lower().partition("<ofx>")[0]
    declared = next((name for mark, name in _CHARSETS if mark in head), "utf-8")
    for encoding in dict.fromkeys((declared, "utf-8", "cp1252")):
        try:
            return content.decode(encoding).replace("\x00", "\ufffd")
        except UnicodeDecodeError:
            continue
    raise BankFileError("books.unknown_encoding")


def _nodes(text: str) -> Iterator[_Node]:
    """Yield the bank's statements; those of credit cards are none. A value's element need not be closed."""
    statement = row = None
    line, place = 1, 0
    for element in _ELEMENT.finditer(text):
        line, place = line + text.count("\n", place, element.start()), element.start()
        is_end, name, value = bool(element[1]), element[2].upper(), html.unescape(element[3]).strip()
        if name == "STMTRS":
            if is_end and statement is not None:
                yield statement
            statement, row = None if is_end else _Node(line), None
        elif statement is None:
            continue
        elif name == "STMTTRN":
            row = None if is_end else _Node(line)
            if row is not None:
                statement.rows.append(row)
        elif not is_end and value:
            (row or statement).values.setdefault(name, value)
    if statement is not None:
        raise BankFileError("books.ofx_cut")


def _to_statement(node: _Node, zone: ZoneInfo) -> Statement:
    currency = node.values.get("CURDEF", "")
    rows = tuple(_to_row(row, currency, zone) for row in node.rows)
    if not rows:
        raise BankFileError("books.no_movements")
    return Statement(node.values.get("ACCTID", ""), currency, rows)


def _to_row(node: _Node, currency: str, zone: ZoneInfo) -> BankRow:
    values = node.values
    texts = [" ".join(values[name].split()) for name in _TEXTS if name in values]
    return BankRow(
        line=node.line,
        booked_on=_to_day(node, zone),
        amount=_to_amount(node, currency),
        text=" ".join(dict.fromkeys(texts)),
        reference=" ".join(dict.fromkeys(values[name] for name in _REFERENCES if name in values)),
    )


def _to_amount(node: _Node, currency: str) -> int:
    text = node.values.get("TRNAMT", "")
    if not _AMOUNT.fullmatch(text):
        raise BankFileError("books.ofx_value", field="TRNAMT", line=node.line, value=text[:30])
    try:
        amount = to_minor(text.lstrip("+-").replace(",", "."), currency)
    except MoneyError as error:
        raise BankFileError("books.amount_unreadable", reason=error.message) from None
    return -amount if text.startswith("-") else amount


def _to_day(node: _Node, zone: ZoneInfo) -> date:
    """Return the day of a line; a moment with an offset is the day it was in the zone, midnight is a plain day."""
    text = node.values.get("DTPOSTED", "")
    match = _DAY.fullmatch(text)
    if match is None:
        raise BankFileError("books.ofx_value", field="DTPOSTED", line=node.line, value=text[:30])
    try:
        on = datetime.strptime(match[1], "%Y%m%d").date()  # noqa: DTZ007 - a day
        if match[3] is None or match[2] in (None, _MIDNIGHT):
            return on
        offset = timezone(timedelta(hours=float(match[3])))
        written = datetime.strptime(match[1] + match[2], "%Y%m%d%H%M%S")  # noqa: DTZ007 - its zone follows it
        return written.replace(tzinfo=offset).astimezone(zone).date()
    except (ValueError, OverflowError):
        raise BankFileError("books.ofx_value", field="DTPOSTED", line=node.line, value=text[:30]) from None
