"""The merchant's own bank from file to verdict: imported, seen by a run, and listed."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from click.testing import Result

from consumer.facts.installation import Installation
from consumer.facts.tables.provider import AccountMovement, AccountNumber
from reconcile.reading.frames import read_inputs
from reconcile.rules.pipeline import reconcile
from tests.merchant import rows_of

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

Call = Callable[..., Result]
NOON = datetime(2026, 9, 10, 15, tzinfo=UTC)
BANK = ("bank", "import", "--account", "1234567-8")


@pytest.fixture
def trade(world: "World") -> "World":
    """A payout of Thursday 10 September to the account 00012345678."""
    world.payment("pi_1", 1190)
    world.payout("po_1", 1174, ("payment_intent", "pi_1", 1190))
    world.complete(datetime(2026, 9, 20, 6, tzinfo=UTC))
    return world


def _file(folder: Path, *rows: str, name: str = "bank.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(["Fecha;Detalle;Abonos;Cargos", *rows, ""]), encoding="utf-8")
    return path


def _payout(installation: Installation) -> tuple[Any, ...]:
    connection = installation.settings.connection("main")
    with installation.store.reading() as session:
        now = datetime(2026, 9, 20, 12, tzinfo=UTC)
        inputs = read_inputs(session, connection, installation.settings, as_of=now.date(), now=now)
    result = reconcile(inputs)
    row = result.payouts.iloc[0]
    found = tuple(finding.code for finding in result.findings if finding.payout_id == "po_1" and "BANK" in finding.code)
    return str(row["bank_date"])[:10], row["bank_amount"], row["status_recon"], found


@pytest.mark.usefixtures("trade")
def test_a_bank_file_shows_what_arrived(call: Call, installation: Installation, tmp_path: Path) -> None:
    """The payout's line comes in with its control totals, and the next run sees it."""
    path = _file(tmp_path, "10-09-2026;PAGO po_1;1.174;", "11-09-2026;COMISION;;500")
    result = call(*BANK, path, "--json")
    assert result.exit_code == 0, result.output
    row = rows_of(result)[0]
    assert (row["format"], row["account_last4"], row["rows"], row["added"], row["imported"]) == (
        "CSV",
        "5678",
        2,
        2,
        True,
    )
    assert row["statements"][0]["inbound"] == "1174"
    assert row["statements"][0]["outbound"] == "-500"
    assert _payout(installation) == ("2026-09-10", 1174, "closed", ())
    listed = rows_of(call("bank", "list", "--json"))
    assert [(line["booked_on"], line["amount"], line["account_last4"]) for line in listed] == [
        ("2026-09-11", "-500", "5678"),
        ("2026-09-10", "1174", "5678"),
    ]


@pytest.mark.usefixtures("trade")
@pytest.mark.parametrize(("amount", "words"), [(1174, "PAGO po_1"), (5, "OTRO ABONO")])
def test_advice_shows_an_arrival_to_a_run_and_never_that_one_is_missing(
    call: Call, installation: Installation, tmp_path: Path, amount: int, words: str
) -> None:
    """A deposit of an MT942 closes its payout; where it has another one, the run says as much as without any file."""
    without = _payout(installation)
    path = tmp_path / "aviso.sta"
    path.write_text(
        ":20:S\r\n:25:037/12345678\r\n:28C:1\r\n:34F:CLP0,\r\n"
        f":61:2609100910C{amount},NTRFNONREF\r\n:86:{words}\r\n:90C:1CLP{amount},\r\n",
        encoding="utf-8",
    )
    assert call("bank", "import", "--account", "1234567-8", path).exit_code == 0
    assert without[2:] == ("no_bank", ())
    expected = ("2026-09-10", 1174, "closed", ()) if "po_1" in words else without
    assert [*map(str, _payout(installation))] == [*map(str, expected)]


def test_a_file_of_an_account_whose_movements_are_shown_counts_in_the_next_run(
    trade: "World", call: Call, installation: Installation, tmp_path: Path
) -> None:
    """The provider shows a deposit and not the payout; the bank's file shows both, and the deposit is one."""
    own: dict[str, Any] = {"connection": "main", "mode": "test", "version_at": NOON}
    moved = {"transaction_date": "2026-09-08T15:00:00Z"}
    trade.keep(
        AccountNumber(id="acno_1", account_id="acc_1", number="00012345678", body="{}", **own),
        AccountMovement(
            id="mov_1", account_id="acc_1", amount=7, currency="CLP", direction="inbound", body=json.dumps(moved), **own
        ),
    )
    assert _payout(installation) == ("NaT", pd.NA, "open", ("PAYOUT_NOT_IN_BANK",))
    path = _file(tmp_path, "08-09-2026;OTRO;7;", "10-09-2026;PAGO po_1;1.174;", "15-09-2026;OTRO;500;")
    assert call(*BANK, path).exit_code == 0
    assert _payout(installation) == ("2026-09-10", 1174, "closed", ())
    with installation.store.reading() as session:
        now = datetime(2026, 9, 20, 12, tzinfo=UTC)
        inputs = read_inputs(
            session, installation.settings.connection("main"), installation.settings, as_of=now.date(), now=now
        )
    found = [one for one in reconcile(inputs).findings if one.code == "BANK_SOURCES_DIFFER"]
    assert [(one.evidence["bank_date"], one.amount_at_risk) for one in found] == [
        ("2026-09-10", 1174),
        ("2026-09-15", 500),
    ]
    assert "12345678" not in "".join(one.subject + json.dumps(one.evidence) for one in found)


