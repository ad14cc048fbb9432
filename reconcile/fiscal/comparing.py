"""Pure: one figure of two witnesses, and the causes whose sum is the difference."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

from reconcile.fiscal.facts import Figure
from reconcile.fiscal.witnesses import Paper, State, Witness

# The VAT of a document may be rounded by one unit otherwise than the register does, and so may a sum of many.
_ROUNDING = 1
_MOST_GROUPS = 6
# Both witnesses have the document, with other amounts.
_OF_AMOUNTS = frozenset({"amount_differs", "tax_split_differs", "rounding"})


class Verdict(StrEnum):
    """What a tie comes to; the last four are no verdict."""

    CLOSED = "closed"
    EXPLAINED = "explained"
    OPEN = "open"
    NOT_ASKED = "not_asked"
    NOT_FILED = "not_filed"
    REGISTER_OPEN = "register_open"
    SHOWN = "shown"


class Part(NamedTuple):
    """One cause of a difference: its amount in the figure's unit, and the VAT that depends on it."""

    cause: str
    amount: int
    doc_key: str = ""
    tax: int = 0
    on: date | None = None
    tax_id: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    """Which witness says what of a figure, and as of when; an unknown amount is None."""

    witness: Witness
    amount: int | None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Tie:
    """One figure of two witnesses; `withheld` is why there is no verdict."""

    period: str
    figure: str
    a: Side
    b: Side
    parts: tuple[Part, ...] = ()
    withheld: Verdict | None = None

    @property
    def difference(self) -> int | None:
        return None if self.a.amount is None or self.b.amount is None else self.a.amount - self.b.amount

    @property
    def explained(self) -> int | None:
        return None if self.difference is None else sum(part.amount for part in self.parts)

    @property
    def rest(self) -> int | None:
        return None if self.difference is None or self.explained is None else self.difference - self.explained

    @property
    def verdict(self) -> Verdict:
        """Return the verdict; without both witnesses there is none, and a rest is open."""
        if self.withheld is not None:
            return self.withheld
        if self.difference is None:
            missing = self.a if self.a.amount is None else self.b
            return Verdict.NOT_FILED if missing.witness is Witness.DECLARED else Verdict.NOT_ASKED
        if self.rest:
            return Verdict.OPEN
        return Verdict.EXPLAINED if any(part.amount for part in self.parts) else Verdict.CLOSED


def worth(paper: Paper | None, figure: Figure) -> int:
    """Return what a document adds to a figure in its own period; one that does not count adds 0."""
    if paper is None or paper.state is not State.VALID or paper.side != figure.side:
        return 0
    sign = figure.signs.get(paper.kind, 0)
    amount = paper.net + paper.exempt if figure.column == "base" else int(getattr(paper, figure.column))
    return sign * amount


def add_up(papers: Sequence[Paper], figure: Figure, period: str) -> int:
    return sum(worth(paper, figure) for paper in papers if paper.period == period)


def is_priced(papers: Sequence[Paper], figure: Figure, period: str) -> bool:
    """Return True if every document that a figure of a month adds up is in the country's money."""
    unpriced = {(paper.side, paper.kind) for paper in papers if not paper.is_priced and paper.period == period}
    return not any((figure.side, kind) in unpriced for kind in figure.signs)


def compare(a: Sequence[Paper], b: Sequence[Paper], figure: Figure, period: str) -> list[Part]:
    """Explain a figure of the books (a) and of the register (b), document by document.

    Where one of them knows only a sum of a kind, documents of that kind are no causes, and only rounding is one.
    """
    summed = {paper.kind for paper in (*a, *b) if paper.is_sum and paper.period == period}
    first = {paper.key: paper for paper in a if paper.kind not in summed}
    second = {paper.key: paper for paper in b if paper.kind not in summed}
    parts = [
        part
        for key in sorted(first.keys() | second.keys())
        for part in _explain(first.get(key), second.get(key), figure, period)
    ]
    return [*parts, *_round_sums(a, b, figure, period, summed)]


