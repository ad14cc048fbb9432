"""What the total of a document is made of: net, exempt amount and VAT, further taxes, less what is taken off."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from consumer.facts.messages import Message
from consumer.facts.money import format_decimal
from reconcile.books.cells import Row, to_text
from reconcile.books.documents import Convention, Document, Reject, read_written
from reconcile.books.figures import FigureError, to_amount
from reconcile.books.headers import ALL_TAXES, FURTHER_PARTS, Header, readings_of, states_rate

_PARTS = ("net", "exempt", "vat")
# Further taxes by the whole name of their column: these are in every total.
_TAXES = frozenset(
    {
        "valor otro imp", "valor otro impuesto", "otro impuesto", "otros impuestos", "impuesto adicional",
        "impuestos adicionales", "impuesto especifico", "impuesto local", "impuestos locales", "ieps", "ish", "ila",
    }
)  # fmt: skip
# Words of columns that some programs count into the total and some do not.
_RAISING = frozenset(
    {
        "iva", "ieps", "ish", "ila", "imp", "impto", "imptos", "impuesto", "impuestos", "garantia", "facturable",
        "pasajes", "flete", "propina", "recargo", "recargos",
    }
)  # fmt: skip
_LOWERING = frozenset(
    {
        "retenido", "retenida", "retenidos", "retencion", "retenciones", "ret", "isr", "descuento", "descuentos",
        "desc", "dcto", "dscto", "bonificacion", "comision", "constructora",
    }
)  # fmt: skip
# Codes, rates and bases, and columns that repeat a part of the VAT or all taxes together.
_NO_PARTS = frozenset(
    {"codigo", "cod", "tasa", "tipo", "base", "indicador", "propio", "terceros", "trasladado", "trasladados"}
)  # fmt: skip
_NOT_WITHHELD = "no retenido"
# So many columns of unsure habit in one row are tried in every combination.
_MOST_UNSURE = 8


@dataclass(frozen=True, slots=True)
class Further:
    """A column besides net, exempt and VAT; `is_sure` if it is in every total, not only in those of some programs."""

    place: int
    sign: int
    is_sure: bool


@dataclass(frozen=True, slots=True)
class _Sum:
    """The parts of one document added up: all that count, and what may count besides."""

    amount: int
    unsure: tuple[int, ...]
    shown: tuple[str, ...]

    def holds(self, total: int) -> bool:
        """One minor unit of rounding is allowed, and one more for each further part."""
        reached = {0}
        for amount in self.unsure:
            reached |= {before + amount for before in reached}
        spare = 1 + len(self.shown)
        return any(abs(total - self.amount - further) <= spare for further in reached)


def find_further(header: Header) -> tuple[Further, ...]:
    """Choose the columns of further taxes, of what is withheld and of discounts; codes and rates are none."""
    known = {place for field, place in header.at.items() if field not in FURTHER_PARTS}
    mapped = {header.at[field]: sign for field, sign in FURTHER_PARTS.items() if field in header.at}
    found = []
    for place, name in enumerate(header.columns):
        if place in mapped:
            found.append(Further(place, mapped[place], is_sure=mapped[place] > 0))
        elif place not in known and (sign := _sign_of(readings_of(name))):
            is_sure = bool(_TAXES.intersection(readings_of(name)))
            found.append(Further(place, sign, is_sure=is_sure))
    return tuple(found)


def _sign_of(readings: tuple[str, str]) -> int:
    if _NOT_WITHHELD in readings[0]:
        return 0
    named = {word for reading in readings for word in reading.split()}
    if named & _NO_PARTS:
        return 0
    return -1 if named & _LOWERING else int(bool(named & _RAISING))


def find_unequal(
    found: Sequence[tuple[Row, Document]], header: Header, convention: Convention, taxes: Mapping[int, Sequence[Row]]
) -> Iterator[Reject]:
    """Yield the documents whose parts do not add up to their total; `taxes` are the rows that follow a document's."""
    if "net" not in header.at or "vat" not in header.at:
        return
    further = find_further(header)
    for row, document in found:
        if not _states_parts(row, document, header):
            continue
        rows = [row, *taxes.get(row.line, ())]
        added = _add_up(rows, document, further, header=header, convention=convention)
        if not added.holds(document.total):
            yield _to_reject(row, document, added, header)


def leave_vat_alone(
    found: Sequence[tuple[Row, Document]], header: Header, convention: Convention, taxes: Mapping[int, Sequence[Row]]
) -> list[tuple[Row, Document]]:
    """Take out of the VAT what other columns say again, if totals say so and none contradicts.

    A column of all taxes may hold further ones, and one without a rate the VAT of those with one.
    """
    further, name = find_further(header), header.name("vat")
    again = [Further(header.at[field], 1, is_sure=True) for field in header.more_vat if not states_rate(name)]
    if set(ALL_TAXES) & set(readings_of(name)):
        again += [column for column in further if column.is_sure]
    alone: list[tuple[Row, Document]] = []
    holds_alone = False
    for row, document in found if again else ():
        rows = [row, *taxes.get(row.line, ())]
        others = sum(_read_part(one, column, document, convention) or 0 for one in rows for column in again)
        other = replace(document, vat=document.vat - others) if others and document.vat else document
        if other != document:
            if _add_up(rows, document, further, header=header, convention=convention).holds(document.total):
                return list(found)
            holds_alone |= _add_up(rows, other, further, header=header, convention=convention).holds(document.total)
        alone.append((row, other))
    return alone if holds_alone else list(found)


def _states_parts(row: Row, document: Document, header: Header) -> bool:
    """Where a list has no column of exempt amounts, a document without net and VAT may be exempt."""
    is_voided = document.is_void and (header.cell(row, "status") or header.cell(row, "voided"))
    if is_voided and document.total == 0:
        return False
    if "exempt" not in header.at:
        return bool(document.net) or bool(document.vat)
    return document.net is not None or document.vat is not None or bool(document.exempt)


def _add_up(
    rows: Sequence[Row], document: Document, further: Sequence[Further], *, header: Header, convention: Convention
) -> _Sum:
    amount = sum(getattr(document, field) or 0 for field in _PARTS)
    unsure, shown = [], []
    for row in rows:
        for column in further:
            part = _read_part(row, column, document, convention)
            if not part:
                continue
            shown.append(f"{header.columns[column.place]} {to_text(row.cells[column.place])}")
            if column.is_sure:
                amount += part
            else:
                unsure.append(part)
    return _Sum(amount, tuple(unsure[:_MOST_UNSURE]), tuple(shown))


def _read_part(row: Row, column: Further, document: Document, convention: Convention) -> int:
    """Minor units of one further part; what is no amount is no part."""
    written = read_written(row, column.place, document.currency)
    if written is None:
        return 0
    try:
        amount = to_amount(written, convention.mark)
    except FigureError:
        return 0
    if column.sign < 0:
        return -abs(amount)
    return amount * (convention.note_sign if document.is_note else 1)


def _to_reject(row: Row, document: Document, added: _Sum, header: Header) -> Reject:
    named = [field for field in (*_PARTS, *header.more_vat) if field in header.at]
    parts = [f"{header.name(field)} {header.cell(row, field) or '–'}" for field in named]
    listed = ", ".join([*parts, *added.shown])
    sums = added.amount + sum(added.unsure), document.total
    amount, total = (format_decimal(value, document.currency) for value in sums)
    reason = Message("books.parts_differ", {"sum": amount, "parts": listed, "total": total})
    return Reject(row.line, header.name("total"), header.cell(row, "total"), reason)
