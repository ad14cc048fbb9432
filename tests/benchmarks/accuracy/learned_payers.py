"""What the bound over payers' rules allows on made-up merchants whose people err; pure.

A merchant has payers of unequal weight. A rule of each is always right, sometimes wrong or mostly wrong, and a person's
word about one payment is the wrong one with a fixed chance. Every hundred decisions the rules are weighed as nights do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from reconcile.desk.learning import Evidence
from reconcile.rules.terms import BPS

SEEDS, AT = 200, (500, 2_000, 5_000)
NOISES, ALLOWED_BPS = (0.0, 0.01, 0.02, 0.05), (50, 200, 500, 1_000)
_PAYERS, _LOOK_EACH = 30, 100
# The share of rules that are right always, nearly always and seldom, with the chance that one is wrong.
_KINDS = ((0.75, 0.0), (0.90, 0.003), (1.0, 0.3))


@dataclass(frozen=True, slots=True)
class Look:
    """One merchant after some decisions: what rules within the setting would take, and what of that is wrong."""

    decisions: int
    automated: float
    wrong: float
    is_bound_kept: bool


@dataclass(frozen=True, slots=True)
class Row:
    """All merchants of one noise, setting and number of decisions."""

    noise: float
    allowed_bps: int
    decisions: int
    automated: float
    worst: float
    within: int
    bounds_kept: int
    seeds: int


def play(seed: int, noise: float, allowed_bps: int, at: Sequence[int] = AT) -> Iterator[Look]:
    """Yield what the rules of one merchant would take after each number of decisions."""
    random = Random(seed)  # noqa: S311 - made-up trade, the same for a seed
    weights = [1 / (place + 1) for place in range(_PAYERS)]
    errors = [_choose_errors(random) for _ in range(_PAYERS)]
    right, wrong = [0] * _PAYERS, [0] * _PAYERS
    is_bound_kept = True
    for decided in range(1, at[-1] + 1):
        (payer,) = random.choices(range(_PAYERS), weights)
        is_wrong = random.random() < errors[payer]
        said_wrong = is_wrong != (random.random() < noise)
        wrong[payer] += said_wrong
        right[payer] += not said_wrong
        if decided % _LOOK_EACH and decided not in at:
            continue
        bounds = [_bound(wrong[one], right[one], allowed_bps) for one in range(_PAYERS)]
        is_bound_kept &= all(error * BPS <= bound for error, bound in zip(errors, bounds, strict=True))
        if decided in at:
            taken = [one for one, bound in enumerate(bounds) if bound <= allowed_bps]
            weight = sum(weights[one] for one in taken)
            mistaken = sum(weights[one] * errors[one] for one in taken)
            yield Look(decided, weight / sum(weights), mistaken / weight if weight else 0.0, is_bound_kept)


def _choose_errors(random: Random) -> float:
    drawn = random.random()
    return next(error for share, error in _KINDS if drawn < share)


def _bound(wrong: int, right: int, allowed_bps: int) -> int:
    """Return the bound; where more than allowed is wrong it cannot be within the setting, and is not computed."""
    if wrong * BPS > allowed_bps * (wrong + right):
        return BPS
    return Evidence(right, wrong).bound_bps(allowed_bps)


def measure(seeds: int = SEEDS) -> list[Row]:
    rows = []
    for noise in NOISES:
        for allowed in ALLOWED_BPS:
            played = [list(play(seed, noise, allowed)) for seed in range(1, seeds + 1)]
            for place, decisions in enumerate(AT):
                looks = [one[place] for one in played]
                rows.append(
                    Row(
                        noise, allowed, decisions, sum(one.automated for one in looks) / seeds,
                        max(one.wrong for one in looks), sum(one.wrong * BPS <= allowed for one in looks),
                        sum(one.is_bound_kept for one in looks), seeds,
                    )
                )  # fmt: skip
    return rows


def write(rows: Sequence[Row]) -> str:
    """Return the section of docs/accuracy.md."""
    by_setting: Mapping[tuple[float, int], list[Row]] = {
        (noise, allowed): [row for row in rows if (row.noise, row.allowed_bps) == (noise, allowed)]
        for noise in NOISES
        for allowed in ALLOWED_BPS
    }
    lines = [
        _HEAD.format(seeds=rows[0].seeds, payers=_PAYERS, beyond=max(row.seeds - row.bounds_kept for row in rows)),
        f"| wrong labels | setting | {' | '.join(f'{n:,} decisions' for n in AT)} | worst | within |",
    ]
    lines.append("|---|---|" + "---|" * (len(AT) + 2))
    for (noise, allowed), own in by_setting.items():
        shares = " | ".join(f"{row.automated:.1%}" for row in own)
        within, worst, of = min(row.within for row in own), max(row.worst for row in own), own[0].seeds
        lines.append(f"| {noise:.0%} | {allowed / 100:g} % | {shares} | {worst:.2%} | {within} of {of} |")
    return "\n".join([*lines, "", _FOOT])


_HEAD = """\
## Payers' rules: what the bound allows

{seeds} made-up merchants, each with {payers} payers of unequal weight: three quarters of the rules are always right,
the others wrong in 0.3 % or 30 % of payments. People's word about a payment is wrong at the rate of the first column.
The columns of decisions are the share of payments whose rule is within the setting (`payer_error_bps`); *worst* is
the share of these that is really wrong in the worst merchant, *within* in how many it is under the setting. Each rule
has its own 95 % bound, not corrected for how many rules there are: at the worst setting at least one of the {payers}
was beyond its own at some look in {beyond} of {seeds} merchants.
"""
_FOOT = """\
A wrong word counts as an error of the rule, so a setting below the share of wrong words lets no rule qualify, however
many decisions there are: at the default of 0.5 % that is so from 1 % on. Qualifying decides what is proposed first,
not what may be accepted: a rule that does not qualify stands further down the list with its bound, and a person may
accept it as a fact they know.
"""
