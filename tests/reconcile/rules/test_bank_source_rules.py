"""Account movements and bank files together: each deposit once, and what it means that they differ."""

from collections import Counter
from datetime import date
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconcile.rules.deposits import find_deposits
from tests.reconcile.rules.conftest import Case as MadeCase
from tests.thoroughness import for_run

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

KEY = '{"order_ref": "PED-1"}'
SINCE, UNTIL = date(2026, 10, 1), date(2026, 10, 20)


def _payout(case: "Case") -> None:
    """One payout of 50,000 that succeeded on Monday 5 October, expected that day."""
    case.as_of = date(2026, 10, 30)
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=KEY)
    case.payout("po_1", 50_000, recipient_account="acc_a")


def _line(case: "Case", identity: str, amount: int, **given: object) -> None:
    fixed = {
        "movement_id": identity, "account": "acc_a", "account_last4": "0001", "amount": amount, "currency": "CLP",
        "booked_on": date(2026, 10, 5),
    }  # fmt: skip
    case.add("bank", **(fixed | given))


def _filed(case: "Case", identity: str, amount: int, **given: object) -> None:
    _line(case, identity, amount, **({"known_since": SINCE, "known_until": UNTIL} | given))


def _deposits(case: "Case") -> list[tuple[str, ...]]:
    return sorted(tuple(line.movement_id for line in deposit.lines) for deposit in find_deposits(case.inputs()))


def test_a_payout_shown_by_either_source_is_in_the_bank(case: "Case") -> None:
    """The provider shows movements of the account, and only the file has the payout's."""
    _payout(case)
    _line(case, "mov_1", 7, booked_on=date(2026, 10, 1))
    _filed(case, "bank_1", 7, booked_on=date(2026, 10, 1))
    _filed(case, "bank_2", 50_000)
    run = case.run()
    assert run.payout("po_1", "bank_movement_id", "bank_date", "bank_amount", "status_recon") == (
        "bank_2", "2026-10-05", 50_000, "closed",
    )  # fmt: skip


def test_a_deposit_told_by_both_is_one(case: "Case") -> None:
    """A second payout of the same amount is not in the bank because its neighbour's line came twice."""
    _payout(case)
    case.payment("pi_2", 50_000, payout_id="po_2")
    case.payout("po_2", 50_000, recipient_account="acc_a")
    _line(case, "mov_1", 50_000)
    _filed(case, "bank_1", 50_000)
    assert _deposits(case) == [("mov_1", "bank_1")]
    found = case.run().found()
    assert ("PAYOUT_NOT_IN_BANK", "payout:po_2", 50_000) in found
    assert not {code for code, _, _ in found} & {"BANK_SOURCES_DIFFER", "BANK_AMOUNT_DIFF"}


@pytest.mark.parametrize(
    ("movement", "filed", "is_one"),
    [
        ({}, {}, True),
        ({}, {"booked_on": date(2026, 10, 6)}, False),
        ({"bank_day": date(2026, 10, 6)}, {"booked_on": date(2026, 10, 6)}, True),
        ({"bank_day": date(2026, 10, 6)}, {}, True),
        ({"booked_on": date(2026, 10, 3)}, {}, True),
        ({}, {"account": "acc_b"}, False),
        ({}, {"currency": "USD"}, False),
        ({"account": None}, {}, True),
        ({"reference": "TRX-00991"}, {"reference": "trx 991", "booked_on": date(2026, 10, 7)}, False),
        ({"reference": "TRX-00991"}, {"reference": "trx 00991", "booked_on": date(2026, 10, 7)}, True),
        ({"reference": "00004711"}, {"reference": "4711", "booked_on": date(2026, 10, 7)}, True),
        ({"reference": "4711"}, {"reference": "4711", "booked_on": date(2026, 10, 8)}, False),
        ({"reference": "PAGO"}, {"reference": "PAGO", "booked_on": date(2026, 10, 7)}, False),
    ],
)
def test_one_deposit_is_one_account_amount_and_bank_day_or_one_reference(
    case: "Case", movement: dict[str, object], filed: dict[str, object], *, is_one: bool
) -> None:
    """After the cut and on days without business the bank may book it on the next bank day; references come again."""
    _line(case, "mov_1", 500, **movement)
    _filed(case, "bank_1", 500, **filed)
    assert _deposits(case) == ([("mov_1", "bank_1")] if is_one else [("bank_1",), ("mov_1",)])


