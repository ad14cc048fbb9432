"""The commands of reconciliation as scripts use them: keys, exit statuses, files in and rows out."""

import csv
import io
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import Result

from tests.merchant import rows_of

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

HEADER = "doc_type,folio,issue_date,customer_tax_id,net,vat,total,order_ref"
Call = Callable[..., Result]


@pytest.fixture
def trade(world: "World") -> "World":
    """One payment named by its order, one without a document, one payout that holds both."""
    world.payment("pi_1", 1190, body={"metadata": {"order_ref": "PED-1"}}, customer_tax_id="76192083-9")
    world.payment("pi_2", 777)
    world.payout("po_1", 1940, ("payment_intent", "pi_1", 1190), ("payment_intent", "pi_2", 777))
    world.complete(datetime(2026, 9, 11, 6, tzinfo=UTC))
    return world


def _books(tmp_path: Path, *rows: str, name: str = "books.csv") -> Path:
    path = tmp_path / name
    path.write_text("\n".join([HEADER, *rows, ""]), encoding="utf-8")
    return path


def test_books_come_in_and_are_listed(call: Call, tmp_path: Path) -> None:
    """An import says what it read and the list shows it with amounts in major units."""
    path = _books(tmp_path, "33,7,2026-09-01,76192083-9,1000,190,1190,PED-1")
    result = call("invoices", "import", path, "--json")
    assert result.exit_code == 0
    row = rows_of(result)[0]
    assert (row["file"], row["accepted"], row["added"]) == ("books.csv", True, 1)
    assert row["totals"] == [
        {"doc_type": "33", "currency": "CLP", "count": 1, "net": "1000", "exempt": "0", "vat": "190", "total": "1190"}
    ]
    listed = rows_of(call("invoices", "list", "--json"))
    assert [(one["doc_key"], one["total"], one["status"]) for one in listed] == [("cl:33::7", "1190", "valid")]


def test_a_preview_keeps_nothing(call: Call, tmp_path: Path) -> None:
    """A dry run shows the totals and leaves the books empty."""
    path = _books(tmp_path, "33,7,2026-09-01,,1000,190,1190,")
    result = call("invoices", "import", path, "--dry-run")
    assert result.exit_code == 0
    assert "1190" in result.stdout
    assert "would come in: 1 new" in result.stderr
    assert call("invoices", "list").stdout == ""


def test_some_files_refused_is_three_and_all_is_one(call: Call, tmp_path: Path) -> None:
    """Each file goes in on its own; a bad row keeps its whole file out and is named."""
    good = _books(tmp_path, "33,7,2026-09-01,,1000,190,1190,")
    bad = _books(tmp_path, "33,8,2026-09-01,,1000,190,1190,", "33,9,2026-13-01,,1,1,2,", name="bad.csv")
    result = call("invoices", "import", good, bad, "--json")
    assert result.exit_code == 3
    rows = rows_of(result)
    assert [row["imported"] for row in rows] == [True, False]
    assert rows[1]["rejects"] == [
        {
            "line": 3,
            "column": "issue_date",
            "value": "2026-13-01",
            "reason": "is no day of the calendar (written yyyy-mm-dd)",
        }
    ]
    again = call("invoices", "import", good)
    assert again.exit_code == 0
    assert "already imported on" in again.stderr
    assert "nothing changed" in again.stderr
    assert call("invoices", "import", tmp_path / "absent.csv").exit_code == 1


def test_what_is_wrong_with_a_file_as_a_whole_stands_on_no_line(call: Call, tmp_path: Path) -> None:
    """People read one sentence and no table; scripts keep their number."""
    path = tmp_path / "list.csv"
    path.write_text("a;b\n1;2\n", encoding="utf-8")
    result = call("invoices", "import", path)
    began = "list.csv: refused, nothing of it is in the books: no row holds four known column names; "
    assert (result.stderr.startswith(began), result.stderr.count("\n"), result.stdout) == (True, 1, "")
    absent = call("invoices", "import", tmp_path / "absent.csv")
    assert (absent.stderr, absent.stdout) == (
        "absent.csv: refused, nothing of it is in the books: the file cannot be read: No such file or directory\n",
        "",
    )
    assert rows_of(call("invoices", "import", path, "--json"))[0]["rejects"][0]["line"] == 0


