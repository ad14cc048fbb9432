"""Reports of what the provider mirrors besides payouts: transfers, account statements, fiscal objects."""

from collections.abc import Iterable, Iterator, Mapping

from consumer.facts.installation import Connection
from consumer.facts.tables.business import (
    AccountMovement,
    AccountStatement,
    TaxInvoice,
    TaxReturn,
    TaxStatement,
    Transfer,
)
from reports import business, frames
from reports.query import Source
from reports.shapes.spans import WHOLE, Row


def _connections(source: Source) -> Mapping[str, Connection]:
    return {connection.name: connection for connection in source.query.connections}


def transfers(source: Source) -> Iterable[Row]:
    bank = business.to_bank(
        frames.object_rows(source.session, AccountMovement, source.names),
        frames.object_rows(source.session, AccountStatement, source.names),
        _arrived(source),
    )
    rows = frames.object_rows(source.session, Transfer, source.names)
    return business.transfers(rows, bank, _connections(source), span=source.query.span)


def _arrived(source: Source) -> Iterator[Row]:
    """Name the bank movement of each payout that has one."""
    names = ["payout_date", "payout_id", "bank_movement_id"]
    for _, table in frames.payout_tables(source.session, source.runs, WHOLE, names=names):
        yield from table.select(names[1:]).drop_null().to_pylist()


def statement_check(source: Source) -> Iterable[Row]:
    return business.statement_check(
        frames.object_rows(source.session, AccountStatement, source.names),
        frames.object_rows(source.session, AccountMovement, source.names),
        _connections(source),
        span=source.query.span,
    )


def tax_statements(source: Source) -> Iterable[Row]:
    rows = frames.object_rows(source.session, TaxStatement, source.names)
    return business.tax_statements(rows, _connections(source), span=source.query.span)


def tax_returns(source: Source) -> Iterable[Row]:
    rows = frames.object_rows(source.session, TaxReturn, source.names)
    return business.tax_returns(rows, _connections(source), span=source.query.span)


def tax_invoices(source: Source) -> Iterable[Row]:
    rows = frames.object_rows(source.session, TaxInvoice, source.names)
    return business.tax_invoices(rows, _connections(source), span=source.query.span)
