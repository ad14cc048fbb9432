"""Declared figures: typed in or from a file, each a new version with who and when; those of pulled forms read too."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.installation import Connection
from consumer.facts.messages import RefusalError
from consumer.facts.money import MoneyError, to_minor
from consumer.facts.store import Turn, take_turn
from consumer.facts.tables.provider import ProviderObject, TaxReturn, TaxStatement
from reconcile.books.tax_registers import PERIOD, YEAR
from reconcile.fiscal.facts import facts_of
from reconcile.fiscal.witnesses import Figures
from reconcile.tables.fiscal import DeclaredFigure

SOURCES = TYPED, FILE, LINK = "typed", "file", "link"
_HEADER, _CURRENCY = ("period", "code", "amount"), "currency"
# No return counts more documents.
_LARGEST_COUNT = 9
# How a sentence names what was left empty.
_EMPTY = "''"
_MOST = 10_000


class DeclaredError(RefusalError):
    """A figure that cannot be declared, in one sentence."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A figure to declare; the amount is as it was written, in the country's money if no other is named.

    `seen` is the version that its author looked at: a newer one is not replaced.
    """

    period: str
    code: str
    amount: str
    currency: str = ""
    seen: int | None = None


def declare(
    session: Session, connection: Connection, wishes: Sequence[Wish], *, author: str, at: datetime, source: str = TYPED
) -> int:
    """Keep figures as new versions, and return how many are new; one that stands already is not kept again.

    Raise DeclaredError if any of them is none: then none is kept.
    """
    country = facts_of(connection.country_code)
    read = []
    stated = Counter((wish.period, wish.code) for wish in wishes)
    if twice := next((code for (_, code), times in stated.items() if times > 1), ""):
        raise DeclaredError("tax.code_twice", code=twice[:20])
    for wish in wishes:
        is_year = YEAR.fullmatch(wish.period) is not None
        if not is_year and not PERIOD.fullmatch(wish.period):
            raise DeclaredError("tax.not_a_period", text=wish.period[:20] or _EMPTY)
        known = country.yearly if is_year else country.monthly
        if wish.code not in known:
            raise DeclaredError("tax.unknown_code", code=wish.code[:20] or _EMPTY, known=", ".join(sorted(known)))
        currency = "" if wish.code in country.counts and not is_year else connection.country.currency
        read.append((wish, _to_amount(wish, currency) if currency else _to_count(wish.amount), currency))
    take_turn(session, Turn.BOOKS)
    return sum(
        _keep(session, connection, wish, amount, currency, author, at, source) for wish, amount, currency in read
    )


def _to_amount(wish: Wish, currency: str) -> int:
    if wish.currency not in {"", currency}:
        raise DeclaredError("tax.not_declarable", text=f"{wish.amount[:30]} {wish.currency[:10]}", currency=currency)
    try:
        amount = to_minor(wish.amount.strip(), currency)
    except MoneyError:
        raise DeclaredError("tax.not_declarable", text=wish.amount.strip()[:30] or _EMPTY, currency=currency) from None
    if amount < 0:
        raise DeclaredError("tax.declared_below_zero", code=wish.code, text=wish.amount[:30])
    return amount


def _to_count(text: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= _LARGEST_COUNT):
        raise DeclaredError("tax.not_a_count", text=text[:30] or _EMPTY)
    return int(text)


def _keep(  # noqa: PLR0913, PLR0917 - the columns of a row
    session: Session, connection: Connection, wish: Wish, amount: int, currency: str, author: str, at: datetime,
    source: str,
) -> bool:  # fmt: skip
    mine = (DeclaredFigure.connection == connection.name, DeclaredFigure.period == wish.period)
    asked = select(DeclaredFigure).where(*mine, DeclaredFigure.code == wish.code)
    latest = session.exec(asked.order_by(col(DeclaredFigure.version).desc())).first()
    if latest is not None and latest.amount == amount:
        return False
    if latest is not None and wish.seen is not None and latest.version != wish.seen:
        raise DeclaredError("tax.declared_meanwhile", code=wish.code, author=latest.author)
    session.add(
        DeclaredFigure(
            connection=connection.name, period=wish.period, code=wish.code,
            version=latest.version + 1 if latest else 1, amount=amount, currency=currency,
            author=author, at=at, source=source,
        )
    )  # fmt: skip
    session.flush()
    return True


def read_file(content: bytes) -> list[Wish]:
    """Read a CSV file with the columns period, code, amount and perhaps currency; raise DeclaredError if it is none."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    separator = ";" if ";" in text.partition("\n")[0] else ","
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        rows = [row for row in reader if any(cell.strip() for cell in row)]
    except csv.Error:
        raise DeclaredError("books.endless_cell", line=reader.line_num, most=csv.field_size_limit()) from None
    header = tuple(cell.strip().lower() for cell in rows[0]) if rows else ()
    if header not in {_HEADER, (*_HEADER, _CURRENCY)} or len(rows) > _MOST:
        raise DeclaredError("tax.no_header")
    wrong = next((number for number, row in enumerate(rows[1:], start=2) if len(row) != len(header)), None)
    if wrong is not None:
        raise DeclaredError("tax.bad_row", line=wrong)
    cells = [[cell.strip() for cell in row] for row in rows[1:]]
    return [Wish(period, code, amount, "".join(more)) for period, code, amount, *more in cells]


