"""The commands of the journal on a real database: closed days in, files out, what was exported remembered."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result
from sqlmodel import col, select

from consumer.facts.durable import draft_folder
from consumer.facts.installation import Installation
from consumer.facts.tables.provider import TaxInvoice
from cuadre import Commands
from reconcile.journal.entries import JournalError
from reconcile.journal.remembered import Made, remember
from reconcile.tables.closing import JournalEntry, JournalExport
from tests.merchant import settings_of

if TYPE_CHECKING:
    from tests.reconcile.conftest import Prepare, World

Call = Callable[..., Result]
SECOND = datetime(2026, 9, 11, 15, tzinfo=UTC)
SIGNED = ("--reason", "month end", "--author", "ana")


@pytest.fixture
def closed(world: "World", call: Call, prepare: "Prepare", installation: Installation) -> "World":
    """A payment with its document and one without, in one payout of Thursday 10 September, which is closed."""
    installation.settings.config_dir.joinpath("accounts.toml").write_text('chart = "cl"\n', encoding="utf-8")
    prepare("journal day", lambda: _close_day(world, call))
    return world


def _close_day(world: "World", call: Call) -> str:
    world.payment("pi_1", 1190, body={"metadata": {"order_ref": "PED-1"}})
    world.payment("pi_2", 500)
    world.payout("po_1", 1650, ("payment_intent", "pi_1", 1190), ("payment_intent", "pi_2", 500))
    world.invoice("7", 1190, order_ref="PED-1", due_date=date(2026, 10, 30), vat=190, customer_tax_id="76543210-3")
    world.complete(datetime(2026, 9, 30, 6, tzinfo=UTC))
    closing = call("periods", "close", "--to", "2026-09-10", "--as-of", "2026-09-10", *SIGNED)
    assert closing.exit_code == 0, closing.output
    return closing.output


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def lines_of(path: Path) -> list[str]:
    """Return the lines of the journal without the ids, which are digests."""
    cells = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    return [",".join((row[2], *row[4:9], *row[10:14], *row[15:18])) for row in cells]


@pytest.mark.both_databases
@pytest.mark.usefixtures("closed")
def test_closed_days_are_exported_once_and_remembered(call: Call, installation: Installation, tmp_path: Path) -> None:
    """The file has the day's entries; asked for again it is the same, and asked for the rest there is none."""
    (made,) = rows(call("journal", "--out", tmp_path / "a", "--author", "eva", "--json"))
    assert (made["profile"], made["until"], made["entries"], made["lines"], made["drafts"]) == (
        "journal", "2026-09-10", 2, 8, 0,
    )  # fmt: skip
    assert lines_of(Path(made["file"])) == [
        "2026-09-10,I,Cobros del 10-09-2026,1,clearing,1.1.03.10,1190,0,CLP,76543210-3,7,,pi_1",
        "2026-09-10,I,Cobros del 10-09-2026,2,customers,1.1.04.10,0,1190,CLP,76543210-3,7,,pi_1",
        "2026-09-10,I,Cobros del 10-09-2026,3,clearing,1.1.03.10,500,0,CLP,,,,pi_2",
        "2026-09-10,I,Cobros del 10-09-2026,4,suspense,2.1.08.10,0,500,CLP,,,,pi_2",
        "2026-09-10,T,Abono po_1,1,in_transit,1.1.01.20,1650,0,CLP,,,,po_1",
        "2026-09-10,T,Abono po_1,2,clearing,1.1.03.10,0,1650,CLP,,,,po_1",
        "2026-09-10,T,Abono po_1,3,fee_pending,1.1.05.10,40,0,CLP,,,,po_1",
        "2026-09-10,T,Abono po_1,4,clearing,1.1.03.10,0,40,CLP,,,,po_1",
    ]
    again = call("journal", "--out", tmp_path / "b", "--json")
    assert again.exit_code == 1
    said = "everything up to 2026-09-10 is exported: --period 1 gives its files again"
    assert said in again.stderr
    (same,) = rows(call("journal", "--period", 1, "--out", tmp_path / "b", "--author", "luis", "--json"))
    assert Path(same["file"]).read_bytes() == Path(made["file"]).read_bytes()
    with installation.store.reading() as session:
        assert len(session.exec(select(JournalEntry)).all()) == 2
        exports = session.exec(select(JournalExport).order_by(col(JournalExport.id))).all()
        assert [(one.author, one.entries) for one in exports] == [("eva", 2), ("luis", 0)]
    shown = rows(call("accounts", "exports", "--json"))
    assert [(row["export"], row["until"], row["entries"]) for row in shown] == [
        (2, "2026-09-10", 0),
        (1, "2026-09-10", 2),
    ]
    assert list(tmp_path.glob("**/.journal.*")) == []


