"""The account of a measurement, as docs/accuracy.md shows it."""
# ruff: noqa: E501 - the page's own lines

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

from tests.benchmarks.accuracy import learned_payers
from tests.benchmarks.accuracy.baselines import Graded
from tests.benchmarks.accuracy.noise import Judged
from tests.benchmarks.accuracy.page_texts import EXTERNAL, LEAD, METHOD, PROPERTIES
from tests.benchmarks.accuracy.scoring import AUTOMATIC, Score, wilson


def write(measured: Any, held_out: str, learned: Sequence[learned_payers.Row]) -> str:
    groups = [
        (f"{kind}, {rates}", list(_by(measured, "seed", kind=kind, rates=rates).values()))
        for kind in ("dev", "held out")
        for rates in ("base", "stress")
    ]
    measured_groups = [(name, scores) for name, scores in groups if scores]
    every = [found.score for found in measured.found.values()]
    parts = [LEAD, _targets(measured)]
    parts += ["## Figures\n", _figures(measured_groups), _shapes(measured_groups), _codes(measured_groups)]
    parts += ["## By scenario\n", _trades(measured), _over_http(measured)]
    parts += ["## What was wrong\n", _wrong(every)]
    parts += ["## Damages that the rules were not written for\n", _noise(measured)]
    parts += [EXTERNAL]
    parts += ["## Beside others on the same files\n", _peers(measured.peers, measured.no_peers)]
    parts += [learned_payers.write(learned)]
    parts += [METHOD.format(held_out=held_out.replace("-", " to ")), PROPERTIES]
    parts.append(f"Measured in {measured.seconds:.0f} s, peers included.\n")
    return "\n".join(part for part in parts if part)


def _by(measured: Any, name: str, **wanted: str) -> dict[Any, Score]:
    """Add the scores up by one property of their tasks."""
    sums: dict[Any, Score] = {}
    for task, found in sorted(measured.found.items(), key=lambda pair: (pair[0].seed, pair[0].name)):
        if all(getattr(task, key) == value for key, value in wanted.items()):
            sums.setdefault(getattr(task, name), Score()).add(found.score)
    return sums


def _targets(measured: Any) -> str:
    """The promises, each beside the worst seed of every kind."""
    rows = ["| promise | asked | development seeds, worst | held-out seeds, worst |", "|---|---|---|---|"]
    kinds = ("dev", "held out")
    base = [list(_by(measured, "seed", kind=kind, rates="base").values()) for kind in kinds]
    stress = [list(_by(measured, "seed", kind=kind, rates="stress").values()) for kind in kinds]
    asked: list[tuple[str, str, list[list[Score]], Any]] = [
        ("automatic precision at base rates", "≥ 99.9 %", base, lambda one: one.precision),
        ("automatic precision at stress rates", "≥ 99.5 %", stress, lambda one: one.precision),
        ("recall of decidable pairs at base rates", "≥ 95 %", base, lambda one: one.recall),
        ("exceptions, macro precision at base rates", "≥ 95 %", base, lambda one: _macro(one)[0]),
        ("exceptions, macro recall at base rates", "≥ 95 %", base, lambda one: _macro(one)[1]),
        ("the worst code's precision at base rates", "≥ 85 %", base, lambda one: _worst(one)[0]),
        ("the worst code's recall at base rates", "≥ 85 %", base, lambda one: _worst(one)[1]),
        ("payout residual explained, base and stress", "100 %", _both(base, stress),
         lambda one: one.residual_explained / one.payouts),
        ("explanations true when checked again, base and stress", "100 %", _both(base, stress),
         lambda one: one.explanations_true / one.explanations),
    ]  # fmt: skip
    for name, wanted, groups, of in asked:
        shown = [f"{min(of(one) for one in group):.3%}" if group else "–" for group in groups]
        rows.append(f"| {name} | {wanted} | {shown[0]} | {shown[1]} |")
    errors = [sum(one.undecidable_matched for one in group) for group in _both(base, stress)]
    of = [sum(one.undecidable for one in group) for group in _both(base, stress)]
    rows.append(
        f"| errors on undecidable rows, base and stress | 0 | {errors[0]} of {of[0]:,} | {errors[1]} of {of[1]:,} |"
    )
    automatic = sum(one.automatic_pairs for group in _both(base, stress) for one in group)
    wrong = automatic - sum(one.right_pairs for group in _both(base, stress) for one in group)
    rows.append(f"\nOf {automatic:,} automatic pairs in all, {wrong} are wrong: the share of wrong ones is, with 95 % confidence, at most "
                f"{wilson(wrong, automatic)[1]:.4%}.")  # fmt: skip
    return "\n".join([*rows, ""])


