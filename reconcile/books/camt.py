"""camt.053, .052 and .054 files: booked entries, and balances where they are whole days; no entities; pure."""

from collections.abc import Iterator
from datetime import date
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from consumer.facts.messages import Message
from consumer.facts.money import MoneyError, to_minor
from reconcile.books.bank_statements import Balance, BankFileError, BankReading, BankRow, Statement

STATEMENT, REPORT, NOTIFICATION = "camt.053", "camt.052", "camt.054"
# By the name of the message: which it is, and what its parts are called.
_MESSAGES = {
    "BkToCstmrStmt": (STATEMENT, "Stmt"),
    "BkToCstmrAcctRpt": (REPORT, "Rpt"),
    "BkToCstmrDbtCdtNtfctn": (NOTIFICATION, "Ntfctn"),
}
_DAY = len("2026-10-31")
_OPENING, _CLOSING = ("OPBD", "PRCD"), ("CLBD",)
_BOOKED = "BOOK"


def is_xml(content: bytes) -> bool:
    return content.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\x00")[:1] == b"<"


def read_camt(content: bytes) -> BankReading:
    """Read each statement or advice; entries that are only announced are left out, and a note says so."""
    try:
        root = fromstring(content, forbid_dtd=True)
    except DefusedXmlException:
        raise BankFileError("books.xml_entities") from None
    except (ParseError, ValueError, LookupError) as error:
        raise BankFileError("books.xml_unreadable", reason=str(error)) from None
    # Banks also send the message inside an envelope of their own, or several in one.
    messages = [message for message in root.iter() if _name(message) in _MESSAGES]
    if not messages:
        raise BankFileError("books.no_camt")
    kinds = sorted({_MESSAGES[_name(message)] for message in messages})
    if len(kinds) > 1:
        raise BankFileError("books.mixed_messages", kinds=", ".join(kind for kind, _ in kinds))
    kind, part = kinds[0]
    read = _statement if kind == STATEMENT else _advice
    found = [read(one) for message in messages for one in _all(message, part)]
    if not found:
        raise BankFileError("books.no_statement")
    waiting = sum(count for _, count in found)
    notes = (Message("books.not_booked_yet", {"entries": waiting}),) if waiting else ()
    statements = (statement for statement, _ in found if statement.rows or kind == STATEMENT)
    return BankReading(kind, tuple(statements), notes=notes)


def _statement(element: Element) -> tuple[Statement, int]:
    balances = {_text(balance, "Tp", "CdOrPrtry", "Cd"): balance for balance in _all(element, "Bal")}
    opening, closing = _edge(balances, _OPENING), _edge(balances, _CLOSING)
    currency = _amount_of(opening).get("Ccy", "")
    rows, waiting = _rows(element, currency)
    statement = Statement(
        account=_account(element),
        currency=currency,
        rows=rows,
        opening=Balance(_read_signed(opening, currency), _day(opening, "Dt")),
        closing=Balance(_read_signed(closing, currency), _day(closing, "Dt")),
    )
    return statement, waiting


def _advice(element: Element) -> tuple[Statement, int]:
    """Read lines of the running day: their balances are interim and prove no completeness."""
    first = next(_all(element, "Ntry"), None)
    currency = _text(element, "Acct", "Ccy") or (_amount_of(first).get("Ccy", "") if first is not None else "")
    rows, waiting = _rows(element, currency)
    return Statement(_account(element), currency, rows), waiting


def _account(element: Element) -> str:
    return _text(element, "Acct", "Id", "IBAN") or _text(element, "Acct", "Id", "Othr", "Id")


def _rows(element: Element, currency: str) -> tuple[tuple[BankRow, ...], int]:
    """Return the booked entries, and how many are only announced."""
    entries = list(_all(element, "Ntry"))
    booked = [(place, entry) for place, entry in enumerate(entries, start=1) if _state(entry) == _BOOKED]
    return tuple(_read_row(place, entry, currency) for place, entry in booked), len(entries) - len(booked)


def _edge(balances: dict[str, Element], codes: tuple[str, ...]) -> Element:
    for code in codes:
        if code in balances:
            return balances[code]
    raise BankFileError("books.no_opening_code" if codes is _OPENING else "books.no_closing_code", code=codes[0])


def _read_row(place: int, entry: Element, currency: str) -> BankRow:
    try:
        return _row(place, entry, currency)
    except BankFileError as error:
        raise BankFileError("books.entry_unreadable", entry=place, reason=error.message) from None


def _row(place: int, entry: Element, currency: str) -> BankRow:
    details = [node for block in _all(entry, "NtryDtls") for node in _all(block, "TxDtls")]
    texts = [_text(entry, "AddtlNtryInf"), *(text for node in details for text in _remittance(node))]
    references = [_text(node, "Refs", "EndToEndId") for node in details]
    own = _text(entry, "AcctSvcrRef")
    said = [own, *(text for text in references if text != "NOTPROVIDED")]
    return BankRow(
        line=place,
        booked_on=_day(entry, "BookgDt"),
        amount=_read_signed(entry, currency),
        text=" ".join(" ".join(text.split()) for text in texts if text),
        reference=" ".join(dict.fromkeys(filter(None, said))),
    )


def _remittance(details: Element) -> Iterator[str]:
    for block in _all(details, "RmtInf"):
        yield from (node.text or "" for node in _all(block, "Ustrd"))
    yield _text(details, "AddtlTxInf")


def _read_signed(element: Element, currency: str) -> int:
    """Amounts are positive in the file; the indicator says which way the money went."""
    amount = _amount_of(element)
    if amount.get("Ccy") != currency:
        raise BankFileError("books.statement_currency", currency=str(amount.get("Ccy")), statement=currency)
    side = _text(element, "CdtDbtInd")
    if side not in {"CRDT", "DBIT"}:
        raise BankFileError("books.direction_code", found=side or "nothing")
    try:
        value = to_minor((amount.text or "").strip(), currency)
    except MoneyError as error:
        raise BankFileError("books.amount_unreadable", reason=error.message) from None
    return value if side == "CRDT" else -value


def _amount_of(element: Element) -> Element:
    amounts = list(_all(element, "Amt"))
    if not amounts:
        raise BankFileError("books.no_amount_element")
    return amounts[0]


def _state(entry: Element) -> str:
    return _text(entry, "Sts", "Cd") or _text(entry, "Sts")


def _day(element: Element, name: str) -> date:
    text = _text(element, name, "Dt") or _text(element, name, "DtTm")
    if not text:
        raise BankFileError("books.no_day", name=name)
    try:
        return date.fromisoformat(text[:_DAY])
    except ValueError:
        raise BankFileError("books.not_a_day", name=name, value=text) from None


def _text(element: Element, *path: str) -> str:
    """Return the text at the end of a path in any version of the message; empty if there is none."""
    for name in path:
        found = next(_all(element, name), None)
        if found is None:
            return ""
        element = found
    return (element.text or "").strip()


def _all(element: Element, name: str) -> Iterator[Element]:
    return (child for child in element if _name(child) == name)


def _name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]
