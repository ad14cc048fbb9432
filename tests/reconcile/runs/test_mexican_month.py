"""A month of a Mexican merchant from files that were written by hand: every figure here was reckoned on paper.

PUE `a` of 1,160 is paid, `f` is not. `c` has 1,000 at 16 % and 1,000 at 0 %, and is paid. PPD `b` of 580 is paid, with
no complement; `e` of 1,080 at 8 % is paid and has one, `d`. The books know `g`, which never reached the tax office.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlmodel import col, select

from consumer.facts.installation import Installation
from consumer.facts.store import Store
from reconcile.books.register_files import import_register
from reconcile.books.tax_intake import import_tax_files
from reconcile.fiscal.declared import Wish, declare
from reconcile.fiscal.reading import read_world
from reconcile.fiscal.tie_out import tie_out
from reconcile.rules.outcomes import OF_TAX
from reconcile.runs.run import run
from reconcile.runs.tax_list import list_tax
from reconcile.tables.desk import ExceptionRow
from tests.merchant import settings_of
from tests.reconcile.books.tax_texts import CUSTOMER, MERCHANT, PPD, STAMP, UUIDS, cfdi, complement

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

OCTOBER, AS_OF = "2026-10", date(2026, 11, 20)
LISTED_AT = datetime(2026, 11, 15, 12, tzinfo=UTC)
TAXED = 'Base="1000.00" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.160000" Importe="160.00"/>'
ZERO = '<cfdi:Traslado Base="1000.00" Impuesto="002" TipoFactor="Tasa" TasaOCuota="0.000000" Importe="0.00"/>'
LATER = "99999999-1111-4222-8333-999999999999"
FILES = {
    "a": cfdi("a", folio="1"),
    "b": cfdi("b", folio="2", terms=PPD, net="500.00", vat="80.00", total="580.00"),
    "c": cfdi("c", folio="3", net="2000.00", total="2160.00").replace('Base="2000.00"', 'Base="1000.00"')
    .replace(TAXED, TAXED + ZERO),
    "e": cfdi("e", folio="5", terms=PPD, vat="80.00", total="1080.00").replace("0.160000", "0.080000"),
    "d": complement("d", ("e", 1, "1080.00", "1080.00", "0.00"), amount="1080.00").replace("0.160000", "0.080000")
    .replace("431.034483", "1000.00").replace("68.965517", "80.00"),
    "f": cfdi("f", folio="6"),
    "later": cfdi("a", folio="9").replace(STAMP.format(uuid=UUIDS["a"].upper()), STAMP.format(uuid=LATER))
    .replace("2026-10-05T", "2026-11-09T"),
}  # fmt: skip
LIST = (
    "Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~"
    "EfectoComprobante~Estatus~FechaCancelacion\r\n"
)
TOTALS = {"a": 1160, "b": 580, "c": 2160, "e": 1080, "f": 1160}
ROW = "{uuid}~{issuer}~UNO~{receiver}~XENON~SAT970701NN3~2026-10-05 23:30:00~2026-10-05 23:31:00~{total}~{kind}~1~\r\n"


@pytest.fixture
def mexican(store: Store, tmp_path: Path) -> Callable[..., Installation]:
    """The merchant, by the settings that a test names."""

    def with_settings(income_by: str = "paid") -> Installation:
        settings = settings_of("http://provider.test", tmp_path, country="mx", tax_id=MERCHANT, income_by=income_by)
        return Installation(settings=settings, store=store)

    return with_settings


@pytest.fixture
def month(mexican: Callable[..., Installation], world: "World", tmp_path: Path) -> Installation:
    """The month, reconciled after the tax office's list of it was brought in."""
    installation = mexican()
    main, folder = installation.settings.connection("main"), tmp_path / "xml"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.xml").write_text(text, encoding="utf-8")
    assert import_tax_files(installation, main, [folder]).kept == len(FILES)
    unsent = UUIDS["a"].replace("a", "7")
    world.invoice(
        "7", 116000, doc_key=f"mx:uuid:{unsent}", country="mx", doc_type="I", uuid=unsent, currency="MXN",
        net=100000, vat=16000, payment_method="PUE", payment_form="03", issue_date=date(2026, 10, 5),
        customer_tax_id=CUSTOMER,
    )  # fmt: skip
    for letter, total, day in (("a", 116000, 12), ("c", 216000, 12), ("b", 58000, 20), ("e", 108000, 20)):
        at = datetime(2026, 10, day, 18, tzinfo=UTC)
        world.payment(
            f"pi_{letter}", total, currency="MXN", created_at=at, succeeded_at=at,
            body={"metadata": {"uuid": UUIDS[letter]}},
        )  # fmt: skip
    world.complete(datetime(2026, 11, 21, 12, tzinfo=UTC))
    bring_list(installation, tmp_path)
    run(installation, main, as_of=AS_OF)
    return installation


