"""What all witnesses of a connection say, read from the tables: the one query module of the tax control."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from itertools import chain

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.clock import local_date
from consumer.facts.countries import COUNTRIES
from consumer.facts.installation import Connection
from consumer.facts.money import MoneyError, digits_of, take_tax_out
from consumer.facts.store import Row, among
from reconcile.books.register_files import read_rows
from reconcile.books.tax_registers import BOTH, METADATA, SIDES, SUMMARY
from reconcile.books.vat_rates import RateSum, read_rates
from reconcile.fiscal.complements import Cause, find_causes
from reconcile.fiscal.declared import read_declared
from reconcile.fiscal.link import drop_sums, read_link, read_linked_periods, to_plain_tax_id
from reconcile.fiscal.notes import NotePart, read_notes
from reconcile.fiscal.sales import read_listing, read_sales
from reconcile.fiscal.scope import Scope, find_scope, read_lines
from reconcile.fiscal.witnesses import Complement, Fee, Paper, Payment, Said, State, Terms, World
from reconcile.kept import chunks, extracts
from reconcile.kept.records import last_run, read_summary
from reconcile.rules.inputs import DISPUTE, PAYMENT_TYPES, REFUND
from reconcile.rules.kinds import CREDIT_NOTES, EXEMPT_KINDS, KINDS
from reconcile.tables.books import InvoiceFile, LocalInvoice
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment, FiscalRelation, RegisterFile, RegisterRow
from reconcile.tables.runs import Run

# Sections of a register whose documents count; the others only list what waits or was refused.
_WHOLE = ("registro", SUMMARY, METADATA)
_STATES = {
    "registro": State.VALID, "vigente": State.VALID, "cancelado": State.CANCELLED, "reclamado": State.CLAIMED,
    "valid": State.VALID, "cancelled": State.CANCELLED, "replaced": State.CANCELLED,
}  # fmt: skip
# No tax id.
_NONE = "-"


def read_world(
    session: Session, connection: Connection, *, today: date, periods: Collection[str] | None = None
) -> World:
    """Read what every witness says that bears on some periods, or everything; the newest run says what was collected.

    A year is only tied with its months as they were declared, so for one no more is read.
    """
    issuer = to_plain_tax_id(connection.provider_tax_id or "", connection.country_code)
    terms = Terms(
        connection.country_code, connection.voucher_model, connection.note_months, issuer, connection.income_by
    )  # fmt: skip
    declared = read_declared(session, connection)
    months = None if periods is None else {period for period in periods if len(period) == len("2026-10")}
    if months is not None and not months:
        return World(terms, declared=declared)
    run = last_run(session, connection.name, today=today)
    scope = Scope() if months is None else find_scope(session, connection, run, months)
    books = _read_books(session, connection, scope)
    register, link = _read_registers(session, connection, books, scope, issuer)
    xml = _read_xml(session, connection, scope, issuer)
    return World(
        terms,
        books=split_totals(books, [*register.papers, *xml.papers]) if connection.country_code == "cl" else books,
        register=register,
        link=link,
        xml=xml,
        payments=list(to_payments(read_lines(session, run, scope), tolerance=_read_tolerance(run))) if run else (),
        collected_as_of=run.started_at if run else None,
        fees=read_fees(session, run, connection.country.currency) if run else {},
        complements=list(_read_complements(session, connection, scope)),
        causes=list(_read_causes(session, connection, run, register, today, scope))
        if connection.country_code == "mx"
        else (),
        declared=declared,
    )


def _read_tolerance(run: Run) -> int:
    return read_summary(run)["tolerances"].get("amount_tolerance", 0)


def read_periods(session: Session, connection: Connection) -> set[str]:
    """Return the months, and years of annual returns, that a register, an XML or a declared figure is of."""
    found = set(read_declared(session, connection))
    for table in (FiscalDocument, RegisterRow):
        found |= set(
            session.scalars(sa.select(col(table.period)).where(col(table.connection) == connection.name).distinct())
        )
    if not session.scalar(sa.select(sa.func.count()).where(col(RegisterFile.connection) == connection.name)):
        found |= read_linked_periods(session, connection)
    return found


def read_bills(session: Session, connection: Connection, run: Run | None, provider_tax_id: str) -> World:
    """Read what is known of the fees that a run saw: registers and XML, without sales, books and returns."""
    provider_tax_id = to_plain_tax_id(provider_tax_id, connection.country_code)
    scope = Scope(frozenset(), frozenset())
    register, link = _read_registers(session, connection, Said(), scope, provider_tax_id)
    return World(
        Terms(connection.country_code, provider_tax_id=provider_tax_id), register=register, link=link,
        xml=_read_xml(session, connection, scope, provider_tax_id),
        fees=read_fees(session, run, connection.country.currency) if run else {},
    )  # fmt: skip


def read_fees(session: Session, run: Run, currency: str) -> dict[str, Fee]:
    """Return by month what living payouts of a run paid in fees; a month with an unknown fee is left out."""
    months: dict[str, list[Row]] = {}
    for row in extracts.read(session, run, chunks.FEE).to_pylist():
        if row["currency"] == currency and row["on"] is not None:
            months.setdefault(f"{row['on']:%Y-%m}", []).append(row)
    return {
        month: Fee(
            sum(row["fee_total"] for row in rows),
            None if any(row["fee_vat"] is None for row in rows if row["fee_total"]) else
            sum(row["fee_vat"] or 0 for row in rows),
            sum(row["count"] for row in rows),
        )
        for month, rows in months.items()
        if all(row["fee_total"] is not None for row in rows)
    }  # fmt: skip


def _read_registers(
    session: Session, connection: Connection, books: Said, scope: Scope, issuer: str
) -> tuple[Said, Said]:
    """Read the register, and as a second witness how the provider shows it; without files of its own it is that."""
    link = read_link(session, connection, scope, issuer)
    register = _read_register(session, connection, books, scope, issuer)
    return (register, link) if register.is_known else (link, Said())


def _read_books(session: Session, connection: Connection, scope: Scope) -> Said:
    asked = sa.select(sa.func.max(col(InvoiceFile.imported_at))).where(col(InvoiceFile.connection) == connection.name)
    mine = (col(LocalInvoice.connection) == connection.name,)
    documents = session.exec(select(LocalInvoice).where(*mine, *scope.holding(session, LocalInvoice.doc_key))).all()
    days = {document.doc_key: document.issue_date for document in documents}
    others = {_key_of_reference(document) for document in documents} - days.keys()
    query = sa.select(col(LocalInvoice.doc_key), col(LocalInvoice.issue_date)).where(*mine)
    days |= dict(session.execute(query.where(among(session, LocalInvoice.doc_key, others))).all())
    replaced = _read_replaced(session, connection.name)
    papers = [
        Paper(
            key=document.doc_key, side="sales", kind=document.doc_type, period=f"{document.issue_date:%Y-%m}",
            net=document.net or 0, exempt=document.exempt or 0, vat=document.vat or 0, total=document.total,
            state=State.VALID if document.status == "valid" else State.CANCELLED, on=document.issue_date,
            tax_id=document.customer_tax_id, method=document.payment_method.upper(),
            ref_key=_key_of_reference(document), ref_on=days.get(_key_of_reference(document)),
            is_priced=document.currency == connection.country.currency, is_replaced=document.doc_key in replaced,
            is_split=document.vat is not None,
        )
        for document in documents
    ]  # fmt: skip
    return Said(papers, session.scalar(asked))


def split_totals(books: Said, others: Iterable[Paper]) -> Said:
    """Return Chile's books with the parts of documents of which they state the total alone.

    They are those that register or XML state with the same total. Where neither does, an exempt kind has no VAT, and
    all of any other that is not stated as exempt bears the general rate. A credit note takes VAT back only if it names
    a document that bears it: nothing counts as less tax than it may be.
    """
    known = {(paper.key, paper.total): paper for paper in others}
    return replace(books, papers=[
        paper if paper.is_split else _split_total(paper, known.get((paper.key, paper.total))) for paper in books.papers
    ])  # fmt: skip


def _split_total(paper: Paper, same: Paper | None) -> Paper:
    if same is not None:
        return paper._replace(net=same.net, exempt=same.exempt, vat=same.vat)
    if paper.kind in EXEMPT_KINDS or (paper.kind in CREDIT_NOTES and not _names_taxed(paper.ref_key)):
        return paper._replace(net=0, exempt=paper.total)
    net, vat = take_tax_out(paper.total - paper.exempt, COUNTRIES["cl"].vat_percent)
    return paper._replace(net=net, vat=vat)


def _names_taxed(ref_key: str) -> bool:
    """Return True if a note's reference is to a document of a kind that bears VAT."""
    _, _, rest = ref_key.partition(":")
    kind, _, _ = rest.partition(":")
    return kind in KINDS["cl"] and kind not in EXEMPT_KINDS


