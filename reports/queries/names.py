"""The names of payouts, payments and documents by their ids, many at once: what a page calls them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.clock import local_date, to_instant
from consumer.facts.installation import Connection
from consumer.facts.messages import translate, word
from consumer.facts.money import is_currency
from consumer.facts.names import format_tax_id, name_document, name_key
from consumer.facts.tables.provider import (
    AccountMovement,
    Charge,
    Customer,
    Dispute,
    PaymentIntent,
    Payout,
    ProviderObject,
    Refund,
    SaleObject,
    Transfer,
)
from reconcile.tables.books import LocalInvoice
from reconcile.tables.fiscal import FiscalDocument
from reconcile.tables.runs import Run
from reports.shapes import notation

_BETWEEN = " · "
# Digits of a number; an id may be of digits alone.
_LONGEST_NUMBER = 10


class _Holder(msgspec.Struct):
    holder_name: str | None = None


class _Moved(msgspec.Struct):
    """What the body of a transfer or movement says that its name is made of."""

    amount: int | None = None
    currency: str | None = None
    transaction_date: str | None = None
    counterparty: _Holder | None = None


_read_moved = msgspec.json.Decoder(_Moved).decode


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: the language, the zone of each connection, and what banks are called."""

    language: str
    zone_of: Callable[[str], str]
    bank_name: Callable[[str | None], str] = lambda bank: bank or ""
    # What a day without a year is near to.
    today: date | None = None


def join_name(*parts: str | None) -> str:
    return _BETWEEN.join(part for part in parts if part)


def name_merchant(connection: Connection, language: str) -> str:
    mode = word("mode", connection.mode, language)
    return join_name(connection.legal_name, connection.name, connection.tax_id, connection.country_code.upper(), mode)


def name_money(
    reader: Reader, who: str | None, at: date | datetime | None, amount: int | None, currency: str | None, *, zone: str
) -> str:
    """Return `Panadería Río Claro · 02-11-2026 · $120.000`; what is not known is left out."""
    on = local_date(at, zone) if isinstance(at, datetime) else at
    is_money = currency is not None and amount is not None and is_currency(currency)
    money = notation.format_amount(abs(amount or 0), currency or "", reader.language, symbol=True) if is_money else None
    return join_name(who, notation.format_date(on, reader.language) if on else None, money)


def name_payouts(session: Session, connections: Sequence[str], ids: Iterable[str], reader: Reader) -> dict[str, str]:
    """Name payouts as `02-11-2026 · $1.234.567 · Banco de Chile`; the day is that of the list of payouts."""
    wanted = (col(Payout.connection).in_(connections), col(Payout.id).in_(set(ids)))
    return {
        one.id: join_name(
            name_money(reader, None, one.created_at, one.amount, one.currency, zone=reader.zone_of(one.connection)),
            reader.bank_name(one.recipient_institution),
        )
        for one in session.scalars(sa.select(Payout).where(*wanted))
    }


def name_items(session: Session, connection: str, ids: Iterable[str], reader: Reader) -> dict[str, str]:
    """Name payments, refunds, disputes and transfers by customer, day and amount; an unknown id is left out."""
    found: dict[str, ProviderObject] = {}
    for table in (PaymentIntent, Charge, Refund, Dispute, Transfer, AccountMovement):
        if missing := set(ids) - found.keys():
            mine = (col(table.connection) == connection, col(table.id).in_(missing))
            found |= {one.id: one for one in session.scalars(sa.select(table).where(*mine))}
    payers, zone = _find_payers(session, connection, found), reader.zone_of(connection)
    return {key: _name_item(reader, one, payers.get(key), zone) or key for key, one in found.items()}


def _name_item(reader: Reader, one: ProviderObject, payer: str | None, zone: str) -> str:
    if not isinstance(one, Transfer | AccountMovement):
        return name_money(reader, payer, _happened_at(one), one.amount, one.currency, zone=zone)
    try:
        moved = _read_moved(one.body)
    except msgspec.DecodeError:
        return ""
    other, at = moved.counterparty or _Holder(), moved.transaction_date
    return name_money(
        reader, other.holder_name, to_instant(at) if at else one.created_at, moved.amount, moved.currency, zone=zone
    )


