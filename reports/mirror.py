"""Reports of what the provider mirrors besides payouts: transfers, account statements, fiscal objects."""

from collections.abc import Iterable, Mapping

from consumer.facts.house import Connection
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
from reports.spans import Row, Span


def _connections(source: Source) -> Mapping[str, Connection]:
    return {connection.name: connection for connection in source.query.connections}


def transfers(source: Source) -> Iterable[Row]:
    bank = business.to_bank(
        frames.object_rows(source.session, AccountMovement, source.names),
        frames.object_rows(source.session, AccountStatement, source.names),
        frames.payout_rows(source.session, source.runs, Span()),
    )
    rows = frames.object_rows(source.session, Transfer, source.names)
    return business.transfers(rows, bank, _connections(source), span=source.query.span)


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
