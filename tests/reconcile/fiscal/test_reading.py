"""What witnesses say, as it lies in the tables: sums and their documents, lines of items, months asked for."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

from consumer.facts.settings import Connection
from consumer.facts.store import Store
from consumer.facts.tables.provider import TaxInvoice
from consumer.provider.rows import KINDS
from reconcile.fiscal.link import drop_sums
from reconcile.fiscal.reading import price_settled, read_periods, read_world, split_totals, to_home, to_payments
from reconcile.fiscal.tie_out import tie_out
from reconcile.fiscal.witnesses import Paper, Said, State
from reconcile.tables.books import InvoiceFile
from reconcile.tables.fiscal import FiscalPayment, RegisterFile, RegisterRow

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

AT = datetime(2026, 11, 15, 12, tzinfo=UTC)
ON = date(2026, 10, 5)


@pytest.mark.parametrize(
    ("kind", "ref_key", "exempt", "vat"),
    [
        ("33", "", 0, 190),
        ("34", "", 1190, 0),
        ("", "", 0, 190),
        ("61", "cl:33::7", 0, 190),
        ("61", "cl:34::7", 1190, 0),
        ("61", "cl:801::7", 1190, 0),
        ("61", "", 1190, 0),
        ("56", "", 0, 190),
    ],
)
def test_a_total_alone_takes_back_no_tax_that_nothing_shows(kind: str, ref_key: str, exempt: int, vat: int) -> None:
    """A sale or debit note bears VAT unless its kind has none; a credit note only if what it mends has some."""
    books = Said([Paper("cl:1", "sales", kind, "2026-10", total=1190, ref_key=ref_key, is_split=False)])
    (found,) = split_totals(books, []).papers
    assert (found.exempt, found.vat) == (exempt, vat)


def test_a_sum_gives_way_to_its_documents() -> None:
    """Detail and summary of one kind count once; a sum of another kind, month or side stays, and one without detail."""
    detail = Paper("cl:33::1", "purchases", "33", "2026-10", vat=190)
    waiting = Paper("cl:61::1", "purchases", "61", "2026-10", vat=19, state=State.WAITING)
    sums = [
        Paper(f"sum:{side}:{kind}:{period}", side, kind, period, vat=190, is_sum=True)
        for side, kind, period in (
            ("purchases", "33", "2026-10"), ("purchases", "61", "2026-10"), ("sales", "33", "2026-10"),
            ("purchases", "33", "2026-09"),
        )
    ]  # fmt: skip
    assert drop_sums([detail, waiting, *sums]) == [detail, waiting, *sums[1:]]


def line(name: str, kind: str = "payment_intent", **more: object) -> dict[str, object]:
    fixed = {
        "resource_id": name, "resource_type": kind, "resource_subtype": "bank_transfer", "local_date": ON.isoformat(),
        "line": 1, "amount_signed": None, "applied_amount": None, "doc_key": None, "doc_date": None, "doc_type": None,
        "vat_moved": None, "customer_tax_id": None, "reversed_doc_key": None, "doc_customer_tax_id": None,
    }  # fmt: skip
    return {**fixed, **more}


LINES = [
    # An item that a dead payout held too has its amount on a line of each.
    ([line("p", amount_signed=1000, applied_amount=1000, doc_key="a"), line("p", amount_signed=1000)], [("a", 1000)]),
    ([line("p", amount_signed=1000), line("p", amount_signed=1000)], [("", 1000)]),
    ([line("p", amount_signed=1000, applied_amount=600, doc_key="a"),
      line("p", line=2, applied_amount=300, doc_key="b")], [("a", 600), ("b", 300), ("", 100)]),
    ([line("c", "charge", amount_signed=500, applied_amount=500, doc_key="a")], [("a", 500)]),
    ([line("r", "refund", amount_signed=-200, reversed_doc_key="a"), line("r", "refund", amount_signed=-200)],
     [("a", -200)]),
    ([line("d", "dispute", amount_signed=-200)], [("", -200)]),
    ([line("x", "refund_adjustment", amount_signed=5), line("p", amount_signed=5, local_date=None)], []),
    # A document that is only suggested is not paid.
    ([line("p", amount_signed=40, doc_key="a")], [("", 40)]),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "said"), LINES)
def test_money_counts_once(lines: list[dict[str, object]], said: list[tuple[str, int]]) -> None:
    """Each item's amount is taken once, and what goes back is below zero."""
    assert [(payment.doc_key, payment.amount) for payment in to_payments(lines, tolerance=1)] == said


