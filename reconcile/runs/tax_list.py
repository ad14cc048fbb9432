"""The tax control's part of the work list: the causes that are exceptions, of the months that can still be mended."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, TypeAlias

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.store import Turn, among, take_turn
from reconcile.exceptions.life import ExceptionState, Seen, by_identity, list_open, merge
from reconcile.fiscal.calendar import is_kept, month_before
from reconcile.fiscal.comparing import Part, Tie, Verdict
from reconcile.fiscal.declared import find_rectified
from reconcile.fiscal.facts import causes
from reconcile.fiscal.fees import add_months
from reconcile.fiscal.overview import Overview, keep, look_at, mark_inputs
from reconcile.fiscal.reading import read_world
from reconcile.fiscal.tie_out import tie_out
from reconcile.fiscal.witnesses import Witness, World
from reconcile.rules.at_risk import Total, add_up_risks
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import Finding
from reconcile.rules.outcomes import OF_TAX, Code, Severity
from reconcile.runs.publication import last_complete, read_exceptions, write_merge
from reconcile.tables.books import LocalInvoice
from reconcile.tables.runs import Run

# So many months that are over are looked at, which a note or a late fee invoice may mend, and those of open exceptions.
_MONTHS = 3
_COMPLEMENTS, _VOUCHERS, _RETURN = "complements", "vouchers", "return"
_FIRST = (Witness.BOOKS, Witness.COLLECTED, Witness.TAX_OFFICE)
_DOCUMENTS = ("cl:", "mx:")
# Of what the tax office would compute, the figure whose causes are exceptions: the others say them again.
_TAX = "vat_caused"
# A month, a figure of it, and whether it was tied with what was declared.
_Place: TypeAlias = tuple[str, str, bool]


class _Cause(NamedTuple):
    """A cause that is an exception, of one document or payment of a month."""

    code: Code
    severity: Severity | None
    month: str
    figure: str
    part: Part


@dataclass(frozen=True, slots=True)
class _Judged:
    """What a look found, and the figures of months that it could judge: an exception elsewhere stays as it is."""

    found: dict[str, Finding]
    places: frozenset[_Place]
    overviews: Mapping[str, Overview]

    def could_find(self, row: ExceptionState) -> bool:
        return _place_of(row) in self.places


def list_tax(installation: Installation, connection: Connection, *, run_id: str, as_of: date) -> None:
    """Bring the work list in line with the tax control after a run, whose money is one of its witnesses.

    A run of an earlier day leaves the list alone. A merchant without registers, tax documents and declared figures does
    not keep the control, and has none of these.
    """
    store = installation.store
    with store.reading() as session:
        if last_complete(session, connection.name) > as_of or not is_kept(session, connection.name):
            return
        mark = mark_inputs(session, connection, today=as_of)
        judged = _judge(session, connection, as_of)
    with store.transaction() as session:
        keep(session, connection, judged.overviews, mark)
        # One list of exceptions is merged by one at a time.
        take_turn(session, Turn.RUNS)
        seen = Seen(connection.name, run_id, as_of, utc_now(), True, judged.found)
        known = read_exceptions(session, connection.name, judged.found)
        merged = merge((row for row in known if row.code in OF_TAX), seen, could_find=judged.could_find)
        write_merge(session, merged, seen)
        _say_risk(session, connection.name, run_id, add_up_risks(list_open(known, merged)))


def _say_risk(session: Session, connection: str, run_id: str, at_risk: Mapping[str, Total]) -> None:
    """Write what is at risk into the run that the list was looked at after: its figure is that of the whole list."""
    run = session.get(Run, (connection, run_id))
    said = {currency: total._asdict() for currency, total in at_risk.items()}
    if run is not None and (summary := json.loads(run.summary))["value_at_risk"] != said:
        run.summary = json.dumps(summary | {"value_at_risk": said}, sort_keys=True)


def _judge(session: Session, connection: Connection, as_of: date) -> _Judged:
    last, country = month_before(as_of), connection.country_code
    open_now = (row for row in read_exceptions(session, connection.name, ()) if row.code in OF_TAX)
    months = {add_months(last, -lag) for lag in range(_MONTHS)} | {_place_of(row)[0] for row in open_now}
    # Complements are due in the month after the payment: that of today too.
    due = months | {f"{as_of:%Y-%m}"}
    world = read_world(session, connection, today=as_of, periods=due)
    of_months = {month: tie_out(world, month) for month in sorted(months)}
    ties = [tie for found in of_months.values() for tie in found]
    found = [*_find_in_ties(ties, country), *_find_of_complements(world, due)]
    rectified = sorted(find_rectified(session, connection) & months)
    found += [_Cause(Code.F29_RECTIFIED, None, month, _RETURN, Part("", 0)) for month in rectified]
    places = {(tie.period, tie.figure, _is_declared(tie)) for tie in ties if _has_verdict(tie)}
    if country == "mx" and (world.xml.is_known or world.register.is_known):
        places |= {(month, _COMPLEMENTS, False) for month in due}
    names = dict(_read_names(session, connection.name, {cause.part.doc_key for cause in found}))
    findings = _merge_alike(_to_finding(cause, names, connection.country.currency) for cause in found)
    overviews = {month: look_at(world, month, found) for month, found in of_months.items()}
    return _Judged(by_identity(connection.name, findings), frozenset(places), overviews)


def _has_verdict(tie: Tie) -> bool:
    """Return True if causes of a tie hold; vouchers and receipts of one payment need no register.

    Where XML of some documents is missing the figure has no verdict, and the causes of the others stand.
    """
    may_lack = {None} if _is_declared(tie) else {None, Verdict.NOT_ASKED}
    return tie.figure == _VOUCHERS or (tie.difference is not None and tie.withheld in may_lack)


def _is_declared(tie: Tie) -> bool:
    return Witness.DECLARED in (tie.a.witness, tie.b.witness)


def _find_in_ties(ties: Iterable[Tie], country: str) -> Iterator[_Cause]:
    for tie in filter(_has_verdict, ties):
        if _is_declared(tie):
            if tie.rest:
                yield _Cause(Code.F29_DIFF, None, tie.period, tie.figure, Part("", tie.rest))
        elif tie.a.witness in _FIRST and (tie.a.witness is not Witness.TAX_OFFICE or tie.figure == _TAX):
            for part in tie.parts:
                yield from _to_cause(part, tie.period, tie.figure, country)


def _find_of_complements(world: World, months: set[str]) -> Iterator[_Cause]:
    """Yield what complements are wrong in: those alone know on which day they were due."""
    for one in world.causes:
        month = f"{one.opened_on:%Y-%m}"
        if month in months:
            part = Part(one.code, one.amount, one.doc_key, one.tax, one.opened_on)
            yield from _to_cause(part, month, _COMPLEMENTS, world.terms.country)


def _to_cause(part: Part, month: str, figure: str, country: str) -> Iterator[_Cause]:
    cause = causes()[part.cause]
    is_of_complements = part.cause in {"rep_missing", "rep_late", "payment_form_wrong"}
    if cause.exception in OF_TAX and cause.country in {"", country} and is_of_complements == (figure == _COMPLEMENTS):
        yield _Cause(Code[cause.exception], Severity(cause.severity), month, figure, part)


def _read_names(session: Session, connection: str, keys: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the customers of documents that are in the books."""
    mine = (col(LocalInvoice.connection) == connection, among(session, LocalInvoice.doc_key, keys))
    asked = sa.select(col(LocalInvoice.doc_key), col(LocalInvoice.customer_name)).where(*mine)
    yield from ((key, name) for key, name in session.execute(asked))


