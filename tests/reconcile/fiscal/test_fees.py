"""The provider's documents against its fees: each residue has its name, and a document in another month is two."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.fiscal.comparing import Tie
from reconcile.fiscal.fees import lacks_issuer, list_documents, tie_fees
from reconcile.fiscal.tie_out import tie_out
from reconcile.fiscal.witnesses import Fee, Paper, Said, State, Terms, World

AT = datetime(2027, 2, 15, 12, tzinfo=UTC)
MONTHS = ("2026-09", "2026-10", "2026-11", "2026-12")
OCTOBER, NOVEMBER, DECEMBER = MONTHS[1:]
PROVIDER = "77123456-9"
TERMS = Terms("cl", provider_tax_id=PROVIDER)
FEES = {OCTOBER: Fee(1190, 190, 10)}


def bill(folio: str, period: str, total: int = 1190, vat: int = 190, **more: object) -> Paper:
    about = {
        "key": f"cl:{PROVIDER}:33:{folio}", "side": "purchases", "kind": "33", "period": period, "vat": vat,
        "total": total, "on": date.fromisoformat(f"{period}-05"), "tax_id": PROVIDER,
    }  # fmt: skip
    return Paper(**{**about, **more})  # type: ignore[arg-type]  # values of a test


def world(
    register: list[Paper], xml: list[Paper] | None = None, fees: dict[str, Fee] | None = None, at: datetime = AT
) -> World:
    asked = {("purchases", month): at for month in (*MONTHS, "2027-01")}
    known = Said(xml, AT) if xml else Said()
    return World(TERMS, register=Said(register, at, asked), xml=known, collected_as_of=AT, fees=fees or FEES)


def parts(tie: Tie) -> list[tuple[str, int]]:
    return [(part.cause, part.amount) for part in tie.parts]


def find(known: World, period: str, figure: str = "fees") -> Tie:
    return next(tie for tie in tie_out(known, period) if tie.figure == figure)


CASES = [
    ([bill("1", OCTOBER)], None, OCTOBER, []),
    ([], None, OCTOBER, [("fee_not_invoiced", 1190)]),
    ([], [bill("1", OCTOBER)], OCTOBER, [("fee_invoice_not_registered", 1190)]),
    ([bill("1", OCTOBER, state=State.WAITING)], None, OCTOBER, [("fee_invoice_not_registered", 1190)]),
    ([bill("1", NOVEMBER)], None, OCTOBER, [("fee_invoice_other_period", 1190)]),
    ([bill("1", NOVEMBER)], None, NOVEMBER, [("fee_invoice_other_period", -1190)]),
    ([bill("1", OCTOBER, 1309, 209)], None, OCTOBER, [("fee_invoice_differs", -119)]),
    ([bill("1", OCTOBER, 1193, 193)], None, OCTOBER, [("rounding", -3)]),
    ([bill("1", OCTOBER, state=State.CLAIMED)], None, OCTOBER, [("fee_not_invoiced", 1190)]),
    ([bill("1", "2027-01")], None, OCTOBER, [("fee_not_invoiced", 1190)]),
    ([bill("1", OCTOBER, 595, 95), bill("2", OCTOBER, 595, 95)], None, OCTOBER, []),
    ([bill("1", OCTOBER, tax_id="76543210-3")], None, OCTOBER, [("fee_not_invoiced", 1190)]),
]


@pytest.mark.parametrize(("register", "xml", "period", "said"), CASES)
def test_each_residue_of_the_fees_has_its_name(
    register: list[Paper], xml: list[Paper] | None, period: str, said: list[tuple[str, int]]
) -> None:
    """Not invoiced, not registered, in another month, of another amount, or rounded: to the unit, with no rest."""
    tie = find(world(register, xml), period)
    assert (parts(tie), tie.rest) == (said, 0)


def test_the_vat_of_the_fees_is_a_figure_of_its_own() -> None:
    """What the register has of it is creditable; without the division of fees there is no figure."""
    tie = find(world([bill("1", NOVEMBER)]), OCTOBER, "fee_vat")
    assert (tie.a.amount, tie.b.amount, parts(tie)) == (190, 0, [("fee_invoice_other_period", 190)])
    unknown = world([bill("1", OCTOBER)], fees={OCTOBER: Fee(1190, None, 10)})
    assert find(unknown, OCTOBER, "fee_vat").verdict == "not_asked"
    assert find(unknown, OCTOBER).verdict == "closed"


def test_fees_whose_biller_is_unknown_are_told_apart_from_none() -> None:
    """Without the provider's tax id the fees of a month are not tied, and that can be said."""
    unnamed = World(Terms("cl"), fees=FEES)
    assert [*tie_fees(unnamed, OCTOBER)] == []
    assert (lacks_issuer(unnamed, OCTOBER), lacks_issuer(unnamed, "2026-11")) == (True, False)
    assert not lacks_issuer(world([]), OCTOBER)