def _key_of_reference(document: LocalInvoice) -> str:
    if not document.ref_number:
        return ""
    if document.country == "mx":
        return f"mx:uuid:{document.ref_number.lower()}"
    return f"cl:{document.ref_type}::{document.ref_number}"


def _read_register(session: Session, connection: Connection, books: Said, scope: Scope, issuer: str) -> Said:
    months, sums = read_months(session, connection.name)
    number = RegisterRow.uuid if connection.country_code == "mx" else RegisterRow.folio
    asked = () if scope.months is None else (sa.or_(
        col(RegisterRow.period).in_(scope.months), among(session, number, scope.numbers),
        col(RegisterRow.issuer_tax_id) == (issuer or _NONE),
    ),)  # fmt: skip
    rows = read_rows(session, connection.name, *asked)
    days = {paper.key: paper.on for paper in books.papers} | {_key_of(row): row.issue_date for row in rows}
    missing = {row.ref_folio for row in rows if f"cl:{row.ref_kind}::{row.ref_folio}" not in days} - {""}
    if missing:
        others = read_rows(session, connection.name, among(session, RegisterRow.folio, missing))
        days |= {_key_of(row): row.issue_date for row in others}
    papers = [_to_paper(row, days) for row in rows if row.currency == connection.country.currency]
    return Said(drop_sums(papers), max(months.values(), default=None), months, sums)