def _both(base: list[list[Score]], stress: list[list[Score]]) -> list[list[Score]]:
    return [one + other for one, other in zip(base, stress, strict=True)]


def _worst(total: Score) -> tuple[float, float]:
    counts = [total.of_code(code) for code in total.named_codes()]
    precisions = [right / found for right, found, _ in counts if found]
    recalls = [right / true for right, _, true in counts if true]
    return min(precisions, default=1.0), min(recalls, default=1.0)


def _sum(scores: Iterable[Score]) -> Score:
    total = Score()
    for found in scores:
        total.add(found)
    return total


def _share(right: int, of: int) -> str:
    low, high = wilson(right, of)
    return f"{right:,} of {of:,} = {right / of:.2%} ({low:.2%}–{high:.2%})" if of else "none"


Groups = list[tuple[str, list[Score]]]


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = list(head)
    lines = [cells, ["---"] * len(cells), *rows]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), ""])


def _figures(groups: Groups) -> str:
    totals = [_sum(scores) for _, scores in groups]
    asked: list[tuple[str, Callable[[Score], str]]] = [
        ("payments; documents", lambda one: f"{one.payments:,}; {one.documents:,}"),
        ("automatic pairs that are right (95 % interval)", lambda one: _share(one.right_pairs, one.automatic_pairs)),
        ("decidable pairs found", lambda one: _share(one.right_pairs, one.true_pairs)),
        ("all true pairs found, undecidable ones too", lambda one: _share(one.right_pairs, one.all_pairs)),
        ("undecidable payments matched automatically", lambda one: f"{one.undecidable_matched} of {one.undecidable:,}"),
        ("suggestions that are right", lambda one: _share(one.suggested_right, one.suggested)),
        ("precision by amount", lambda one: _ratio(one.right_amount, one.automatic_amount)),
        ("exceptions, macro precision and recall", lambda one: "{:.2%}, {:.2%}".format(*_macro(one))),
        ("amount at risk exactly right", lambda one: _share(one.at_risk_right, one.subjects)),
        ("documents with the right outcome", lambda one: _share(one.documents_right, one.documents)),
        ("payouts whose residual is zero or named", lambda one: _share(one.residual_explained, one.payouts)),
        ("reasons that hold when checked again", lambda one: _share(one.explanations_true, one.explanations)),
        ("utility, of the ceiling", lambda one: f"{one.utility:,} of {_ceiling(one):,}"),
        ("payments left to a person, of 1,000", lambda one: f"{1000 * one.by_hand / one.payments:.0f}"),
    ]
    rows = [[name, *map(of, totals)] for name, of in asked]
    head = ["figure", *(f"{name}: {len(scores)} seeds" for name, scores in groups)]
    return _table(head, rows)


def _ceiling(total: Score) -> int:
    return sum(shape.n for word, shape in total.shapes.items() if word in AUTOMATIC)


def _macro(total: Score) -> tuple[float, float]:
    counts = [total.of_code(code) for code in total.named_codes()]
    precisions = [right / found if found else 0.0 for right, found, _ in counts]
    recalls = [right / true if true else 1.0 for right, _, true in counts]
    return (sum(precisions) / len(precisions), sum(recalls) / len(recalls)) if counts else (1.0, 1.0)


def _shapes(groups: Groups) -> str:
    """Return for each true outcome how many payments have it and how many were linked exactly right."""
    totals = [_sum(scores) for _, scores in groups]
    rows = []
    for word in sorted(set().union(*(total.shapes for total in totals))):
        shapes = [total.shapes.get(word) for total in totals]
        rows.append([word, *(f"{shape.links:,} of {shape.n:,}" if shape else "–" for shape in shapes)])
    return _table(["true outcome: linked exactly right", *(name for name, _ in groups)], rows)


def _codes(groups: Groups) -> str:
    """Return for each exception code how many are true, and its precision and recall."""
    totals = [_sum(scores) for _, scores in groups]
    rows = []
    for code in sorted(set().union(*(total.named_codes() for total in totals))):
        counts = [total.of_code(code) for total in totals]
        cells = (f"{true:,}: {_ratio(right, found)}, {_ratio(right, true)}" for right, found, true in counts)
        rows.append([f"`{code}`", *cells])
    return _table(["exception: how many, precision, recall", *(name for name, _ in groups)], rows)


