"""The account of a measurement, as docs/accuracy.md shows it."""
# ruff: noqa: E501 - the page's own lines

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

from tests.benchmarks.accuracy.baselines import Graded
from tests.benchmarks.accuracy.scoring import NONE, Score, wilson

LEAD = """# How right it is

`make bench-accuracy` writes this page. What is right is read from the sandbox's truth, which is planned before anything is
told to anybody and shares no code with the matcher; what arrives is the provider's objects as they change, the invoice file
as it is downloaded, and the provider's own payout reports. Nothing is tuned to a seed: development looked at seeds 1 to 20,
and seeds {held_out} were drawn once and are only measured.

**Read it with care.** The sandbox was written in this project, from the same written rules of money. A figure of 100 % says
that the rules are kept on trade of these shapes, not that real trade has no other shapes: no real, public set of invoices
and payments is known to us. The part "Damages nobody planned for" is there for that reason. Rates of each trouble are
choices of the sandbox (`sandbox/scenarios/damages.py`), not measured facts of the world.

A pair is a payment and a document it paid. *Decidable* pairs are those the damaged data still proves; whatever is matched by
itself without being decidable counts as wrong, even where luck made it right. Utility: +1 for a payment linked exactly
right, 0 where it abstained, −20 where any link is wrong; the ceiling is what a matcher without fault would get. Intervals
are Wilson's, 95 %. Scenarios at base rates are judged on two days, so most of
their payments count twice, and the intervals are narrower than independent payments would make them.
"""


def write(measured: Any, held_out: str) -> str:
    parts = [LEAD.format(held_out=held_out.replace("-", " to "))]
    for kind, title in (("dev", "Development seeds"), ("held out", f"Held-out seeds ({held_out})")):
        parts.append(f"## {title}\n")
        for rates in ("base", "stress"):
            scores = [found for (what, _, which), found in measured.by_seed.items() if (what, which) == (kind, rates)]
            if scores:
                parts += [f"### At {rates} rates\n", "\n".join(_figures(scores)), _shapes(scores), _codes(scores)]
    parts += ["## By scenario\n", _trades(measured.by_trade)]
    parts += ["## Confusion of exception codes\n", _confusion(list(measured.by_seed.values()))]
    parts += ["## Damages nobody planned for\n", _noise(measured.noise)]
    parts += ["## Beside others on the same files\n", _peers(measured.peers, measured.no_peers)]
    parts += ["## What was wrong\n", _wrong(list(measured.by_seed.values()))]
    parts.append(f"Measured in {measured.seconds:.0f} s, peers included.\n")
    return "\n".join(part for part in parts if part)


def _sum(scores: Iterable[Score]) -> Score:
    total = Score()
    for found in scores:
        total.add(found)
    return total


def _share(right: int, of: int) -> str:
    low, high = wilson(right, of)
    return f"{right:,} of {of:,} = {right / of:.2%} ({low:.2%}–{high:.2%})" if of else "none"


def _spread(values: Sequence[float]) -> str:
    return f"{min(values):.2%} / {median(values):.2%} / {max(values):.2%}"


def _figures(scores: list[Score]) -> Iterator[str]:
    total = _sum(scores)
    macro = [_macro(found) for found in scores]
    rows = [
        ("automatic pairs that are right (precision)", _share(total.right_pairs, total.automatic_pairs),
         _spread([found.precision for found in scores])),
        ("decidable pairs found (solvable recall)", _share(total.right_pairs, total.true_pairs),
         _spread([found.recall for found in scores])),
        ("all true pairs found, undecidable ones too", _share(total.right_pairs, total.all_pairs), ""),
        ("undecidable payments matched by itself", f"{total.undecidable_matched} of {total.undecidable:,}", ""),
        ("suggestions that are right", _share(total.suggested_right, total.suggested), ""),
        ("precision by amount", _share(total.right_amount, total.automatic_amount), ""),
        ("exceptions, macro precision", f"{_macro(total)[0]:.2%}", _spread([pair[0] for pair in macro])),
        ("exceptions, macro recall", f"{_macro(total)[1]:.2%}", _spread([pair[1] for pair in macro])),
        ("amount at risk exactly right", _share(total.at_risk_right, total.subjects), ""),
        ("documents with the right outcome", _share(total.documents_right, total.documents), ""),
        ("payouts whose residual is zero or named", _share(total.residual_explained, total.payouts), ""),
        ("reasons that hold when checked again", _share(total.explanations_true, total.explanations), ""),
        ("utility, of the ceiling", f"{total.utility:,} of {_ceiling(total):,}", ""),
        ("payments left to a person, of 1,000", f"{1000 * total.by_hand / total.payments:.0f}", ""),
    ]  # fmt: skip
    yield f"{len(scores)} seeds, {total.payments:,} payments judged, {total.documents:,} documents.\n"
    yield "| figure | all seeds (95 % interval) | by seed: lowest / median / highest |"
    yield "|---|---|---|"
    yield from (f"| {name} | {value} | {spread} |" for name, value, spread in rows)
    yield ""


