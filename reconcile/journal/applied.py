"""Which payment paid which document: lines of payouts that stand, as the journal posts them against customers."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from sqlmodel import Session

from consumer.facts.installation import Connection, Settings
from reconcile.journal.accounts import AccountsError
from reconcile.journal.collected import Terms, find_applied
from reconcile.journal.entries import Book
from reconcile.journal.source import load_accounts, read_lines, read_payouts
from reconcile.tables.runs import Run

_READ = (
    "payout_id", "resource_type", "resource_subtype", "resource_id", "local_date", "currency", "customer_tax_id",
    "customer_name", "match_rule", "doc_type", "doc_folio", "doc_uuid", "doc_key", "doc_customer_tax_id",
    "applied_amount",
)  # fmt: skip
# Columns that are columns of a line by another name.
_NAMES = {
    "date": "on", "amount": "applied_amount", "method": "resource_subtype", "operation": "resource_id",
    "payment_id": "resource_id",
}  # fmt: skip
_AS_THEY_ARE = ("customer_name", "doc_type", "doc_folio", "doc_uuid", "currency", "payout_id")
_CLEARING = "clearing"


def read_applied(session: Session, settings: Settings, connection: Connection, run: Run) -> Iterator[pa.Table]:
    """Yield the payments of documents of a run in pieces, dated as the journal dates them."""
    deposit = find_deposit_account(settings, connection)
    book = Book(read_lines(session, run), read_payouts(session, run), Terms(connection.country_code, 0))
    for number in range(book.lines.count):
        yield _name_columns(find_applied(book.date_piece(number, _READ)), deposit, run.id)


def find_deposit_account(settings: Settings, connection: Connection) -> str | None:
    """Return the account that holds what was collected; None where the account map does not say."""
    try:
        account = load_accounts(settings, connection).find(_CLEARING)
    except AccountsError:
        return None
    return None if account is None else account.code


def _name_columns(applied: pa.Table, deposit: str | None, run_id: str) -> pa.Table:
    own, other = (applied[name].cast(pa.string()) for name in ("doc_customer_tax_id", "customer_tax_id"))
    alike = {"deposit_account": deposit, "run_id": run_id}
    columns = {
        "customer_tax_id": pc.coalesce(own, other),
        **{name: applied[name] for name in _AS_THEY_ARE},
        **{name: applied[source] for name, source in _NAMES.items()},
        **{name: pa.array([value] * applied.num_rows, pa.string()) for name, value in alike.items()},
    }
    return pa.table(columns)