@pytest.mark.both_databases
@pytest.mark.usefixtures("closed")
def test_two_exports_at_once_are_not_both_remembered(call: Call, installation: Installation, tmp_path: Path) -> None:
    """Who began before another export was remembered is refused, and its entries are not kept."""
    rows(call("journal", "--out", tmp_path, "--json"))
    made = Made("main", date(2026, 9, 11), date(2026, 9, 12), "a-run", ["journal"], "eva", SECOND)
    with (
        installation.store.transaction() as session,
        pytest.raises(JournalError, match="another export was made meanwhile"),
    ):
        remember(session, made, [], seen=0)
    assert len(rows(call("accounts", "exports", "--json"))) == 1


@pytest.mark.both_databases
def test_a_later_fact_is_booked_in_the_next_closed_days(closed: "World", call: Call, tmp_path: Path) -> None:
    """The document that came after the close moves the payment on the first open day, once that is closed."""
    rows(call("journal", "--out", tmp_path, "--json"))
    closed.invoice("8", 500, issue_date=date(2026, 9, 10), due_date=date(2026, 10, 30))
    assert call("match", "pi_2", "cl:33::8", *SIGNED).exit_code == 1
    closed.payment("pi_3", 90, succeeded_at=SECOND)
    closed.payout("po_2", 80, ("payment_intent", "pi_3", 90), created_at=SECOND, succeeded_at=SECOND)
    assert call("periods", "reopen", *SIGNED).exit_code == 0
    assert call("match", "pi_2", "cl:33::8", *SIGNED).exit_code == 0
    assert call("periods", "close", "--to", "2026-09-11", "--as-of", "2026-09-11", *SIGNED).exit_code == 0
    (made,) = rows(call("journal", "--out", tmp_path, "--json"))
    assert made["since"] == "2026-09-11"
    assert [line.split(",")[2:8] for line in lines_of(Path(made["file"]))][-2:] == [
        ["Corrección de 10-09-2026", "1", "suspense", "2.1.08.10", "500", "0"],
        ["Corrección de 10-09-2026", "2", "customers", "1.1.04.10", "0", "500"],
    ]


def test_what_a_person_accepted_is_posted_with_its_reason(world: "World", call: Call, tmp_path: Path,
                                                         installation: Installation) -> None:  # fmt: skip
    """The rest of a document goes to the account of its reason on the day it was accepted; taken back, it is gone."""
    installation.settings.config_dir.joinpath("accounts.toml").write_text(
        'chart = "cl"\n[differences]\ndiscount = "4.1.09"\n', encoding="utf-8"
    )
    world.payment("pi_1", 1000, body={"metadata": {"order_ref": "PED-1"}})
    world.invoice("7", 1190, order_ref="PED-1", due_date=date(2026, 10, 30))
    world.complete(datetime(2026, 12, 30, 6, tzinfo=UTC))
    assert call("adjust", "cl:33::7", "--type", "discount", *SIGNED).exit_code == 0
    assert call("reconcile", "--as-of", "2026-12-29").exit_code == 0
    (made,) = rows(call("journal", "--draft", "--to", "2999-12-31", "--out", tmp_path, "--json"))
    shown = [line.split(",")[2:] for line in lines_of(Path(made["file"])) if "Diferencia" in line]
    assert [row[2:6] for row in shown] == [
        ["differences", "4.1.09", "190", "0"],
        ["customers", "1.1.04.10", "0", "190"],
    ]
    assert call("withdraw", "cl:33::7", *SIGNED).exit_code == 0
    assert call("reconcile", "--as-of", "2026-12-29").exit_code == 0
    (again,) = rows(call("journal", "--draft", "--to", "2999-12-31", "--out", tmp_path / "b", "--json"))
    assert "Diferencia" not in Path(again["file"]).read_text(encoding="utf-8")