def _ceiling(total: Score) -> int:
    automatic = ("matched", "matched_with_difference", "partial", "set", "interchangeable")
    return sum(shape.n for word, shape in total.shapes.items() if word in automatic)


def _macro(total: Score) -> tuple[float, float]:
    counts = [total.of_code(code) for code in total.named_codes()]
    precisions = [right / found if found else 0.0 for right, found, _ in counts]
    recalls = [right / true if true else 1.0 for right, _, true in counts]
    return (sum(precisions) / len(precisions), sum(recalls) / len(recalls)) if counts else (1.0, 1.0)


def _shapes(scores: list[Score]) -> str:
    rows = ["| true outcome of the payment | n | called so | linked exactly right |", "|---|---|---|---|"]
    for word, shape in sorted(_sum(scores).shapes.items()):
        rows.append(f"| {word} | {shape.n:,} | {shape.outcome / shape.n:.2%} | {shape.links / shape.n:.2%} |")
    return "\n".join([*rows, ""])


def _codes(scores: list[Score]) -> str:
    total = _sum(scores)
    rows = ["| exception code | true | found | precision | recall |", "|---|---|---|---|---|"]
    for code in total.named_codes():
        right, found, true = total.of_code(code)
        precision = f"{right / found:.2%}" if found else "–"
        recall = f"{right / true:.2%}" if true else "–"
        rows.append(f"| `{code}` | {true:,} | {found:,} | {precision} | {recall} |")
    return "\n".join([*rows, ""])


def _trades(trades: dict[str, Score]) -> str:
    rows = ["| seeds, rates, scenario | payments | precision | solvable recall | utility |", "|---|---|---|---|---|"]
    for name, found in trades.items():
        figures = f"{found.precision:.3%} | {found.recall:.3%} | {found.utility:,} of {_ceiling(found):,}"
        rows.append(f"| {name} | {found.payments:,} | {figures} |")
    return "\n".join([*rows, ""])


def _confusion(scores: list[Score]) -> str:
    """The matrix without its empty cells: each pair of codes that was seen."""
    pairs = _sum(scores).codes
    rows = ["All seeds and rates together; cells that are not listed are zero.\n",
            "| true code | called | times |", "|---|---|---|"]  # fmt: skip
    order = sorted(pairs.items(), key=lambda cell: (cell[0][0] == cell[0][1], cell[0]))
    rows += [f"| {_code(was)} | {_code(said)} | {count:,} |" for (was, said), count in order]
    return "\n".join([*rows, ""])


def _code(code: str) -> str:
    return code if code == NONE else f"`{code}`"


def _noise(noise: dict[str, Score]) -> str:
    rows = [
        "Done to what arrived (scenario `month-end`, up to five seeds), outside the sandbox and after its truth was written. The truth's",
        "links stay; what is decidable changes in ways nobody computed, so recall is over all pairs of the undamaged trade.\n",
        "| damage | precision of automatic pairs | pairs found, of the undamaged trade's | utility |", "|---|---|---|---|",
    ]  # fmt: skip
    for name, found in noise.items():
        precision, recall = (_share(found.right_pairs, of) for of in (found.automatic_pairs, found.true_pairs))
        rows.append(f"| {name} | {precision} | {recall} | {found.utility:,} of {_ceiling(found):,} |")
    return "\n".join([*rows, ""])


def _peers(peers: dict[str, list[Graded]], why_not: str) -> str:
    if not peers:
        return "Not measured in this run.\n"
    rows = [
        "Scenario `month-end`, two seeds, the same payments and invoices as CSV files, one after the other in each round. Joins and",
        "peers read the files; our seconds are the rules alone, on rows read from the database. Peers run in their best honest",
        "form: reconcile-mcp with the order as reference and a window of 45 days, splink with our blocking, trained on the files,",
        "then one to one by falling probability. They see neither payouts nor notes, and are not asked for exceptions.\n",
        "| matcher | precision | recall of decidable pairs | utility | seconds, median |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for name, graded in peers.items():
        failures = [found.failure for found in graded if found.failure]
        if failures:
            rows.append(f"| {name} | {failures[0]} (in {len(failures)} of {len(graded)} rounds) | | | |")
            continue
        found, right, true = (sum(getattr(one, key) for one in graded) for key in ("found", "right", "true"))
        utility, seconds = sum(one.utility for one in graded), median(one.seconds for one in graded)
        precision = f"{right / found:.2%}" if found else "–"
        rows.append(f"| {name} | {precision} | {right / true:.2%} | {utility:,} | {seconds:.2f} |")
    note = [f"\nPeers were not measured: {why_not}"] if why_not else []
    return "\n".join([*rows, *note, ""])


def _wrong(scores: list[Score]) -> str:
    misses = [miss for found in scores for miss in found.misses]
    if not misses:
        return "Nothing, in any seed above.\n"
    listed = [f"- {miss}" for miss in misses[:40]]
    more = [f"- and {len(misses) - len(listed)} more"] if len(misses) > len(listed) else []
    return "\n".join([*listed, *more, ""])
