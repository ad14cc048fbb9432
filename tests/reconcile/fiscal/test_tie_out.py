"""The tie-out: every difference has its causes, whose sum is the difference, and a rest is never passed."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.books.vat_rates import RateSum
from reconcile.fiscal.collecting import voucher_days
from reconcile.fiscal.comparing import Part, Tie, compare, count_cancelled, count_missing, explain_declared
from reconcile.fiscal.complements import Cause
from reconcile.fiscal.facts import causes, facts_of
from reconcile.fiscal.tie_out import tie_out
from reconcile.fiscal.witnesses import Complement, Figures, Paper, Payment, Said, State, Terms, Witness, World

AT = datetime(2026, 11, 15, 12, tzinfo=UTC)
OCTOBER, NOVEMBER = "2026-10", "2026-11"
DEBIT = facts_of("cl").figures["502"]


def paper(key: str, vat: int = 190, **more: object) -> Paper:
    about = {
        "key": key, "side": "sales", "kind": "33", "period": OCTOBER, "net": vat * 100 // 19, "vat": vat,
        "total": vat + vat * 100 // 19, "on": date(2026, 10, 5),
    }  # fmt: skip
    return Paper(**{**about, **more})  # type: ignore[arg-type]  # values of a test


def world(books: list[Paper], register: list[Paper], *, country: str = "cl", **more: object) -> World:
    return World(Terms(country), books=Said(books, AT), register=Said(register, AT), **more)  # type: ignore[arg-type]  # values of a test


def find(ties: list[Tie], figure: str, a: Witness, b: Witness) -> Tie:
    return next(tie for tie in ties if (tie.figure, tie.a.witness, tie.b.witness) == (figure, a, b))


def shown(tie: Tie) -> tuple[int | None, int | None, str, list[tuple[str, int]]]:
    return tie.difference, tie.rest, tie.verdict.value, [(part.cause, part.amount) for part in tie.parts]


CASES = [
    (paper("a"), None, [("not_in_register", 190)]),
    (None, paper("a"), [("not_in_books", -190)]),
    (paper("a"), paper("a", state=State.CLAIMED), [("claimed", 190)]),
    (paper("a"), paper("a", state=State.CANCELLED), [("cancelled_alive", 190)]),
    (paper("a", state=State.CANCELLED, is_replaced=True), paper("a"), [("replaced", -190)]),
    (paper("a", 200), paper("a", 190), [("amount_differs", 10)]),
    (paper("a", 200, total=1190), paper("a", 190, total=1190), [("tax_split_differs", 10)]),
    (paper("a", 200, third_party=5), paper("a", 190), [("third_party_income", 10)]),
    (paper("a"), paper("a", period=NOVEMBER), [("period_shift", 190)]),
    (paper("a", state=State.CANCELLED), paper("a"), [("not_in_books", -190)]),
    (paper("a", state=State.CANCELLED), paper("a", state=State.CANCELLED), []),
    (paper("a"), paper("a"), []),
]


@pytest.mark.parametrize(("ours", "theirs", "said"), CASES)
def test_each_difference_of_a_document_has_its_cause(
    ours: Paper | None, theirs: Paper | None, said: list[tuple[str, int]]
) -> None:
    """What one witness has and the other has not, or has otherwise, is one cause of its whole size."""
    parts = compare([ours] if ours else [], [theirs] if theirs else [], DEBIT, OCTOBER)
    assert [(part.cause, part.amount) for part in parts] == said


@pytest.mark.parametrize(
    ("theirs", "tax"),
    [
        (paper("a", 245_580, total=1_532_895), 1_000),
        (paper("a", 244_579, total=1_531_895), 1),
        (paper("a", 0, total=1_520_181, is_split=False), 1_870),
        (paper("a", 244_580, state=State.CANCELLED, total=1_531_895), 244_580),
    ],
)
def test_vat_depends_on_what_differs(theirs: Paper, tax: int) -> None:
    """Where both witnesses know a document that is the difference of its VAT, or the share of it in a total."""
    ours = paper("a", 244_580, total=1_531_895)
    (part,) = compare([ours], [theirs], DEBIT, OCTOBER)
    assert part.tax == tax


AMOUNTS = st.integers(min_value=0, max_value=10**9)
MADE = st.tuples(
    st.sampled_from("abcdefgh"),
    st.sampled_from(["33", "61", "39", "43"]),
    st.sampled_from([OCTOBER, NOVEMBER]),
    AMOUNTS,
    AMOUNTS,
    st.sampled_from(State),
)
PAPERS = st.lists(
    MADE.map(lambda made: Paper(made[0], "sales", made[1], made[2], vat=made[3], total=made[4], state=made[5])),
    max_size=6,
    unique_by=lambda one: one.key,
)


@given(PAPERS, PAPERS)
def test_causes_and_rest_are_the_difference(books: list[Paper], register: list[Paper]) -> None:
    """For random worlds causes explain a figure of documents whole, in every month."""
    for period in (OCTOBER, NOVEMBER):
        for tie in tie_out(world(books, register), period):
            if tie.difference is not None:
                assert sum(part.amount for part in tie.parts) + (tie.rest or 0) == tie.difference
            if (tie.a.witness, tie.b.witness) == (Witness.BOOKS, Witness.REGISTER):
                assert tie.rest == 0


@given(PAPERS, st.integers(min_value=0, max_value=7), AMOUNTS.filter(bool))
def test_a_moved_document_is_two_shifts_and_no_more(others: list[Paper], place: int, vat: int) -> None:
    """The same document a month later at the register: two causes of opposite sign, each in its month."""
    rest = [one._replace(state=State.VALID) for one in others if one.key != "abcdefgh"[place]]
    moved = Paper("moved", "sales", "33", OCTOBER, vat=vat, total=vat)
    parts = [
        part
        for period in (OCTOBER, NOVEMBER)
        for figure in facts_of("cl").figures.values()
        for part in compare([*rest, moved], [*rest, moved._replace(period=NOVEMBER)], figure, period)
    ]
    assert [(part.cause, part.amount, part.doc_key) for part in parts] == [
        ("period_shift", vat, "moved"),
        ("period_shift", -vat, "moved"),
    ]


def test_a_sum_of_the_register_is_compared_as_a_sum() -> None:
    """One unit is rounding; more than that stays open, since no document of a sum can be named."""
    ours = [paper(f"cl:39::{n}", 100, kind="39") for n in range(3)]
    for vat, said in ((299, (1, 0, "explained", [("rounding", 1)])), (250, (50, 50, "open", []))):
        theirs = [paper("sum", vat, kind="39", is_sum=True)]
        tie = find(tie_out(world(ours, theirs), OCTOBER), "111", Witness.BOOKS, Witness.REGISTER)
        assert shown(tie) == said


def test_without_a_witness_there_is_no_verdict() -> None:
    """Not asked, not filed and an open register are said, and never pass."""
    known = world([paper("a")], [paper("a")])
    ties = tie_out(known, OCTOBER)
    assert find(ties, "502", Witness.BOOKS, Witness.REGISTER).verdict == "closed"
    assert find(ties, "502", Witness.REGISTER, Witness.DECLARED).verdict == "not_filed"
    assert next(tie for tie in ties if tie.figure == "collected").verdict == "not_asked"
    nothing = World(Terms("cl"), books=Said([paper("a")], AT))
    tie = find(tie_out(nothing, OCTOBER), "502", Witness.BOOKS, Witness.REGISTER)
    assert (tie.difference, tie.verdict.value) == (None, "not_asked")
    early = World(
        Terms("cl"), books=Said([paper("a")], AT),
        register=Said([paper("a")], datetime(2026, 11, 10, 12, tzinfo=UTC)),
    )  # fmt: skip
    assert find(tie_out(early, OCTOBER), "502", Witness.BOOKS, Witness.REGISTER).verdict == "register_open"


def test_a_register_is_whole_by_the_local_day() -> None:
    """Eleven in the night of the tenth in Santiago is the eleventh in UTC, and the register is open still."""
    night = datetime(2026, 11, 11, 2, tzinfo=UTC)
    known = World(Terms("cl"), books=Said([paper("a")], AT), register=Said([paper("a")], night))
    assert find(tie_out(known, OCTOBER), "502", Witness.BOOKS, Witness.REGISTER).verdict == "register_open"


def test_a_line_of_the_register_that_is_zero_stays_zero() -> None:
    """The total of debits follows from the register's lines, not from a declared one where the register says none."""
    declared = {OCTOBER: Figures({"538": 290, "502": 190, "759": 100}, AT)}
    ties = tie_out(world([paper("a")], [paper("a")], declared=declared), OCTOBER)
    assert shown(find(ties, "538", Witness.REGISTER, Witness.DECLARED)) == (-100, -100, "open", [])


