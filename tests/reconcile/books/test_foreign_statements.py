"""MT940 and camt.053 in the dialects of banks: decimal points, pieces of words, envelopes, several messages."""

import pytest

from reconcile.books.bank_files import read_bank_file
from reconcile.books.bank_statements import BankFileError, BankReading, check_statements

MESSAGE = (
    "<BkToCstmrStmt><Stmt><Id>S</Id><Acct><Id><Othr><Id>00012345678</Id></Othr></Id></Acct>"
    "{opening}{closing}{entry}</Stmt></BkToCstmrStmt>"
)
DOCUMENT = '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.{version:02d}">{messages}</Document>'


def _mt940(line: str, *, opening: str = "C261004CLP100000,", closing: str = "C261006CLP148000,") -> str:
    return f":20:S\r\n:25:037/00012345678\r\n:28C:1/1\r\n:60F:{opening}\r\n{line}\r\n:62F:{closing}\r\n"


def _balance(code: str, amount: int, day: int) -> str:
    kind = f"<Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>"
    return (
        f'<Bal>{kind}<Amt Ccy="CLP">{amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-10-{day:02d}</Dt></Dt></Bal>'
    )


def _message(opening: int, amount: int, day: int, *, state: str = "<Sts>BOOK</Sts>", booked: bool = True) -> str:
    on = f"<BookgDt><Dt>2026-10-{day:02d}</Dt></BookgDt>" if booked else ""
    entry = f'<Ntry><Amt Ccy="CLP">{amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd>{state}{on}</Ntry>'
    before, after = _balance("OPBD", opening, day - 1), _balance("CLBD", opening + amount, day)
    return MESSAGE.format(opening=before, closing=after, entry=entry)


def _read(text: str) -> BankReading:
    return read_bank_file(text.encode(), country="cl", mapping={})


def _refusal(text: str) -> str:
    with pytest.raises(BankFileError) as caught:
        _read(text)
    return str(caught.value)


def test_a_decimal_point_is_refused() -> None:
    """The reader would cut the fraction off, and balances that are cut alike would still agree."""
    text = _mt940(":61:2610051005C480.50NTRFNONREF", opening="C261004MXN100.25", closing="C261006MXN580.75")
    assert _refusal(text) == (
        "the amount of field :60F: on line 4 has a point where the format has a comma: "
        "ask the bank for MT940 with decimal commas"
    )


def test_a_statement_of_two_currencies_is_refused() -> None:
    """Pesos and dollars of one number are not one account."""
    text = _mt940(":61:2610051005C48000,NTRFNONREF", opening="C261004USD100000,")
    assert _refusal(text) == "a statement opens in USD and closes in CLP: it is not whole"


def test_pieces_of_words_stay_words() -> None:
    """A short piece ends where it ends, so what names a payout is still a word of its own; a full one goes on."""
    words = "166?00GUTSCHRIFT?20po_1?21RECHNUNG 7 VOM OKTOBER 2026?22?30BANK?32ACME?33SPA"
    (row,) = _read(_mt940(f":61:2610051005C48000,NTRFNONREF\r\n:86:{words}")).statements[0].rows
    assert row.text == "GUTSCHRIFT po_1 RECHNUNG 7 VOM OKTOBER 2026 BANK ACME SPA"
    full = "166?20REFERENCIA PO_2ABCDEFGHIJKL?21MNOP FIN"
    (row,) = _read(_mt940(f":61:2610051005C48000,NTRFNONREF\r\n:86:{full}")).statements[0].rows
    assert row.text == "REFERENCIA PO_2ABCDEFGHIJKLMNOP FIN"


@pytest.mark.parametrize(
    ("words", "text", "reference"),
    [
        ("EREF+po_1 KREF+K7 SVWZ+PAGO 40 ABWA+DOS SPA", "PAGO 40 DOS SPA", "po_1 K7"),
        ("166?20EREF+NOTPROVIDED?21SVWZ+PAGO", "PAGO", ""),
        ("PAGO EREF po_1", "PAGO EREF po_1", ""),
        ("166?20MREF+M 1?21SVWZ+A+B = C", "A+B = C", "M 1"),
    ],
)
def test_marked_parts_of_a_purpose_keep_every_word(words: str, text: str, reference: str) -> None:
    """What names the payment is its reference, everything else stays text."""
    (row,) = _read(_mt940(f":61:2610051005C48000,NTRFNONREF\r\n:86:{words}")).statements[0].rows
    assert (row.text, row.reference) == (text, reference)


def test_an_interim_report_whose_sums_differ_is_refused() -> None:
    """It counts and adds up its own lines; where these are others, some are missing."""
    text = ":20:S\r\n:25:1\r\n:28C:1\r\n:34F:CLP0,\r\n:61:2610051005C48000,NTRFNONREF\r\n:90C:2CLP49000,\r\n"
    assert _refusal(text) == (
        "the lines of field :90C: add up to something else than it says, of 1 listed: lines are missing or were changed"
    )


@pytest.mark.parametrize("version", range(1, 14))
def test_every_version_of_the_message_is_read(version: int) -> None:
    """The state of an entry became an element of its own on the way."""
    state = "<Sts>BOOK</Sts>" if version < 8 else "<Sts><Cd>BOOK</Cd></Sts>"
    reading = _read(DOCUMENT.format(version=version, messages=_message(100_000, 48_000, 5, state=state)))
    assert [row.amount for row in reading.statements[0].rows] == [48_000]


def test_no_message_of_a_file_is_lost() -> None:
    """Banks send several at once, and wrap them in envelopes of their own."""
    messages = _message(100_000, 48_000, 5) + _message(148_000, 2_000, 6)
    document = DOCUMENT.format(version=2, messages=messages)
    for text in (document, f"<BizMsg><AppHdr/>{document}</BizMsg>"):
        assert [row.amount for part in _read(text).statements for row in part.rows] == [48_000, 2_000]


def test_an_entry_that_cannot_be_read_is_named() -> None:
    """Files of banks have thousands."""
    document = DOCUMENT.format(version=2, messages=_message(100_000, 48_000, 5, booked=False))
    assert _refusal(document) == (
        "entry 1 (Ntry) cannot be read: it says no day (BookgDt): ask the bank for statements that do"
    )


def test_another_account_is_the_only_reason_given() -> None:
    """Balances of two accounts do not meet, and nothing is missing between them."""
    other = _mt940(":61:2610051005C48000,NTRFNONREF").replace("00012345678", "00099999999")
    statements = _read(_mt940(":61:2610051005C48000,NTRFNONREF") + other).statements
    reasons = [str(reject.reason) for reject in check_statements(statements, "00012345678")]
    assert reasons == ["the file is of an account ending in 9999, not of the one given"]
