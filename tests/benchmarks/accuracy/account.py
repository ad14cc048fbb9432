"""The account of a measurement, as docs/accuracy.md shows it."""
# ruff: noqa: E501 - the page's own lines

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

from tests.benchmarks.accuracy.baselines import Graded
from tests.benchmarks.accuracy.noise import Judged
from tests.benchmarks.accuracy.page_texts import EXTERNAL, LEAD, PROPERTIES
from tests.benchmarks.accuracy.scoring import AUTOMATIC, NONE, Score, wilson


def write(measured: Any, held_out: str) -> str:
    parts = [LEAD.format(held_out=held_out.replace("-", " to "))]
    parts += ["## What had to be reached\n", _targets(measured)]
    for kind, title in (("dev", "Development seeds"), ("held out", f"Held-out seeds ({held_out})")):
        parts.append(f"## {title}\n")
        for rates in ("base", "stress"):
            scores = list(_by(measured, "seed", kind=kind, rates=rates).values())
            if scores:
                parts += [f"### At {rates} rates\n", "\n".join(_figures(scores)), _shapes(scores), _codes(scores)]
    parts += ["## By scenario\n", _trades(measured)]
    parts += ["## Read over HTTP\n", _over_http(measured)]
    every = [found.score for found in measured.found.values()]
    parts += ["## Confusion of exception codes\n", _confusion(every)]
    parts += ["## Damages nobody planned for\n", _noise(measured)]
    parts += [EXTERNAL]
    parts += ["## Beside others on the same files\n", _peers(measured.peers, measured.no_peers)]
    parts += [PROPERTIES]
    parts += ["## What was wrong\n", _wrong(every)]
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
    return sum(shape.n for word, shape in total.shapes.items() if word in AUTOMATIC)


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
    rows = [
        "Above, the provider's objects are put where a pull would put them, which saves most of the time. Here nothing is saved:",
        "the sandbox serves HTTP, `cuadre backfill` and `cuadre pull all` read it, books and reports come in by their commands.\n",
        "| scenario and seed | payments | precision | solvable recall | documents right | codes wrong | payouts explained |", "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for task, found in measured.found.items():
        if task.kind == "over HTTP":
            one = found.score
            wrong = sum(count for (was, said), count in one.codes.items() if was != said)
            rows.append(f"| {task.name} {task.seed} | {one.payments:,} | {one.precision:.2%} | {one.recall:.2%} | "
                        f"{one.documents_right:,} of {one.documents:,} | {wrong} | {one.residual_explained} of {one.payouts} |")  # fmt: skip
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


def _noise(measured: Any) -> str:
    rows = [
        "Done to what arrived (scenario `month-end`, last day), outside the sandbox and after its truth was written",
        "(`tests/benchmarks/accuracy/damages.py`). Seeds 1 to 3 were looked at while rules were mended; 11 to 13 and 1002 to 1004",
        "were not. What a payment was for is known from the undamaged trade; what of it could still be known after the damage is",
        "not, so the last column is over all pairs, decidable or not (without damage 97 %), and is no target.\n",
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
    wrong = [f"- {miss}" for miss in (*old.misses, *fresh.misses)]
    more = [f"- and {len(wrong) - 30} more"] if len(wrong) > 30 else []
    return "\n".join(
        [
            *rows,
            "",
            "Every wrong pair of these (what was meant, what was matched, by which rule):\n" if wrong else "",
            *wrong[:30],
            *more,
            "",
        ]
    )


def _plain(judged: Judged) -> str:
    return f"{judged.right:,} of {judged.automatic:,} = {_ratio(judged.right, judged.automatic)}"


def _ratio(right: int, of: int) -> str:
    return f"{right / of:.2%}" if of else "–"


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