def test_what_has_no_rate_gives_no_verdict() -> None:
    """An invoice or a complement in dollars without a readable rate leaves the month without a figure, no other."""
    dollars = PUE._replace(is_priced=False)
    assert shown(sat([dollars], [], [paid(D5)])) == (None, None, "not_asked", [])
    assert shown(sat([PPD, HOST], [complement("r", D5)._replace(is_priced=False)], [paid(D5)]))[2] == "not_asked"
    assert sat([dollars._replace(period="2026-08"), invoice("j", "PUE")], [], [paid(D5, "j")]).verdict == "closed"
    tie = next(t for t in tie_out(world([dollars], [], collected_as_of=AT), OCTOBER) if t.figure == "collected")
    assert shown(tie) == (None, None, "not_asked", [])


def test_a_return_is_explained_by_whole_groups_only() -> None:
    """Notes after six months are left out of a return; what no group explains exactly is open."""
    late = paper("n1", 19, kind="61", on=date(2026, 10, 6), ref_on=date(2026, 4, 5))
    fresh = paper("n2", 38, kind="61", on=date(2026, 10, 5), ref_on=date(2026, 4, 5))
    register = [paper("a"), late, fresh]
    for stated, said in ((38, (19, 0, "explained", [("note_late", 19)])), (30, (27, 27, "open", []))):
        declared = {OCTOBER: Figures({"510": stated}, AT)}
        tie = find(
            tie_out(world(register, register, declared=declared), OCTOBER), "510", Witness.REGISTER, Witness.DECLARED
        )
        assert shown(tie) == said
    two = {"claimed": [Part("claimed", 5)], "note_late": [Part("note_late", 5)]}
    assert explain_declared(5, two, types=1) == []


