"""Every layout: its golden bytes, read back by what is known of the product, and what it refuses or says."""

import dataclasses
import io
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from consumer.facts.money import format_decimal
from reconcile.journal.accounts import Account
from reconcile.journal.booking import BookedEntry
from reconcile.journal.fields import About
from reconcile.journal.layout_cells import LayoutError
from reconcile.journal.layouts import Writer
from reconcile.journal.profiles import Profile, ProfileError, find_profile, find_profiles, profile_names, read_profile
from tests.golden import check_golden
from tests.reconcile.journal.histories import History, Ledger, Paid, Sale, accounts
from tests.reconcile.journal.readers import PAYMENT_READERS, READERS, Applied, Read, read_sap_b1

FIRST, LAST = date(2026, 10, 1), date(2026, 10, 31)
TEXT = ("beancount", "hledger")
SAP = ("sap-b1", "sap-b1-lines")
OPTIONS = {
    "Journal": "Diario general", "TipoSolicitud": "AF", "NumOrden": "ABC1234567/26", "MedioDePago": "TE",
    "PaymentJournal": "1.1.03.10",
}  # fmt: skip
UUID = "5b1c2d3e-0000-4a4a-9b9b-0123456789ab"
OWN = "\n[accounts]\ncustomers = { code = 'CODE', name = 'Clientes “A” y señores; del país', cost_centre = 'VTA' }\n"


class Kept(io.BytesIO):
    """A file that can be read after it was closed."""

    def close(self) -> None:
        self.content = self.getvalue()
        super().close()


def country_of(profile: Profile) -> str:
    return profile.countries[0] if profile.countries else "cl"


def entries_of(country: str) -> list[BookedEntry]:
    """A month of sales, a refund, a payout with its fee and its arrival, and a correction of the month before."""
    currency = "MXN" if country == "mx" else "CLP"
    doc: dict[str, Any] = {
        "doc": f"mx:uuid:{UUID}" if country == "mx" else "cl:33::7",
        "vat": 16_000,
        "currency": currency,
    }
    september = History((Sale("pi_0", date(2026, 9, 30), 700, currency=currency),), country=country, currency=currency)
    code = "105-01-003" if country == "mx" else "1.1.04.10"
    ledger = Ledger(accounts(country, OWN.replace("CODE", code)))
    ledger.export(september, date(2026, 9, 30))
    october = september.but(
        sales=(
            Sale("pi_0", date(2026, 9, 30), 700, applied=700, **doc),
            Sale("pi_1", FIRST, 116_000, "po_1", total=116_000, **doc),
            Sale("pi_2", FIRST, 5_005, currency=currency, means="credit_card"),
            Sale("re_1", date(2026, 10, 2), -1_000, "po_1", kind="refund", currency=currency),
        ),
        payouts=(Paid("po_1", date(2026, 10, 2), fee=1_190, bank_on=date(2026, 10, 5), bank_short=10),),
    )
    return ledger.export(october, LAST, FIRST)


def render(
    profile: Profile, entries: list[BookedEntry], country: str, *, apart: Sequence[Profile] = (), **options: str
) -> dict[str, bytes]:
    files: dict[str, Kept] = {}
    about = About(
        "main", country, FIRST, LAST, "a-run", f"es-{country.upper()}", "AAA010101AAA", {**OPTIONS, **options}
    )
    writer = Writer(profile, about, lambda name: files.setdefault(name, Kept()), apart=apart)
    with closing(writer):
        for entry in entries:
            writer.write(entry)
        writer.finish()
    assert list(files) == writer.names
    return {name: file.content for name, file in files.items()}


@pytest.mark.parametrize("name", profile_names())
def test_a_layout_is_the_golden_file(name: str) -> None:
    """Each file of a made-up month is byte for byte what a person looked at; the same month gives it again."""
    profile = find_profile(name)
    files = render(profile, entries_of(country_of(profile)), country_of(profile))
    assert files == render(profile, entries_of(country_of(profile)), country_of(profile))
    shown = {key: sheet_of(data) if key.endswith(".xlsx") else data for key, data in files.items()}
    check_golden(f"journal/{name}", b"".join(b"# %s\n%s" % (key.encode(), text) for key, text in shown.items()))


