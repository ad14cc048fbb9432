"""The page of a closed month that a controller signs: who closed what, its figures, what is open and what ties out."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from consumer.facts.messages import translate, word
from reconcile.rules.at_risk import Stake, add_up_risks
from reports.making.control import SIDES
from reports.packs.contents import Month
from reports.queries.names import name_merchant
from reports.shapes import notation
from reports.shapes.build import Report, are_living
from reports.shapes.definitions import label_of, title_of

if TYPE_CHECKING:
    from reports.packs.paper import Paper

# Sums of payouts in the order in which they lead to what was paid out.
SUMS = (
    "payments_gross", "charges_gross", "refunds_gross", "refund_adjustments", "disputes", "fee_total", "difference",
    "payout_amount", "bank_amount",
)  # fmt: skip
_PAYOUTS, _ROLLFORWARD, _TRANSIT = "payout-summary", "clearing-rollforward", "in-transit"
_SEVERITIES = ("high", "medium", "low", "info")
Amounts: TypeAlias = dict[str, int]


@dataclass(slots=True)
class Figures:
    """What the page shows of the tables, taken from each while it is there; amounts by name and currency.

    `living` are those of payouts that did not come back, where any did.
    """

    amounts: dict[str, Amounts] = field(default_factory=lambda: defaultdict(dict))
    living: dict[str, Amounts] = field(default_factory=dict)
    payouts: dict[str, int] = field(default_factory=dict)
    open: dict[str, int] = field(default_factory=dict)
    ties: int = 0
    controls: int = 0
    rows: dict[str, int] = field(default_factory=dict)

    def take(self, report: Report) -> Report:
        """Take what the page shows of a table, and return the table."""
        name, table = report.definition.name, report.table
        self.rows[name] = table.num_rows
        if name == _PAYOUTS:
            self._add_sums(report, SUMS)
            self.payouts = _count(report, "status_recon")
            living = table.filter(are_living(table))
            if living.num_rows < table.num_rows:
                self.living = {name: _sum(living, name) for name in SUMS}
        elif name == _TRANSIT:
            self._add_sums(report, ("amount_signed",))
        elif name == "receivables":
            for side, is_meant in zip(SIDES, (pc.greater, pc.less), strict=True):
                self._add(side, _sum(table.filter(is_meant(table["balance"], 0)), "balance"))
        elif name == "exceptions":
            self.open = _count(report, "severity", table.filter(pc.equal(table["state"], "open")))
        elif name == "control":
            verdicts = _count(report, "verdict")
            self.ties, self.controls = verdicts.get("ties", 0), table.num_rows
        return report

    def _add_sums(self, report: Report, names: Iterable[str]) -> None:
        for name in names:
            self._add(name, _sum(report.table, name))

    def _add(self, name: str, amounts: Amounts) -> None:
        self.amounts[name].update(amounts)


def _sum(table: pa.Table, name: str) -> Amounts:
    sums = table.group_by("currency").aggregate([(name, "sum")]).to_pylist()
    return {row["currency"]: row[f"{name}_sum"] or 0 for row in sums}


def _count(report: Report, name: str, table: pa.Table | None = None) -> dict[str, int]:
    counted = (report.table if table is None else table).group_by(name).aggregate([(name, "count")]).to_pylist()
    return {row[name]: row[f"{name}_count"] for row in counted}


@dataclass(frozen=True, slots=True)
class Page:
    """What the page says besides figures: the journal's layouts, the digest over all other files, and who signed it."""

    language: str
    layouts: Sequence[str]
    digest: str
    files: int
    key: str


def draw(month: Month, figures: Figures, page: Page) -> bytes:
    """Return the page as a PDF."""
    from reports.packs.paper import Paper  # noqa: PLC0415 - a tenth of the program's start, for one file a month

    language = page.language
    paper = Paper(translate("month.title", language), language=language, at=month.period.closed_at)
    paper.facts(_say_period(month, language))
    for currency, (opening, closing) in month.balances.items():
        figures.amounts["opening"][currency], figures.amounts["closing"][currency] = opening, closing
    _draw_amounts(paper, month, figures, language)
    paper.heading(translate("month.controls", language))
    paper.facts(_say_controls(month, figures, page))
    paper.heading(translate("month.files", language))
    paper.facts(
        [
            ("SHA-256", page.digest),
            (translate("month.signed", language), page.key or translate("month.unsigned", language)),
        ]
    )
    paper.note(translate("month.digest_note", language, files=page.files))
    paper.signatures(
        [
            translate("month.prepared", language),
            translate("month.reviewed", language),
            translate("month.date", language),
        ]
    )
    return paper.to_bytes()