NOTE_MONTHS = [(3, date(2026, 7, 6), 0), (3, date(2026, 7, 5), 19), (6, date(2026, 4, 5), 19), (6, date(2026, 4, 6), 0)]


@pytest.mark.parametrize(("months", "sold_on", "late"), NOTE_MONTHS)
def test_a_note_lowers_the_tax_for_as_many_months_as_the_setting_says(months: int, sold_on: date, late: int) -> None:
    """Three (SII FAQ 1923) or six (FAQ 7335 and 1212), counted to the day; one of 6 October."""
    note = paper("n1", 19, kind="61", on=date(2026, 10, 6), ref_on=sold_on)
    known = World(
        Terms("cl", note_months=months), books=Said([note], AT), register=Said([note], AT),
        declared={OCTOBER: Figures({"510": 19 - late}, AT)},
    )  # fmt: skip
    tie = find(tie_out(known, OCTOBER), "510", Witness.REGISTER, Witness.DECLARED)
    assert (tie.rest, [(part.cause, part.amount) for part in tie.parts]) == (0, [("note_late", 19)] if late else [])


def test_the_total_of_a_form_follows_from_its_lines() -> None:
    """The total of debits is the register's by the form; the total of credits needs what was carried over."""
    register = [paper("a"), paper("n", 19, kind="61"), paper("p", 50, side="purchases")]
    declared = {OCTOBER: Figures({"538": 171, "537": 50, "502": 190, "510": 19}, AT)}
    ties = tie_out(world(register[:2], register, declared=declared), OCTOBER)
    assert shown(find(ties, "538", Witness.REGISTER, Witness.DECLARED)) == (0, 0, "closed", [])
    assert find(ties, "537", Witness.REGISTER, Witness.DECLARED).verdict == "not_asked"
    assert shown(find(ties, "538", Witness.DECLARED, Witness.COMPUTED)) == (0, 0, "closed", [])
    declared = {OCTOBER: Figures({"537": 57, "504": 7}, AT)}
    ties = tie_out(world([], register, declared=declared), OCTOBER)
    assert shown(find(ties, "537", Witness.REGISTER, Witness.DECLARED)) == (0, 0, "closed", [])


