"""Registers of tax authorities as rows of a witness: RCV files and their summaries, lists of the SAT; pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TypeAlias
from zoneinfo import ZoneInfo

from consumer.facts.countries import COUNTRIES
from consumer.facts.messages import Message, RefusalError
from consumer.facts.money import MoneyError, to_minor
from consumer.facts.taxids import TaxIdError, to_tax_id
from reconcile.books import registers, words
from reconcile.books.cells import Row, SheetError
from reconcile.books.dates import DateError, to_date
from reconcile.books.documents import NO_LINE, Reject, to_written
from reconcile.books.figures import DecimalMark, FigureError, to_amount
from reconcile.books.headers import Header, Vocabulary, find_header, normalise
from reconcile.books.sheets import TILDE, read_sheets

# A row as the table of rows of registers has it, without what is common to a file.
Entry: TypeAlias = dict[str, object]

SALES, PURCHASES, BOTH = "sales", "purchases", "both"
SIDES = frozenset({SALES, PURCHASES})
_SIDE_WORDS = {SALES: Message("register.sales"), PURCHASES: Message("register.purchases")}
SUMMARY, METADATA = "resumen", "metadata"
_COLUMNS: Vocabulary = {
    "doc_type": ("tipo doc", "tipo documento", "tipo de documento"),
    "customer_tax_id": ("rut cliente", "rut proveedor"), "name": ("razon social",), "folio": ("folio",),
    "issue_date": ("fecha docto",), "received_on": ("fecha recepcion",),
    "acknowledged": ("fecha acuse recibo", "fecha acuse"), "claimed": ("fecha reclamo",),
    "exempt": ("monto exento", "total exento"), "net": ("monto neto", "total neto"),
    "vat": ("monto iva", "monto iva recuperable", "iva recuperable", "total iva"),
    "vat_not_recoverable": ("monto iva no recuperable", "iva no recuperable"), "total": ("monto total", "total"),
    "ref_kind": ("tipo docto referencia",), "ref_folio": ("folio docto referencia",),
    "tobacco": ("tabacos puros",), "count": ("total documentos", "cantidad documentos", "total doctos", "cantidad"),
}  # fmt: skip
_AMOUNTS = ("net", "exempt", "vat", "vat_not_recoverable", "total")
_DAY = len("2026-10-31")
_DATES = "dd/mm/yyyy"
# Days of a register have no hour that could move them.
_ZONE = ZoneInfo("UTC")
_COUNT = re.compile(r"[0-9]{1,9}")
_CODE = re.compile(r"(\d{2,3})(?!\d)")
_MONTH = re.compile(r"(?<!\d)(20\d{2})[-_]?(0[1-9]|1[0-2])(?!\d)")
_RUT = re.compile(r"(?<!\d)(\d{7,8}-[\dkK])(?![0-9A-Za-z])")
PERIOD = re.compile(r"20[0-9]{2}-(0[1-9]|1[0-2])")
YEAR = re.compile(r"20[0-9]{2}")

_LIST = (
    "uuid", "rfcemisor", "nombreemisor", "rfcreceptor", "nombrereceptor", "rfcpac", "fechaemision",
    "fechacertificacionsat", "monto", "efectocomprobante", "estatus", "fechacancelacion",
)  # fmt: skip


_THIRD_PARTIES = b"~rfcacuentaterceros"


class RegisterError(RefusalError):
    """Why a register as a whole is not taken, in one sentence."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose register is read: the country, and the merchant's own tax ids as far as they are known."""

    country: str
    tax_ids: AbstractSet[str] = frozenset()

    @property
    def only(self) -> str:
        return next(iter(self.tax_ids)) if len(self.tax_ids) == 1 else ""


