"""Planted causes of tax differences against those that are named, from the files that tax offices hand out.

python tests/benchmarks/accuracy/tax.py [SEED …]
"""

import io
import re
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import httpx
from sqlmodel import col, select

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from consumer.facts.clock import local_date
from reconcile.books.register_files import import_register
from reconcile.books.tax_intake import import_tax_files
from reconcile.books.tax_judging import ISSUED, Found, Verdict
from reconcile.fiscal.declared import declare, read_file
from reconcile.fiscal.facts import causes
from reconcile.fiscal.reading import read_world
from reconcile.fiscal.tie_out import tie_out
from reconcile.rules.outcomes import OF_TAX
from reconcile.runs import run as runs
from reconcile.tables.books import LocalInvoice
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.fiscal import FiscalDocument
from sandbox.serve import create_sandbox
from tests.benchmarks.accuracy.merchant import START, Merchant, merchant_of

LATER = timedelta(days=20)
MONTHS = ("2026-07", "2026-08", "2026-09")
NAMES, SEEDS = ("tax-cl", "tax-mx"), (1, 5, 7, 11, 23, 404)
# What money and documents of a month differ by anyhow: the truth of payments and documents judges it, or it is a unit.
OF_MONEY = {"not_collected", "payment_without_document", "rounding", "global_invoice"}
OTHER, CHANGED = "EXPECTED_DOC_MISSING", "DOCUMENT_CHANGED"
# The total of a sale, as both countries write it.
_TOTAL = re.compile(rb"""((?: Total="|<MntTotal>))([1-9])""")
Named = tuple[str, str]


@dataclass(frozen=True)
class TaxFound:
    """What was planted and what was named: a cause with its document, payment or issuer."""

    name: str
    seed: int
    planted: frozenset[Named]
    named: frozenset[Named]
    rests: int
    # Exceptions of the work list: code, severity and subject.
    listed: frozenset[tuple[str, str, str]] = frozenset()

    @property
    def due(self) -> frozenset[tuple[str, str, str]]:
        """Return the exceptions that the planted causes must be on the work list."""
        rows = ((causes()[cause], subject) for cause, subject in self.planted if cause in causes())
        return frozenset((row.exception, row.severity, subject) for row, subject in rows if row.exception in OF_TAX)

    @property
    def missed(self) -> list[Named]:
        return sorted(self.planted - self.named)

    @property
    def false(self) -> list[Named]:
        """Return what was named and not planted; what follows from a planted cause of the same subject is no fault."""
        subjects = {subject for _, subject in self.planted}
        return sorted(one for one in self.named - self.planted if one[1] not in subjects and one[0] not in OF_MONEY)


def judge_tax(name: str, seed: int) -> TaxFound:
    """Bring in what a merchant holds of one scenario, and tie its three months out."""
    with merchant_of(name, seed) as merchant:
        at = START + LATER
        truth = merchant.scenario.truth(at)
        planted = [row for row in truth if row.kind == "tax_cause"]
        unknown = {row.id for row in planted if row.outcome == "not_in_books"}
        changed = _import(merchant, name, seed, at, unknown)
        today = local_date(at, merchant.connection.country.zone)
        runs.run(merchant.installation, merchant.connection, as_of=today)
        found = list(_name(merchant, today))
        rests = sum(bool(rest) for _, rest in found)
        named = frozenset(one for causes, _ in found for one in causes) | _name_other_documents(merchant)
        listed = frozenset(_list_exceptions(merchant))
    wanted = {(row.outcome, row.id) for row in planted}
    wanted |= {(OTHER, row.id) for row in truth if OTHER in row.exceptions} | {(CHANGED, changed)}
    return TaxFound(name, seed, frozenset(wanted), named, rests, listed)


def _name_other_documents(merchant: Merchant) -> frozenset[Named]:
    """Return the payments whose document does not serve, and the documents that another XML changed."""
    with merchant.installation.store.reading() as session:
        found = session.exec(select(ExceptionRow).where(col(ExceptionRow.code).in_([OTHER, CHANGED]))).all()
        return frozenset((row.code, str(row.resource_id if row.code == OTHER else row.doc_key)) for row in found)


def _list_exceptions(merchant: Merchant) -> Iterator[tuple[str, str, str]]:
    with merchant.installation.store.reading() as session:
        for row in session.exec(select(ExceptionRow).where(col(ExceptionRow.code).in_(OF_TAX))):
            yield row.code, row.severity, row.subject.partition(":")[2]


