"""The files of tax papers that are handed out: XML in an archive, the register, and the figures that were declared."""

import csv
import io
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime

from sandbox.engine.world import TEST, World
from sandbox.scenarios.calendar import ZONES
from sandbox.scenarios.tax_office import to_local, to_paper
from sandbox.state.papers import Entry, Paper, Party, TaxView
from sandbox.tax.cfdi import write_cfdi
from sandbox.tax.dte import LARGEST_SET, RECEIPTS, write_dte, write_set
from sandbox.tax.registers import declare, write_metadata, write_register

PIECE = 65_536
EARLIEST = (1980, 1, 1, 0, 0, 0)
Named = Iterator[tuple[str, bytes]]


def view_of(world: World) -> TaxView:
    """Return the world's tax papers: its own, or those that follow from its books and the provider's bills."""
    scenario = world.scenario
    if scenario.tax is not None:
        return scenario.tax
    issued = tuple(
        to_paper(one, scenario.country)
        for one in scenario.documents
        if one.known_at <= world.now() and (scenario.country == "mx" or one.row["status"] == "valid")
    )
    bills = tuple(_read_bills(world))
    entries = [Entry(paper, paper.month) for paper in issued] + [Entry(bill, bill.month, "purchases") for bill in bills]
    return TaxView(issued + bills, tuple(entries))


def _read_bills(world: World) -> Iterator[Paper]:
    """Return the provider's bills for its fees, where a link to the tax office shows them."""
    for row in world.collection(TEST, "tax_invoices").newest_first():
        if row["issue_type"] != "received":
            continue
        issuer, receiver = (
            Party(f"{party['id'][:-1]}-{party['id'][-1]}", party["name"]) for party in (row["issuer"], row["receiver"])
        )
        yield Paper("cl", "33", issuer, receiver, row["number"], to_local(datetime.fromisoformat(row["date"]), "cl"),
                    row["currency"], row["net_amount"], 0, row["total_amount"] - row["net_amount"],
                    row["total_amount"], is_received=True)  # fmt: skip


def write_papers(world: World) -> Iterator[bytes]:
    """Return the archive of every document handed out by now, in pieces."""
    now = world.now()
    known = (paper for paper in view_of(world).papers if paper.issued_at <= now)
    return _zip(_write_mexico(known) if world.scenario.country == "mx" else _write_chile(known))


def write_registers(world: World) -> Iterator[bytes]:
    """Return the archive of what the tax office keeps by now, in pieces."""
    view, now = view_of(world), world.now()
    write = write_metadata if world.scenario.country == "mx" else write_register
    encoding = "utf-8" if world.scenario.country == "mx" else "latin-1"
    return _zip((name, text.encode(encoding, errors="replace")) for name, text in write(view, now))


def write_declared(world: World) -> str:
    """Return the figures of returns that were due by now, a row a period and code."""
    view, now = view_of(world), world.now()
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("period", "code", "amount", "currency"))
    if world.scenario.country == "cl":
        for period in sorted({entry.period for entry in view.register}):
            if _filed_at(period) <= now:
                writer.writerows((period, code, amount, "CLP") for code, amount in declare(view, period, now).items())
    return text.getvalue()


def _filed_at(period: str) -> datetime:
    """Return when the return of a period is filed: on the 20th of the month after it."""
    year, month = map(int, period.split("-"))
    return datetime(year + month // 12, month % 12 + 1, 20, 16, tzinfo=ZONES["cl"])


def _write_mexico(papers: Iterable[Paper]) -> Named:
    for paper in papers:
        yield (
            f"{'recibidos' if paper.is_received else 'emitidos'}/{paper.month}/{paper.uuid.upper()}.xml",
            write_cfdi(paper),
        )


def _write_chile(papers: Iterable[Paper]) -> Named:
    """Issued documents come in the sets they were sent in, received ones alone and without a namespace."""
    waiting: dict[tuple[bool, str], list[Paper]] = {}
    for paper in papers:
        if paper.is_received:
            name = f"recibidos/{paper.issuer.tax_id}_T{paper.kind}F{paper.folio}.xml"
            yield name, write_dte(paper)
            continue
        group = waiting.setdefault((paper.kind in RECEIPTS, paper.month), [])
        group.append(paper)
        if len(group) == LARGEST_SET:
            yield _name_set(group), write_set(group)
            group.clear()
    for group in waiting.values():
        if group:
            yield _name_set(group), write_set(group)


def _name_set(papers: list[Paper]) -> str:
    first = papers[0]
    form = "EnvioBOLETA" if first.kind in RECEIPTS else "EnvioDTE"
    return f"emitidos/{form}_{first.month}_T{first.kind}F{first.folio}.xml"


def _zip(files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """Return an archive of these files, the same bytes for the same files."""
    with tempfile.TemporaryFile() as held:
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files:
                archive.writestr(zipfile.ZipInfo(name, EARLIEST), content, zipfile.ZIP_DEFLATED)
        held.seek(0)
        yield from iter(lambda: held.read(PIECE), b"")
