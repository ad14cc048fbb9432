"""What Mexico's tax office would compute, over random worlds: causes explain every figure whole, at every rate."""

from datetime import UTC, date, datetime
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from reconcile.books.vat_rates import RateSum
from reconcile.fiscal.comparing import Tie
from reconcile.fiscal.tie_out import tie_out
from reconcile.fiscal.witnesses import Complement, Paper, Payment, Said, State, Terms, Witness, World

AT = datetime(2026, 12, 15, 12, tzinfo=UTC)
MONTHS = ("2026-09", "2026-10", "2026-11")


class Sold(NamedTuple):
    """An invoice with bases at 16, 8 and 0 %, its month, and what was paid of it and stated by complements when.

    It is valid or cancelled, or its XML is not here.
    """

    bases: tuple[int, int, int]
    month: str
    method: str
    paid: list[tuple[str, int]]
    stated: list[tuple[str, int]]
    state: str = "valid"


BASES = st.tuples(*[st.integers(min_value=0, max_value=10**7)] * 3).filter(any)
PARTS = st.lists(st.tuples(st.sampled_from(MONTHS), st.integers(min_value=1, max_value=10**7)), max_size=3)
STATES = st.sampled_from(["valid", "valid", "cancelled", "unread"])
SALES = st.lists(st.builds(Sold, BASES, st.sampled_from(MONTHS), st.sampled_from(["PUE", "PPD"]), PARTS, PARTS, STATES),
                 max_size=4)  # fmt: skip


def vat_of(base: int, percent: int) -> int:
    return (2 * base * percent + 100) // 200


def rates_of(sold: Sold) -> tuple[RateSum, ...]:
    return tuple(
        RateSum(str(rate), base, vat_of(base, rate)) for rate, base in zip((16, 8, 0), sold.bases, strict=True) if base
    )


def on(month: str) -> date:
    return date.fromisoformat(f"{month}-10")


def build(sales: list[Sold]) -> World:
    papers, complements, payments = list[Paper](), list[Complement](), list[Payment]()
    for number, sold in enumerate(sales):
        key, rates = f"i{number}", rates_of(sold)
        net, vat = sum(one.base for one in rates), sum(one.vat for one in rates)
        total = net + vat
        if sold.state != "unread":
            papers.append(Paper(key, "sales", "I", sold.month, net=net, vat=vat, total=total, method=sold.method,
                                on=on(sold.month), rates=rates,
                                state=State.VALID if sold.state == "valid" else State.CANCELLED))  # fmt: skip
        for line, (month, part) in enumerate(sold.paid):
            share = part * vat // total
            payments.append(Payment(f"{key}p{line}", on(month), "bank_transfer", part, key, vat=share))
        for line, (month, part) in enumerate(sold.stated):
            host = f"{key}r{line}"
            papers.append(Paper(host, "sales", "P", month, on=on(month)))
            shares = tuple(RateSum(one.rate, part * one.base // total, part * one.vat // total) for one in rates)
            complements.append(
                Complement(host, key, month, on(month), line + 1, part, sum(one.vat for one in shares),
                           base=sum(one.base for one in shares), rates=shares)
            )  # fmt: skip
    return World(
        Terms("mx"), xml=Said(papers, AT), register=Said(papers, AT), payments=payments, complements=complements,
        collected_as_of=AT,
    )  # fmt: skip


def tied(world: World) -> list[Tie]:
    ties = [tie for month in MONTHS for tie in tie_out(world, month)]
    return [tie for tie in ties if (tie.a.witness, tie.b.witness) == (Witness.TAX_OFFICE, Witness.COLLECTED)]


@given(SALES)
def test_causes_explain_each_figure_whole(sales: list[Sold]) -> None:
    """Whatever was issued, cancelled, stated and paid: no figure keeps a rest, or its money has no known rate."""
    for tie in tied(build(sales)):
        if tie.difference is None:
            assert (tie.b.amount, tie.figure in {"vat_caused", "income"}) == (None, False)
        else:
            assert (tie.rest, sum(part.amount for part in tie.parts)) == (0, tie.difference)


@given(SALES)
def test_rates_add_up_to_the_whole(sales: list[Sold]) -> None:
    """What the tax office computes at 16 and 8 % is its VAT, and the bases are its income."""
    world = build(sales)
    for month in MONTHS:
        office = {tie.figure: tie.a.amount or 0 for tie in tied(world) if tie.period == month}
        assert office["vat_caused"] == office.get("vat_16", 0) + office.get("vat_8", 0)
        assert office.get("income", 0) == sum(amount for name, amount in office.items() if name.startswith("base_"))


@given(st.lists(BASES, max_size=3), BASES)
def test_a_moved_complement_is_two_shifts_and_no_more(
    others: list[tuple[int, int, int]], moved: tuple[int, int, int]
) -> None:
    """Of a world in which all is as it should be: the causes of each figure are of opposite sign, each in its month."""
    _, october, november = MONTHS
    whole = [
        sum(base + vat_of(base, rate) for base, rate in zip(one, (16, 8, 0), strict=True)) for one in (*others, moved)
    ]
    sales = [
        Sold(bases, october, "PPD", [(october, total)], [(october, total)])
        for bases, total in zip((*others, moved), whole, strict=True)
    ]
    assert not any(tie.parts for tie in tied(build(sales)))
    sales[-1] = sales[-1]._replace(stated=[(november, whole[-1])])
    found = [(tie.figure, part.cause, part.doc_key, part.amount) for tie in tied(build(sales)) for part in tie.parts]
    assert {cause for _, cause, _, _ in found} == {"period_shift"}
    assert {key for _, _, key, _ in found} == {f"i{len(others)}"}
    for figure in {name for name, *_ in found}:
        first, second = (amount for name, _, _, amount in found if name == figure)
        assert first == -second < 0