def read_months(session: Session, connection: str) -> tuple[dict[tuple[str, str], datetime], set[tuple[str, str]]]:
    """Return when each side and month was asked for, by the sections that hold what counts, and which as a summary."""
    found: dict[tuple[str, str], datetime] = {}
    sums: set[tuple[str, str]] = set()
    asked = select(RegisterFile).where(RegisterFile.connection == connection).order_by(col(RegisterFile.as_of))
    for file in session.exec(asked.where(col(RegisterFile.section).in_(_WHOLE))):
        for side in SIDES if file.side == BOTH else (file.side,):
            mine = {(side, period): file.as_of for period in file.period.split()}
            found |= mine
            sums |= mine.keys() if file.section == SUMMARY else set()
    return found, sums


def _read_replaced(session: Session, connection: str) -> set[str]:
    mine = (col(FiscalDocument.connection) == connection, col(FiscalDocument.replaced_by) != "")
    return set(session.scalars(sa.select(col(FiscalDocument.doc_key)).where(*mine)))


def _key_of(row: RegisterRow) -> str:
    if row.uuid:
        return f"mx:uuid:{row.uuid}"
    if row.count is not None:
        return f"sum:{row.side}:{row.kind}:{row.period}"
    return f"cl:{row.kind}::{row.folio}" if row.side == "sales" else f"cl:{row.issuer_tax_id}:{row.kind}:{row.folio}"