@pytest.mark.parametrize(("amount", "rest"), [(999, (-1, True)), (1001, (1, True)), (1002, (2, False))])
def test_what_the_tolerance_took_of_a_payment_is_rounding(amount: int, rest: tuple[int, bool]) -> None:
    """A payment of one unit less or more than its document has it; more than that pays no document."""
    *_, last = to_payments([line("p", amount_signed=amount, applied_amount=1000, doc_key="a")], tolerance=1)
    assert (last.doc_key, last.amount, last.is_rounding) == ("", *rest)


def test_a_unit_that_no_document_took_any_of_is_no_rounding() -> None:
    """A transfer of one unit without a document still needs one."""
    assert [one.is_rounding for one in to_payments([line("p", amount_signed=1)], tolerance=1)] == [False]


@pytest.mark.parametrize(
    ("amount", "currency", "home", "rate", "per", "said"),
    [
        (100_00, "USD", "MXN", "17.5", "1", 1750_00),
        (100_00, "USD", "CLP", "950.5", "1", 95_050),
        (160_00, "MXN", "MXN", "18", "16", 180_00),
        (0, "XXX", "MXN", "", "1", 0),
        (100_00, "USD", "MXN", "", "1", None),
        (100_00, "USD", "MXN", "17,5", "1", None),
        (100_00, "USD", "MXN", "NaN", "1", None),
        (100_00, "USD", "MXN", "Infinity", "1", None),
        (100_00, "USD", "MXN", "17.5", "0", None),
        (100_00, "ZZZ", "MXN", "17.5", "1", None),
    ],
)
def test_amounts_come_home_by_their_rate(
    amount: int, currency: str, home: str, rate: str, per: str, said: int | None
) -> None:
    """Digits are the currency's own; a rate that cannot be read is none."""
    assert to_home(amount, currency, home, rate=rate, per=per) == said


def test_the_vat_of_a_complement_is_in_the_money_of_its_document() -> None:
    """A peso invoice paid in dollars: divided by the equivalence, times the rate of the payment."""
    settled = FiscalPayment(
        connection="main", doc_key="r", payment_number=1, line=1, paid_at=AT, payment_form="03", currency="USD",
        rate="18", amount=10_00, paid_uuid="i", paid_key="i", instalment=1, paid_currency="MXN", balance_before=160_00,
        paid=160_00, balance_after=0, equivalence="16", vat=160_00,
    )  # fmt: skip
    assert price_settled(settled, "MXN", settled.vat) == 180_00


def keep_register(world: "World", side: str, period: str, section: str, *rows: dict[str, Any]) -> None:
    sha256 = f"{side}{period}{section}"
    world.keep(
        RegisterFile(
            connection="main", sha256=sha256, name="rcv.csv", side=side, section=section, period=period, as_of=AT,
            imported_at=AT, rows=len(rows),
        ),
        *(
            RegisterRow(**{
                "connection": "main", "file_sha256": sha256, "line": number, "side": side, "state": "registro",
                "period": period, "kind": "33", "currency": "CLP", "as_of": AT, "total": 1190, "net": 1000, "vat": 190,
                **row,
            })
            for number, row in enumerate(rows)
        ),
    )  # fmt: skip


@pytest.fixture
def verdicts(store: Store, main: Connection) -> Callable[[str], dict[tuple[str, str], str]]:
    """Give the verdicts of a month by figure and first witness."""

    def read(period: str) -> dict[tuple[str, str], str]:
        with store.reading() as session:
            ties = tie_out(read_world(session, main, today=date(2026, 11, 20)), period)
        return {(tie.figure, tie.a.witness.value): f"{tie.b.amount} {tie.verdict.value}" for tie in ties}

    return read


def test_a_month_that_was_never_asked_for_is_not_zero(
    world: "World", verdicts: Callable[[str], dict[tuple[str, str], str]]
) -> None:
    """Purchases do not make sales known, nor October September, nor a list of what waits the month it is of."""
    world.keep(
        InvoiceFile(connection="main", sha256="0" * 64, name="v.csv", imported_at=AT, rows=2, added=2, changed=0)
    )
    for folio, month in (("1", 9), ("2", 10)):
        world.invoice(folio, 1190, issue_date=date(2026, month, 5), net=1000, vat=190)
    keep_register(world, "purchases", "2026-10", "registro", {"folio": "7"}, {"folio": "8"})
    keep_register(world, "purchases", "2026-10", "resumen", {"count": 2, "vat": 380})
    keep_register(world, "purchases", "2026-09", "pendiente", {"folio": "9", "state": "pendiente"})
    assert verdicts("2026-10")["502", "books"] == "None not_asked"
    assert ("520", "register") not in verdicts("2026-09")
    assert verdicts("2026-10")["520", "register"] == "None not_filed"
    keep_register(world, "sales", "2026-10", "registro", {"folio": "2"})
    assert verdicts("2026-10")["502", "books"] == "190 closed"
    assert verdicts("2026-09")["502", "books"] == "None not_asked"