def sheet_of(workbook: bytes) -> bytes:
    """Return the sheet inside a workbook, row by row; what is around it is the library's."""
    text = zipfile.ZipFile(io.BytesIO(workbook)).read("xl/worksheets/sheet1.xml")
    return text.replace(b"<row ", b"\n<row ") + b"\n"


def canonical(profile: Profile, entries: list[BookedEntry]) -> Counter[tuple[Any, ...]]:
    """The lines that a file must hold: date, account as the layout names it, debit and credit."""
    found: Counter[tuple[Any, ...]] = Counter()
    for entry in entries:
        lines = [
            (side, _name_of(account, profile), line.amount)
            for line in entry.lines
            for side, account in (("debit", line.debit), ("credit", line.credit))
        ]
        if profile.file.summed:
            sums: Counter[tuple[str, str]] = Counter()
            for side, name, amount in lines:
                sums[side, name] += amount
            lines = [(side, name, amount) for (side, name), amount in sums.items()]
        for side, name, amount in lines:
            found[to_row(entry.on, name, side, Decimal(format_decimal(amount, entry.currency)))] += 1
    return found


def _name_of(account: Account, profile: Profile) -> str:
    if profile.name == "quickbooks":
        return account.name
    return re.sub(r"\D", "", account.code) if profile.name.startswith("contpaqi") else account.code


def to_row(on: date, account: str, side: str, amount: Decimal) -> tuple[Any, ...]:
    return (on, account, amount, Decimal(0)) if side == "debit" else (on, account, Decimal(0), amount)


def read_files(name: str, files: dict[str, bytes]) -> list[tuple[str, Read]]:
    """Read the files of a layout; each line with the file it stands in."""
    return [(file, line) for file, data in files.items() for line in READERS[name](data)]


def read_pair(entries: list[BookedEntry]) -> list[tuple[str, Read]]:
    """Write both layouts of SAP, and read their two files together."""
    profiles = find_profiles([SAP[0]])
    assert tuple(profile.name for profile in profiles) == SAP
    (headers,), (lines,) = [render(profile, entries, "cl").values() for profile in profiles]
    return [("", line) for line in read_sap_b1(headers, lines)]


@pytest.mark.parametrize("name", [*READERS, SAP[0]])
def test_a_reader_of_the_layout_gives_the_journal_back(name: str) -> None:
    """Read by the rules of the product, the files hold every line of the journal, once, and each entry balances."""
    profile = find_profile(name)
    entries = entries_of(country_of(profile))
    files = render(profile, entries, country_of(profile))
    read = read_pair(entries) if name in SAP else read_files(name, files)
    wanted = canonical(profile, entries)
    # Softland has the date of customers' lines alone; the voucher's own is typed in the screen that reads it.
    skipped = 1 if name.startswith("softland") else 0
    assert Counter(line[1 + skipped :] for _, line in read) == Counter(row[skipped:] for row in wanted.elements())
    sums: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for file, line in read:
        sums[file, line.entry] += line.debit - line.credit
    assert set(sums.values()) == {0}
    assert len(sums) == len(entries)


def payments_of(profile: Profile, entries: list[BookedEntry]) -> Iterator[Applied]:
    """Yield what payments the layout must hold, each with the account that its money is on."""
    for entry in entries:
        for line in entry.lines:
            if line.kind in profile.kinds:
                is_named = profile.name != "xero-payments"
                account = line.debit.name if profile.name == "quickbooks-payments" else line.debit.code
                yield Applied(entry.on, line.posting.tax_id if is_named else "", line.posting.doc_folio, account,
                              Decimal(format_decimal(line.amount, entry.currency)))  # fmt: skip


@pytest.mark.parametrize("name", PAYMENT_READERS)
def test_payments_of_documents_are_read_back_and_leave_the_journal(name: str) -> None:
    """A layout of payments has each once; with it the journal's layout has all other lines, and alone it has all."""
    profile = find_profile(name)
    entries = entries_of("cl")
    (data,) = render(profile, entries, "cl").values()
    applied = list(PAYMENT_READERS[name](data))
    assert applied == list(payments_of(profile, entries))
    assert len(applied) == (1 if name == "odoo-payments" else 2)

    journal = find_profile(profile.payments_of)
    rest = [line for _, line in read_files(journal.name, render(journal, entries, "cl", apart=[profile]))]
    whole = [line for _, line in read_files(journal.name, render(journal, entries, "cl"))]
    moved = sum(payment.amount for payment in applied)
    for side in ("debit", "credit"):
        assert sum(getattr(line, side) for line in rest) + moved == sum(getattr(line, side) for line in whole)
    customers = "Clientes “A” y señores; del país" if journal.name == "quickbooks" else "1.1.04.10"
    assert sum(line.credit for line in whole if line.account == customers) == 116_700
    assert sum(line.credit for line in rest if line.account == customers) == 116_700 - moved


