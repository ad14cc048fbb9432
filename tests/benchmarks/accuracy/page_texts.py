"""What docs/accuracy.md says beside its figures: how to read it, and which test is which property."""
# ruff: noqa: E501 - the page's own lines

LEAD = """# How right it is

`make bench-accuracy` writes this page. A pair is a payment and a document it paid; *decidable* pairs are those that the damaged data still
proves. An automatic match of an undecidable payment counts as wrong, even if luck made it right. Figures are of made-up trade whose truth is
known; *Method and limits* below says what they do not show.

## What had to be reached
"""

METHOD = """## Method and limits

The truth is planned by the sandbox before any object exists and shares no code with the matcher. The matcher gets the provider's objects as
they change, the invoice file as it is downloaded, the provider's payout reports and, in `busy-month`, the bank's own file; three runs read all
of it over HTTP. Development looked at seeds 1 to 20; seeds {held_out} were drawn once and are only measured.

Utility is +1 for a payment linked exactly right, 0 where it abstained, −20 where any link is wrong; the ceiling is what a matcher without
fault would get. Intervals are Wilson's, 95 %. Scenarios at base rates are judged on two days, so most of their payments count twice, and the
intervals are narrower than those of independent payments.

- The sandbox was written in this project, from the same rules of money. 100 % means that the rules are kept on trade of these shapes, not
  that real trade has no other shapes. The damages above and the public orders of Olist are there for that reason.
- Rates of each trouble are choices (`sandbox/scenarios/damages.py`), not measurements of the world.
- No public set joins a merchant's invoices, a provider's payouts and the bank's lines.
"""

EXTERNAL = """## On public data

`make bench-external FOLDER=…` reads the public orders and payments of a marketplace of Brazil (Olist, 2016 to 2018, downloaded by you)
and hides from each payment which order it was for. Below an 8 % sample: 8,132 orders, 8,919 payments,
1,310 of them of canceled or unavailable orders, which are void documents here. What finds no document there is "rightly none".
Payments of one customer and amount are alike.

| evidence left | right | wrong | missed | left open | rightly none | suggested right | suggested wrong |
|---|---|---|---|---|---|---|---|
| the order as a key | 7,609 | 0 | 0 | 0 | 1,310 | 0 | 0 |
| customer and amount | 7,054 | 0 | 551 | 7 | 1,307 | 0 | 0 |
| one customer of fifty, and amount | 7,045 | 0 | 537 | 32 | 1,305 | 0 | 0 |
| amount and day | 0 | 0 | 1,538 | 6,072 | 1,309 | 6,071 | 1 |
| amount only | 0 | 0 | 3,735 | 3,884 | 1,300 | 3,872 | 12 |

Of the 551 missed with a known customer 510 are parts of orders paid in six and more payments, and 41 differ from their order's total.
The sample has no dates of payment beside the order's approval, no payouts and no bank lines, and almost every customer bought once.
"""

PROPERTIES = """## Properties, and the tests that are them

| # | what must hold | test |
|---|---|---|
| 1 | rows in another order, ids renamed, files split, events in any order: the same matches | `test_the_order_of_rows_changes_nothing`, `test_other_names_for_the_ids_change_no_match`, `test_one_file_or_several_give_the_same_run`, `test_any_deliveries_end_as_the_orderly_ones` |
| 2 | a second run writes nothing | `test_a_second_run_gives_the_same`, `test_the_same_content_is_the_same_run` |
| 3 | an unrelated customer changes no other customer's matches | `test_an_unrelated_customer_changes_nothing_for_the_others` |
| 4 | amounts and absolute tolerances times 100: the same matches | `test_a_hundred_times_the_money_gives_the_same_matches` |
| 5 | whole weeks later in a calendar without holidays: the same | `test_whole_weeks_later_without_holidays_is_the_same` |
| 6 | without one payment only its component changes | `test_without_one_payment_only_its_component_changes` |
| 7 | sides swapped: mirrored, where a stage is symmetric | `test_sides_swapped_give_the_mirrored_pairs` |
| 8 | a wider tolerance or window never loses a candidate | `test_a_wider_window_never_loses_a_candidate`, `test_a_wider_tolerance_never_loses_a_pair` |
| 9 | a confirmed suggestion stays, and nothing else turns | `test_confirming_a_suggestion_keeps_it_and_turns_nothing_else` |
| 10 | a declined pair is never offered again | `test_a_declined_pair_is_never_offered_again`, `test_a_declined_suggestion_is_not_suggested` |
| 11 | what goes in comes out, per currency | `test_nothing_is_lost_and_nothing_is_used_twice` |
| 12 | nothing is matched beyond its amount | `test_nothing_is_lost_and_nothing_is_used_twice`, `test_what_is_used_twice_or_lost_would_be_seen` |
| 13 | sets of mixed signs, and never the empty set | `test_sets_hold_mixed_signs_and_never_nothing` |
| 14 | two threads, one run | `test_two_threads_at_one_run_publish_it_once` |

Variants that must fail, each run by a test that fails unless the measurement turns red (`tests/reconcile/test_must_fail_variants.py`):
tolerance × 100, window × 10, tie rule off, fee rule off.
"""