@dataclass(frozen=True, slots=True)
class RegisterReading:
    """What one file of a register states: no rows where there are rejects."""

    side: str = ""
    section: str = ""
    periods: tuple[str, ...] = ()
    rows: tuple[Entry, ...] = ()
    rejects: tuple[Reject, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


def read_register(
    name: str, content: bytes, owner: Owner, *, period: str = "", sides: AbstractSet[str] = SIDES
) -> RegisterReading:
    """Read a file of a register; its period and owner stand in its name where its rows do not say them.

    `period` is the month that is expected, `sides` which registers are.
    """
    try:
        _check_month(period)
        if owner.country == "mx":
            return _read_list(content, owner, period, sides)
        return _read_rcv(name, content, owner, period, sides)
    except (RegisterError, SheetError) as error:
        return RegisterReading(rejects=(Reject(NO_LINE, "", "", error.message),))


def names_third_parties(content: bytes) -> bool:
    """Return True for the file beside a list of the SAT that only names for whom documents were issued."""
    return _THIRD_PARTIES in content[: len(_THIRD_PARTIES) * 4].lower()


def _check_month(text: str) -> None:
    if text and not PERIOD.fullmatch(text):
        raise RegisterError("register.not_a_month", text=text[:20])


def _read_rcv(name: str, content: bytes, owner: Owner, period: str, sides: AbstractSet[str]) -> RegisterReading:
    _check_name(name, owner, period)
    rows, header = _find_table(content)
    side = _find_side(name, header, sides)
    section = SUMMARY if "folio" not in header.at else _find_section(side, header)
    kept, _ = registers.cut_further_taxes([row for row in rows if not row.is_blank], header)
    kept, _ = registers.set_taxes_aside(kept, header)
    reader = _RowReader(header, owner, side, section)
    entries = [entry for row in kept if (entry := reader.to_entry(row))]
    if reader.rejects:
        return RegisterReading(rejects=tuple(reader.rejects))
    month = period or _month_of(name) or _month_of_rows(entries)
    rejects = tuple(_find_later(entries, month, header))
    entries = [{**entry, "period": month} for entry in entries]
    return RegisterReading(side, section, (month,), () if rejects else tuple(entries), rejects)


def _check_name(name: str, owner: Owner, period: str) -> None:
    """Raise RegisterError if the file's name says another company or month than is meant."""
    match = _RUT.search(name)
    if match and owner.tax_ids:
        try:
            named = to_tax_id(match[1], owner.country)
        except TaxIdError:
            named = ""
        if named and named not in owner.tax_ids:
            raise RegisterError("register.other_owner", found=named, own=", ".join(sorted(owner.tax_ids)))
    if period and (month := _month_of(name)) and month != period:
        raise RegisterError("register.other_period", found=month, period=period)


def _month_of(name: str) -> str:
    # A RUT may hold digits that read as a month.
    match = _MONTH.search(_RUT.sub("", name))
    return f"{match[1]}-{match[2]}" if match else ""


def _month_of_rows(entries: Sequence[Entry]) -> str:
    """Return the one month of all documents; raise RegisterError if there are several, since a register has one."""
    months = {str(entry["issue_date"])[:7] for entry in entries if entry["issue_date"]}
    if len(months) != 1:
        raise RegisterError("register.no_period")
    return months.pop()


def _find_later(entries: Sequence[Entry], month: str, header: Header) -> Iterator[Reject]:
    """Refuse a document dated after the month: no register of the month can hold it."""
    for entry in entries:
        on = entry["issue_date"]
        if isinstance(on, date) and f"{on:%Y-%m}" > month:
            reason = Message("register.later_document", {"period": month})
            yield Reject(_line_of(entry), header.name("issue_date"), on.isoformat(), reason)
            return


def _line_of(entry: Entry) -> int:
    line = entry["line"]
    assert isinstance(line, int)
    return line


def _find_table(content: bytes) -> tuple[Sequence[Row], Header]:
    """Return the rows below the heading of a register, and the heading."""
    for sheet in read_sheets(content):
        header = find_header(sheet.rows, {}, words=_COLUMNS, least=4, holds=_is_register)
        if header is not None:
            return [row for row in sheet.rows if row.line > header.line], header
    raise RegisterError("register.no_header")


def _is_register(header: Header) -> bool:
    is_detail = {"doc_type", "customer_tax_id", "folio", "issue_date", "total"} <= header.at.keys()
    return is_detail or ({"doc_type", "count", "total"} <= header.at.keys() and "folio" not in header.at)


def _find_side(name: str, header: Header, sides: AbstractSet[str]) -> str:
    """Return sales or purchases, as the headings say or, for a summary, the file's name or what was asked for."""
    plain = normalise(name)
    seller = normalise(header.name("customer_tax_id"))
    if "folio" in header.at:
        side = PURCHASES if seller == "rut proveedor" else SALES
    elif "venta" in plain or "compra" in plain:
        side = SALES if "venta" in plain else PURCHASES
    elif len(sides) == 1:
        side = next(iter(sides))
    else:
        raise RegisterError("register.no_side")
    if side not in sides:
        raise RegisterError("register.other_side", found=_SIDE_WORDS[side])
    return side


def _find_section(side: str, header: Header) -> str:
    if side == SALES:
        return "registro"
    if "claimed" in header.at:
        return "reclamado"
    if "acknowledged" not in header.at:
        return "pendiente"
    return "registro" if "tobacco" in header.at else "no_incluir"


class _RowReader:
    """Reads rows of an RCV file and keeps every problem, so that a person sees all of them at once."""

    def __init__(self, header: Header, owner: Owner, side: str, section: str) -> None:
        self._header, self._owner, self._side, self._section = header, owner, side, section
        self._currency = COUNTRIES[owner.country].currency
        self.rejects: list[Reject] = []

    def to_entry(self, row: Row) -> Entry | None:
        before = len(self.rejects)
        kind = _CODE.findall(self._text(row, "doc_type"))
        if not kind:
            self._reject(row, "doc_type", Message("register.no_kind"))
        amounts = {name: self._amount(row, name) for name in _AMOUNTS}
        days = {name: self._day(row, name) for name in ("issue_date", "received_on")}
        other = self._other(row)
        is_sale = self._side == SALES
        if amounts["total"] is None:
            self._reject(row, "total", Message("books.empty"))
        count = self._count(row)
        if len(self.rejects) > before:
            return None
        return {
            "line": row.line, "side": self._side, "state": self._state(row), "kind": kind[-1],
            "count": count,
            "issuer_tax_id": self._owner.only if is_sale else other,
            "receiver_tax_id": other if is_sale else self._owner.only,
            "name": self._text(row, "name"), "series": "", "folio": self._text(row, "folio").lstrip("0"), "uuid": "",
            **days, **amounts, "currency": self._currency, "cancelled_on": None,
            "ref_kind": self._text(row, "ref_kind"), "ref_folio": self._text(row, "ref_folio"),
        }  # fmt: skip

    def _text(self, row: Row, name: str) -> str:
        return self._header.cell(row, name)

    def _reject(self, row: Row, name: str, reason: Message) -> None:
        self.rejects.append(Reject(row.line, self._header.name(name), self._text(row, name), reason))

    def _state(self, row: Row) -> str:
        if self._side == SALES and self._text(row, "claimed"):
            return "reclamado"
        return "registro" if self._section == SUMMARY else self._section

    def _amount(self, row: Row, name: str) -> int | None:
        written = to_written(row, self._header, name, self._currency)
        try:
            amount = None if written is None else to_amount(written, DecimalMark.COMMA)
        except FigureError as error:
            self._reject(row, name, error.message)
            return None
        if amount is not None and amount < 0:
            self._reject(row, name, Message("register.below_zero"))
        return amount

    def _count(self, row: Row) -> int | None:
        if self._section != SUMMARY:
            return None
        text = self._text(row, "count")
        if _COUNT.fullmatch(text):
            return int(text)
        reason = Message("tax.not_a_count", {"text": text[:20]}) if text else Message("books.empty")
        self._reject(row, "count", reason)
        return None

    def _day(self, row: Row, name: str) -> date | None:
        text = self._text(row, name)
        if not text and (name == "received_on" or self._section == SUMMARY):
            return None
        try:
            return to_date(text, "yyyy-mm-dd" if text[4:5] == "-" else _DATES, _ZONE)
        except DateError as error:
            self._reject(row, name, error.message)
            return None

    def _other(self, row: Row) -> str:
        text = self._text(row, "customer_tax_id")
        try:
            return to_tax_id(text, self._owner.country) if text else ""
        except TaxIdError as error:
            self._reject(row, "customer_tax_id", error.problem)
            return ""


def _read_list(content: bytes, owner: Owner, period: str, sides: AbstractSet[str]) -> RegisterReading:
    lines = list(_cut_list(content))
    owner = _find_owner(lines, owner)
    entries: list[Entry] = []
    rejects: list[Reject] = []
    for line, cells in lines:
        try:
            entries += [entry for entry in _to_list_entries(line, cells, owner) if entry["side"] in sides]
        except (RegisterError, words.WordError, DateError, MoneyError, TaxIdError) as error:
            reason = error.message if isinstance(error, RefusalError) else Message("register.bad_row")
            rejects.append(Reject(line, "", cells["uuid"], reason))
    periods = tuple(sorted({str(entry["period"]) for entry in entries}))
    if period and not rejects and (other := [each for each in periods if each != period]):
        raise RegisterError("register.other_period", found=other[0], period=period)
    found = {str(entry["side"]) for entry in entries}
    side = found.pop() if len(found) == 1 else BOTH
    return RegisterReading(side, METADATA, periods, () if rejects else tuple(entries), tuple(rejects))


def _cut_list(content: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """Cut a list into rows; a line end inside a name is a lone one, or leaves the row too short."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    heading, *lines = text.splitlines() or [""]
    names = [normalise(name).replace(" ", "") for name in heading.split(TILDE)]
    if not set(_LIST[:1] + _LIST[6:7] + _LIST[8:11]) <= set(names):
        raise RegisterError("register.no_header")
    waiting = ""
    for number, line in enumerate(lines, start=2):
        waiting = f"{waiting} {line}" if waiting else line
        if waiting.count(TILDE) < len(names) - 1:
            continue
        if waiting.strip():
            cells = [cell.strip() for cell in waiting.split(TILDE)]
            yield number, dict.fromkeys(_LIST, "") | dict(zip(names, cells, strict=False))
        waiting = ""
    if waiting.strip():
        raise RegisterError("register.cut_off")


def _find_owner(lines: Sequence[tuple[int, Mapping[str, str]]], owner: Owner) -> Owner:
    """Return the owner, whose tax id is the one that all rows name where none is known."""
    if owner.tax_ids or not lines:
        return owner
    named = [{cells["rfcemisor"].upper(), cells["rfcreceptor"].upper()} for _, cells in lines]
    common = set.intersection(*named)
    if len(common) != 1:
        raise RegisterError("register.no_owner")
    return replace(owner, tax_ids=frozenset(common))


def _to_list_entries(line: int, cells: Mapping[str, str], owner: Owner) -> Iterator[Entry]:
    """Return a row as issued, as received, or as both where the merchant wrote to itself."""
    issuer, receiver = (to_tax_id(cells[name], owner.country) for name in ("rfcemisor", "rfcreceptor"))
    if not owner.tax_ids & {issuer, receiver}:
        raise RegisterError("register.other_owner", found=issuer, own=", ".join(sorted(owner.tax_ids)))
    on = to_date(cells["fechaemision"][:_DAY], "yyyy-mm-dd", _ZONE)
    is_gone = normalise(cells["estatus"]) in {"0", "cancelado"}
    gone_on = to_date(cells["fechacancelacion"][:_DAY], "yyyy-mm-dd", _ZONE) if cells["fechacancelacion"] else None
    total = to_minor(cells["monto"].replace("$", "").replace(",", ""), COUNTRIES[owner.country].currency)
    if total < 0:
        raise RegisterError("register.below_zero")
    entry: Entry = {
        "state": "cancelado" if is_gone else "vigente", "period": f"{on:%Y-%m}",
        "kind": words.to_kind(cells["efectocomprobante"], owner.country), "count": None, "issuer_tax_id": issuer,
        "receiver_tax_id": receiver, "series": "", "folio": "", "uuid": words.to_uuid(cells["uuid"]), "issue_date": on,
        "received_on": None, "net": None, "exempt": None, "vat": None, "vat_not_recoverable": None,
        "total": total, "currency": COUNTRIES[owner.country].currency, "cancelled_on": gone_on,
        "ref_kind": "", "ref_folio": "",
    }  # fmt: skip
    if issuer in owner.tax_ids:
        yield {**entry, "line": 2 * line, "side": SALES, "name": cells["nombrereceptor"]}
    if receiver in owner.tax_ids:
        yield {**entry, "line": 2 * line + 1, "side": PURCHASES, "name": cells["nombreemisor"]}