def _trades(measured: Any) -> str:
    rows = [
        "| seeds, rates, scenario | payments | precision (95 % interval) | solvable recall | utility |",
        "|---|---|---|---|---|",
    ]
    for kind in ("dev", "held out"):
        for rates in ("base", "stress"):
            for name, found in sorted(_by(measured, "name", kind=kind, rates=rates).items()):
                figures = f"{_share(found.right_pairs, found.automatic_pairs)} | {found.recall:.3%}"
                rows.append(
                    f"| {kind} {rates} {name} | {found.payments:,} | {figures} | {found.utility:,} of {_ceiling(found):,} |"
                )
    return "\n".join([*rows, ""])


def _over_http(measured: Any) -> str:
    rows = []
    for task, found in measured.found.items():
        if task.kind == "over HTTP":
            one = found.score
            wrong = sum(count for (was, said), count in one.codes.items() if was != said)
            documents = f"{one.documents_right:,} of {one.documents:,}"
            explained = f"{one.residual_explained} of {one.payouts}"
            rows.append([f"{task.name} {task.seed}", f"{one.payments:,}", f"{one.precision:.2%}", f"{one.recall:.2%}",
                         documents, str(wrong), explained])  # fmt: skip
    head = ("over HTTP: scenario and seed", "payments", "precision", "solvable recall", "documents right", "codes wrong",
            "payouts explained")  # fmt: skip
    return _table(head, rows)


def _noise(measured: Any) -> str:
    rows = [
        "Each damage is done to what arrived (scenario `month-end`, last day), after the truth was written. Seeds 1 to 3 were",
        "looked at while rules were mended; 11 to 13 and 1002 to 1004 were not. The last column is over all pairs, decidable or not",
        "(97 % without damage), and is no target.\n",
        "| damage | precision, seeds looked at | precision, fresh seeds (95 % interval) | fewest right by one fresh seed | pairs found, fresh seeds |",
        "|---|---|---|---|---|",
    ]  # fmt: skip
    totals: dict[str, Judged] = {"looked at": Judged(), "fresh": Judged()}
    for name in dict.fromkeys(key[0] for found in measured.found.values() for key in found.noise):
        cells = {}
        for seeds, whole in totals.items():
            every = [found.noise[name, seeds] for found in measured.found.values() if (name, seeds) in found.noise]
            cells[seeds] = total = Judged()
            for one in every:
                total.add(one)
            whole.add(total)
            lowest = min((one.right / one.automatic for one in every), default=1.0)
        old, fresh = cells["looked at"], cells["fresh"]
        rows.append(
            f"| {name} | {_plain(old)} | {_share(fresh.right, fresh.automatic)} | {lowest:.2%} | {_ratio(fresh.right, fresh.true)} |"
        )
    old, fresh = totals["looked at"], totals["fresh"]
    rows.append(
        f"| **all** | {_plain(old)} | {_share(fresh.right, fresh.automatic)} | | {_ratio(fresh.right, fresh.true)} |"
    )
    rules = Counter(miss.rpartition(" by ")[2] for miss in (*old.misses, *fresh.misses))
    said = ", ".join(f"`{rule}` {count}" for rule, count in rules.most_common())
    return "\n".join([*rows, f"\nWrong pairs by the rule that matched them: {said}." if rules else "", ""])


def _plain(judged: Judged) -> str:
    return f"{judged.right:,} of {judged.automatic:,} = {_ratio(judged.right, judged.automatic)}"


def _ratio(right: int, of: int) -> str:
    return f"{right / of:.2%}" if of else "–"


def _peers(peers: dict[str, list[Graded]], why_not: str) -> str:
    if not peers:
        return "Not measured in this run.\n"
    rows = [
        "Scenario `month-end`, two seeds, the same payments and invoices. Joins and peers read CSV files; our seconds are the rules",
        "alone. reconcile-mcp gets the order as reference and a window of 45 days; splink our blocking, trained on the files, then one",
        "to one by falling probability. Peers see neither payouts nor notes and are not asked for exceptions.\n",
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
        return "No pair, in any seed above.\n"
    listed = [f"- {miss}" for miss in misses[:40]]
    more = [f"- and {len(misses) - len(listed)} more"] if len(misses) > len(listed) else []
    return "\n".join([*listed, *more, ""])
