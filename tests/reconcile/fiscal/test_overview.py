"""The taxes of a period as they are kept for its page: the same as reckoned, and shown as long as they are."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.books.register_files import import_register
from reconcile.fiscal.overview import Overview, Shown, keep, reckon, show
from reconcile.runs.tax_list import list_tax
from reconcile.tables.books import InvoiceFile
from reconcile.tables.fiscal import KeptTieOut
from tests.reconcile.runs.test_tax_list import HEADER, ROW

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

AT, TODAY, OCTOBER = datetime(2026, 11, 15, 12, tzinfo=UTC), date(2026, 11, 20), "2026-10"
# More rows than are tied out while a reader waits.
MANY = 5_001


@pytest.fixture
def bring(installation: Installation, main: Connection, world: "World", tmp_path: Path) -> Callable[..., None]:
    """Two invoices in the books; calling it brings October's register in, with invoices of these folios."""
    world.keep(
        InvoiceFile(connection="main", sha256="0" * 64, name="v.csv", imported_at=AT, rows=2, added=2, changed=0)
    )
    for folio in ("1", "2"):
        world.invoice(folio, 1190, issue_date=date(2026, 10, 5), net=1000, exempt=0, vat=190)

    def register(*folios: str, at: datetime = AT) -> None:
        file = tmp_path / "RCV_VENTA_202610.csv"
        file.write_text(HEADER + "".join(ROW.format(folio=folio) for folio in folios))
        assert import_register(installation, main, file, at=at).accepted

    return register


def seen(installation: Installation, main: Connection) -> Shown:
    with installation.store.reading() as session:
        return show(session, main, OCTOBER, today=TODAY)


def debit(overview: Overview) -> tuple[object, ...]:
    (tie,) = [tie for tie in overview.ties if tie.figure == "502" and tie.b.witness == "register"]
    return tie.difference, tie.rest, tie.verdict.value, [(part.cause, part.amount) for part in tie.parts]


@pytest.mark.both_databases
def test_what_a_night_found_is_shown_until_something_comes_in(
    installation: Installation, main: Connection, bring: Callable[..., None]
) -> None:
    """Few rows are tied out anew then; many are shown as they were, with what came in since."""
    bring("1")
    assert debit(seen(installation, main).overview) == (190, 0, "explained", [("not_in_register", 190)])
    list_tax(installation, main, run_id="r" * 16, as_of=TODAY)
    kept = seen(installation, main)
    assert (seen(installation, main).at, kept.since) == (kept.at, [])
    assert debit(kept.overview) == (190, 0, "explained", [("not_in_register", 190)])
    assert [(figure, part.doc_key, part.tax) for figure, part in kept.overview.causes] == [("502", "cl:33::2", 190)]
    bring("1", "2", at=AT.replace(day=16))
    assert debit(seen(installation, main).overview) == (0, 0, "closed", [])
    with installation.store.reading() as session:
        found, mark = reckon(session, main, OCTOBER, today=TODAY)
    with installation.store.transaction() as session:
        keep(session, main, {OCTOBER: replace(found, rows=MANY)}, mark)
    bring("1", at=AT.replace(day=17))
    before = seen(installation, main)
    assert (debit(before.overview), before.since) == ((0, 0, "closed", []), ["register"])


def test_what_an_older_version_kept_is_shown_as_such(
    installation: Installation, main: Connection, bring: Callable[..., None]
) -> None:
    """Many rows stay readable after an upgrade, named as of an older version; few are tied out anew."""
    bring("1")
    with installation.store.reading() as session:
        found, mark = reckon(session, main, OCTOBER, today=TODAY)
    older = mark.replace('"version":"', '"version":"0')
    for rows, since in ((MANY, ["version"]), (2, [])):
        with installation.store.transaction() as session:
            keep(session, main, {OCTOBER: replace(found, rows=rows)}, older)
        shown = seen(installation, main)
        assert (debit(shown.overview), list(shown.since)) == ((190, 0, "explained", [("not_in_register", 190)]), since)
    with installation.store.transaction() as session:
        session.exec(sa.update(KeptTieOut).values(rows=MANY, body="{}"))
    assert not seen(installation, main).since


def test_a_month_that_no_night_kept_is_compared_on_demand_where_much_is_read(
    installation: Installation, main: Connection, bring: Callable[..., None], world: "World"
) -> None:
    """Of a merchant with few rows at once; of one with many nothing is said of it until it was asked for."""
    bring("1")
    assert debit(seen(installation, main).overview)[0] == 190
    world.keep(
        InvoiceFile(connection="main", sha256="1" * 64, name="w.csv", imported_at=AT, rows=50_000, added=0, changed=0)
    )
    waiting = seen(installation, main)
    assert (waiting.at, waiting.since, waiting.overview.ties, waiting.overview.knows) == (None, (), [], False)
    with installation.store.reading() as session:
        assert show(session, main, "2026", today=TODAY).at is None
        found, mark = reckon(session, main, OCTOBER, today=TODAY)
    with installation.store.transaction() as session:
        keep(session, main, {OCTOBER: found}, mark)
    assert debit(seen(installation, main).overview)[0] == 190


def test_a_setting_counts_as_what_is_read(
    installation: Installation, main: Connection, bring: Callable[..., None]
) -> None:
    """A kept figure of another model of vouchers is not shown as today's."""
    bring("1", "2")
    with installation.store.reading() as session:
        found, mark = reckon(session, main, OCTOBER, today=TODAY)
    with installation.store.transaction() as session:
        keep(session, main, {OCTOBER: replace(found, rows=MANY)}, mark)
    changed = main.model_copy(update={"voucher_model": "both"})
    assert (seen(installation, main).since, seen(installation, changed).since) == ([], ["settings"])
