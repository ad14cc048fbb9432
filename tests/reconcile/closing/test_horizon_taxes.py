"""The tax control reads money that closed days settled as it reads what a run judged itself."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

from sqlmodel import col, select

from consumer.facts.installation import Connection, Installation
from reconcile.books.register_files import import_register
from reconcile.fiscal.reading import read_world
from reconcile.rules.outcomes import OF_TAX
from reconcile.runs.run import run
from reconcile.tables.books import InvoiceFile
from reconcile.tables.desk import ExceptionRow
from tests.reconcile.closing.histories import History
from tests.reconcile.runs.test_tax_list import HEADER, ROW

if TYPE_CHECKING:
    from pathlib import Path

    from tests.reconcile.conftest import World

RUT = "22222222-2"


def test_causes_of_closed_days_stay_on_the_work_list(
    world: "World", installation: Installation, main: Connection, tmp_path: "Path"
) -> None:
    """Thirty paid invoices, of which the register lacks one, are settled: money, fees and exception are as before."""
    bounded = replace(installation, settings=installation.settings.model_copy(update={"horizon": True}))
    history = History(world, Random(1))  # noqa: S311 - repeatable trade
    world.complete(datetime(2026, 12, 1, 6, tzinfo=UTC))
    world.keep(
        InvoiceFile(
            connection="main",
            sha256="0" * 64,
            name="v.csv",
            imported_at=datetime(2026, 3, 2, tzinfo=UTC),
            rows=30,
            added=30,
            changed=0,
        )
    )
    for folio in range(1031, 1061):
        history.issue(str(folio), 1190, rut=RUT, order="", net=1000, vat=190)
        history.pay(f"pi_{folio}", 1190, {"metadata": {"folio": str(folio)}}, RUT)
    history.pay_out(at_bank=True)
    file = tmp_path / "RCV_VENTA_202603.csv"
    rows = (ROW.format(folio=folio).replace("/10/2026", "/03/2026") for folio in range(1031, 1060))
    file.write_text(HEADER + "".join(rows))
    assert import_register(bounded, main, file, at=datetime(2026, 4, 15, 12, tzinfo=UTC)).accepted
    history.day += timedelta(days=45)
    before = seen(bounded, main, history.day)
    assert [code for code, _, _ in before[2]] == ["SII_MISSING"]
    history.close(bounded, main, date(2026, 3, 31))
    history.day += timedelta(days=1)
    assert run(bounded, main, as_of=history.day).is_new
    history.age()
    history.issue("2200", 50_000, rut=RUT, order="")
    found = run(bounded, main, as_of=history.day, dry_run=True)
    assert found.result is not None
    assert len(found.result.lines) < 30
    assert seen(bounded, main, history.day) == before


def seen(
    installation: Installation, main: Connection, as_of: date
) -> tuple[list[tuple[object, ...]], object, list[tuple[str, str, str]]]:
    """Run, and return the payments, the fees and the open exceptions of taxes."""
    run(installation, main, as_of=as_of)
    with installation.store.reading() as session:
        world = read_world(session, main, today=as_of)
        rows = session.exec(select(ExceptionRow).where(col(ExceptionRow.code).in_(OF_TAX))).all()
        exceptions = sorted((row.code, row.subject, row.state) for row in rows)
    return sorted(map(tuple, world.payments)), dict(world.fees), exceptions