def test_a_reference_goes_before_amount_and_day(case: "Case") -> None:
    """Two equal deposits of one day are each paired with the line that bears their reference."""
    _line(case, "mov_1", 500, reference="4711")
    _line(case, "mov_2", 500, reference="4712")
    _filed(case, "bank_1", 500, reference="4712")
    _filed(case, "bank_2", 500, reference="4711")
    assert _deposits(case) == [("mov_1", "bank_2"), ("mov_2", "bank_1")]


def test_a_reference_that_several_lines_bear_decides_nothing(case: "Case") -> None:
    """Then amount and day do."""
    for number in (1, 2):
        _line(case, f"mov_{number}", 500 + number, reference="4711")
        _filed(case, f"bank_{number}", 502 + number, reference="4711")
    assert _deposits(case) == [("bank_1",), ("bank_2",), ("mov_1",), ("mov_2",)]


@pytest.mark.parametrize(
    ("amount", "is_one"),
    [(500, True), (450, True), (449, False), (555, True), (556, False), (100, False), (5_000, False)],
)
def test_a_reference_alone_pairs_amounts_within_a_tenth(case: "Case", amount: int, *, is_one: bool) -> None:
    """A merchant's number stands on every line: 100 on Monday and 500 on Tuesday are two deposits."""
    _line(case, "mov_1", amount, reference="4711")
    _filed(case, "bank_1", 500, reference="4711", booked_on=date(2026, 10, 6))
    assert _deposits(case) == ([("mov_1", "bank_1")] if is_one else [("bank_1",), ("mov_1",)])


def test_how_far_amounts_of_one_reference_may_differ_is_a_rule(case: "Case") -> None:
    """With `bank_amount_bps` of 1 % a charge of 2 % makes two deposits."""
    case.rules = {"bank_amount_bps": 100}
    _line(case, "mov_1", 490, reference="4711")
    _filed(case, "bank_1", 500, reference="4711")
    assert _deposits(case) == [("bank_1",), ("mov_1",)]


@pytest.mark.parametrize(
    ("movement", "filed"),
    [({"reference": "TRX-4711"}, {"reference": "TRX-4711"}), ({"text": "Liquidacion po_1"}, {"text": "ABONO po_1"})],
)
@pytest.mark.parametrize("amounts", [(50_000, 49_000), (49_000, 50_000)])
def test_one_reference_with_two_amounts_is_bank_amount_diff(
    case: "Case", movement: dict[str, object], filed: dict[str, object], amounts: tuple[int, int]
) -> None:
    """The amount that is not the payout's is shown, and the same thing is not reported twice."""
    _payout(case)
    _line(case, "mov_1", amounts[0], **movement)
    _filed(case, "bank_1", amounts[1], **filed)
    run = case.run()
    assert run.found() == {("BANK_AMOUNT_DIFF", "payout:po_1", 1_000)}
    assert run.payout("po_1", "bank_amount", "bank_difference", "status_recon") == (49_000, -1_000, "open")