def test_money_is_tied_with_what_was_billed() -> None:
    """Transfers without a document, other months and what is not collected are named to the unit."""
    books = [paper("a", total=1000), paper("b", total=500), paper("c", total=70, period="2026-09")]
    payments = [
        Payment("p1", date(2026, 10, 7), "bank_transfer", 1000, "a"),
        Payment("p2", date(2026, 11, 7), "bank_transfer", 300, "b"),
        Payment("p3", date(2026, 10, 8), "credit_card", 70, "c"),
        Payment("p4", date(2026, 10, 9), "bank_transfer", 40),
        Payment("p1", date(2026, 10, 7), "bank_transfer", -1, is_rounding=True),
    ]
    known = world(books, [], payments=payments, collected_as_of=AT)
    tie = next(tie for tie in tie_out(known, OCTOBER) if tie.figure == "collected")
    assert shown(tie) == (
        -391, 0, "explained",
        [("period_shift", 70), ("transfer_without_document", 40), ("rounding", -1), ("period_shift", -300),
         ("not_collected", -200)],
    )  # fmt: skip


def test_vouchers_to_add_come_as_a_row_a_day() -> None:
    """Thirty-one rows to type in, and a receipt for a card payment is named."""
    payments = [
        Payment("p1", date(2026, 10, 7), "credit_card", 1190),
        Payment("p2", date(2026, 10, 7), "debit_card", 2380, "cl:39::1", doc_kind="39"),
        Payment("p3", date(2026, 10, 31), "credit_card", 100),
        Payment("p4", date(2026, 10, 31), "bank_transfer", 999),
    ]
    days = voucher_days(payments, OCTOBER)
    assert (len(days), days[6][1:], days[30][1:], days[0][1:]) == (31, (2, 3570, 0, 2380), (1, 100, 0, 0), (0, 0, 0, 0))
    vouchers = paper("sum", 480, kind="48", total=3000, is_sum=True)
    known = world([], [vouchers], payments=payments, collected_as_of=AT)
    tie = next(tie for tie in tie_out(known, OCTOBER) if tie.figure == "vouchers")
    assert shown(tie) == (670, 0, "explained", [("vouchers_to_add", 670), ("both_voucher_and_boleta", 0)])


def sat(papers: list[Paper], complements: list[Complement], payments: list[Payment], period: str = OCTOBER) -> Tie:
    known = World(
        Terms("mx"), xml=Said(papers, AT), register=Said(papers, AT), complements=complements, payments=payments,
        collected_as_of=AT,
    )  # fmt: skip
    return find(tie_out(known, period), "vat_caused", Witness.TAX_OFFICE, Witness.COLLECTED)


def invoice(key: str, method: str, **more: object) -> Paper:
    return paper(key, 160, kind="I", method=method, **more)


def paid(day: date, key: str = "i", vat: int = 160) -> Payment:
    return Payment(f"p{day:%m%d}", day, "bank_transfer", vat * 7, key, vat=vat)