def list_declared(session: Session, connection: Connection) -> list[DeclaredFigure]:
    """Return every version of every figure, newest first; those of pulled forms have version 0."""
    mine = select(DeclaredFigure).where(DeclaredFigure.connection == connection.name)
    found = [*session.exec(mine), *_read_link(session, connection)]
    return sorted(found, key=lambda one: (one.period, one.code, one.version), reverse=True)


def read_declared(session: Session, connection: Connection) -> Mapping[str, Figures]:
    """Return by period what is declared: a figure that a person stated goes before that of a pulled form."""
    newest: dict[tuple[str, str], DeclaredFigure] = {}
    for one in reversed(list_declared(session, connection)):
        newest[one.period, one.code] = one
    periods: dict[str, list[DeclaredFigure]] = {}
    for one in newest.values():
        periods.setdefault(one.period, []).append(one)
    return {
        period: Figures({one.code: one.amount for one in rows}, max(one.at for one in rows))
        for period, rows in periods.items()
    }


def _read_link(session: Session, connection: Connection) -> Iterator[DeclaredFigure]:
    """Yield the figures of pulled F29 and F22; of several forms of a period the newest counts."""
    country = facts_of(connection.country_code)
    found: dict[tuple[str, str], DeclaredFigure] = {}
    for table, names, part in (
        (TaxStatement, country.link, "institution_tax_statement"),
        (TaxReturn, country.link_year, "institution_tax_return"),
    ):
        for body, at in _bodies(session, connection, table):
            period = _month_of(body) if table is TaxStatement else str(body["fiscal_year"])
            form = body.get(part) or {}
            for name, code in names.items():
                if isinstance(form, dict) and form.get(name) is not None:
                    found[period, code] = DeclaredFigure(
                        connection=connection.name, period=period, code=code, version=0, amount=int(form[name]),
                        currency=connection.country.currency, author="", at=at, source=LINK,
                    )  # fmt: skip
    yield from found.values()


def _month_of(body: Mapping[str, object]) -> str:
    month = str(body["period"])
    return month if "-" in month else f"{body['fiscal_year']}-{month:0>2}"


def find_rectified(session: Session, connection: Connection) -> set[str]:
    """Return the months of which more than one F29 was pulled."""
    filed = Counter(_month_of(body) for body, _ in _bodies(session, connection, TaxStatement))
    return {month for month, forms in filed.items() if forms > 1}


def _bodies(
    session: Session, connection: Connection, table: type[ProviderObject]
) -> Iterator[tuple[dict[str, object], datetime]]:
    mine = (col(table.connection) == connection.name, col(table.mode) == connection.mode)
    asked = sa.select(col(table.body), col(table.version_at)).where(*mine, col(table.gone_at).is_(None))
    for body, at in session.execute(asked.order_by(col(table.version_at), col(table.id))):
        yield msgspec.json.decode(body), at
