"""The journal as reports and pages show it: the lines of entries, and accounts with both of their sides."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from consumer.facts.messages import Message, translate
from reconcile.journal.accounts import Account
from reconcile.journal.booking import BookedEntry
from reconcile.journal.postings import kind_of_entry, subject_of_entry
from reconcile.journal.showing import list_entries
from reports.queries import frames
from reports.queries.query import Source
from reports.shapes.spans import Row


@dataclass(slots=True)
class Sides:
    """One account: how much each kind of line put on its debit and on its credit side."""

    account: Account
    currency: str
    debits: dict[str, int] = field(default_factory=dict)
    credits: dict[str, int] = field(default_factory=dict)

    @property
    def debit(self) -> int:
        return sum(self.debits.values())

    @property
    def credit(self) -> int:
        return sum(self.credits.values())

    @property
    def pairs(self) -> list[tuple[tuple[str, int] | None, tuple[str, int] | None]]:
        """Return both sides row by row."""
        left, right = list(self.debits.items()), list(self.credits.items())
        rows = range(max(len(left), len(right)))
        return [(left[row] if row < len(left) else None, right[row] if row < len(right) else None) for row in rows]


def journal_rows(source: Source) -> Iterator[Row]:
    """Yield the lines of every entry of the days asked for; raise RefusalError if there is no journal."""
    query = source.query
    connections = {connection.name: connection for connection in query.connections}
    for run in frames.in_order(source.runs):
        connection = connections[run.connection]
        entries = list_entries(
            source.session, source.installation.settings, connection, run, query.span.since, query.span.until
        )
        for entry in entries:
            yield from _to_rows(entry, run.connection, run.id, connection.country.language)


def describe(entry: BookedEntry, language: str) -> str:
    """Return what an entry is about, in words."""
    kind = "correction" if entry.sequence else kind_of_entry(entry.key)
    return translate(Message(f"entry.{kind}", {"subject": subject_of_entry(entry.key)}), language)


def _to_rows(entry: BookedEntry, connection: str, run_id: str, language: str) -> Iterator[Row]:
    alike = {
        "entry_id": entry.external_id, "date": entry.on, "period": f"{entry.on:%Y-%m}", "entry_type": str(entry.type),
        "description": describe(entry, language), "currency": entry.currency, "run_id": run_id,
        "connection": connection,
    }  # fmt: skip
    for number, line in enumerate(entry.lines):
        posting = line.posting
        own = alike | {
            "external_id": line.external_id, "tax_id": posting.tax_id, "doc_type": posting.doc_type,
            "doc_folio": posting.doc_folio, "doc_uuid": posting.doc_uuid, "operation": posting.operation,
            "reverses": line.reverses,
        }  # fmt: skip
        for side, account in enumerate((line.debit, line.credit)):
            amounts = {"debit": 0 if side else line.amount, "credit": line.amount if side else 0}
            yield own | amounts | {
                "line": 2 * number + side + 1, "account_key": account.key, "account": account.code,
                "cost_centre": account.cost_centre,
            }  # fmt: skip


def add_up(entries: Iterable[BookedEntry]) -> Sequence[Sides]:
    """Return the accounts that entries touch, with both sides, in the order in which they are first touched."""
    found: dict[tuple[str, str, str], Sides] = {}
    for entry in entries:
        for line in entry.lines:
            for account, is_debit in ((line.debit, True), (line.credit, False)):
                name = (account.key, account.code, entry.currency)
                sides = found.setdefault(name, Sides(account, entry.currency))
                column = sides.debits if is_debit else sides.credits
                column[line.kind] = column.get(line.kind, 0) + line.amount
    return list(found.values())
