"""Files that people bring in at a page: looked at first, then kept; one shape of outcome for every kind of file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from reconcile.books.bank_files import BankOutcome, import_bank_file
from reconcile.books.bank_statements import Statement
from reconcile.books.documents import AMOUNTS, Reject
from reconcile.books.invoices import ImportOutcome, import_invoices
from reconcile.books.payout_reports import ReportOutcome, import_payout_report


class Kind(StrEnum):
    INVOICES = "invoices"
    BANK = "bank"
    PAYOUT = "payout"


@dataclass(frozen=True, slots=True)
class Total:
    """Control totals of one part of a file: a kind of document, or a statement's days; None is not stated there."""

    about: str
    currency: str
    count: int
    amounts: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Intake:
    """What became of a file, or would; `counts` says of how many rows what, `earlier` when it came in before.

    `replaces` is the digest of the file whose place it takes, `stale` why a look at it does not hold any longer.
    `may_accept_totals` says that only documents whose parts do not add up to their total keep the file out, and
    `totals_accepted` how many of them went in because a person accepted them.
    """

    name: str
    kept: bool
    rows: int
    counts: Mapping[str, int]
    totals: Sequence[Total]
    rejects: Sequence[Reject]
    notes: Sequence[Message]
    earlier: Message | None = None
    replaces: str = ""
    stale: Message | None = None
    totals_accepted: int = 0
    may_accept_totals: bool = False

    @property
    def may_be_kept(self) -> bool:
        return not self.rejects and not self.earlier and not self.kept


def mappings(installation: Installation) -> list[str]:
    """Name the mappings of columns that were saved for files with headings of their own."""
    return sorted(path.stem for path in (installation.settings.data_dir / "mappings").glob("*.toml"))


def take_in(  # noqa: PLR0913 - one file with what its kind needs
    installation: Installation, connection: Connection, kind: Kind, path: Path, *, account: str = "",
    mapping: str | None = None, seen: str | None = None, accept_totals: bool = False, dry_run: bool,
) -> Intake:  # fmt: skip
    """Read one file and keep it whole or not at all; a dry run says what would happen.

    `seen` is the digest of the file it was to replace when a person looked at it, empty for none.
    """
    if kind is Kind.BANK:
        # The page shows what the file would do, and that no payout goes to its account, before it is kept.
        outcome = import_bank_file(
            installation, connection, path, account=account, mapping=mapping, is_new_account=True, dry_run=dry_run
        )
        return _of_bank(outcome)
    if kind is Kind.PAYOUT:
        return _of_report(import_payout_report(installation, connection, path, seen=seen, dry_run=dry_run))
    return _of_invoices(
        import_invoices(installation, connection, path, mapping=mapping, dry_run=dry_run, accept_totals=accept_totals)
    )


def _of_invoices(outcome: ImportOutcome) -> Intake:
    reading = outcome.reading
    totals = [
        Total(one.doc_type, one.currency, one.count, {name: getattr(one, name) for name in AMOUNTS})
        for one in reading.totals
    ]
    counts = {"added": outcome.added, "changed": outcome.changed, "unchanged": outcome.unchanged}
    return Intake(
        outcome.name, outcome.kept, reading.rows, counts, totals, outcome.rejects, reading.notes, outcome.earlier,
        totals_accepted=outcome.totals_accepted, may_accept_totals=reading.may_accept_totals,
    )  # fmt: skip


def _of_bank(outcome: BankOutcome) -> Intake:
    totals = list(map(_to_total, outcome.reading.statements))
    counts = {"added": outcome.added, "unchanged": outcome.known}
    notes = (*outcome.reading.notes, *outcome.notes)
    return Intake(outcome.name, outcome.kept, outcome.rows, counts, totals, outcome.rejects, notes, outcome.earlier)


def _of_report(outcome: ReportOutcome) -> Intake:
    """The payout the rows are, and what they cost; fees replace those of an earlier report of the same payout."""
    amounts = {"fee_total": outcome.fee_total}
    if outcome.replaced is not None:
        amounts = {"fee_total_before": outcome.replaced.fee_total, **amounts}
    totals = [Total(outcome.payout_id, outcome.currency, outcome.rows, amounts)] if outcome.currency else []
    return Intake(
        outcome.name, outcome.kept, outcome.rows, {}, totals, outcome.rejects, [*filter(None, [outcome.note])],
        outcome.earlier, outcome.replaced.sha256 if outcome.replaced else "", outcome.stale,
    )  # fmt: skip


def _to_total(statement: Statement) -> Total:
    since, until = statement.days
    return Total(f"{since} – {until}", statement.currency, len(statement.rows), dict(_amounts(statement)))


def _amounts(statement: Statement) -> Iterator[tuple[str, int | None]]:
    inbound = sum(row.amount for row in statement.rows if row.amount > 0)
    outbound = sum(row.amount for row in statement.rows if row.amount < 0)
    opening = statement.opening.amount if statement.opening else None
    yield "opening", opening
    yield "inbound", inbound
    yield "outbound", outbound
    yield "closing", None if opening is None else opening + inbound + outbound
    yield "closing_stated", statement.closing.amount if statement.closing else None