def _to_paper(row: RegisterRow, days: Mapping[str, date | None]) -> Paper:
    key, ref_key = _key_of(row), f"cl:{row.ref_kind}::{row.ref_folio}" if row.ref_folio else ""
    return Paper(
        key=key, side=row.side, kind=row.kind, period=row.period, net=row.net or 0, exempt=row.exempt or 0,
        vat=row.vat or 0, total=row.total, on=row.issue_date,
        state=_STATES.get(row.state, State.WAITING),
        tax_id=row.receiver_tax_id if row.side == "sales" else row.issuer_tax_id, is_sum=row.count is not None,
        ref_key=ref_key, ref_on=days.get(ref_key), is_split=row.vat is not None,
    )  # fmt: skip


def _read_xml(session: Session, connection: Connection, scope: Scope, issuer: str) -> Said:
    mine, home = (col(FiscalDocument.connection) == connection.name,), connection.country.currency
    as_of = session.scalar(sa.select(sa.func.max(col(FiscalDocument.updated_at))).where(*mine))
    of_provider = col(FiscalDocument.issuer_tax_id) == (issuer or _NONE)
    asked = (sa.or_(condition, of_provider) for condition in scope.holding(session, FiscalDocument.doc_key))
    rows = session.exec(select(FiscalDocument).where(*mine, *asked)).all()
    said = (col(FiscalRelation.connection) == connection.name, *scope.holding(session, FiscalRelation.doc_key))
    relations = session.exec(select(FiscalRelation).where(*said).order_by(col(FiscalRelation.line).desc()))
    refers = {one.doc_key: one.other_key for one in relations}
    lowered: defaultdict[str, list[NotePart]] = defaultdict(list)
    for part in chain.from_iterable(read_notes(session, connection.name, scope.keys).values()):
        lowered[part.key].append(part)
    return Said([_of_xml(row, home, refers.get(row.doc_key, ""), lowered[row.doc_key]) for row in rows], as_of)


def _of_xml(row: FiscalDocument, home: str, ref_key: str, lowered: Sequence[NotePart]) -> Paper:
    rate = "1" if row.currency == home else row.rate
    amounts = [to_home(one, row.currency, home, rate=rate) for one in (row.net, row.exempt, row.vat, row.total)]
    net, exempt, vat, total = (amount or 0 for amount in amounts)
    rates = _bring_home(row.rates, row.currency, home, rate=rate) if row.rates else ()
    is_issued = row.direction == "issued"
    return Paper(
        key=row.doc_key, side="sales" if is_issued else "purchases", kind=row.kind, period=row.period, net=net,
        exempt=exempt, vat=vat, total=total, state=_STATES.get(row.status, State.WAITING), on=row.issue_date,
        tax_id=row.receiver_tax_id if is_issued else row.issuer_tax_id, no_debit_right=row.no_debit_right,
        third_party=row.third_party, method=row.payment_method.upper(), is_global=bool(row.global_of),
        is_replaced=bool(row.replaced_by),
        ref_key=lowered[0].doc_key if lowered else ref_key, is_priced=None not in amounts,
        lowered=tuple((part.doc_key, part.amount) for part in lowered), rates=rates,
    )  # fmt: skip


def _bring_home(text: str, currency: str, home: str, *, rate: str, per: str = "1") -> tuple[RateSum, ...]:
    """Return sums by rate in the country's money; one that cannot be is 0, and its document is not priced anyhow."""
    return tuple(
        RateSum(one.rate, *(to_home(part, currency, home, rate=rate, per=per) or 0 for part in one[1:]))
        for one in read_rates(text)
    )


def _read_causes(
    session: Session, connection: Connection, run: Run | None, register: Said, today: date, scope: Scope
) -> Iterator[Cause]:  # fmt: skip
    if connection.country_code != "mx":
        return iter(())
    sales = read_sales(session, connection, run, scope)
    listing = read_listing(session, connection, register.months or {}, scope.months)
    return find_causes(sales, today=today, listing=listing)


