"""Rows of a bank's sheet that move nothing: totals and balances, compared with the lines; pure."""

from collections.abc import Iterator, Sequence

from consumer.facts.messages import Message
from consumer.facts.money import MoneyError, format_decimal
from reconcile.books.bank_statements import Statement
from reconcile.books.cells import Row, to_text
from reconcile.books.documents import Reject, to_written
from reconcile.books.figures import DecimalMark, FigureError, to_amount
from reconcile.books.headers import Header, normalise

_TOTALS = frozenset({"total", "totales", "subtotal"})
_BALANCES = frozenset({"saldo", "saldos"})
_OPENINGS = frozenset({"saldo inicial", "saldo anterior"})
_CLOSINGS = frozenset({"saldo final", "saldo actual"})


def is_total(row: Row, header: Header) -> bool:
    """A row that says so first, and has no day: a deposit of somebody called Total has one."""
    words = _first(row).split()
    if not words or words[0] not in _TOTALS | _BALANCES:
        return False
    day = header.cell(row, "booked_on")
    return not day or normalise(day) == _first(row) or (words[0] in _BALANCES and not _moves(row, header))


def _first(row: Row) -> str:
    return next((normalise(text) for cell in row.cells if (text := to_text(cell))), "")


def _moves(row: Row, header: Header) -> bool:
    return any(header.cell(row, field) for field in ("amount", "credit", "debit"))


def check_totals(rows: Sequence[Row], header: Header, statement: Statement, mark: DecimalMark) -> Iterator[Reject]:
    """Compare what the file sums up itself: where nothing agrees, lines are missing or were changed."""
    amounts = [line.amount for line in statement.rows]
    credit, debit = sum(a for a in amounts if a > 0), -sum(a for a in amounts if a < 0)
    for row in rows:
        first = _first(row)
        if first.split()[0] == "subtotal":
            continue
        if first.split()[0] in _TOTALS:
            yield from _compare(row, header, statement, mark, fields=("amount", "credit", "debit"),
                                known={credit, debit, credit - debit, 0})  # fmt: skip
        edge = statement.opening if first in _OPENINGS else statement.closing if first in _CLOSINGS else None
        if edge is not None:
            yield from _compare(row, header, statement, mark, fields=("balance",), known={edge.amount})


def _compare(
    row: Row, header: Header, statement: Statement, mark: DecimalMark, *, fields: tuple[str, ...], known: set[int]
) -> Iterator[Reject]:
    for field in fields:
        written = to_written(row, header, field, statement.currency)
        if written is None:
            continue
        try:
            stated = to_amount(written, mark)
        except (FigureError, MoneyError):
            continue
        if stated not in known and -stated not in known:
            found = " or ".join(format_decimal(amount, statement.currency) for amount in sorted(known - {0}))
            reason = Message("books.lines_make_otherwise", {"found": found or "0"})
            yield Reject(row.line, header.name(field), written.text, reason)