def _happened_at(one: ProviderObject) -> datetime | None:
    reached: datetime | None = getattr(one, "succeeded_at", None)
    return reached or one.created_at


def _find_payers(session: Session, connection: str, found: Mapping[str, ProviderObject]) -> dict[str, str]:
    """Return who paid, by name and else by tax id; of a refund and a dispute, who paid the payment they are of."""
    about = {
        key: one.resource_id for key, one in found.items() if isinstance(one, Refund | Dispute) and one.resource_id
    }
    sales = {key: one for key, one in found.items() if isinstance(one, SaleObject)}
    for table in (PaymentIntent, Charge):
        if missing := set(about.values()) - sales.keys():
            mine = (col(table.connection) == connection, col(table.id).in_(missing))
            sales |= {one.id: one for one in session.scalars(sa.select(table).where(*mine))}
    customers = {one.customer_id for one in sales.values() if one.customer_id}
    mine = (col(Customer.connection) == connection, col(Customer.id).in_(customers))
    names = {one.id: one.name or "" for one in session.scalars(sa.select(Customer).where(*mine))} if customers else {}
    payers = {key: _name_payer(one, names) for key, one in sales.items()}
    return payers | {key: payers.get(payment, "") for key, payment in about.items()}


def _name_payer(one: SaleObject, names: Mapping[str, str]) -> str:
    own: str | None = getattr(one, "customer_name", None)
    tax_id: str | None = getattr(one, "customer_tax_id", None)
    return own or names.get(one.customer_id or "") or format_tax_id(tax_id or "")


def name_runs(session: Session, connection: str, keys: Iterable[str], language: str) -> dict[str, str]:
    """Name runs, each by its id or its number: `Reconciliation of 2026-11-02 (no. 3)`."""
    wanted = set(keys)
    numbers = {int(key) for key in wanted if key.isdecimal() and len(key) < _LONGEST_NUMBER}
    asked = sa.select(col(Run.id), col(Run.number), col(Run.as_of)).where(col(Run.connection) == connection)
    rows = session.execute(asked.where(sa.or_(col(Run.id).in_(wanted), col(Run.number).in_(numbers)))).all()
    said = [(row, translate("run.named", language, day=row.as_of, n=row.number)) for row in rows]
    return {key: name for row, name in said for key in (row.id, str(row.number)) if key in wanted}


def name_documents(session: Session, connection: str, doc_keys: Iterable[str], language: str) -> dict[str, str]:
    """Name documents of the books and of tax XML; one that neither has is named by its key."""
    keys, named = set(doc_keys), dict[str, str]()
    # Only a UUID does not say kind and folio itself.
    unsaid = [key for key in keys if key.startswith("mx:uuid:")]
    for one, kind in ((FiscalDocument, col(FiscalDocument.kind)), (LocalInvoice, col(LocalInvoice.doc_type))):
        asked = sa.select(col(one.doc_key), kind, col(one.series), col(one.folio), col(one.uuid))
        mine = (col(one.connection) == connection, col(one.doc_key).in_(unsaid))
        for key, doc_type, series, folio, uuid in session.execute(asked.where(*mine)) if unsaid else ():
            named[key] = name_document("mx", doc_type, series, folio, uuid, language)
    return {key: named.get(key) or name_key(key, language) for key in keys}


def name_customers(session: Session, connection: str, tax_ids: Iterable[str]) -> dict[str, str]:
    """Return what customers are called, with their tax ids, as the books of the merchant call them."""
    own, wanted = LocalInvoice, sorted(set(tax_ids))
    mine = (col(own.connection) == connection, col(own.customer_tax_id).in_(wanted))
    asked = sa.select(col(own.customer_tax_id), sa.func.max(col(own.customer_name))).where(*mine)
    known = {tax_id: name for tax_id, name in session.execute(asked.group_by(col(own.customer_tax_id))) if name}
    shown = {tax_id: format_tax_id(tax_id) for tax_id in wanted}
    return {one: f"{known[one]} ({shown[one]})" if one in known else shown[one] for one in wanted}