@pytest.mark.usefixtures("trade")
def test_a_run_prints_counts_totals_and_exceptions(call: Call, tmp_path: Path) -> None:
    """One object: the run, what closed, control totals in major units, exceptions by code."""
    call("invoices", "import", _books(tmp_path, "33,7,2026-09-01,76192083-9,1000,190,1190,PED-1"))
    result = call("reconcile", "--as-of", "2026-09-11", "--json")
    assert result.exit_code == 0, result.output
    row = rows_of(result)[0]
    assert (row["complete"], row["new"], row["number"], row["as_of"]) == (True, True, 1, "2026-09-11")
    assert (row["payouts"], row["payouts_closed"], row["items"], row["documents"]) == (1, 1, 2, 1)
    assert (row["payouts_no_bank"], row["payouts_by_status"]) == (1, {"no_bank": 1})
    assert row["exceptions"] == {"PAYMENT_NO_INVOICE": 1}
    assert row["totals"]["CLP"]["payments_gross"] == "1967"
    assert row["totals"]["CLP"]["fee_total"] == "27"
    assert row["documents_by_outcome"] == {"paid": 1}
    again = rows_of(call("reconcile", "--as-of", "2026-09-11", "--json"))[0]
    assert (again["run_id"], again["new"]) == (row["run_id"], False)
    assert call("reconcile", "--as-of", "2026-09-11", "--fail-on", "medium").exit_code == 3
    assert call("reconcile", "--as-of", "2026-09-11", "--fail-on", "high").exit_code == 0


@pytest.mark.usefixtures("trade")
def test_a_dry_run_shows_findings_and_leaves_no_run(call: Call) -> None:
    """The full result is there, and the history stays empty."""
    row = rows_of(call("reconcile", "--as-of", "2026-09-11", "--dry-run", "--json"))[0]
    assert sorted(found["resource_id"] for found in row["findings"]) == ["pi_1", "pi_2"]
    assert {found["fact_on"] for found in row["findings"]} == {"2026-09-10"}
    assert row["number"] is None
    assert call("runs", "list", "--json").stdout == ""
    assert call("exceptions", "list", "--json").stdout == ""


@pytest.mark.usefixtures("world")
def test_incomplete_data_exits_three(call: Call) -> None:
    """Nothing was ever read, so the run is incomplete and says so."""
    result = call("reconcile", "--as-of", "2026-09-11", "--json")
    assert result.exit_code == 3
    assert rows_of(result)[0]["exceptions"] == {"DATA_GAP": 6}


def test_wrong_usage_exits_two(call: Call) -> None:
    """Reversed ranges, words that are no dates and missing reasons are wrong usage."""
    for arguments in (
        ("reconcile", "--from", "2026-09-11", "--to", "2026-09-10"),
        ("reconcile", "--as-of", "yesterday"),
        ("reconcile", "--fail-on", "terrible"),
        ("exceptions", "resolve", "e1"),
        ("match", "pi_1"),
    ):
        assert call(*arguments).exit_code == 2, arguments


def test_unknown_things_exit_one(call: Call) -> None:
    """What does not exist is named and nothing is done."""
    for arguments in (
        ("reconcile", "--payout", "po_9", "--as-of", "2026-09-11"),
        ("runs", "show", "abc"),
        ("runs", "diff", "1", "2"),
        ("explain", "pi_1"),
        ("exceptions", "show", "e1"),
        ("exceptions", "assign", "e1", "ana", "--author", "me"),
        ("match", "pi_9", "cl:33::7", "--reason", "x", "--author", "me"),
    ):
        result = call(*arguments)
        assert (result.exit_code, result.stderr[:7]) == (1, "Error: "), arguments