def test_each_closed_period_is_of_its_own_run(closed: "World", call: Call, tmp_path: Path) -> None:
    """Two closed periods that were not exported are two exports, which people read in one line each."""
    closed.payment("pi_3", 90, succeeded_at=SECOND)
    closed.payout("po_2", 80, ("payment_intent", "pi_3", 90), created_at=SECOND, succeeded_at=SECOND)
    assert call("periods", "close", "--to", "2026-09-11", "--as-of", "2026-09-11", *SIGNED).exit_code == 0
    made = rows(call("journal", "--out", tmp_path, "--json"))
    assert [(row["since"], row["until"]) for row in made] == [
        ("2026-09-10", "2026-09-10"),
        ("2026-09-11", "2026-09-11"),
    ]
    assert made[0]["run_id"] != made[1]["run_id"]
    text = call("journal", "--period", 1, "--out", tmp_path)
    assert text.stdout.splitlines()[0].split() == ["connection", "profile", "file"]
    assert "main, 2026-09-10 to 2026-09-10: 2 entries with 8 lines" in text.stderr


@pytest.mark.usefixtures("closed")
def test_a_folder_in_the_place_of_a_file_is_refused_before(call: Call, tmp_path: Path) -> None:
    """It is named, and the export is not remembered."""
    (tmp_path / "2026-09-10_main_journal.csv").mkdir()
    refused = call("journal", "--out", tmp_path)
    assert refused.exit_code == 1
    assert "2026-09-10_main_journal.csv is a folder: move it away" in refused.stderr
    assert rows(call("accounts", "exports", "--json")) == []


@pytest.mark.usefixtures("closed")
def test_a_refused_journal_leaves_no_folder(call: Call, installation: Installation, tmp_path: Path) -> None:
    """Its sentence begins as those of other commands do; of new folders none stays, and standard output is none."""
    refused = call("journal", "--to", "2026-09-09", "--period", 1, "--out", tmp_path / "a")
    assert refused.exit_code == 2
    accounts = installation.settings.config_dir / "accounts.toml"
    accounts.write_text('[accounts]\nclearing = "1.1"\n', encoding="utf-8")
    refused = call("journal", "--out", tmp_path / "new" / "a")
    assert (refused.exit_code, refused.stderr.startswith("Error: ")) == (1, True)
    assert not (tmp_path / "new").exists()
    streamed = call("journal", "--out", "-")
    assert (streamed.exit_code, streamed.stderr) == (
        2, "Error: a journal is several files: --out names a folder, not standard output\n"
    )  # fmt: skip
    accounts.unlink()
    accounts.mkdir()
    refused = call("journal", "--out", tmp_path / "new")
    assert refused.stderr == f"Error: {accounts} cannot be read: Is a directory\n"