def _to_finding(cause: _Cause, names: dict[str, str], currency: str) -> Finding:
    """Word a cause; what it is about is its document, its payment, or a figure of the return."""
    part, key = cause.part, cause.part.doc_key
    subject = f"declared:{cause.month}:{cause.figure}"
    if key:
        subject = f"document:{key}" if key.startswith(_DOCUMENTS) else f"resource:{key}"
    evidence = {"period": cause.month, "figure": cause.figure, "cause": part.cause or None, "document": key or None}
    about = About(
        subject, currency, resource_id=key if subject.startswith("resource:") else None,
        doc_key=key if key in names else None, evidence={name: one for name, one in evidence.items() if one},
        fact_on=part.on, due_on=part.on if part.cause == "rep_missing" else None, customer_name=names.get(key) or None,
    )  # fmt: skip
    return to_finding(cause.code, about, at_risk=abs(part.tax or part.amount), severity=cause.severity)


def _merge_alike(findings: Iterable[Finding]) -> Sequence[Finding]:
    """Return one finding of a code and subject: a document in several figures is at risk once, with the most of it."""
    found: dict[tuple[str, str], Finding] = {}
    for one in findings:
        before = found.get((one.code, one.subject))
        if before is None or one.amount_at_risk > before.amount_at_risk:
            found[one.code, one.subject] = one
    return list(found.values())


def _place_of(row: ExceptionState) -> _Place:
    said = msgspec.json.decode(row.evidence, type=dict[str, object])
    return str(said.get("period", "")), str(said.get("figure", "")), row.code == Code.F29_DIFF