@pytest.mark.usefixtures("trade")
def test_the_work_list_is_worked_from_the_command_line(call: Call) -> None:
    """List, show, assign, note and resolve one exception; its history is shown."""
    call("reconcile", "--as-of", "2026-09-11")
    row = rows_of(call("exceptions", "list", "--code", "PAYMENT_NO_INVOICE", "--json"))[-1]
    assert list(row)[:3] == ["exception_id", "code", "severity"]
    assert list(row)[-1] == "connection"
    # Paid on Thursday the 10th, seen on Friday the 11th.
    assert (row["fact_on"], row["opened_on"]) == ("2026-09-10", "2026-09-11")
    assert (row["age_business_days"], row["age_bucket"], row["state"]) == (1, "0-1", "open")
    identity, signed = row["exception_id"], ("--author", "ana", "--json")
    assert rows_of(call("exceptions", "assign", identity, "luis", *signed))[0]["owner"] == "luis"
    assert call("exceptions", "note", identity, "asked", "--version", 1, *signed).exit_code == 1
    assert rows_of(call("exceptions", "note", identity, "asked", "--version", 2, *signed))[0]["note"] == "asked"
    done = rows_of(call("exceptions", "resolve", identity, "--reason", "in cash", *signed))[0]
    assert (done["state"], done["resolution"], done["resolved_on"]) == ("resolved", "in cash", "2026-09-11")
    shown = rows_of(call("exceptions", "show", identity, "--json"))[0]
    assert [change["change"] for change in shown["history"]] == [
        "opened", "owner", "note", "state", "resolved_on", "resolution",
    ]  # fmt: skip
    assert len(rows_of(call("exceptions", "list", "--state", "open", "--json"))) == 1


def test_a_match_by_hand_is_obeyed_and_explained(call: Call, trade: "World") -> None:
    """A person binds a payment to a document; the next run does so, and says that a person did."""
    trade.invoice("8", 777, issue_date=date(2026, 9, 2))
    first = rows_of(call("reconcile", "--as-of", "2026-09-11", "--json"))[0]
    decided = call("match", "cl:33::8", "pi_2", "--reason", "seen", "--author", "ana", "--amount", "777", "--json")
    assert decided.exit_code == 0, decided.output
    assert rows_of(decided)[0]["resource_id"] == "pi_2"
    second = rows_of(call("reconcile", "--as-of", "2026-09-11", "--json"))[0]
    assert second["run_id"] != first["run_id"]
    facts = {(row["about"], row["fact"]): row["value"] for row in rows_of(call("explain", "pi_2", "--json"))}
    assert facts["item pi_2", "match_stage"] == "manual"
    assert facts["item pi_2", "doc_folio"] == "8"
    compared = "compared with cl:33::8 (applied)"
    assert facts[compared, "amount"] == "holds: payment 777, document 777 open of 777"
    assert facts[compared, "first_failed"] == "none"
    changes = {row["subject"]: row for row in rows_of(call("runs", "diff", "1", "2", "--json"))}
    assert changes["cl:33::8"]["after"] == "paid, balance 0"
    assert changes["cl:33::8"]["cause"] == "decision new (cl:33::8); decision new (pi_2)"
    assert changes["pi_2@po_1"]["kind"] == "item"
    assert [row["number"] for row in rows_of(call("runs", "list", "--json"))] == [2, 1]
    assert rows_of(call("runs", "show", "2", "--json"))[0]["run_id"] == second["run_id"]


@pytest.mark.parametrize(
    ("decision", "word"),
    [
        (("decline", "pi_2", "cl:33::8"), "declined by a person"),
        (("unmatch", "pi_2", "cl:33::8"), "kept apart by a person"),
        (("unmatch", "pi_2"), "kept unmatched by a person"),
        (("adjust", "pi_2", "--type", "other"), "accepted without a document by a person"),
    ],
)
def test_what_a_person_decided_is_the_first_test_that_failed(
    call: Call, trade: "World", decision: tuple[str, ...], word: str
) -> None:
    """No amount or date is blamed where a person had the last word; tests still show both values."""
    trade.invoice("8", 777, issue_date=date(2026, 9, 2))
    assert call(*decision, "--reason", "seen", "--author", "ana").exit_code == 0
    call("reconcile", "--as-of", "2026-09-11")
    facts = {(row["about"], row["fact"]): row["value"] for row in rows_of(call("explain", "pi_2", "--json"))}
    compared = {about: value for (about, fact), value in facts.items() if fact == "first_failed"}
    assert compared == {"compared with cl:33::8": word}


