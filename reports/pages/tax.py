"""Taxes: the months there are, and a page for each: its figures with their witnesses, why they differ, what is due."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple

import sqlalchemy as sa
from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session, col

from consumer.facts.bankdays import read_calendar
from consumer.facts.installation import Connection
from consumer.facts.messages import name_month, translate
from consumer.facts.money import format_decimal
from reconcile.fiscal import overview
from reconcile.fiscal.calendar import Due, is_period, list_due, month_before
from reconcile.fiscal.declared import FILE, TYPED, DeclaredError, Wish, declare, list_declared, read_declared, read_file
from reconcile.fiscal.facts import facts_of
from reconcile.fiscal.reading import read_months
from reconcile.fiscal.tie_out import end_of
from reconcile.tables.books import LocalInvoice
from reconcile.tables.fiscal import DeclaredFigure, FiscalDocument, RegisterFile
from reports.access.people import Role
from reports.making import fiscal
from reports.pages import desk
from reports.pages.protection import need
from reports.pages.words import refusal
from reports.shapes import notation
from reports.shapes.spans import Row

blueprint = Blueprint("tax", __name__, url_prefix="/tax")

_MONTHS_OFFERED = 24
_MONTH = len("2026-10")


class Listed(NamedTuple):
    """A month, or the year of an annual return: what is here of it by cheap counts, and the duty that comes next."""

    own: Connection
    period: str
    registers: Mapping[str, datetime]
    declared: int
    due: Due | None


@blueprint.get("")
def index() -> ResponseReturnValue:
    """List the months there are; none is compared before its page is opened."""
    with desk.installation().store.reading() as session:
        found = [one for own in desk.connections() for one in _list_months(session, own)]
    months = sorted(found, key=lambda one: one.period, reverse=True)
    return render_template("taxes.html", months=months, name_period=_name_period, today=desk.today())


def _list_months(session: Session, own: Connection) -> Iterator[Listed]:
    today, calendar = desk.today(), read_calendar(desk.installation().settings.files_dir, own.country_code)
    asked, _ = read_months(session, own.name)
    declared = read_declared(session, own)
    for period in _list_periods(session, own.name, month_before(today)):
        due = list_due(own.country_code, period, calendar, today) if len(period) == _MONTH else []
        registers = {side: at for (side, month), at in sorted(asked.items(), reverse=True) if month == period}
        figures = len(declared[period].amounts) if period in declared else 0
        yield Listed(own, period, registers, figures, next((one for one in due if one.days_left >= 0), None))


@blueprint.get("/<connection>/<period>")
def show(connection: str, period: str) -> ResponseReturnValue:
    """Show what every witness says of a month, or of a year as its annual return."""
    own = _find(connection, period)
    today = desk.today()
    with desk.installation().store.reading() as session:
        shown = overview.show(session, own, period, today=today)
        versions = [one for one in list_declared(session, own) if one.period == period]
        found = shown.overview
        rows = [fiscal.to_cause(period, figure, part, own, today) for figure, part in found.causes]
        kept = _find_kept(session, connection, rows)
        periods = _list_periods(session, connection, period)
    is_month = len(period) == _MONTH
    calendar = read_calendar(desk.installation().settings.files_dir, own.country_code)
    vouchers = list(fiscal.to_vouchers(found.vouchers, own.name))
    return render_template(
        "tax.html", own=own, period=period, periods=periods, name_period=_name_period, rows=rows, total=found.total,
        groups=fiscal.to_groups(found.ties), add_up=fiscal.add_up_causes, kept=kept, is_month=is_month,
        due=list_due(own.country_code, period, calendar, today) if is_month else (), levers=found.levers,
        missing=found.missing, cancelled=found.cancelled, has_xml=found.has_xml, knows=found.knows,
        vouchers=vouchers if any(day["total"] for day in vouchers) else [], fields=_to_fields(own, period, versions),
        versions=versions, span=_span_of(period), write=_write, may_bring=desk.reader().role.may(Role.FINANCE),
        open_ties=[tie for tie in found.ties if tie.rest and tie.withheld is None], shown=shown, today=today,
    )  # fmt: skip


@blueprint.post("/<connection>/<period>/again")
def compare(connection: str, period: str) -> ResponseReturnValue:
    """Tie the period out anew, with what came in since it was."""
    need(Role.FINANCE)
    own = _find(connection, period)
    _reckon(own, period)
    return redirect(url_for("tax.show", connection=own.name, period=period))


@blueprint.post("/<connection>/<period>")
def state(connection: str, period: str) -> ResponseReturnValue:
    """Keep the figures of the form that were changed, or those of a file; all of them or none."""
    need(Role.FINANCE)
    own = _find(connection, period)
    given = request.files.get("file")
    try:
        wishes = read_file(given.read()) if given is not None else None
        with desk.installation().store.transaction() as session:
            source = TYPED if wishes is None else FILE
            if wishes is None:
                wishes = list(_read_form(own, period, list_declared(session, own)))
            kept = declare(session, own, wishes, author=desk.reader().name, at=desk.now(), source=source)
        _reckon(own, period)
    except DeclaredError as error:
        return desk.refuse(refusal(error.message, desk.language()), "tax.show", connection=own.name, period=period)
    desk.note("declare", f"{own.name} {period}")
    language = desk.language()
    flash(translate("done.declare", language, n=notation.format_count(kept, language)), "done")
    return redirect(url_for("tax.show", connection=own.name, period=period, _anchor="declared"))


def _reckon(own: Connection, period: str) -> None:
    """Tie a period out and keep it; what others write meanwhile does not wait for that."""
    store = desk.installation().store
    with store.reading() as session:
        found, mark = overview.reckon(session, own, period, today=desk.today())
    with store.transaction() as session:
        overview.keep(session, own, {period: found}, mark)


def _find(connection: str, period: str) -> Connection:
    own = desk.find_connection(connection)
    if not is_period(period):
        abort(404)
    return own


def _name_period(period: str) -> str:
    """Name a month as "septiembre de 2026"; a year is a number."""
    return name_month(end_of(period), desk.language()) if len(period) == _MONTH else period


def _span_of(period: str) -> tuple[date, date]:
    if len(period) == _MONTH:
        return date.fromisoformat(f"{period}-01"), end_of(period)
    return date(int(period), 1, 1), date(int(period), 12, 31)


def _list_periods(session: Session, connection: str, shown: str) -> list[str]:
    """Return the newest periods that anything is kept of, last month and the one shown among them."""
    found = {shown, month_before(desk.today())}
    for table in (RegisterFile, DeclaredFigure):
        asked = sa.select(col(table.period)).where(col(table.connection) == connection).distinct()
        found.update(period for text in session.scalars(asked) for period in text.split())
    # Each is one look into the index, where all documents of a month have it.
    newest = sa.select(sa.func.max(col(FiscalDocument.period))).where(col(FiscalDocument.connection) == connection)
    period = session.scalar(newest)
    for _ in range(_MONTHS_OFFERED):
        if not period:
            break
        found.add(period)
        period = session.scalar(newest.where(col(FiscalDocument.period) < period))
    return sorted(found, reverse=True)[:_MONTHS_OFFERED]


def _find_kept(session: Session, connection: str, rows: Sequence[Row]) -> set[str]:
    """Return the documents of the rows that have a page of their own."""
    keys = {row["doc_key"] for row in rows if row["doc_key"]}
    mine = (col(LocalInvoice.connection) == connection, col(LocalInvoice.doc_key).in_(keys))
    return set(session.scalars(sa.select(col(LocalInvoice.doc_key)).where(*mine)))


def _to_fields(own: Connection, period: str, versions: Sequence[DeclaredFigure]) -> list[tuple[str, str, int]]:
    """Return each code of a return with its newest amount as people write it, and the version that is of."""
    country, newest = facts_of(own.country_code), _newest(versions)
    codes = country.monthly if len(period) == _MONTH else country.yearly
    found = []
    for code in sorted(codes, key=lambda one: (one not in newest, len(one), one)):
        one = newest.get(code)
        found.append((code, _write(one) if one else "", one.version if one else 0))
    return found


def _newest(versions: Sequence[DeclaredFigure]) -> Mapping[str, DeclaredFigure]:
    return {one.code: one for one in reversed(versions)}


def _write(figure: DeclaredFigure) -> str:
    text = format_decimal(figure.amount, figure.currency) if figure.currency else str(figure.amount)
    return notation.format_figure(text, desk.language())


def _read_form(own: Connection, period: str, versions: Sequence[DeclaredFigure]) -> Iterator[Wish]:
    """Yield the figures that were changed: what a field holds is compared with the version that its reader saw."""
    mine = [one for one in versions if one.period == period]
    shown = {(one.code, one.version): _write(one) for one in mine}
    counts = facts_of(own.country_code).counts
    for code, _, _ in _to_fields(own, period, mine):
        text, seen = desk.form_text(f"amount.{code}"), desk.whole_number(desk.form_text(f"seen.{code}")) or 0
        if not text or text == shown.get((code, seen)):
            continue
        try:
            plain = text if code in counts else notation.to_plain(text, desk.language())
        except ValueError:
            raise DeclaredError("tax.not_declarable", text=text[:30], currency=own.country.currency) from None
        yield Wish(period, code, plain, seen=seen)