def _read_complements(session: Session, connection: Connection, scope: Scope) -> Iterator[Complement]:
    zone = connection.country.zone
    mine = (col(FiscalPayment.connection) == connection.name, *scope.holding(session, FiscalPayment.paid_key))
    home = connection.country.currency
    for row in session.exec(select(FiscalPayment).where(*mine)):
        on = local_date(row.paid_at, zone)
        vat, paid = (price_settled(row, home, amount) for amount in (row.vat, row.paid))
        rates = _bring_home(row.rates, row.paid_currency, home, **_rates_of(row, home)) if row.rates else ()
        base = sum(one.base for one in rates) if rates else (paid or 0) - (vat or 0)
        yield Complement(
            row.doc_key, row.paid_key, f"{on:%Y-%m}", on, row.instalment, row.paid, vat or 0,
            is_priced=None not in {vat, paid}, base=base, rates=rates,
        )  # fmt: skip


def price_settled(row: FiscalPayment, home: str, amount: int) -> int | None:
    """Return an amount of what a payment settled in the country's money: it is stated in the document's."""
    return to_home(amount, row.paid_currency, home, **_rates_of(row, home))


def _rates_of(row: FiscalPayment, home: str) -> dict[str, str]:
    per = "1" if row.paid_currency == row.currency else row.equivalence
    return {"rate": "1" if row.currency == home else row.rate, "per": per}


def to_payments(lines: Iterable[Row], *, tolerance: int) -> Iterator[Payment]:
    """Read payments as a run applied them, each part once; what is left of one pays no document.

    Where documents took the rest of it, as much as the tolerance is rounding, which may be below zero.
    An item has a line in each payout that held it, with its amount each time. A refund or a lost dispute is below zero.
    """
    seen: set[object] = set()
    rests: dict[str, Payment] = {}
    left: Counter[str] = Counter()
    applied_of: set[str] = set()
    for row in lines:
        name, part = row["resource_id"], (row["resource_id"], row["doc_key"], row["line"])
        is_new = row["amount_signed"] is not None and name not in seen
        if row["local_date"] is None or row["resource_type"] not in {*PAYMENT_TYPES, REFUND, DISPUTE}:
            continue
        if is_new:
            seen.add(name)
        amount = row["amount_signed"] if is_new else 0
        if row["resource_type"] not in PAYMENT_TYPES:
            if is_new:
                on, tax_id = date.fromisoformat(row["local_date"]), row["doc_customer_tax_id"] or ""
                key, vat = row["reversed_doc_key"] or "", row["vat_moved"] or 0
                yield Payment(name, on, "", amount, key, vat=vat, tax_id=tax_id)
            continue
        if name not in rests:
            on, tax_id = date.fromisoformat(row["local_date"]), row["customer_tax_id"] or ""
            rests[name] = Payment(name, on, row["resource_subtype"] or "", 0, tax_id=tax_id)
        applied = 0 if part in seen or not row["doc_key"] else row["applied_amount"] or 0
        left[name] += amount - applied
        if applied:
            seen.add(part)
            applied_of.add(name)
            yield rests[name]._replace(
                amount=applied, doc_key=row["doc_key"], doc_kind=row["doc_type"] or "", vat=row["vat_moved"] or 0,
                doc_on=date.fromisoformat(row["doc_date"]) if row["doc_date"] else None,
            )  # fmt: skip
    yield from (
        rest._replace(amount=left[name], is_rounding=name in applied_of and abs(left[name]) <= tolerance)
        for name, rest in rests.items()
        if left[name]
    )


def to_home(amount: int, currency: str, home: str, *, rate: str, per: str = "1") -> int | None:
    """Return an amount in the country's money, half up: divided by `per`, times `rate`; None if a rate is unreadable.

    Without an amount no rate is needed: complements have the currency XXX.
    """
    if not amount:
        return 0
    try:
        if not (Decimal(rate) > 0 and Decimal(per) > 0):
            return None
        worth = Decimal(amount).scaleb(digits_of(home) - digits_of(currency)) / Decimal(per) * Decimal(rate)
        return int(worth.quantize(Decimal(1), ROUND_HALF_UP))
    except (ArithmeticError, MoneyError):
        return None