@pytest.mark.usefixtures("closed")
def test_what_a_killed_export_left_goes_with_the_next(call: Call, tmp_path: Path) -> None:
    """The folder of an export that is under way stays."""
    killed = tmp_path / ".journal.killed"
    killed.mkdir()
    (killed / "half.csv").write_text("x", encoding="utf-8")
    with draft_folder(tmp_path, ".journal.") as under_way:
        killed.mkdir(exist_ok=True)
        assert call("journal", "--out", tmp_path).exit_code == 0
        assert (killed.exists(), under_way.exists()) == (False, True)
    assert list(tmp_path.glob(".journal.*")) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('profiles = ["sofland"]', "sofland is no layout; there are "),
        ('options = { medio = "T" }', "accounts.toml: no layout asks for the option medio; they ask for "),
    ],
)
@pytest.mark.usefixtures("closed")
def test_a_check_of_accounts_names_what_is_unknown(
    call: Call, installation: Installation, line: str, said: str
) -> None:
    """A mistyped layout or option would be found out at the first export only."""
    accounts = installation.settings.config_dir / "accounts.toml"
    accounts.write_text(f'chart = "cl"\n{line}\n', encoding="utf-8")
    checked = call("accounts", "check")
    assert (checked.exit_code, said in checked.stderr) == (1, True), checked.stderr


@pytest.mark.usefixtures("closed")
def test_an_account_map_saved_on_windows_is_read(call: Call, installation: Installation, tmp_path: Path) -> None:
    """Its editors may begin a file with the mark of UTF-8."""
    accounts = installation.settings.config_dir / "accounts.toml"
    accounts.write_text('chart = "cl"\n', encoding="utf-8-sig")
    assert call("journal", "--out", tmp_path).exit_code == 0


@pytest.mark.usefixtures("closed")
def test_a_layout_of_another_country_stops_no_other(call: Call, tmp_path: Path) -> None:
    """It is refused by name; alone it ends the export."""
    some = call("journal", "--out", tmp_path / "out", "--profile", "sat-polizas,journal")
    assert some.exit_code == 3
    assert "main: layout sat-polizas is not for connections of country cl" in some.stderr
    assert [path.suffix for path in (tmp_path / "out").iterdir()] == [".csv"]
    assert call("journal", "--period", 1, "--out", tmp_path, "--profile", "sat-polizas").exit_code == 1


@pytest.mark.usefixtures("closed")
def test_a_connection_that_cannot_be_exported_stops_no_other(tmp_path: Path, installation: Installation) -> None:
    """Without a name every connection is exported; one without a closed day is said and the status is 3."""
    more = {"connections": {"mexico": {"api_key": "sk_test_other", "country": "mx"}}}
    both = replace(installation, settings=settings_of("http://provider.test", tmp_path, overrides=more))
    made = CliRunner().invoke(Commands(), ["journal", "--out", str(tmp_path), "--json"], obj=lambda: both)
    assert made.exit_code == 3
    assert [json.loads(line)["connection"] for line in made.stdout.splitlines()] == ["main"]
    assert "mexico: " in made.stderr


def test_payments_of_documents_go_apart_and_come_off_by_hand(closed: "World", call: Call, tmp_path: Path) -> None:
    """With a layout of payments the journal's leaves them out; one taken off later is said, and the journal has it."""
    profiles = ("--profile", "quickbooks,quickbooks-payments", "--json")
    made = {row["profile"]: Path(row["file"]) for row in rows(call("journal", "--out", tmp_path / "a", *profiles))}
    assert "Clientes" not in made["quickbooks"].read_text(encoding="utf-8")
    (payment,) = list(csv.DictReader(made["quickbooks-payments"].read_text(encoding="utf-8").splitlines()))
    assert payment.pop("RefNumber")
    assert list(payment.values()) == [
        "10/09/2026", "pi_1", "76543210-3", "bank_transfer", "Fondos por liquidar", "7", "1190", "Pago pi_1 33-7",
        "CLP",
    ]  # fmt: skip
    again = rows(call("journal", "--period", 1, "--out", tmp_path / "b", *profiles))
    assert [Path(row["file"]).read_bytes() for row in again] == [path.read_bytes() for path in made.values()]

    assert call("periods", "reopen", *SIGNED).exit_code == 0
    assert call("unmatch", "pi_1", "cl:33::7", *SIGNED).exit_code == 0
    closed.payment("pi_3", 90, succeeded_at=SECOND)
    closed.payout("po_2", 80, ("payment_intent", "pi_3", 90), created_at=SECOND, succeeded_at=SECOND)
    assert call("periods", "close", "--to", "2026-09-11", "--as-of", "2026-09-11", *SIGNED).exit_code == 0
    result = call("journal", "--out", tmp_path / "c", *profiles)
    said = "quickbooks-payments: 1 payment taken off a document, the first pi_1 33-7: take it off in the ledger too"
    assert said in result.stderr
    made = {row["profile"]: Path(row["file"]) for row in rows(result)}
    assert list(csv.DictReader(made["quickbooks-payments"].read_text(encoding="utf-8").splitlines())) == []
    assert "Clientes,1190,," in made["quickbooks"].read_text(encoding="utf-8")


