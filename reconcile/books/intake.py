"""Files that people bring in at a page: looked at first, then kept; one shape of outcome for every kind of file."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from consumer.facts import shared_files
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.facts.money import format_decimal
from consumer.facts.work import Completion
from reconcile.books.bank_files import BankOutcome, Confirmed, import_bank_file
from reconcile.books.bank_statements import Statement
from reconcile.books.dialects import COLUMNS
from reconcile.books.documents import AMOUNTS, NO_LINE, Reject
from reconcile.books.headers import FIXED, ReadColumn
from reconcile.books.invoices import ChangedField, ImportOutcome, import_invoices
from reconcile.books.payout_reports import ReportOutcome, import_payout_report
from reconcile.books.proposals import Proposal, propose_columns
from reconcile.books.rates import HOME_RATE, RatesOutcome, import_rates
from reconcile.books.reading import ControlTotal
from reconcile.books.register_files import RegisterOutcome, import_registers
from reconcile.books.tax_files import is_tax_path
from reconcile.books.tax_intake import TaxOutcome, import_tax_files
from reconcile.books.tax_judging import Verdict as DocumentVerdict
from reconcile.rules.kinds import KINDS, Role

_UNSAFE = re.compile(r"[^\w. ()-]")
# In bytes, as file systems count; the end of a name is the kind of file.
_LONGEST_NAME = 120


class Kind(StrEnum):
    INVOICES = "invoices"
    BANK = "bank"
    PAYOUT = "payout-report"
    RATES = "rates"
    REGISTER = "register"


# What else a file of a kind needs: the account of a bank file, the currency of rates, the month of a register.
TERMS = {Kind.BANK: "account", Kind.RATES: "currency", Kind.REGISTER: "period"}


class Verdict(StrEnum):
    """What became of a file that a program handed in."""

    TAKEN = "taken"
    KNOWN = "known"
    REFUSED = "refused"


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

    `replaces` names what it takes the place of: a file's digest, or what it changes of documents. `stale` says why a
    look at it does not hold any longer.
    `asks` is what a person has to confirm of a bank file's account before it is kept at a page.
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
    proposal: Proposal | None = None
    changes: Sequence[ChangedField] = ()
    columns: Sequence[ReadColumn] = ()
    asks: Message | None = None

    @property
    def left_out(self) -> list[str]:
        return [column.name for column in self.columns if not column.field]

    @property
    def lacks_kind(self) -> bool:
        """A list of invoices that says of no document what kind it is."""
        return any(one.reason.code == "books.column_missing" and one.column == "doc_type" for one in self.rejects)

    @property
    def changed_documents(self) -> int:
        return len({one.doc_key for one in self.changes})

    @property
    def closed_documents(self) -> int:
        """How many documents it changes that lie in closed days."""
        return len({one.doc_key for one in self.changes if one.is_closed})

    @property
    def may_be_kept(self) -> bool:
        return not self.rejects and not self.earlier and not self.kept

    @property
    def verdict(self) -> Verdict:
        if self.rejects or self.stale:
            return Verdict.REFUSED
        return Verdict.KNOWN if self.earlier else Verdict.TAKEN

    def to_answer(self) -> dict[str, object]:
        """Return the answer for programs: the verdict, the counts, and every reason line by line."""
        said = [*filter(None, [self.earlier, self.stale]), *self.notes]
        return {
            "verdict": self.verdict.value,
            "rows": self.rows,
            "counts": dict(self.counts),
            "totals": [
                {"about": one.about, "currency": one.currency, "count": one.count, **_format_amounts(one)}
                for one in self.totals
            ],
            "rejects": [reject.to_row() for reject in self.rejects],
            "notes": [*map(str, said)],
            "columns": [*map(asdict, self.columns)],
            "proposal": dict(self.proposal.guesses) if self.proposal else {},
        }


def _format_amounts(total: Total) -> dict[str, str | None]:
    return {
        name: None if amount is None else format_decimal(amount, total.currency)
        for name, amount in total.amounts.items()
    }


def mappings(installation: Installation) -> list[str]:
    """Name the mappings of columns that were saved for files with headings of their own."""
    shared_files.agree(installation)
    return sorted(path.stem for path in (installation.settings.files_dir / "mappings").glob("*.toml"))


# What a person may say of the columns of a bank's sheet.
BANK_FIELDS = tuple(COLUMNS)


def list_kinds(country: str) -> list[str]:
    """List the kinds that all documents of a list without kinds may be of."""
    owed = {Role.CLAIM, Role.RECEIPT, Role.DEBIT_NOTE, Role.CREDIT_NOTE}
    return [code for code, (role, _) in KINDS[country].items() if role in owed]


def take_all_as(kind: str) -> dict[str, str]:
    """Return what is said of a list without kinds whose documents are all of one."""
    return {"doc_type": f"{FIXED}{kind}"}


def kind_of_all(columns: Mapping[str, str]) -> str:
    """Return the kind that was said of all documents of a list, empty if none was."""
    return columns.get("doc_type", "").removeprefix(FIXED)


def propose(connection: Connection, path: Path) -> Proposal | None:
    """Guess the columns of a bank's sheet, for a person who wants to choose others."""
    return propose_columns(path.read_bytes(), country=connection.country_code)