def complement(key: str, day: date, instalment: int = 1) -> Complement:
    return Complement(key, "i", f"{day:%Y-%m}", day, instalment, 1160, 160)


PUE, PPD = invoice("i", "PUE"), invoice("i", "PPD")
CANCELLED = invoice("i", "PPD", state=State.CANCELLED)
HOST = paper("r", 0, kind="P")
SECOND = paper("s", 0, kind="P")
D5, D6 = date(2026, 10, 5), date(2026, 11, 6)
BILLS = [
    paper("a", 160, side="purchases", kind="I", method="PUE"),
    paper("i", 160, side="purchases", kind="I", method="PPD"),
    paper("r", 0, side="purchases", kind="P"), paper("n", 60, side="purchases", kind="E", ref_key="a"),
]  # fmt: skip
COMPUTED = [
    ([PUE], [], [paid(D5)], (0, 0, "closed", [])),
    ([PUE], [], [], (160, 0, "explained", [("pue_unpaid", 160)])),
    ([PUE], [], [paid(D6)], (160, 0, "explained", [("pue_unpaid", 160)])),
    ([PPD, HOST], [complement("r", D5)], [paid(D5)], (0, 0, "closed", [])),
    ([PPD], [], [paid(D5)], (-160, 0, "explained", [("rep_missing", -160)])),
    ([PPD, HOST], [complement("r", D6)], [paid(D5)], (-160, 0, "explained", [("period_shift", -160)])),
    ([PUE, HOST], [complement("r", D5)], [paid(D5)], (160, 0, "explained", [("rep_on_pue", 160)])),
    (
        [PPD, HOST, SECOND],
        [complement("r", D5), complement("s", D5)],
        [paid(D5)],
        (160, 0, "explained", [("rep_duplicate", 160)]),
    ),
    ([invoice("g", "PUE", is_global=True)], [], [], (160, 0, "explained", [("global_invoice", 160)])),
    ([PUE, paper("e", 60, kind="E", ref_key="i")], [], [paid(D5, vat=100)], (0, 0, "closed", [])),
    ([], [], [paid(D5)], (-160, 0, "explained", [("not_in_register", -160)])),
    ([CANCELLED, HOST], [complement("r", D5)], [], (160, 0, "explained", [("rep_on_cancelled", 160)])),
    (
        [CANCELLED, HOST],
        [complement("r", D5)],
        [paid(D5)],
        (0, 0, "explained", [("rep_on_cancelled", 160), ("cancelled_alive", -160)]),
    ),
    # Two payments, each rounded once more than its complement.
    (
        [PPD, HOST],
        [complement("r", D5)],
        [paid(D5, vat=81), paid(date(2026, 10, 9), vat=81)],
        (-2, 0, "explained", [("rounding", -2)]),
    ),
    (
        [invoice("j", "PUE"), paper("e", 60, kind="E", lowered=(("i", 40), ("j", 20))), PUE],
        [],
        [paid(D5, vat=120), paid(D5, "j", vat=140)],
        (0, 0, "closed", []),
    ),
]


def test_without_any_xml_no_sale_is_missing_at_the_sat() -> None:
    """What was collected is known and what the tax office has is not: no document is told to be sent."""
    known = World(Terms("mx"), payments=[paid(D5)], collected_as_of=AT)
    tie = find(tie_out(known, OCTOBER), "vat_caused", Witness.TAX_OFFICE, Witness.COLLECTED)
    assert (tie.b.amount, tie.verdict, tie.parts) == (160, "not_asked", ())


def test_without_a_run_no_sale_is_called_unpaid() -> None:
    """No money is known then: neither is an invoice not collected, nor does VAT depend on one; a doubled one is."""
    papers = [PUE, HOST, invoice("j", "PUE")]
    known = World(
        Terms("mx"), books=Said(papers, AT), xml=Said(papers, AT), register=Said(papers, AT),
        complements=[complement("r", D5)],
    )  # fmt: skip
    ties = tie_out(known, OCTOBER)
    doubled = [("vat_caused", "rep_on_pue"), ("income", "rep_on_pue")]
    assert [(tie.figure, part.cause) for tie in ties for part in tie.parts] == doubled
    assert find(ties, "collected", Witness.COLLECTED, Witness.BOOKS).verdict == "not_asked"