def test_open_days_are_drafts_and_nothing_is_remembered(closed: "World", call: Call, tmp_path: Path) -> None:
    """Days after the last closed one are refused, and shown as drafts where they are asked for."""
    closed.payment("pi_3", 90, succeeded_at=SECOND)
    assert call("reconcile", "--as-of", "2026-09-11").exit_code == 0
    refused = call("journal", "--to", "2026-09-11", "--out", tmp_path)
    assert refused.exit_code == 1
    assert "the days after 2026-09-10 are not closed: export up to 2026-09-10" in refused.stderr
    (made,) = rows(call("journal", "--draft", "--out", tmp_path, "--profile", "journal", "--json"))
    assert made["drafts"] == 1
    assert lines_of(Path(made["file"]))[-1].startswith("2026-09-11,I,BORRADOR Cobros del 11-09-2026,2,suspense,")
    assert rows(call("accounts", "exports", "--json")) == []


@pytest.mark.usefixtures("closed")
def test_the_provider_document_clears_the_fees(
    call: Call, world: "World", installation: Installation, tmp_path: Path
) -> None:
    """A received tax document of the provider, found by its tax id, posts expense and VAT against pending fees."""
    registered = {"document_type": 33, "vat_amount": 6, "invoice_status": "registered"}
    body = {
        "issue_type": "received", "issuer": {"id": "76.543.210-3"}, "date": "2026-09-10", "currency": "CLP",
        "tax_period": "09/2026", "number": "901", "net_amount": 34, "total_amount": 40,
        "institution_invoice": registered,
    }  # fmt: skip
    others: list[dict[str, Any]] = [
        body | {"issue_type": "issued"},
        body | {"issuer": {"id": "11.111.111-1"}},
        body | {"institution_invoice": registered | {"invoice_status": "void"}},
    ]
    for number, one in enumerate([body, *others]):
        world.keep(
            TaxInvoice(connection="main", id=f"inv_{number}", mode="test", version_at=SECOND, body=json.dumps(one))
        )
    accounts = installation.settings.config_dir / "accounts.toml"
    accounts.write_text('chart = "cl"\n[provider]\ntax_id = "76543210-3"\n', encoding="utf-8")
    (made,) = rows(call("journal", "--out", tmp_path, "--json"))
    assert [line.split(",")[4:8] for line in lines_of(Path(made["file"]))][-4:] == [
        ["fee_expense", "4.2.03.10", "34", "0"],
        ["fee_pending", "1.1.05.10", "0", "34"],
        ["vat_credit", "1.1.06.10", "6", "0"],
        ["fee_pending", "1.1.05.10", "0", "6"],
    ]


@pytest.mark.usefixtures("closed")
def test_what_a_layout_asks_for_may_stand_in_the_account_map(
    call: Call, installation: Installation, tmp_path: Path
) -> None:
    """Without a value the refusal names both places; the one of the command comes before that of the file."""
    wanted = ("journal", "--profile", "nubox-payments", "--out", tmp_path, "--json")
    refused = call(*wanted)
    assert refused.exit_code == 1
    assert "such as MedioDePago=TE; or MedioDePago under [options] of accounts.toml" in refused.stderr
    accounts = installation.settings.config_dir / "accounts.toml"
    accounts.write_text('chart = "cl"\n[options]\nMedioDePago = "WP"\n', encoding="utf-8")
    (made,) = rows(call(*wanted))
    assert ";WP;" in Path(made["file"]).read_text(encoding="latin-1")
    (again,) = rows(call(*wanted, "--period", 1, "--set", "MedioDePago=TE"))
    assert ";TE;" in Path(again["file"]).read_text(encoding="latin-1")