def take_in(  # noqa: PLR0913 - one file with what its kind needs
    installation: Installation, connection: Connection, kind: Kind, path: Path, *, account: str = "",
    mapping: str | None = None, seen: str | None = None, accept_totals: bool = False, is_new_account: bool = False,
    columns: Mapping[str, str] | None = None, who: str = "", currency: str = HOME_RATE, period: str = "", dry_run: bool,
) -> Intake:  # fmt: skip
    """Read one file and keep it whole or not at all; a dry run, which rates do not have, says what would happen.

    `seen` is what it was to replace (`Intake.replaces`) when a person looked at it, empty for none. `columns` of a
    bank's sheet are those that `who` confirmed; of a list of invoices they say what it has no column for.
    """
    if kind is Kind.BANK:
        confirmed = Confirmed(columns, who) if columns else None
        statement = import_bank_file(
            installation, connection, path, account=account, mapping=mapping, confirmed=confirmed,
            is_new_account=is_new_account, dry_run=dry_run,
        )  # fmt: skip
        return _of_bank(statement)
    if kind is Kind.RATES:
        return _of_rates(import_rates(installation, connection, path, currency=currency))
    if kind is Kind.REGISTER:
        found = import_registers(installation, connection, path, period=period, dry_run=dry_run)
        return _of_registers(path.name, [*map(_of_register, found)])
    if kind is Kind.PAYOUT:
        return _of_report(import_payout_report(installation, connection, path, seen=seen, dry_run=dry_run))
    if is_tax_path(path):
        return _of_tax(import_tax_files(installation, connection, [path], dry_run=dry_run), dry_run=dry_run)
    outcome = import_invoices(
        installation, connection, path, mapping=mapping, columns=columns, dry_run=dry_run, accept_totals=accept_totals,
        seen=seen,
    )  # fmt: skip
    return _of_invoices(outcome)


def bring_in(  # noqa: PLR0913 - one file with what its kind needs
    installation: Installation, connection: Connection, kind: Kind, name: str, content: bytes, *, term: str = "",
    mapping: str | None = None,
) -> Intake:  # fmt: skip
    """Take in a file that a program handed over; `term` is what else its kind needs, if anything (TERMS)."""
    # What a killed process leaves here goes with retention, after a day.
    place = installation.settings.files_dir / "uploads"
    place.mkdir(parents=True, exist_ok=True)
    asked = TERMS.get(kind, "")
    with TemporaryDirectory(dir=place) as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return take_in(
            installation, connection, kind, path, account=term if asked == "account" else "", mapping=mapping,
            currency=(term or HOME_RATE).upper() if asked == "currency" else HOME_RATE,
            period=term if asked == "period" else "", dry_run=False,
        )  # fmt: skip


def to_safe_name(name: str) -> str:
    """Return the end of a file's name in signs that lead nowhere and fit every file system."""
    plain = _UNSAFE.sub("_", os.fsencode(name).decode(errors="replace"))
    return plain.encode()[-_LONGEST_NAME:].decode(errors="ignore").lstrip(".") or "file"


def _of_invoices(outcome: ImportOutcome) -> Intake:
    reading = outcome.reading
    counts = {"added": outcome.added, "changed": outcome.changed, "unchanged": outcome.unchanged}
    return Intake(
        outcome.name, outcome.kept, reading.rows, counts, _to_totals(reading.totals), outcome.rejects, reading.notes,
        outcome.earlier,
        replaces=outcome.seen if outcome.accepted else "", stale=outcome.stale, changes=outcome.changes,
        totals_accepted=outcome.totals_accepted, may_accept_totals=reading.may_accept_totals, columns=reading.columns,
    )  # fmt: skip