def _import(merchant: Merchant, name: str, seed: int, at: datetime, unknown: set[str]) -> str:
    """Take in XML (without what the books do not know), then the books of the ERP, the register and the returns.

    Return the key of the sale of which an altered XML is brought in last.
    """
    app, folder = create_sandbox(name, seed=seed), merchant.books.parent
    installation, connection = merchant.installation, merchant.connection
    with httpx.Client(transport=httpx.WSGITransport(app=app), base_url="http://sandbox.test") as client:
        client.post("/_sandbox/clock/advance", json={"seconds": int(LATER.total_seconds())})
        papers, registers, declared = (
            client.get(f"/_sandbox/{one}").content for one in ("invoices.xml.zip", "register.zip", "declared.csv")
        )
    app.world.close()
    (folder / "papers.zip").write_bytes(papers)
    import_tax_files(installation, connection, [folder / "papers.zip"])
    with installation.store.transaction() as session:
        for key in unknown:
            session.delete(session.get_one(LocalInvoice, (connection.name, key)))
            session.delete(session.get_one(FiscalDocument, (connection.name, key)))
    merchant.live_until(at)
    for path, content in _unpack(registers):
        if "_tercero" not in path:
            (folder / path).write_bytes(content)
            outcome = import_register(installation, connection, folder / path, at=at)
            if not outcome.accepted:
                raise SystemExit(f"{path} was refused: {outcome.reading.rejects[:2]}")
    if connection.country_code == "cl":
        with installation.store.transaction() as session:
            declare(session, connection, read_file(declared), author="merchant", at=at)
    return _alter(merchant, papers)


def _alter(merchant: Merchant, papers: bytes) -> str:
    """Bring in the XML of a sale with another total, and return its key."""
    path = merchant.books.parent / "altered.xml"
    for _, content in _unpack(papers):
        path.write_bytes(_TOTAL.sub(rb"\g<1>1\g<2>", content, count=1))
        found: list[Found] = []
        import_tax_files(merchant.installation, merchant.connection, [path], on_found=found.append)
        for one in found:
            if one.verdict is Verdict.CHANGED and one.direction == ISSUED and one.document:
                return one.document.doc_key
    raise SystemExit("no paper could be altered")


def _unpack(content: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        yield from ((name, archive.read(name)) for name in archive.namelist())


def _name(merchant: Merchant, today: date) -> Iterator[tuple[list[Named], int | None]]:
    """Yield the causes and the rest of every figure."""
    connection = merchant.connection
    with merchant.installation.store.reading() as session:
        whole = read_world(session, connection, today=today)
        ties = {month: tie_out(whole, month) for month in MONTHS}
        for month, found in ties.items():
            alone = read_world(session, connection, today=today, periods=[month])
            assert tie_out(alone, month) == found, f"{month} alone is tied otherwise than with all months"
        for tie in (tie for found in ties.values() for tie in found):
            yield [(part.cause, part.doc_key or part.tax_id) for part in tie.parts], tie.rest


def write(found: list[TaxFound]) -> str:
    """Return the part of docs/accuracy.md about tax."""
    lines = [
        "", "## Causes of tax differences", "",
        "`tax-cl` and `tax-mx` plant each cause of a tax difference, and a sale whose document is another than it",
        "needs; one XML is altered and brought in again. What the tie-out, the complements and the run name is held",
        "against them, from XML, books, registers and returns as files. Not counted as false: sums of vouchers, unpaid",
        "documents, card sales without one, single units of rounding, global invoices, and another cause of what one",
        "is planted on, which may follow. Causes that are exceptions are on the work list, each with its severity, and",
        "no others (`test_planted_causes_are_found`).", "",
        "| scenario, seed | planted | missed | false | figures with a rest |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for one in found:
        missed, false = (", ".join(f"`{code}`" for code, _ in rows) or "0" for rows in (one.missed, one.false))
        lines.append(f"| {one.name}, {one.seed} | {len(one.planted)} | {missed} | {false} | {one.rests} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    seeds = [int(seed) for seed in sys.argv[1:]] or SEEDS
    sys.stdout.write(write([judge_tax(name, seed) for name in NAMES for seed in seeds]))
