"""Pure: every tie of one period, from what all witnesses say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from consumer.facts.clock import local_date
from consumer.facts.countries import COUNTRIES
from reconcile.fiscal.collecting import tie_collected, tie_vouchers
from reconcile.fiscal.comparing import Part, Side, Tie, Verdict, add_up, compare, explain_declared, is_priced
from reconcile.fiscal.facts import Country, Figure, facts_of
from reconcile.fiscal.fees import add_months, tie_fees
from reconcile.fiscal.office import tie_creditable, tie_office
from reconcile.fiscal.witnesses import Figures, Paper, Said, State, Witness, World
from reconcile.rules.kinds import NO_SALES

_NO_FIGURES = Figures({})
_NOTES = frozenset({"60", "61", "E"})
_MONTHS = 12
# A settlement of what was sold for others: their VAT is not the merchant's.
_FOR_OTHERS = "43"


def tie_out(world: World, period: str) -> list[Tie]:
    """Return every tie of a month, or of a year as YYYY those of its annual return."""
    country = facts_of(world.terms.country)
    if len(period) == len("2026"):
        return list(_tie_year(world, country, period))
    ties = [
        *_tie_registers(world, country, period),
        *_tie_declared(world, country, period),
        *_tie_form(world, country, period),
        tie_collected(world, period),
        *_tie_fees(world, period),
    ]
    if world.terms.country == "cl":
        return [*ties, tie_vouchers(world, period)]
    return [
        *ties,
        *tie_office(world, period),
        *tie_creditable(world, period),
        *_tie_accumulated(world, country, period),
    ]


def end_of(period: str) -> date:
    """Return the last day of a month."""
    first = date.fromisoformat(f"{period}-01")
    return (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _withhold(world: World, side: str, period: str) -> Verdict | None:
    """Return no verdict if the register was asked for before it was whole, by the merchant's own day."""
    asked_at = world.register.asked_at(side, period)
    if asked_at is None:
        return None
    on = local_date(asked_at, COUNTRIES[world.terms.country].zone)
    is_open = on <= end_of(period) + timedelta(days=facts_of(world.terms.country).law.register_day)
    return Verdict.REGISTER_OPEN if is_open else None


def _tie_fees(world: World, period: str) -> Iterator[Tie]:
    """Tie fees with their documents; a fee counts as not invoiced once all months it may be billed in are whole."""
    for tie in tie_fees(world, period):
        is_missing = any(part.cause == "fee_not_invoiced" for part in tie.parts)
        latest = facts_of(world.terms.country).law.fee_months if is_missing else 0
        months = [add_months(period, lag) for lag in range(latest + 1)]
        side = "purchases"
        is_open = any(
            _withhold(world, side, month) or (world.register.is_known and not world.register.asked_at(side, month))
            for month in months
        )
        yield replace(tie, withheld=Verdict.REGISTER_OPEN) if is_open and tie.difference is not None else tie


def _amount(said: Said, figure: Figure, period: str) -> int | None:
    """Return a figure, or None if the witness was not asked for it, or a document in it has no rate."""
    if said.asked_at(figure.side, period, figure.signs) is None or not is_priced(said.papers, figure, period):
        return None
    return add_up(said.papers, figure, period)


def _tie_registers(world: World, country: Country, period: str) -> Iterator[Tie]:
    """Tie the books with the register, and the register with the same as the provider shows it."""
    pairs = [(Witness.BOOKS, world.books, Witness.REGISTER, world.register)]
    if world.link.is_known:
        pairs.append((Witness.REGISTER, world.register, Witness.LINK, world.link))
    for one, said, other, against in pairs:
        for code, figure in country.figures.items():
            # Books hold no purchases, and no sums of vouchers.
            if one is Witness.BOOKS and (figure.side == "purchases" or figure.signs.keys() <= NO_SALES):
                continue
            a, b = _amount(said, figure, period), _amount(against, figure, period)
            if not a and not b:
                continue
            known = a is not None and b is not None
            parts = tuple(compare(said.papers, against.papers, figure, period)) if known else ()
            yield Tie(
                period,
                code,
                Side(one, a, said.asked_at(figure.side, period, figure.signs)),
                Side(other, b, against.asked_at(figure.side, period, figure.signs)),
                parts,
                _withhold(world, figure.side, period) if known else None,
            )


def _tie_declared(world: World, country: Country, period: str) -> Iterator[Tie]:
    """Tie each figure of the register with the declared one, and what the form computes of them."""
    declared = (world.declared or {}).get(period, _NO_FIGURES)
    groups = {code: _groups(world, figure, period) for code, figure in country.figures.items()}
    if world.terms.country != "cl":
        return
    sums = {code: _amount(world.register, figure, period) for code, figure in country.figures.items()}
    for code, parts in country.formulas.items():
        groups[code] = _join(groups, {part: sign for part, sign in parts.items() if part in country.figures})
        terms = {part: sums[part] if part in country.figures else declared.amounts.get(part) for part in parts}
        missing = {part for part, amount in terms.items() if amount is None}
        is_known = not missing & (country.carried | country.figures.keys())
        sums[code] = sum(parts[part] * (amount or 0) for part, amount in terms.items()) if is_known else None
    for code, amount in sums.items():
        stated = declared.amounts.get(code)
        if not amount and stated is None:
            continue
        types = len(country.formulas.get(code, {code: 1}))
        explained: list[Part] = []
        if amount is not None and stated is not None:
            explained = explain_declared(amount - stated, groups[code], types=types)
        side = next(
            country.figures[part].side for part in country.formulas.get(code, (code,)) if part in country.figures
        )
        yield Tie(
            period, code, Side(Witness.REGISTER, amount, world.register.asked_at(side, period)),
            Side(Witness.DECLARED, stated, declared.as_of), tuple(explained),
            None if amount is None or stated is None else _withhold(world, side, period),
        )  # fmt: skip