@pytest.mark.usefixtures("trade")
def test_every_command_prints_for_people_too(call: Call) -> None:
    """Without --json each list is a table, and figures stand one a line."""
    assert "payouts explained to the peso" in call("reconcile", "--as-of", "2026-09-11").stdout
    assert "PAYMENT_NO_INVOICE" in call("exceptions", "list").stdout
    shown = call("runs", "show", "1").stdout
    assert re.search(r"^run_id +[0-9a-f]{32}$", shown, re.MULTILINE)
    explained = call("explain", "pi_2").stdout
    assert "match_stage" in explained
    assert max(map(len, [*explained.splitlines(), *call("exceptions", "list").stdout.splitlines()])) <= 100
    assert "nothing to show" in call("invoices", "list").stderr


@pytest.mark.usefixtures("trade")
def test_a_run_reads_the_same_when_it_is_new_and_when_it_is_shown_again(call: Call) -> None:
    """Totals stand in one order with their currency, figures on the right, payouts as the pages have them."""
    made = call("reconcile", "--as-of", "2026-09-11").stdout.splitlines()
    shown = call("runs", "show", "1").stdout.splitlines()
    assert [line for line in made if not line.startswith("new ")] == [
        line for line in shown if not line.startswith("new ")
    ]
    totals = [line.split() for line in made if line.startswith("total ")]
    assert [name for _, name, _, _ in totals][:3] == ["payments_gross", "charges_gross", "refunds_gross"]
    assert totals[0] == ["total", "payments_gross", "1967", "CLP"]
    assert {len(line) for line in made if line.startswith(("total ", "items ", "documents "))} == {len(made[2])}
    assert "payouts_by_status no_bank" in " ".join(" ".join(line.split()) for line in made)


@pytest.mark.usefixtures("trade")
def test_an_exception_is_shown_without_what_is_empty(call: Call) -> None:
    """Runs are named by number, and a field that says nothing takes no line; scripts keep every key."""
    call("reconcile", "--as-of", "2026-09-11")
    row = rows_of(call("exceptions", "list", "--json"))[0]
    shown = call("exceptions", "show", row["exception_id"]).stdout
    fields = dict(line.split(None, 1) for line in shown.splitlines() if "  " in line)
    assert fields["run_first"] == "run 1"
    assert fields["amount_at_risk"] == "1190 CLP"
    assert {"owner", "doc_key", "resolved_on", "resolution", "note"}.isdisjoint(fields)
    assert re.search(r"Z +run 1 +opened +1190$", shown, re.MULTILINE)


@pytest.mark.usefixtures("trade")
def test_an_explanation_names_its_run_by_number(call: Call) -> None:
    """As every other list does; the long id is for scripts."""
    call("reconcile", "--as-of", "2026-09-11")
    assert call("explain", "pi_2").stderr.splitlines()[0] == "run 1 of 2026-09-11"
    said = "Error: run 1 knows no payout, resource or document pi_9: documents are named by folio or UUID\n"
    assert call("explain", "pi_9").stderr == said


@pytest.mark.usefixtures("trade")
def test_the_work_list_goes_out_as_a_sheet_and_comes_back(call: Call, tmp_path: Path) -> None:
    """Finance fills in owner, note and resolution; a row that moved meanwhile is refused alone, the rest is taken."""
    call("reconcile", "--as-of", "2026-09-11")
    sheet = tmp_path / "list.csv"
    assert call("exceptions", "export", "--out", sheet).exit_code == 0
    rows = list(csv.DictReader(io.StringIO(sheet.read_text("utf-8-sig"))))
    assert [row["amount_at_risk"] for row in rows] == ["1190", "777"]
    call("exceptions", "note", rows[1]["exception_id"], "=1+1", "--author", "eva")
    assert ",'=1+1,2\r\n" in call("exceptions", "export").stdout_bytes.decode()
    rows[0] |= {"owner": "luis", "state": "resolved", "resolution": "paid in cash"}
    rows[1] |= {"note": "theirs"}
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    result = call("exceptions", "import", sheet, "--author", "ana", "--json")
    assert result.exit_code == 3
    taken = rows_of(result)
    assert (taken[0]["changed"], taken[0]["refused"]) == ("owner, state", "")
    assert "was changed meanwhile (version 2" in taken[1]["refused"]
    states = {row["resource_id"]: (row["owner"], row["state"], row["resolution"]) for row in
              rows_of(call("exceptions", "list", "--json"))}  # fmt: skip
    assert states == {"pi_1": ("luis", "resolved", "paid in cash"), "pi_2": ("", "open", "")}
    again = call("exceptions", "import", sheet, "--author", "ana", "--json")
    assert (again.exit_code, len(rows_of(again))) == (3, 1)