def _say_period(month: Month, language: str) -> list[tuple[str, str]]:
    own, period, run = month.connection, month.period, month.run
    until = notation.format_date(period.until, language)
    days = f"{notation.format_date(period.since, language)} – {until}" if period.since else ""
    closed_at = notation.format_moment(period.closed_at, language, own.country.zone)
    as_of = notation.format_date(run.as_of, language)
    return [
        (translate("month.merchant", language), name_merchant(own, language)),
        (translate("month.days", language), days or translate("Everything up to {day}", language, day=until)),
        (label_of("periods", "closed_by", language), f"{period.closed_by} · {closed_at}"),
        (label_of("periods", "reason", language), period.reason),
        (
            label_of("periods", "run_id", language),
            translate("month.run", language, number=run.number, as_of=as_of, run=run.id),
        ),
    ]


def _draw_amounts(paper: "Paper", month: Month, figures: Figures, language: str) -> None:
    """Write what was paid out, and what was still to come on the last day, by currency."""
    until, as_of = (notation.format_date(on, language) for on in (month.period.until, month.run.as_of))
    standing = (f"{word('status', name, language)} {count}" for name, count in sorted(figures.payouts.items()))
    blocks = {
        title_of(_PAYOUTS, language): [(name, label_of(_PAYOUTS, name, language)) for name in SUMS],
        title_of(_ROLLFORWARD, language): [
            ("opening", label_of(_ROLLFORWARD, "opening", language)),
            ("closing", label_of(_ROLLFORWARD, "closing", language)),
            ("amount_signed", title_of(_TRANSIT, language)),
        ],
        title_of("receivables", language): [(name, label_of("receivables", name, language)) for name in SIDES],
    }
    for title, names in blocks.items():
        is_payouts = title == title_of(_PAYOUTS, language)
        paper.heading(title if is_payouts else translate("month.as_of", language, title=title, day=until))
        currencies = sorted({currency for name, _ in names for currency in figures.amounts[name]})
        columns = [(one, figures.amounts) for one in currencies]
        heads = ["", *currencies]
        if is_payouts and figures.living:
            columns += [(one, figures.living) for one in currencies]
            heads += [f"{translate('payouts.living', language)} {one}" for one in currencies]
        rows = [[label, *(_write(of[name], one, language) for one, of in columns)] for name, label in names]
        if currencies:
            paper.figures(rows, heads)
        if is_payouts:
            counted = translate("month.payouts", language, count=figures.rows[_PAYOUTS], day=as_of)
            paper.note(" · ".join((counted, *standing)))


def _write(amounts: Amounts, currency: str, language: str) -> str:
    return notation.format_amount(amounts.get(currency, 0), currency, language)


def _say_controls(month: Month, figures: Figures, page: Page) -> list[tuple[str, str]]:
    language = page.language
    found = (f"{word('severity', one, language)} {figures.open[one]}" for one in _SEVERITIES if one in figures.open)
    still_open = (row for row in month.find_exceptions() if row["state"] == "open")
    risk = sorted(add_up_risks(Stake(*(row[name] for name in Stake._fields)) for row in still_open).items())
    until, as_of = (notation.format_date(on, language) for on in (month.period.until, month.run.as_of))
    sums = (f"{notation.format_amount(total.amount, currency, language)} {currency}" for currency, total in risk)
    return [
        (translate("month.open", language, until=until, day=as_of), " · ".join(found) or "0"),
        (translate("month.at_risk", language), " · ".join(sums) or "0"),
        (
            title_of("control", language),
            translate("month.ties", language, ties=figures.ties, controls=figures.controls),
        ),
        (translate("month.journal", language), ", ".join(page.layouts) or translate("month.no_journal", language)),
    ]