@pytest.mark.parametrize(
    ("vat", "said"),
    [
        (160, {"vat_16": (0, 160, "explained"), "vat_8": (80, 80, "closed")}),
        (80, {"vat_8": (80, None, "not_asked")}),
        (0, {"vat_8": (80, None, "not_asked")}),
    ],
)
def test_a_sale_without_its_xml_tells_its_rate_only_where_all_of_it_bears_the_highest(
    vat: int, said: dict[str, tuple[int, int | None, str]]
) -> None:
    """VAT of 16 % can be of that rate alone; any less may be of several, and no figure by rate is told then."""
    known = paper("j", 80, kind="I", method="PUE", net=1000, total=1080, rates=(RateSum("8", 1000, 80),))
    money = [
        Payment("p1", D5, "bank_transfer", 1080, "j", vat=80),
        Payment("p2", D5, "bank_transfer", 1160, "i", vat=vat),
    ]
    world = World(Terms("mx"), xml=Said([known], AT), payments=money, collected_as_of=AT)
    ties = {tie.figure: tie for tie in tie_out(world, OCTOBER) if tie.b.witness is Witness.COLLECTED}
    rates = {name: tie for name, tie in ties.items() if name.startswith("vat_") and name != "vat_caused"}
    assert {name: (tie.a.amount, tie.b.amount, tie.verdict.value) for name, tie in rates.items()} == said
    assert ties["vat_caused"].b.amount == 80 + vat


def test_a_sale_whose_tax_nothing_states_gives_no_figure_of_money() -> None:
    """Neither its XML nor the books tell its VAT: what was collected of it is not zero."""
    known = paper("j", 80, kind="I", method="PUE", net=1000, total=1080)
    books = [known, paper("i", 0, kind="I", net=0, total=1160, is_split=False)]
    money = [Payment("p1", D5, "bank_transfer", 1160, "i")]
    world = World(Terms("mx"), books=Said(books, AT), xml=Said([known], AT), payments=money, collected_as_of=AT)
    tie = find(tie_out(world, OCTOBER), "vat_caused", Witness.TAX_OFFICE, Witness.COLLECTED)
    assert (tie.a.amount, tie.b.amount, tie.verdict) == (80, None, "not_asked")


def test_a_replaced_sale_counts_while_the_sat_has_it_alive() -> None:
    """Its substitute counts too: until it is cancelled, the tax office computes the sale twice."""
    old, new = invoice("o", "PUE", state=State.CANCELLED, is_replaced=True), PUE
    known = World(
        Terms("mx"), xml=Said([old, new], AT), register=Said([old._replace(state=State.VALID), new], AT),
        payments=[paid(D5)], collected_as_of=AT,
    )  # fmt: skip
    tie = find(tie_out(known, OCTOBER), "vat_caused", Witness.TAX_OFFICE, Witness.COLLECTED)
    assert (shown(tie), count_cancelled([tie])) == ((160, 0, "explained", [("replaced", 160)]), 0)
    assert count_cancelled(tie_out(world([paper("a")], [paper("a", state=State.CANCELLED)]), OCTOBER)) == 1
    assert sat([old, new], [], [paid(D5)]).difference == 0


def test_what_complements_say_wrongly_is_named_in_its_month() -> None:
    """It moves no tax of the month, so its amount is 0."""
    causes = [Cause("rep_chain_broken", "r", 500, 69, D5), Cause("rep_late", "s", 500, 69, D6)]
    known = World(Terms("mx"), xml=Said([PUE], AT), payments=[paid(D5)], collected_as_of=AT, causes=causes)
    tie = find(tie_out(known, OCTOBER), "vat_caused", Witness.TAX_OFFICE, Witness.COLLECTED)
    assert [(part.cause, part.amount, part.doc_key, part.tax) for part in tie.parts] == [
        ("rep_chain_broken", 0, "r", 69)
    ]