@pytest.mark.usefixtures("trade")
def test_a_bank_file_without_the_payout_says_it_is_missing(
    call: Call, installation: Installation, tmp_path: Path
) -> None:
    """Only where the files cover every day in which it should have arrived."""
    early = _file(tmp_path, "09-09-2026;OTRO;7;", "11-09-2026;OTRO;8;")
    assert call(*BANK, early).exit_code == 0
    assert _payout(installation)[3] == ()
    later = _file(tmp_path, "14-09-2026;OTRO;9;", name="later.csv")
    assert call(*BANK, later).exit_code == 0
    assert _payout(installation)[3] == ("PAYOUT_NOT_IN_BANK",)


@pytest.mark.usefixtures("trade")
def test_a_bank_file_of_charges_only_says_a_payout_is_missing(
    call: Call, installation: Installation, tmp_path: Path
) -> None:
    """A file that shows no deposit at all speaks of its days as well."""
    assert call(*BANK, _file(tmp_path, "10-09-2026;COMISION;;7", "15-09-2026;COMISION;;8")).exit_code == 0
    assert _payout(installation)[3] == ("PAYOUT_NOT_IN_BANK",)


@pytest.mark.usefixtures("trade")
def test_a_day_of_which_only_the_opening_balance_tells_is_not_covered(
    call: Call, installation: Installation, tmp_path: Path
) -> None:
    """An MT940 file that opens with the balance of the payout's own day says nothing of that day."""
    text = ":20:X\n:25:12345678\n:28C:1/1\n:60F:C260910CLP0,\n:61:2609150915C7,NTRFX\n:62F:C260915CLP7,\n-\n"
    path = tmp_path / "x.sta"
    path.write_text(text, encoding="utf-8")
    assert call(*BANK, path).exit_code == 0
    assert _payout(installation)[3] == ()


@pytest.mark.usefixtures("trade")
def test_files_are_refused_one_by_one(call: Call, tmp_path: Path) -> None:
    """A refused file leaves the other in."""
    good, bad = _file(tmp_path, "10-09-2026;X;1;"), _file(tmp_path, "10-09-2026;X;uno;", name="bad.csv")
    result = call(*BANK, good, bad)
    assert result.exit_code == 3
    assert "bad.csv: refused, nothing of it is kept (1 reason)" in result.stderr
    assert call(*BANK, bad).exit_code == 1
    again = call(*BANK, good)
    assert (again.exit_code, "nothing changed" in again.stderr) == (0, True)


@pytest.mark.usefixtures("trade")
def test_a_mistyped_account_is_not_taken_for_a_new_one(call: Call, tmp_path: Path) -> None:
    """Payouts go elsewhere: the number is corrected, or a person says that it is right; then it stays so."""
    elsewhere = ("bank", "import", "--account", "999999999")
    path = _file(tmp_path, "10-09-2026;X;1;")
    refused = call(*elsewhere, path, "--json")
    assert refused.exit_code == 1
    (reject,) = rows_of(refused)[0]["rejects"]
    assert (reject["column"], reject["value"]) == ("account", "…9999")
    assert reject["reason"] == (
        "no payout we know goes to this account; payouts go to accounts ending in 5678: "
        "correct the number, or import it with --new-account if it is right"
    )
    said = call(*elsewhere, "--new-account", path)
    assert (said.exit_code, "payouts go to accounts ending in 5678" in said.stderr) == (0, True)
    assert call(*elsewhere, _file(tmp_path, "11-09-2026;Y;2;", name="next.csv")).exit_code == 0


@pytest.mark.usefixtures("trade")
def test_an_account_that_ends_alike_is_told_apart(call: Call, tmp_path: Path) -> None:
    """It would contradict itself to name the last digits of both, which are the same."""
    refused = call("bank", "import", "--account", "99995678", _file(tmp_path, "10-09-2026;X;1;"), "--json")
    (reject,) = rows_of(refused)[0]["rejects"]
    assert reject["reason"] == (
        "no payout we know goes to this account; payouts go to another one with the same last digits: "
        "correct the number, or import it with --new-account if it is right"
    )


def test_before_the_first_payout_any_account_may_be_imported(call: Call, tmp_path: Path) -> None:
    """There is no better knowledge yet."""
    assert call("bank", "import", "--account", "999999999", _file(tmp_path, "10-09-2026;X;1;")).exit_code == 0


@pytest.mark.usefixtures("trade")
def test_an_account_keeps_its_currency_over_its_files(call: Call, tmp_path: Path) -> None:
    """A later file in another currency is of another account, whatever number it is given."""
    assert call(*BANK, _file(tmp_path, "10-09-2026;X;1;")).exit_code == 0
    dollars = tmp_path / "usd.csv"
    dollars.write_text("Fecha;Detalle;Abonos;Cargos;Moneda\n12-09-2026;X;1;;USD\n", encoding="utf-8")
    refused = call(*BANK, dollars, "--json")
    assert refused.exit_code == 1
    assert [(reject["value"], reject["reason"]) for reject in rows_of(refused)[0]["rejects"]] == [
        ("USD", "bank.csv of this account is in CLP, and an account has one currency: give the file's own account")
    ]


@pytest.mark.usefixtures("trade")
def test_rates_come_in_by_command(call: Call, tmp_path: Path) -> None:
    """One value a day."""
    path = tmp_path / "uf.csv"
    path.write_text("Fecha;Valor\n10-09-2026;39.123,45\n", encoding="utf-8")
    assert rows_of(call("rates", "import", path, "--json"))[0]["rates"] == 1