def test_a_fee_is_not_missed_before_its_months_are_whole() -> None:
    """In November's register the invoice may still come, so October's gives no verdict yet."""
    early = world([], at=datetime(2026, 12, 15, 12, tzinfo=UTC))
    assert find(early, OCTOBER).verdict == "register_open"
    assert find(world([]), OCTOBER).verdict == "explained"


def test_a_note_belongs_to_the_month_of_the_document_it_refers_to() -> None:
    """A bill that was too high and the note of the month after come to the fees together."""
    note = bill("7", NOVEMBER, 119, 19, kind="61", key=f"cl:{PROVIDER}:61:7", ref_key=f"cl:{PROVIDER}:33:1")
    known = world([bill("1", OCTOBER, 1309, 209), note])
    assert parts(find(known, OCTOBER)) == [("fee_invoice_other_period", -119)]
    assert parts(find(known, NOVEMBER)) == [("fee_invoice_other_period", 119)]
    assert [(one.period, one.total, one.folio) for one in list_documents(known, "CLP")] == [
        (OCTOBER, 1309, "1"),
        (OCTOBER, -119, "7"),
    ]


BILLS = st.lists(
    st.tuples(st.sampled_from(MONTHS), st.integers(1, 3000), st.sampled_from([State.VALID, State.WAITING])), max_size=6
)
MANY_FEES = st.dictionaries(st.sampled_from(MONTHS), st.integers(1, 3000).map(lambda total: Fee(total, total // 6, 9)))


@given(MANY_FEES, BILLS, BILLS)
def test_the_causes_of_fees_are_the_difference(
    fees: dict[str, Fee], listed: list[tuple[str, int, State]], plain: list[tuple[str, int, State]]
) -> None:
    """For random fees and documents the causes of each month are its difference, in both figures."""
    register = [bill(str(n), period, total, total // 7, state=state) for n, (period, total, state) in enumerate(listed)]
    xml = [bill(str(n + 3), period, total, total // 7) for n, (period, total, _) in enumerate(plain)]
    for month in MONTHS:
        for tie in tie_fees(world(register, xml, fees), month):
            assert tie.rest in {0, None}


@given(st.integers(100, 10**7), st.integers(1, 2), st.sampled_from((0, 1)))
def test_a_fee_invoice_moved_by_months_is_two_shifts_and_no_more(total: int, lag: int, first: int) -> None:
    """The same invoice registered later: two causes of opposite sign, each in its month."""
    fees = {MONTHS[first]: Fee(total, total // 6, 9)}
    known = world([bill("1", MONTHS[first + lag], total, total // 6)], fees=fees)
    ties = [(month, tie) for month in MONTHS for tie in tie_fees(known, month) if tie.figure == "fees"]
    assert [(month, *part) for month, tie in ties for part in parts(tie)] == [
        (MONTHS[first], "fee_invoice_other_period", total),
        (MONTHS[first + lag], "fee_invoice_other_period", -total),
    ]