def _of_tax(outcome: TaxOutcome, *, dry_run: bool) -> Intake:
    """One refused document keeps no other out: a file is refused where it brings none, and known where all are."""
    is_known = bool(outcome.counts[DocumentVerdict.KNOWN]) and not outcome.kept
    is_refused = outcome.status is Completion.NOTHING_DONE or not (outcome.kept or is_known)
    listed = [*outcome.listed, *filter(None, [outcome.passed_over])]
    refused = [Message("tax.not_taken", {"file": one.file, "reason": one.reason}) for one in listed]
    if (count := outcome.counts[DocumentVerdict.NOT_FOR_US]) > 1:
        other = listed[-1]
        refused[-1] = Message("tax.passed_over", {"count": count, "file": other.file, "reason": other.reason})
    known = outcome.unchanged + outcome.counts[DocumentVerdict.KNOWN]
    counts = {"added": outcome.added, "changed": outcome.changed, "unchanged": known}
    totals = [] if is_refused else _to_totals(outcome.totals)
    return Intake(
        outcome.name, bool(outcome.kept) and not dry_run, sum(outcome.counts.values()), counts, totals,
        [Reject(NO_LINE, "", "", one) for one in refused or [Message("tax.empty")]] if is_refused else [],
        [] if is_refused else refused,
        Message("tax.known", {"count": outcome.counts[DocumentVerdict.KNOWN]}) if is_known else None,
        changes=outcome.changes,
    )  # fmt: skip


def _to_totals(totals: Iterable[ControlTotal]) -> list[Total]:
    return [
        Total(one.doc_type, one.currency, one.count, {name: getattr(one, name) for name in AMOUNTS}) for one in totals
    ]


def _of_bank(outcome: BankOutcome) -> Intake:
    totals = list(map(_to_total, outcome.reading.statements))
    counts = {"added": outcome.added, "unchanged": outcome.known}
    notes = (*outcome.reading.notes, *outcome.notes)
    return Intake(
        outcome.name, outcome.kept, outcome.rows, counts, totals, outcome.rejects, notes, outcome.earlier,
        proposal=outcome.proposal, columns=outcome.reading.columns, asks=outcome.asks,
    )  # fmt: skip


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


def _of_rates(outcome: RatesOutcome) -> Intake:
    earlier = Message("books.rates_known") if outcome.accepted and not outcome.changed else None
    is_kept = outcome.accepted and not earlier
    return Intake(outcome.name, is_kept, len(outcome.rates), {}, [], outcome.rejects, [], earlier)


def _of_register(outcome: RegisterOutcome) -> Intake:
    """Add the rows up by side, state and kind of document."""
    sums: dict[tuple[str, str], list[int]] = {}
    for row in outcome.reading.rows:
        of_kind = sums.setdefault((f"{row['side']} {row['state']} {row['kind']}", str(row["currency"])), [0, 0, 0])
        for place, value in enumerate((1 if row["count"] is None else row["count"], row["vat"] or 0, row["total"])):
            assert isinstance(value, int)
            of_kind[place] += value
    totals = [
        Total(about, currency, count, {"vat": vat, "total": total})
        for (about, currency), (count, vat, total) in sorted(sums.items())
    ]
    rows = len(outcome.reading.rows)
    return Intake(outcome.name, outcome.kept, rows, {}, totals, outcome.rejects, [], outcome.earlier)


def _of_registers(name: str, files: Sequence[Intake]) -> Intake:
    """Return one file as it is; of a ZIP one refused file keeps no other out, as its note."""
    if len(files) == 1:
        return files[0]
    refused = [
        Message("tax.not_taken", {"file": one.name, "reason": one.rejects[0].reason}) for one in files if one.rejects
    ]
    taken = [one for one in files if not one.rejects]
    earlier = next((one.earlier for one in taken), None) if all(one.earlier for one in taken) else None
    return Intake(
        name, any(one.kept for one in taken), sum(one.rows for one in taken), {},
        [total for one in taken for total in one.totals],
        [] if taken else [Reject(NO_LINE, "", "", one) for one in refused], refused if taken else [], earlier,
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