@pytest.mark.parametrize("name", profile_names())
def test_a_layout_says_where_it_is_from(name: str) -> None:
    """Source and what was tried of it stand in each layout, and each has a reader or a program that checks it."""
    profile = find_profile(name)
    assert profile.source
    assert profile.tested
    assert name in {*READERS, *PAYMENT_READERS, *TEXT, *SAP}


def test_texts_that_do_not_fit_are_changed_and_said() -> None:
    """A text is cut to the layout's length, a character it forbids goes, and each is counted with the first one."""
    text = PROFILE.replace("allow = ''", "allow = 'A-Za-z0-9 '\nplain = true\nupper = true").replace(
        'from = "text"', 'from = "text", cut = true, max = 10'
    )
    profile = read_profile(text, "mine")
    files: dict[str, Kept] = {}
    about = About("main", "cl", FIRST, LAST, "a-run", "es-CL")
    writer = Writer(profile, about, lambda name: files.setdefault(name, Kept()))
    (entry,) = Ledger().export(History((Sale("pi_ñandú_1", FIRST, 5),)), LAST)
    writer.write(entry)
    writer.finish()
    assert files["2026-10-01_2026-10-31_main_mine.csv"].content == b"PAGO SIN D\r\nPAGO SIN D\r\n"
    assert writer.notes.changed == {"text": 2}
    assert writer.notes.first == {"text": ("Pago sin documento pi_ñandú_1", "PAGO SIN D")}


PROFILE = """
title = "mine"
source = "me"
tested = "no"
[file]
kind = "csv"
extension = "csv"
header = false
[text]
allow = ''
[[record]]
of = "line"
columns = [{ from = "text" }]
"""


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ('{ from = "amount", max = 5 }', "layout mine: amount 119000 of entry "),
        ('{ from = "amount", width = 5 }', "is longer than 5 characters"),
        ('{ from = "account", max = 3 }', "layout mine: account 1.1.03.10 of entry "),
        ('{ from = "doc_uuid", required = true }', "layout mine: doc_uuid of entry "),
    ],
)
def test_what_a_layout_cannot_hold_is_refused_by_name(column: str, words: str) -> None:
    """Amounts and accounts are never cut, and what must be there is not left empty."""
    profile = read_profile(PROFILE.replace('{ from = "text" }', column), "mine")
    with pytest.raises(LayoutError) as refused:
        render(profile, Ledger().export(History((Sale("pi_1", FIRST, 119_000),)), LAST), "cl")
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            PROFILE.replace('from = "text"', 'from = "texto"'),
            "layout mine: texto is no field of that record; known are",
        ),
        (PROFILE.replace('of = "line"', 'of = "entry"'), "layout mine: text is no field of that record"),
        (PROFILE.replace('from = "text"', 'from = "option:X"'), "option:X is no field"),
        (PROFILE.replace('from = "text"', 'frm = "text"'), "Object contains unknown field `frm`"),
        (PROFILE.replace('kind = "csv"', 'kind = "xls"'), "Invalid enum value 'xls'"),
        (PROFILE.replace('source = "me"', ""), "missing required field `source`"),
        ("title = ", "layout mine cannot be read"),
    ],
)
def test_a_profile_that_is_wrong_is_refused(text: str, words: str) -> None:
    """A field that no journal has, a value that no layout knows: one sentence names it."""
    with pytest.raises(ProfileError) as refused:
        read_profile(text, "mine")
    assert words in str(refused.value)