def _explain(a: Paper | None, b: Paper | None, figure: Figure, period: str) -> Iterator[Part]:
    """Yield the causes of one document, whose sum is what it adds to the difference."""
    in_a = worth(a, figure) if a and a.period == period else 0
    in_b = worth(b, figure) if b and b.period == period else 0
    left, paper = in_a - in_b, a or b
    if paper is None:
        return
    if not left:
        if a and b and in_a and in_b and a.total != b.total:
            yield _differ("amount_differs", 0, a, b)
        return
    if a and b and worth(a, figure) and worth(b, figure) and a.period != b.period:
        shifted = worth(a, figure) if period == a.period else -worth(a, figure)
        yield _part("period_shift", shifted, paper)
        left -= shifted
    if left:
        cause = _name_cause(a, b)
        yield _differ(cause, left, a, b) if a and b and cause in _OF_AMOUNTS else _part(cause, left, paper)


def _part(cause: str, amount: int, paper: Paper) -> Part:
    return Part(cause, amount, paper.key, paper.vat, paper.on, paper.tax_id)


def _differ(cause: str, amount: int, a: Paper, b: Paper) -> Part:
    """Return a cause of a document that both know with other amounts: on their difference alone VAT depends.

    Where the register states totals alone, it is the share of the difference in the VAT of the books.
    """
    tax = abs(a.vat - b.vat) if b.is_split else share(a.vat, abs(a.total - b.total), a.total)
    return _part(cause, amount, a)._replace(tax=tax)


def share(figure: int, part: int, whole: int) -> int:
    """Return the share of a figure that a part has in a whole, half up; none of nothing."""
    return (2 * figure * part + whole) // (2 * whole) if whole else 0


def _name_cause(a: Paper | None, b: Paper | None) -> str:
    if a is None or a.state is not State.VALID:
        return "replaced" if a and a.is_replaced else "not_in_books"
    if b is None or b.state is State.WAITING:
        return "not_in_register"
    gone = {State.CANCELLED: "cancelled_alive", State.CLAIMED: "claimed"}
    if b.state in gone:
        return gone[b.state]
    if a.third_party or b.third_party or a.kind == "43":
        return "third_party_income"
    if a.total != b.total:
        return "amount_differs"
    return "rounding" if abs(a.vat - b.vat) <= _ROUNDING else "tax_split_differs"


def _round_sums(
    a: Sequence[Paper], b: Sequence[Paper], figure: Figure, period: str, summed: set[str]
) -> Iterator[Part]:
    for kind in sorted(summed & figure.signs.keys()):
        one, other = ([paper for paper in papers if paper.kind == kind] for papers in (a, b))
        difference = add_up(one, figure, period) - add_up(other, figure, period)
        if difference and abs(difference) <= _ROUNDING:
            yield Part("rounding", difference)


def explain_declared(difference: int, groups: Mapping[str, Sequence[Part]], *, types: int) -> list[Part]:
    """Explain a declared figure by whole groups of documents that returns treat otherwise than the register.

    Groups count only if they are the one smallest choice whose sum is the difference; otherwise the rest stays open.
    One unit a type of document is rounding.
    """
    if not difference:
        return []
    sums = {cause: sum(part.amount for part in parts) for cause, parts in groups.items() if parts}
    causes = [cause for cause, amount in sums.items() if amount][:_MOST_GROUPS]
    for size in range(1, len(causes) + 1):
        found = [chosen for chosen in combinations(causes, size) if sum(sums[cause] for cause in chosen) == difference]
        if len(found) == 1:
            return [part for cause in found[0] for part in groups[cause]]
        if found:
            return []
    return [Part("rounding", difference)] if abs(difference) <= types else []


def count_missing(register: Sequence[Paper], xml: Sequence[Paper], period: str) -> tuple[int, int]:
    """Count the documents of a period whose XML is missing, and all of them; sums of many have none."""
    known = Counter(paper.key for paper in xml)
    mine = [paper for paper in register if paper.period == period and not paper.is_sum]
    return sum(paper.key not in known for paper in mine), len(mine)


def count_cancelled(ties: Sequence[Tie]) -> int:
    """Count the documents that are cancelled at the tax office and alive in the books."""
    return len({part.doc_key for tie in ties for part in tie.parts if part.cause == "cancelled_alive"})