def test_days_on_which_both_sources_are_whole_and_differ(case: "Case") -> None:
    """Both lines are named, and of the account only its last digits."""
    _line(case, "mov_1", 7, booked_on=date(2026, 10, 1))
    _filed(case, "bank_1", 7, booked_on=date(2026, 10, 1))
    _line(case, "mov_2", 500)
    _filed(case, "bank_2", 430)
    case.as_of = date(2026, 10, 30)
    finding = case.run().finding("BANK_SOURCES_DIFFER")
    assert (finding.subject, finding.severity, finding.amount_at_risk) == ("bank:0001-acc_:2026-10-05", "medium", 70)
    assert finding.fact_on == date(2026, 10, 5)
    assert finding.evidence == {
        "account": "…0001",
        "bank_date": "2026-10-05",
        "only_in_movements": 500,
        "only_in_files": 430,
        "movement_lines": [{"line": "mov_2", "amount": 500}],
        "file_lines": [{"line": "bank_2", "amount": 430}],
    }


@pytest.mark.parametrize(
    ("as_of", "movement", "edges", "differ"),
    [
        (date(2026, 10, 6), {}, {}, True),
        (date(2026, 10, 5), {}, {}, False),
        (date(2026, 10, 30), {}, {"known_since": date(2026, 10, 6)}, False),
        (date(2026, 10, 30), {}, {"known_until": date(2026, 10, 2)}, False),
        (date(2026, 10, 30), {}, {"known_until": date(2026, 10, 5)}, True),
        (date(2026, 10, 30), {"bank_day": date(2026, 10, 6)}, {"known_until": date(2026, 10, 5)}, False),
        (date(2026, 10, 30), {"bank_day": date(2026, 10, 6)}, {"known_until": date(2026, 10, 6)}, True),
    ],
)
def test_sources_differ_only_on_days_that_both_show_whole(
    case: "Case", as_of: date, movement: dict[str, object], edges: dict[str, object], *, differ: bool
) -> None:
    """Not on the as-of day, and not where a file ends before the bank day of a movement after the cut."""
    case.as_of = as_of
    _line(case, "mov_1", 500, **movement)
    _filed(case, "bank_1", 0, booked_on=SINCE, **edges)
    assert bool(case.run().found()) is differ


def test_before_the_first_movement_the_provider_may_not_have_looked(case: "Case") -> None:
    """A file that begins earlier differs from nothing there."""
    case.as_of = date(2026, 10, 30)
    _line(case, "mov_1", 500, booked_on=date(2026, 10, 13))
    _filed(case, "bank_1", 500, booked_on=date(2026, 10, 13))
    _filed(case, "bank_2", 430)
    assert case.run().found() == set()


def test_lines_that_make_the_same_sum_do_not_differ(case: "Case") -> None:
    """A bank may book two deposits of a day as one."""
    case.as_of = date(2026, 10, 30)
    _line(case, "mov_1", 500)
    _line(case, "mov_2", 300)
    _filed(case, "bank_1", 800)
    assert case.run().found() == set()


@pytest.mark.parametrize(
    ("as_of", "until", "standing"),
    [
        (date(2026, 10, 6), date(2026, 10, 5), "not_due"),
        (date(2026, 10, 7), date(2026, 10, 6), "no_bank"),
        (date(2026, 10, 7), date(2026, 10, 7), "open"),
        (date(2026, 10, 6), date(2026, 10, 4), "no_bank"),
    ],
)
def test_no_bank_where_no_source_speaks_of_the_days(case: "Case", as_of: date, until: date, standing: str) -> None:
    """A file that begins its window leaves it time; one that ends before it is due cannot say more."""
    _payout(case)
    case.as_of = as_of
    _filed(case, "bank_1", 7, known_until=until)
    assert case.run().payout("po_1", "status_recon") == (standing,)


def test_a_payout_in_a_state_unknown_here_is_never_closed(case: "Case") -> None:
    """It waits until the provider says that it succeeded."""
    _payout(case)
    case.rows["payouts"][0] |= {"status": "under_review", "succeeded_at": None}
    assert case.run().payout("po_1", "status_recon") == ("not_due",)


_DAYS = st.dates(date(2026, 10, 5), date(2026, 10, 12))
_DEPOSITS = st.lists(st.tuples(st.sampled_from([100, 200]), _DAYS), max_size=9)