def test_a_layout_asks_for_what_only_the_merchant_knows() -> None:
    """A value that is missing or of another form is refused with an example; so is a layout of another country."""
    profile = find_profile("sat-polizas")
    with pytest.raises(ProfileError, match=r"sat-polizas needs --set NumOrden=…, such as NumOrden=ABC1234567/26"):
        render(profile, [], "mx", NumOrden="7")
    with pytest.raises(ProfileError, match="layout sat-polizas is not for connections of country cl"):
        render(profile, [], "cl")


def test_what_a_layout_cannot_name_is_said_and_stays_in_the_journal() -> None:
    """A payment without a field that its layout requires is left to the journal; a UUID without RFC is counted."""
    entries = entries_of("cl")
    (line, *rest), payments, journal = entries[0].lines, find_profile("nubox-payments"), find_profile("nubox")
    anonymous = [replace(entries[0], lines=(replace(line, posting=replace(line.posting, tax_id="")), *rest))]
    assert [data.count(b"\r\n") for data in render(payments, anonymous, "cl").values()] == [1]
    lines = [len(read_files("nubox", render(journal, anonymous, "cl", apart=apart))) for apart in ([payments], [])]
    assert lines == [4, 4]
    (first, *_), files = entries_of("mx")[0].lines, dict[str, Kept]()
    nameless = replace(entries_of("mx")[0], lines=(replace(first, posting=replace(first.posting, tax_id="")),))
    about = About("main", "mx", FIRST, LAST, "a-run", "es-MX", "AAA010101AAA", OPTIONS)
    writer = Writer(find_profile("sat-polizas"), about, lambda name: files.setdefault(name, Kept()))
    writer.write(nameless)
    writer.finish()
    assert writer.notes.changed == {"doc_uuid with tax_id": 2}
    owner = Writer(
        find_profile("sat-polizas"),
        dataclasses.replace(about, owner_tax_id=""),
        lambda name: files.setdefault(name, Kept()),
    )
    with pytest.raises(LayoutError, match="layout sat-polizas names the merchant: set tax_id of the connection"):
        owner.write(nameless)
    owner.close()


def test_a_file_ends_between_entries() -> None:
    """Past its most lines another file begins; an entry that alone has more is refused, and none is parted."""
    text = PROFILE.replace("header = false", "header = false\nmost_lines = 5\nmost_lines_an_entry = 4")
    sales = tuple(Sale(f"pi_{day}", date(2026, 10, day), 5) for day in (1, 2, 3))
    profile = read_profile(text, "mine")
    files = render(profile, Ledger().export(History(sales), LAST), "cl")
    assert [data.count(b"\r\n") for data in files.values()] == [4, 2]
    assert list(files) == ["2026-10-01_2026-10-31_main_mine_1.csv", "2026-10-01_2026-10-31_main_mine_2.csv"]
    many = tuple(Sale(f"pi_{number}", FIRST, 5) for number in range(3))
    with pytest.raises(LayoutError, match=r"of 2026-10-01 has 6 lines and the layout takes 4"):
        render(profile, Ledger().export(History(many), LAST), "cl")


def test_an_export_without_entries_is_a_file_without_lines() -> None:
    """A quiet month is a file all the same, so that a script finds one."""
    assert render(find_profile("quickbooks"), [], "cl") == {
        "2026-10-01_2026-10-31_main_quickbooks_1.csv":
        b"Journal No,Journal Date,Account Name,Debits,Credits,Description,Name,Currency,Location,Class\r\n"
    }  # fmt: skip


def test_fixed_columns_are_padded() -> None:
    """A file of fixed columns has numbers to the right and texts to the left, each as wide as it says."""
    text = PROFILE.replace('kind = "csv"', 'kind = "fixed"').replace(
        '{ from = "text" }',
        '{ from = "account", width = 12 }, { from = "amount", width = 9, align = "right", pad = "0" }',
    )
    (file,) = render(read_profile(text, "mine"), Ledger().export(History((Sale("a", FIRST, 50),)), LAST), "cl").values()
    assert file == b"1.1.03.10   000000050\r\n2.1.08.10   000000050\r\n"


def test_readers_refuse_what_is_no_such_file() -> None:
    """A reader that took anything would prove nothing."""
    with pytest.raises(AssertionError):
        list(READERS["xero"](b"Narration,Date\r\n"))
    with pytest.raises(AssertionError):
        list(READERS["softland-36"](b"1;2;3\r\n"))
    assert Read._fields == ("entry", "on", "account", "debit", "credit")
