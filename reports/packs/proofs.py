"""Proof on paper of one payout, one customer or some days: every line, its evidence, who decided, and hashes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import RefusalError, translate, word
from consumer.facts.names import format_tax_id, name_document
from reconcile.desk.attachments import list_attachments
from reconcile.kept import chunks
from reconcile.kept.records import read_summary
from reconcile.rules.outcomes import DEAD
from reconcile.runs.pending import Pending, find_pending
from reconcile.tables.desk import Decision, ExceptionRow
from reconcile.tables.runs import Run
from reports.packs.manifest import load_private_key
from reports.packs.sealing import finish
from reports.packs.summary import SUMS
from reports.queries import bank, frames, standing
from reports.queries.names import Reader, join_name, name_customers, name_merchant, name_payouts
from reports.shapes import notation
from reports.shapes.definitions import label_of, title_of
from reports.shapes.spans import WHOLE, Row, Span
from reports.wording import phrases
from reports.wording.inputs import name_input

if TYPE_CHECKING:
    from reports.packs.paper import Paper

About = TypeVar("About", ExceptionRow, Decision)

# Beyond it a PDF is no way to read lines: the archive of the month has them all.
_MOST_LINES = 2_000
_WIDTHS = (16, 33, 36, 28, 21, 15, 29)
_LINES = "payout-detail"
_OF_LINE = ("account_last4", "description", "reference", "file", "tied_by", "tied_reason")
_NAMED_BY = ("country", "type", "series", "folio", "uuid")
# Of the sums of a payout, those that stand there at zero too.
_ALWAYS = ("fee_total", "difference", "payout_amount")


class ProofError(RefusalError):
    """What cannot be proved on paper; the message says why."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a proof is about: a payout, a customer by tax id, or else the payouts of some days."""

    payout_id: str = ""
    customer: str = ""
    span: Span = WHOLE

    def name(self) -> str:
        days = "_".join(day.isoformat() for day in (self.span.since, self.span.until) if day)
        return self.payout_id or self.customer or days or "all"


@dataclass(frozen=True, slots=True)
class Asked:
    """For whom, in which language, and when it is printed."""

    subject: Subject
    language: str
    at: datetime


def prove(installation: Installation, session: Session, run: Run, connection: Connection, asked: Asked) -> bytes:
    """Return the sealed PDF, signed where there is a key; raise ProofError if it has no line or too many."""
    from reports.packs.paper import Paper  # noqa: PLC0415 - a tenth of the program's start, for one file

    language, lines = asked.language, _read_lines(session, run, asked.subject)
    waiting = find_pending(session, installation, connection, run, now=asked.at)
    title = translate("proof.title", language)
    paper = Paper(title, language=language, at=asked.at)
    paper.facts(_say_facts(session, run, connection, asked))
    payout = standing.find_payout(session, [run], asked.subject.payout_id)
    if payout is not None:
        _draw_payout(paper, session, run, payout, waiting, asked)
    paper.heading(title_of(_LINES, language))
    head = ("local_date", "resource_id", "customer_name", "doc_folio", "amount_signed", "fee_total", "outcome")
    is_dead = payout is not None and payout["status"] in DEAD
    rows = [_to_cells(line, language, is_dead=is_dead) for line in lines]
    paper.lines(
        rows,
        [translate("Document", language) if name == "doc_folio" else label_of(_LINES, name, language) for name in head],
        _WIDTHS,
        figures=(4, 5),
    )
    if asked.subject.payout_id:
        # Elsewhere an item of a payout that failed stands again in the next.
        paper.figures(_add_up(lines, language), ["", *(label_of(_LINES, name, language) for name in head[4:6])])
    _draw_people(paper, session, connection, lines, asked, waiting)
    paper.heading(translate("proof.hashes", language))
    digests = sorted(read_summary(run)["inputs"].items())
    paper.facts([(name_input(name, language), digest) for name, digest in digests])
    paper.note(translate("proof.note", language))
    pem = installation.settings.signing_key
    return finish(paper.to_bytes(), load_private_key(pem.get_secret_value()) if pem else None)


def _read_lines(session: Session, run: Run, subject: Subject) -> list[Row]:
    found: list[Row] = []
    for line in _find_lines(session, run, subject):
        found.append(line)
        if len(found) > _MOST_LINES:
            raise ProofError("proof.too_many", most=_MOST_LINES)
    if not found:
        raise ProofError("proof.no_lines", subject=subject.name())
    return found