@settings(max_examples=for_run(short=25, full=400))
@given(_DEPOSITS, _DEPOSITS, st.randoms())
def test_n_and_m_equal_deposits_are_max_n_m(
    shown: list[tuple[int, date]], filed: list[tuple[int, date]], chance: Random
) -> None:
    """Counted apart for each amount and bank day, whatever the order of the rows."""
    case = MadeCase()
    for number, (amount, on) in enumerate(shown):
        _line(case, f"mov_{number}", amount, booked_on=on)
    for number, (amount, on) in enumerate(filed):
        _filed(case, f"bank_{number}", amount, booked_on=on)
    found = _deposits(case)
    monday = {date(2026, 10, 10): date(2026, 10, 13), date(2026, 10, 11): date(2026, 10, 13),
              date(2026, 10, 12): date(2026, 10, 13)}  # fmt: skip
    n, m = (Counter((amount, monday.get(on, on)) for amount, on in reported) for reported in (shown, filed))
    assert len(found) == sum(max(n[key], m[key]) for key in n | m)
    chance.shuffle(case.rows["bank"])
    assert _deposits(case) == found


def test_equal_lines_that_name_different_payouts_are_two_deposits(case: "Case") -> None:
    """The movement brought the first payout and the file's line the second, on one day."""
    _payout(case)
    case.invoice("2", 50_000)
    case.payment("pi_2", 50_000, payout_id="po_2", metadata='{"order_ref": "PED-2"}')
    case.payout("po_2", 50_000, recipient_account="acc_a")
    _line(case, "mov_1", 50_000, text="Liquidacion po_1")
    _filed(case, "bank_1", 50_000, text="ABONO po_2")
    run = case.run()
    assert run.found() == set()
    assert run.payout("po_1", "bank_movement_id", "status_recon") == ("mov_1", "closed")
    assert run.payout("po_2", "bank_movement_id", "status_recon") == ("bank_1", "closed")


def test_a_line_that_names_its_payout_is_still_told_by_one_that_names_none(case: "Case") -> None:
    """Of two equal pairs of a day each line has its twin, whichever source names the payout."""
    _line(case, "mov_1", 500, text="Liquidacion po_1")
    _line(case, "mov_2", 500)
    _filed(case, "bank_1", 500)
    _filed(case, "bank_2", 500, text="ABONO po_2")
    case.payout("po_1", 500)
    case.payout("po_2", 500)
    assert _deposits(case) == [("mov_1", "bank_1"), ("mov_2", "bank_2")]


def test_a_file_in_another_currency_says_nothing_of_a_payout(case: "Case") -> None:
    """A statement of the account's dollars does not show that pesos never came."""
    _payout(case)
    _filed(case, "known_1", 0, currency="USD", booked_on=SINCE)
    run = case.run()
    assert run.found() == set()
    assert run.payout("po_1", "status_recon") == ("no_bank",)


def test_lines_of_the_bank_are_listed_with_what_they_pay(case: "Case") -> None:
    """A deposit both sources show is one line, one of two amounts is two, and other accounts are left out."""
    _payout(case)
    _line(case, "mov_1", 50_000, text="ABONO po_1\nREF 77", reference="REF 77")
    _filed(case, "bank_1", 50_000, text="ABONO po_1")
    _filed(case, "bank_2", 900, booked_on=date(2026, 10, 6), text="DEPOSITO EFECTIVO")
    _filed(case, "bank_3", 800, account="acc_b", account_last4="0002")
    shown = case.run().result.bank
    assert shown.drop(columns=["bank_day", "currency"]).fillna("").to_numpy().tolist() == [
        ["0001", 50_000, "ABONO po_1", "REF 77", "both", "mov_1", "bank_1", "po_1"],
        ["0001", 900, "DEPOSITO EFECTIVO", "", "file", "bank_2", "bank_2", ""],
    ]
