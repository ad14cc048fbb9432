"""Every table of reconciliation: the merchant's books, runs with exceptions and decisions, closed periods."""

from reconcile.tables.books import (
    BANK_LINE_KEYS,
    BankFile,
    BankLine,
    ExchangeRate,
    InvoiceFile,
    LocalInvoice,
    LocalInvoiceChange,
    PayoutReport,
    ProviderFee,
)
from reconcile.tables.closing import PERIOD_KEYS, ClosedFigure, Period, PeriodAdjustment
from reconcile.tables.runs import Decision, ExceptionChange, ExceptionRow, PayoutResult, ResultChunk, Run, RunFinding

__all__ = [
    "BANK_LINE_KEYS",
    "PERIOD_KEYS",
    "BankFile",
    "BankLine",
    "ClosedFigure",
    "Decision",
    "ExceptionChange",
    "ExceptionRow",
    "ExchangeRate",
    "InvoiceFile",
    "LocalInvoice",
    "LocalInvoiceChange",
    "PayoutReport",
    "PayoutResult",
    "Period",
    "PeriodAdjustment",
    "ProviderFee",
    "ResultChunk",
    "Run",
    "RunFinding",
]