def bring_list(installation: Installation, folder: Path, *unread: str) -> None:
    rows = [
        ROW.format(uuid=UUIDS[letter], issuer=MERCHANT, receiver=CUSTOMER, total=total, kind="I")
        for letter, total in TOTALS.items()
    ]
    rows.append(ROW.format(uuid=UUIDS["d"], issuer=MERCHANT, receiver=CUSTOMER, total=0, kind="P"))
    rows += [ROW.format(uuid=uuid, issuer=MERCHANT, receiver=CUSTOMER, total=0, kind="P") for uuid in unread]
    later = ROW.format(uuid=LATER, issuer=MERCHANT, receiver=CUSTOMER, total=1160, kind="I")
    rows.append(later.replace("2026-10-05", "2026-11-09"))
    file = folder / "1_01.txt"
    file.write_text(LIST + "".join(rows), encoding="utf-8", newline="")
    assert import_register(installation, installation.settings.connection("main"), file, at=LISTED_AT).accepted


def tied(installation: Installation, *, witness: str = "tax_office") -> list[tuple[object, ...]]:
    """Return figures of October with their other witness, both amounts, rest, verdict and causes by document."""
    with installation.store.reading() as session:
        world = read_world(session, installation.settings.connection("main"), today=AS_OF, periods=[OCTOBER])
        ties = [tie for tie in tie_out(world, OCTOBER) if tie.a.witness.value == witness]
    return [
        (tie.figure, tie.b.witness.value, tie.a.amount, tie.b.amount, tie.rest, tie.verdict.value,
         {f"{part.cause} {part.doc_key[-1:]}": part.amount for part in tie.parts})
        for tie in ties
    ]  # fmt: skip


def listed(installation: Installation) -> list[tuple[str, str, str, int]]:
    with installation.store.reading() as session:
        rows = session.exec(select(ExceptionRow).where(col(ExceptionRow.code).in_(OF_TAX))).all()
        return sorted(
            (row.code, row.severity, row.subject[-1], row.amount_at_risk) for row in rows if row.state == "open"
        )


def test_each_rate_is_a_figure_of_the_tax_office_and_of_the_money(month: Installation) -> None:
    """VAT of 16 and 8 %, bases of 16, 8 and 0 %, and the income: to the centavo, each difference with its document."""
    late = {"rep_missing b": -8000, "pue_unpaid f": 16000}
    bases = {"rep_missing b": -50000, "pue_unpaid f": 100000}
    told = [row for row in tied(month) if row[1] == "collected"]
    assert told == [
        ("vat_caused", "collected", 56000, 48000, 0, "explained", late),
        ("income", "collected", 500000, 450000, 0, "explained", bases),
        ("vat_16", "collected", 48000, 40000, 0, "explained", late),
        ("vat_8", "collected", 8000, 8000, 0, "closed", {}),
        ("base_16", "collected", 300000, 250000, 0, "explained", bases),
        ("base_8", "collected", 100000, 100000, 0, "closed", {}),
        ("base_0", "collected", 100000, 100000, 0, "closed", {}),
    ]