def _find_lines(session: Session, run: Run, subject: Subject) -> Iterator[Row]:
    if subject.customer:
        paid = list(chunks.find_lines(session, run, "customer_tax_id", subject.customer))
        # What another paid on a document of theirs, too.
        theirs = chunks.find_lines(session, run, "doc_customer_tax_id", subject.customer)
        lines = [*paid, *(line for line in theirs if line["customer_tax_id"] != subject.customer)]
        return (line for line in lines if subject.span.holds(_to_day(line["local_date"])))
    return frames.line_rows(session, [run], subject.span, payout_id=subject.payout_id or None)


def _say_facts(session: Session, run: Run, connection: Connection, asked: Asked) -> list[tuple[str, str]]:
    language, span = asked.language, asked.subject.span
    days = (span.since, span.until)
    shown = " – ".join(notation.format_date(day, language) if day else "…" for day in days) if any(days) else ""
    as_of = notation.format_date(run.as_of, language)
    reader = Reader(language, lambda _name: connection.country.zone, bank_name=lambda _bank: "")
    names = name_payouts(session, [connection.name], [asked.subject.payout_id], reader)
    customers = name_customers(session, connection.name, filter(None, [asked.subject.customer]))
    said = translate("month.run", language, number=run.number, as_of=as_of, run=run.id)
    about = [
        (label_of(_LINES, "payout_id", language), join_name(asked.subject.payout_id, *names.values())),
        (translate("Customer", language), join_name(*customers.values())),
        (translate("month.days", language), shown),
    ]
    return [
        (translate("month.merchant", language), name_merchant(connection, language)),
        *((name, text) for name, text in about if text),
        (label_of("periods", "run_id", language), said),
        (translate("proof.printed", language), notation.format_moment(asked.at, language, connection.country.zone)),
    ]


def _to_cells(line: Row, language: str, *, is_dead: bool) -> list[str]:
    country, kind, series, folio, uuid = (line[f"doc_{name}"] or "" for name in _NAMED_BY)
    outcome = word("outcome", line["outcome"], language)
    # The rule of a refund is that it is one, which its type says already.
    has_rule = line["match_rule"] and line["match_rule"] != line["resource_type"]
    rule = phrases.rule(line["match_rule"], language) if has_rule else ""
    on = _to_day(line["local_date"])
    without = translate("payout.item_elsewhere", language) if is_dead else ""
    return [
        notation.format_date(on, language) if on else "",
        f"{word('type', line['resource_type'], language)} {line['resource_id']}",
        " ".join(filter(None, (line["customer_name"], format_tax_id(line["customer_tax_id"] or "")))),
        name_document(country, kind, series, folio, uuid, language) if line["doc_key"] else without,
        _amount(line["amount_signed"], line["currency"], language),
        _amount(line["fee_total"], line["currency"], language),
        f"{outcome} · {rule}" if rule else outcome,
    ]


def _amount(amount: int | None, currency: str, language: str) -> str:
    return "" if amount is None else notation.format_amount(amount, currency, language)


def _to_day(day: date | str | None) -> date | None:
    return date.fromisoformat(day) if isinstance(day, str) and day else day or None


def _say_day(day: date | str | None, language: str) -> str:
    on = _to_day(day)
    return notation.format_date(on, language) if on else "…"


def _add_up(lines: Sequence[Row], language: str) -> list[list[str]]:
    rows = []
    for currency in sorted({line["currency"] for line in lines}):
        sums = [
            sum(line[name] or 0 for line in lines if line["currency"] == currency)
            for name in ("amount_signed", "fee_total")
        ]
        rows.append(
            [f"{translate('proof.sum', language)} {currency}", *(_amount(one, currency, language) for one in sums)]
        )
    return rows