def test_a_document_in_dollars_gets_no_verdict(
    world: "World", verdicts: Callable[[str], dict[tuple[str, str], str]]
) -> None:
    """The books say dollars and no rate, the register pesos: neither is the document missing nor does it differ."""
    world.keep(
        InvoiceFile(connection="main", sha256="0" * 64, name="v.csv", imported_at=AT, rows=2, added=2, changed=0)
    )
    world.invoice("1", 100_00, doc_key="cl:110::1", doc_type="110", currency="USD", issue_date=ON, exempt=100_00)
    world.invoice("2", 1190, issue_date=ON, net=1000, vat=190)
    export = {"folio": "1", "kind": "110", "exempt": 95_000, "vat": 0, "net": 0, "total": 95_000}
    keep_register(world, "sales", "2026-10", "registro", export, {"folio": "2"})
    found = verdicts("2026-10")
    assert (found["20", "books"], found["502", "books"]) == ("95000 not_asked", "190 closed")


def test_receipts_are_not_zero_without_the_summary(
    world: "World", verdicts: Callable[[str], dict[tuple[str, str], str]]
) -> None:
    """The list of a month's invoices holds no receipts and no vouchers: these lines, and their total, are not asked."""
    world.keep(
        InvoiceFile(connection="main", sha256="0" * 64, name="v.csv", imported_at=AT, rows=2, added=2, changed=0)
    )
    world.invoice("1", 1190, issue_date=ON, net=1000, vat=190)
    world.invoice("2", 1190, doc_key="cl:39::2", doc_type="39", issue_date=ON, net=1000, vat=190)
    keep_register(world, "sales", "2026-10", "registro", {"folio": "1"})
    found = verdicts("2026-10")
    assert (found["502", "books"], found["111", "books"]) == ("190 closed", "None not_asked")
    keep_register(world, "sales", "2026-10", "resumen", {"kind": "39", "count": 1})
    assert verdicts("2026-10")["111", "books"] == "190 closed"


@pytest.mark.both_databases
def test_a_month_reads_its_own_of_what_the_provider_shows(world: "World", store: Store, main: Connection) -> None:
    """Its documents, one whose month its day alone says, one of its sale in another month, and the provider's bills."""
    biller = main.model_copy(update={"provider_tax_id": "76111111-6"})
    world.invoice("2", 1190, issue_date=ON, net=1000, vat=190)
    for number, period, side, other in (
        ("1", "10/2026", "issued", "76222222-1"), ("2", "11/2026", "issued", "76222222-1"),
        ("3", "09/2026", "issued", "76222222-1"), ("4", None, "issued", "76222222-1"),
        ("5", "08/2026", "received", "76111111-6"), ("6", "08/2026", "received", "76222222-1"),
    ):  # fmt: skip
        body: dict[str, Any] = {
            "id": f"inv_{number}", "object": "invoice", "currency": "CLP", "number": number, "issue_type": side,
            "date": "2026-10-05", "total_amount": 1190, "net_amount": 1000, "receiver": {"id": other},
            "issuer": {"id": other}, "institution_invoice": {"document_type": "33", "vat_amount": 190},
            **({"tax_period": period} if period else {}),
        }  # fmt: skip
        row = KINDS["tax_invoice"].columns(body)
        of_provider: dict[str, Any] = {"connection": "main", "id": f"inv_{number}", "mode": "test", "version_at": AT}
        world.keep(TaxInvoice(**(of_provider | row), body=json.dumps(body)))
    with store.reading() as session:
        month = read_world(session, biller, today=ON, periods=["2026-10"]).register.papers
        whole = read_world(session, biller, today=ON).register.papers
        periods = read_periods(session, biller)
    assert sorted(paper.source_id for paper in month) == ["inv_1", "inv_2", "inv_4", "inv_5"]
    assert (len(whole), periods) == (6, {"2026-08", "2026-09", "2026-10", "2026-11"})