@pytest.mark.usefixtures("closed")
def test_what_cannot_be_exported_says_why(call: Call, tmp_path: Path) -> None:
    """Each refusal is one sentence, and no file is left."""
    for words, status, reason in [
        (("--profile", "sap-r2"), 2, "sap-r2 is no layout; there are aspel-coi, beancount"),
        (("--profile", "mine.toml"), 2, "layout mine.toml cannot be read"),
        (("--set", "x"), 2, "--set x is not NAME=VALUE"),
        (("--set", "Jurnal=x"), 2, "--set Jurnal: the layout journal asks for no values"),
        (
            ("--profile", "odoo,journal", "--set", "Jurnal=x"),
            2,
            "--set Jurnal: the layouts odoo, journal ask for Journal",
        ),
        (("--from", "2026-09-11"), 1, "the days after 2026-09-10 are not closed"),
        (("--period", 9), 1, "there is no closed period 9 in connection main"),
        (("--period", 1, "--to", "2026-09-10"), 2, "--period takes the days of a closed period"),
        (("--from", "2026-09-11", "--to", "2026-09-10"), 2, "the range ends before it begins"),
    ]:
        result = call("journal", "--out", tmp_path / "out", *words)
        assert result.exit_code == status, words
        assert reason in result.stderr, words
        assert not (tmp_path / "out").exists(), words


@pytest.mark.usefixtures("closed")
def test_missing_accounts_are_named_before_an_export(call: Call, installation: Installation, tmp_path: Path) -> None:
    """`accounts check` lists what the newest run needs, and the export refuses with the same names."""
    assert call("accounts", "check").exit_code == 0
    accounts = installation.settings.config_dir / "accounts.toml"
    accounts.write_text(
        '[accounts]\nclearing = "1"\nbank = "2"\n[means.bank_transfer]\nsuspense = "3"\n', encoding="utf-8"
    )
    checked = call("accounts", "check", "--json")
    assert checked.exit_code == 3
    found = [json.loads(line) for line in checked.stdout.splitlines()]
    assert [(row["key"], row["means"], row["account"], row["state"]) for row in found] == [
        ("clearing", "", "1", "used"),
        ("in_transit", "", None, "missing"),
        ("bank", "", "2", "unused"),
        ("customers", "", None, "missing"),
        ("suspense", "bank_transfer", "3", "used"),
        ("fee_pending", "", None, "missing"),
    ]
    refused = call("journal", "--out", tmp_path / "out")
    assert refused.exit_code == 1
    assert "accounts.toml has no account for customers, fee_pending, in_transit" in refused.stderr
    assert not (tmp_path / "out").exists()
    accounts.unlink()
    assert 'begin it with the line chart = "cl"' in call("journal", "--out", tmp_path).stderr


def test_nothing_closed_is_no_journal(world: "World", call: Call, installation: Installation, tmp_path: Path) -> None:
    """Without a run, and without a closed day, the journal says what to do first."""
    installation.settings.config_dir.joinpath("accounts.toml").write_text('chart = "cl"\n', encoding="utf-8")
    assert "there is no finished run of main: cuadre reconcile" in call("journal", "--out", tmp_path).stderr
    world.payment("pi_1", 1190)
    world.complete(datetime(2026, 9, 30, 6, tzinfo=UTC))
    assert call("reconcile", "--as-of", "2026-09-10").exit_code == 0
    assert "no day of main is closed" in call("journal", "--out", tmp_path).stderr