@pytest.mark.usefixtures("trade")
def test_open_exceptions_are_listed_first(call: Call) -> None:
    """What needs work stands above what was resolved, whichever is newer."""
    call("reconcile", "--as-of", "2026-09-11")
    first, *others = [row["exception_id"] for row in rows_of(call("exceptions", "list", "--json"))]
    assert others
    call("exceptions", "resolve", first, "--reason", "in cash", "--author", "ana")
    assert [row["exception_id"] for row in rows_of(call("exceptions", "list", "--json"))] == [*others, first]


def test_an_argument_that_is_no_text_is_refused_in_one_sentence(call: Call) -> None:
    """A byte of another encoding in an argument is wrong usage, not a failure of the database."""
    result = call("exceptions", "list", "--owner", "pe\udcf1a")
    assert (result.exit_code, "'pe\\udcf1a' is not UTF-8 text" in result.stderr) == (2, True)


def test_a_row_that_was_cut_off_is_refused_alone(call: Call, tmp_path: Path) -> None:
    """A row that ends early erases nothing and says so."""
    call("reconcile", "--as-of", "2026-09-11")
    sheet = tmp_path / "list.csv"
    call("exceptions", "export", "--out", sheet)
    header, first, *_ = sheet.read_text("utf-8-sig").splitlines()
    sheet.write_text(f"{header}\n{first.rsplit(',', 2)[0]}\n")
    result = call("exceptions", "import", sheet, "--author", "ana", "--json")
    assert result.exit_code == 1
    assert rows_of(result)[0]["refused"] == "the row ends before note: export the sheet again"


def test_an_amount_is_written_in_the_payments_own_currency(call: Call, trade: "World") -> None:
    """Ten dollars and a half are 1050 cents also where the country's own money has no cents."""
    trade.payment("pi_usd", 2000, currency="USD")
    trade.invoice("9", 2000, currency="USD")
    decided = call("match", "pi_usd", "cl:33::9", "--reason", "seen", "--author", "ana", "--amount", "10.50", "--json")
    assert decided.exit_code == 0, decided.output
    assert rows_of(decided)[0]["amount"] == "10.50"
    refused = call("match", "pi_1", "cl:33::9", "--reason", "seen", "--author", "ana", "--amount", "10.50")
    assert (refused.exit_code, "more decimals than CLP allows" in refused.stderr) == (2, True)


def test_a_sheet_that_is_no_work_list_is_refused(call: Call, tmp_path: Path) -> None:
    """Another file changes nothing and is named."""
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    result = call("exceptions", "import", path, "--author", "ana")
    assert result.exit_code == 1
    assert "the header must name exception_id" in result.stderr


def test_documents_are_named_as_people_name_them(world: "World", call: Call) -> None:
    """By folio, series with folio or UUID, to decide and to explain; what several have is refused with their keys."""
    world.payment("pi_1", 1000)
    world.payout("po_1", 990, ("payment_intent", "pi_1", 1000))
    uuid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    world.invoice("5702", 700, doc_key=f"mx:uuid:{uuid}", series="A", uuid=uuid)
    world.invoice("7", 700, doc_key="cl:33::7")
    world.invoice("7", 700, doc_key="cl:34::7", doc_type="34")
    world.complete(datetime(2026, 9, 21, 6, tzinfo=UTC))
    call("reconcile", "--as-of", "2026-09-11")
    for name in ("A-5702", "A5702", "5702", uuid.upper()):
        assert f"mx:uuid:{uuid}" in call("explain", name).stdout, name
    assert rows_of(call("match", "pi_1", "A-5702", "--reason", "theirs", "--json"))[0]["doc_key"] == f"mx:uuid:{uuid}"
    several = call("decline", "pi_1", "7", "--reason", "no")
    assert several.stderr == "Error: 7 names several documents: cl:33::7, cl:34::7\n"
    unknown = call("exceptions", "list", "--code", "COMPLEMENT_MISSING")
    assert unknown.exit_code == 2
    assert "'COMPLEMENT_MISSING' is not one of" in unknown.stderr