def test_what_is_wrong_is_on_the_work_list_once(month: Installation) -> None:
    """The VAT at risk of each, whatever figures say it too: no complement, not paid, not at the tax office."""
    assert listed(month) == [
        ("PUE_PAID_LATER", "medium", "f", 16000),
        ("REP_MISSING", "high", "b", 8000),
        ("SII_MISSING", "high", "7", 16000),
    ]


def test_a_complement_that_is_listed_without_its_xml_may_be_the_one(month: Installation, tmp_path: Path) -> None:
    """Once the list has one of that customer whose XML is not here, no complement of the customer is called missing."""
    bring_list(month, tmp_path, UUIDS["a"].replace("a", "8"))
    list_tax(month, month.settings.connection("main"), run_id="r" * 16, as_of=AS_OF)
    found = [(code, subject) for code, _, subject, _ in listed(month)]
    assert found == [("PUE_PAID_LATER", "9"), ("PUE_PAID_LATER", "f"), ("SII_MISSING", "7")]


def test_income_is_tied_with_the_return_and_the_year_so_far(
    month: Installation, mexican: Callable[..., Installation]
) -> None:
    """As it is paid, or as it is issued; what is declared of the year is the sum of its months once all are here."""
    main = month.settings.connection("main")
    wishes = [Wish(OCTOBER, "income", "4500.00"), Wish(OCTOBER, "income_accumulated", "13500.00")]
    with month.store.transaction() as session:
        declare(session, main, wishes, author="Ana", at=LISTED_AT)
    (of_return,) = [row for row in tied(month) if row[:2] == ("income", "declared")]
    assert of_return == (
        "income", "declared", 500000, 450000, 0, "explained", {"rep_missing b": -50000, "pue_unpaid f": 100000},
    )  # fmt: skip
    by_issue = [row for row in tied(mexican("issued")) if row[0] == "income"]
    assert by_issue == [("income", "declared", 550000, 450000, 100000, "open", {})]
    (year,) = [row for row in tied(month, witness="declared") if row[0] == "income_accumulated"]
    assert year == ("income_accumulated", "computed", 1350000, None, None, "not_filed", {})
    earlier = [Wish(f"2026-{one:02}", "income", "1000.00") for one in range(1, 10)]
    with month.store.transaction() as session:
        declare(session, main, earlier, author="Ana", at=LISTED_AT)
    (year,) = [row for row in tied(month, witness="declared") if row[0] == "income_accumulated"]
    assert year == ("income_accumulated", "computed", 1350000, 1350000, 0, "closed", {})


def test_without_the_list_no_sale_is_called_unsent(
    mexican: Callable[..., Installation], world: "World", tmp_path: Path
) -> None:
    """Where XML is here and the list is not, a paid sale without XML lacks that alone; then the list says more."""
    installation, folder = mexican(), tmp_path / "xml"
    folder.mkdir()
    (folder / "a.xml").write_text(FILES["a"], encoding="utf-8")
    import_tax_files(installation, installation.settings.connection("main"), [folder])
    uuid = UUIDS["a"].replace("a", "7")
    world.invoice(
        "7", 116000, doc_key=f"mx:uuid:{uuid}", country="mx", doc_type="I", uuid=uuid, currency="MXN", net=100000,
        vat=16000, payment_method="PUE", payment_form="03", issue_date=date(2026, 10, 5), customer_tax_id=CUSTOMER,
    )  # fmt: skip
    for letter in ("a", "7"):
        at, named = datetime(2026, 10, 12, 18, tzinfo=UTC), UUIDS["a"].replace("a", letter)
        body = {"metadata": {"uuid": named}}
        world.payment(f"pi_{letter}", 116000, currency="MXN", created_at=at, succeeded_at=at, body=body)
    world.complete(datetime(2026, 11, 21, 12, tzinfo=UTC))
    run(installation, installation.settings.connection("main"), as_of=AS_OF)
    (tax, *_) = tied(installation)
    assert tax == ("vat_caused", "collected", 16000, 32000, 0, "explained", {"xml_missing 7": -16000})
    assert listed(installation) == []
    bring_list(installation, tmp_path)
    (tax, *_) = tied(installation)
    assert tax[-1] == {"not_in_register 7": -16000}