def _draw_payout(
    paper: "Paper", session: Session, run: Run, payout: Row, waiting: Pending | None, asked: Asked
) -> None:
    """Write how a payout comes from gross to net, and the line of the bank that brought it or that none did."""
    language, currency = asked.language, payout["currency"]
    paper.heading(translate("From gross to net", language))
    sums = [(name, payout[name]) for name in SUMS[:-1] if payout[name] or name in _ALWAYS]
    rows = [[label_of("payout-summary", name, language), _amount(one, currency, language)] for name, one in sums]
    paper.figures(rows, ["", currency])
    paper.heading(translate("Bank", language))
    paper.facts(_say_bank(session, run, payout, language))
    later = waiting.payouts.get(payout["payout_id"]) if waiting else None
    if later is not None and later["bank_movement_id"] != payout["bank_movement_id"]:
        paper.note(translate("proof.later_line", language))
        paper.facts(_say_bank(session, run, {**payout, **later}, language))


def _say_bank(session: Session, run: Run, payout: Row, language: str) -> list[tuple[str, str]]:
    movement_id = payout["bank_movement_id"]
    if not movement_id:
        expected = _say_day(payout["expected_arrival"], language)
        return [(translate("proof.no_line", language), translate("proof.expected", language, day=expected))]
    # A line of days that are closed may be known by the payout alone.
    known = {"bank_day": payout["bank_date"], "amount_signed": payout["bank_amount"], "currency": payout["currency"]}
    line = {**dict.fromkeys(_OF_LINE), **known, **(bank.find_line(session, run, movement_id) or {})}
    amount = f"{_amount(line['amount_signed'], line['currency'], language)} {line['currency']}"
    account = line["account_last4"] and f"···{line['account_last4']}"
    said = join_name(account, line["description"], line["reference"], line["file"])
    tied = [(label_of("bank-lines", "tied_by", language), join_name(line["tied_by"], line["tied_reason"]))]
    return [
        (_say_day(line["bank_day"], language), join_name(amount, said)),
        (label_of("bank-lines", "movement_id", language), movement_id),
        *(tied if line["tied_by"] else []),
    ]


def _draw_people(
    paper: "Paper", session: Session, connection: Connection, lines: Sequence[Row], asked: Asked,
    waiting: Pending | None,
) -> None:  # fmt: skip
    """Write what is open or was closed about these lines, and who decided what and why."""
    language, zone = asked.language, connection.country.zone
    later = {one.id for one in waiting.decisions} if waiting else set()
    # A payout of many customers is no matter of one of them.
    payouts = () if asked.subject.customer else {line["payout_id"] for line in lines}
    exceptions = _select(session, ExceptionRow, connection, lines, col(ExceptionRow.payout_id).in_(payouts))
    if exceptions:
        paper.heading(title_of("exceptions", language))
        paper.facts([_say_exception(one, language) for one in exceptions])
    files = [file for one in exceptions for file in list_attachments(session, connection.name, one.id)]
    if files:
        paper.heading(translate("Files", language))
        rows = [(notation.format_moment(file.at, language, zone), join_name(file.who, file.name)) for file in files]
        paper.facts([row for file, said in zip(files, rows, strict=True) for row in (said, ("SHA-256", file.sha256))])
    decisions = _select(session, Decision, connection, lines, col(Decision.resource_id).in_(payouts))
    paper.heading(title_of("decisions", language))
    waits = {one: translate("proof.waits", language) for one in later}
    rows = [
        (notation.format_moment(one.at, language, zone), join_name(_say_decision(one, language), waits.get(one.id)))
        for one in decisions
    ]
    paper.facts(rows or [(translate("proof.no_decisions", language), "")])


def _say_exception(one: ExceptionRow, language: str) -> tuple[str, str]:
    about = one.resource_id or one.doc_key or one.payout_id or ""
    amount = f"{_amount(one.amount_at_risk, one.currency, language)} {one.currency}"
    state = join_name(amount, word("exception", one.state, language), one.owner)
    return phrases.code_title(one.code, language), f"{about}: {state}"


def _say_decision(one: Decision, language: str) -> str:
    return join_name(one.author, word("decision", one.kind, language), one.resource_id, one.doc_key, one.reason)


def _select(
    session: Session, table: type[About], connection: Connection, lines: Sequence[Row], *more: sa.ColumnElement[bool]
) -> Sequence[About]:
    """Return the rows about the items or documents of these lines, or of which more is true."""
    items = {line["resource_id"] for line in lines}
    documents = {line["doc_key"] for line in lines if line["doc_key"]}
    about = sa.or_(col(table.resource_id).in_(items), col(table.doc_key).in_(documents), *more)
    return session.scalars(
        sa.select(table).where(col(table.connection) == connection.name, about).order_by(col(table.id))
    ).all()