@pytest.mark.parametrize(("papers", "complements", "payments", "said"), COMPUTED)
def test_what_the_sat_would_compute_is_tied_with_the_money(
    papers: list[Paper], complements: list[Complement], payments: list[Payment],
    said: tuple[int, int, str, list[tuple[str, int]]],
) -> None:  # fmt: skip
    """PUE counts by issue, PPD by the day of its complement; each deviation has its name, a global invoice too."""
    assert shown(sat(papers, complements, payments)) == said


# A bill paid at once, half of one paid later, and a note, by what was declared and whether the SAT's list is here.
CREDITABLE = [
    (220, BILLS, (-40, -40, "open", [])),
    (180, BILLS, (0, 0, "closed", [])),
    (181, BILLS, (-1, 0, "explained", [("rounding", -1)])),
    (180, [], (0, 0, "not_asked", [])),
    (None, BILLS, (None, None, "not_filed", [])),
]


@pytest.mark.parametrize(("stated", "listed", "said"), CREDITABLE)
def test_creditable_vat_is_that_of_bills_that_were_paid(
    stated: int | None, listed: list[Paper], said: tuple[int, int, str, list[tuple[str, int]]]
) -> None:
    """Bills paid at once count by issue, others by their complements; without a list of bills there is no verdict."""
    parts = [Complement("r", "i", OCTOBER, D5, 1, 580, 80), Complement("r", "i", NOVEMBER, D6, 2, 580, 80)]
    declared = {OCTOBER: Figures({} if stated is None else {"vat_creditable": stated}, AT)}
    known = World(
        Terms("mx"), xml=Said(BILLS, AT), register=Said(listed, AT if listed else None), complements=parts,
        declared=declared,
    )  # fmt: skip
    tie = find(tie_out(known, OCTOBER), "vat_creditable", Witness.TAX_OFFICE, Witness.DECLARED)
    assert (tie.a.amount, shown(tie)) == (180, said)


def test_a_list_with_documents_whose_xml_is_missing_gives_no_verdict() -> None:
    """The tax office computes with documents that are not here: the figure is not asked yet."""
    known = World(
        Terms("mx"), xml=Said([PUE], AT), register=Said([PUE, invoice("j", "")], AT), payments=[paid(D5)],
        collected_as_of=AT,
    )  # fmt: skip
    tie = find(tie_out(known, OCTOBER), "vat_caused", Witness.TAX_OFFICE, Witness.COLLECTED)
    assert tie.verdict == "not_asked"
    assert count_missing(known.register.papers, known.xml.papers, OCTOBER) == (1, 2)


def test_a_year_is_the_sum_of_twelve_months() -> None:
    """With eleven there is no sum, and no verdict."""
    months = {f"2025-{month:02}": Figures({"563": 10}, AT) for month in range(1, 13)}
    known = World(Terms("cl"), declared={**months, "2025": Figures({"income": 130}, AT)})
    assert [shown(tie) for tie in tie_out(known, "2025")] == [(10, 10, "open", [])]
    del months["2025-07"]
    known = World(Terms("cl"), declared={**months, "2025": Figures({"income": 130}, AT)})
    assert [tie.verdict.value for tie in tie_out(known, "2025")] == ["not_filed"]


def test_every_cause_stands_in_the_table() -> None:
    """A cause that a tie names has a side there; those of the work list have a code and a severity."""
    named = {"not_in_register", "period_shift", "rep_on_pue", "vouchers_to_add", "xml_missing", "rounding"}
    assert named <= causes().keys()
    assert all(bool(cause.exception) == bool(cause.severity) for cause in causes().values())
    assert causes()["transfer_without_document"].exception == "PAYMENT_NO_DOC_TRANSFER"