def _join(groups: Mapping[str, Mapping[str, Sequence[Part]]], signs: Mapping[str, int]) -> dict[str, list[Part]]:
    joined: dict[str, list[Part]] = {}
    for code, sign in signs.items():
        for cause, parts in groups[code].items():
            joined.setdefault(cause, []).extend(part._replace(amount=sign * part.amount) for part in parts)
    return joined


def _groups(world: World, figure: Figure, period: str) -> dict[str, list[Part]]:
    """Return documents that a return may treat otherwise than the register does, by why: register less return."""
    groups: dict[str, list[Part]] = {}
    in_register = {paper.key for paper in world.register.papers}
    plain = {paper.key: paper for paper in world.xml.papers}
    for paper in world.register.papers:
        sign = figure.signs.get(paper.kind, 0)
        if paper.period != period or paper.side != figure.side or not sign or paper.is_sum:
            continue
        amount = sign * (paper.vat if figure.column == "vat" else paper.exempt)
        known = plain.get(paper.key)
        if paper.kind == _FOR_OTHERS and paper.state is State.VALID:
            groups.setdefault("third_party_income", []).append(_to_part("third_party_income", amount, paper))
        elif paper.state is State.CLAIMED:
            groups.setdefault("claimed", []).append(_to_part("claimed", -amount, paper))
        elif paper.state is not State.VALID:
            continue
        elif known and known.no_debit_right:
            groups.setdefault("note_without_debit_right", []).append(
                _to_part("note_without_debit_right", amount, paper)
            )
        elif paper.kind in _NOTES and _is_late(paper, world.terms.note_months):
            groups.setdefault("note_late", []).append(_to_part("note_late", amount, paper))
    for paper in world.books.papers:
        amount = figure.signs.get(paper.kind, 0) * (paper.vat if figure.column == "vat" else paper.exempt)
        is_mine = paper.side == figure.side and paper.period == period and paper.state is State.VALID
        if is_mine and amount and world.register.asked_at(figure.side, period) and paper.key not in in_register:
            groups.setdefault("not_in_register", []).append(_to_part("not_in_register", -amount, paper))
    return groups


def _to_part(cause: str, amount: int, paper: Paper) -> Part:
    return Part(cause, amount, paper.key, paper.vat, paper.on, paper.tax_id)


def _is_late(note: Paper, months: int) -> bool:
    """Return True if a note came more than so many months after the document it refers to."""
    if note.on is None or note.ref_on is None:
        return False
    month = note.ref_on.year * _MONTHS + note.ref_on.month - 1 + months
    year, index = divmod(month, _MONTHS)
    last = min(note.ref_on.day, end_of(f"{year}-{index + 1:02}").day)
    return note.on > date(year, index + 1, last)


def _tie_form(world: World, country: Country, period: str) -> Iterator[Tie]:
    """Tie the declared totals with what the form computes of the declared lines."""
    declared = (world.declared or {}).get(period, _NO_FIGURES)
    for code, parts in country.formulas.items():
        lines = {part: declared.amounts[part] for part in parts if part in declared.amounts}
        if code in declared.amounts and lines:
            computed = sum(parts[part] * amount for part, amount in lines.items())
            yield Tie(
                period, code, Side(Witness.DECLARED, declared.amounts[code], declared.as_of),
                Side(Witness.COMPUTED, computed, declared.as_of),
            )  # fmt: skip


def _tie_accumulated(world: World, country: Country, period: str) -> Iterator[Tie]:
    """Tie what a return states of the year so far with the sum of its months; with one missing there is no sum."""
    declared = world.declared or {}
    here = declared.get(period, _NO_FIGURES)
    year, month = period.split("-")
    for code, monthly in country.accumulated.items():
        if code in here.amounts:
            months = [f"{year}-{one:02}" for one in range(1, int(month) + 1)]
            yield _tie_sum(period, code, here, monthly, [declared.get(one, _NO_FIGURES) for one in months])


def _tie_sum(period: str, code: str, stated: Figures, monthly: str, months: Sequence[Figures]) -> Tie:
    amounts = [figures.amounts.get(monthly) for figures in months]
    whole = None if None in amounts else sum(amount for amount in amounts if amount is not None)
    times: list[datetime] = [figures.as_of for figures in months if figures.as_of]
    return Tie(
        period, code, Side(Witness.DECLARED, stated.amounts.get(code), stated.as_of),
        Side(Witness.COMPUTED, whole, max(times, default=None)),
        withheld=Verdict.NOT_FILED if whole is None or code not in stated.amounts else None,
    )  # fmt: skip


def _tie_year(world: World, country: Country, year: str) -> Iterator[Tie]:
    """Tie the annual return with the sum of twelve monthly ones; with fewer there is no sum."""
    declared = world.declared or {}
    annual = declared.get(year, _NO_FIGURES)
    months = [declared.get(f"{year}-{month:02}", _NO_FIGURES) for month in range(1, _MONTHS + 1)]
    for code, monthly in country.annual.items():
        yield _tie_sum(year, code, annual, monthly, months)
