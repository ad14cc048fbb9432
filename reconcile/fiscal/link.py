"""The register as the provider shows it: a month reads its own documents, and those of its sales by their numbers."""

from collections.abc import Iterator, Sequence
from datetime import date

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.clock import local_date, to_instant
from consumer.facts.installation import Connection
from consumer.facts.store import one_of, to_ids
from consumer.facts.tables.provider import TaxInvoice
from consumer.facts.tables.sync import Checkpoint
from consumer.facts.taxids import TaxIdError, to_tax_id
from reconcile.fiscal.scope import Scope
from reconcile.fiscal.witnesses import Paper, Said, State
from reconcile.rules.kinds import VOID_STATES

_STREAM = "tax-invoices"
# States of a document at the provider that no period counts.
_REFUSED = VOID_STATES | {"rejected"}
_DAY = len("2026-10-31")


def read_linked_periods(session: Session, connection: Connection) -> set[str]:
    """Return the months of its documents."""
    stated = sa.select(col(TaxInvoice.period)).where(*_is_shown(connection)).distinct()
    undated = _list_link(session, connection, col(TaxInvoice.period).is_(None))
    return {period for period in session.scalars(stated) if period} | {paper.period for paper in undated}


def drop_sums(papers: Sequence[Paper]) -> list[Paper]:
    """Leave out the sum of a month's kind where its documents are here too."""
    listed = {
        (paper.side, paper.kind, paper.period) for paper in papers if not paper.is_sum and paper.state is State.VALID
    }
    return [paper for paper in papers if not paper.is_sum or (paper.side, paper.kind, paper.period) not in listed]


def read_link(session: Session, connection: Connection, scope: Scope, issuer: str) -> Said:
    """Read the register as the provider shows it; sums of a month come without a receiver."""
    if session.scalar(sa.select(col(TaxInvoice.id)).where(*_is_shown(connection)).limit(1)) is None:
        return Said()
    found = [
        paper
        for paper in _list_link(session, connection, *_of_scope(session, scope, issuer))
        if scope.holds(paper.key, paper.period) or (issuer and paper.tax_id == issuer)
    ]
    point = session.get(Checkpoint, (connection.name, _STREAM))
    return Said(drop_sums(found), point.pulled_at if point else None)


def _is_shown(connection: Connection) -> tuple[sa.ColumnElement[bool], ...]:
    table = TaxInvoice
    mine = (col(table.connection) == connection.name, col(table.mode) == connection.mode)
    return (*mine, col(table.gone_at).is_(None))


def _list_link(session: Session, connection: Connection, *asked: sa.ColumnElement[bool]) -> Iterator[Paper]:
    bodies = session.scalars(sa.select(col(TaxInvoice.body)).where(*_is_shown(connection), *asked))
    yield from filter(None, (_of_link(msgspec.json.decode(body), connection) for body in bodies))


def _of_scope(session: Session, scope: Scope, issuer: str) -> Iterator[sa.ColumnElement[bool]]:
    """Yield the condition of what may bear on the months; one without a stated month may be of any."""
    if scope.keys is None:
        return
    period, direction = col(TaxInvoice.period), col(TaxInvoice.direction)
    number = one_of(
        sa.type_coerce(col(TaxInvoice.number), sa.String), session.get_bind().dialect.name, to_ids(scope.numbers)
    )
    asked = [period.in_(scope.months or ()), period.is_(None), number]
    yield sa.or_(*asked, *([direction == "received"] if issuer else []))


def _of_link(body: dict[str, object], connection: Connection) -> Paper | None:
    row = msgspec.convert(body, _TaxInvoice, strict=False)
    form = row.institution_invoice
    on, kind = _to_day(row.date, connection.country.zone), str(form.document_type)
    month, _, year = (row.tax_period or (f"{on:%m/%Y}" if on else "")).partition("/")
    if not year:
        return None
    side = "sales" if row.issue_type == "issued" else "purchases"
    other = row.receiver if side == "sales" else row.issuer
    tax_id = to_plain_tax_id(other.id if other else "", connection.country_code)
    is_sum = form.total_documents is not None or other is None
    key = f"sum:{side}:{kind}:{year}-{month}" if is_sum else (
        f"mx:uuid:{row.number.lower()}" if connection.country_code == "mx"
        else f"cl:{kind}::{row.number}" if side == "sales"
        else f"cl:{tax_id}:{kind}:{row.number}"
    )  # fmt: skip
    return Paper(
        key=key, side=side, kind=kind, period=f"{year}-{month}", net=row.net_amount or 0,
        exempt=form.exempt_amount or 0, vat=form.vat_amount or 0, total=row.total_amount or 0,
        state=State.CLAIMED if form.rejected_at or form.invoice_status in _REFUSED else
        State.WAITING if form.invoice_status == "pending" else State.VALID,
        on=on, tax_id=tax_id, is_sum=is_sum,
        is_priced=row.currency == connection.country.currency, source_id=row.id,
    )  # fmt: skip


class _Party(msgspec.Struct):
    id: str = ""


class _Form(msgspec.Struct):
    document_type: str | int = ""
    vat_amount: int | None = None
    exempt_amount: int | None = None
    total_documents: int | None = None
    invoice_status: str | None = None
    rejected_at: str | None = None


class _TaxInvoice(msgspec.Struct):
    currency: str
    id: str = ""
    number: str = ""
    issue_type: str = ""
    date: str | None = None
    tax_period: str | None = None
    net_amount: int | None = None
    total_amount: int | None = None
    issuer: _Party | None = None
    receiver: _Party | None = None
    institution_invoice: _Form = msgspec.field(default_factory=_Form)


def to_plain_tax_id(text: str, country: str) -> str:
    try:
        return to_tax_id(text, country) if text else ""
    except TaxIdError:
        return text


def _to_day(text: str | None, zone: str) -> date | None:
    if not text:
        return None
    return date.fromisoformat(text) if len(text) == _DAY else local_date(to_instant(text), zone)
