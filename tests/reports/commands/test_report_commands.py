"""The commands: what they print, where files go, and the exit status a script branches on."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from cuadre import Commands
from reports.access.people import login

Run = Callable[..., Result]


@pytest.fixture
def run(reconciled: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def invoke(name: str, *args: str) -> Result:
        return CliRunner().invoke(Commands(), [name, *args], obj=lambda: reconciled)

    return invoke


def test_a_report_goes_to_standard_output(run: Run) -> None:
    """With `-` the bytes of the file are all that is on standard output."""
    result = run("report", "in-transit", "--as-of", "2026-10-08", "--out", "-")
    assert result.exit_code == 0
    assert result.stdout_bytes == (
        b"resource_type,resource_id,occurred_at_utc,bank_day,currency,amount_signed,age_business_days,"
        b"expected_payout_day,connection\r\n"
        b"payment_intent,pi_3,2026-10-07T13:00:00Z,2026-10-07,CLP,30000,1,2026-10-07,main\r\n"
    )


def test_a_report_is_a_named_file_in_the_current_directory(run: Run, tmp_path: Path) -> None:
    """Several formats are several files, and where they are is printed."""
    result = run("report", "control", "--format", "csv,xlsx,parquet", "--as-of", "2026-10-08")
    names = [f"control_2026-10-08_cl_main_r0042.{suffix}" for suffix in ("csv", "xlsx", "parquet")]
    assert (result.exit_code, result.stdout.splitlines()) == (0, [str(tmp_path / name) for name in names])
    assert all((tmp_path / name).is_file() for name in names)


def test_wrong_usage_exits_2(run: Run) -> None:
    """A wrong option is refused in one sentence."""
    for args, message in [
        (("control", "--from", "2026-10-07", "--to", "2026-10-01"), "the range ends before it begins"),
        (("control", "--from", "ayer"), "is not a date"),
        (("nothing",), "'nothing' is not one of"),
        (("control", "--format", "doc"), "format 'doc' is not one of csv, xlsx, parquet"),
        (("control", "--profile", "uk"), "profile 'uk' is not one of machine, cl, mx"),
        (("control", "--language", "es-CL"), "--language is for people's files: add --profile cl"),
        (("control", "--language", "en", "--profile", "machine"), "add --profile cl or mx"),
        (("control", "--format", "csv,xlsx", "--out", "-"), "standard output takes one format"),
        (("control", "--format", "csv", "--out", "x.xlsx"), "--format csv and a file that ends in .xlsx do not agree"),
        (("control", "--format", "csv,xlsx", "--out", "x.csv"), "and a file that ends in .csv do not agree: x.csv"),
    ]:
        result = run("report", *args)
        assert result.exit_code == 2, args
        assert message in result.stderr, args


@pytest.mark.parametrize(
    ("args", "name", "begins"),
    [
        (("--out", "a.xlsx"), "a.xlsx", b"PK"),
        (("--out", "A.PARQUET"), "A.PARQUET", b"PAR1"),
        (("--out", "a.csv", "--format", "csv"), "a.csv", b"figure,"),
        (("--out", "a.txt"), "a.txt.csv", b"figure,"),
        (("--out", "r0042", "--format", "xlsx"), "r0042.xlsx", b"PK"),
    ],
)
def test_a_file_is_what_its_name_says(
    run: Run, tmp_path: Path, args: tuple[str, ...], name: str, begins: bytes
) -> None:
    """The ending of `--out` chooses the format; a name without one gets the ending of what is in it."""
    result = run("report", "control", "--as-of", "2026-10-08", *args)
    assert (result.exit_code, result.stdout) == (0, f"{name}\n")
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_workbook_for_programs_says_so(run: Run) -> None:
    """Without a profile the keys stay, as scripts rely on, and one line names the profile of the country."""
    shown = "headings and words are those for programs; a workbook for people: --profile cl\n"
    assert run("report", "control", "--out", "a.xlsx").stderr == shown
    assert run("report", "control", "--out", "b.xlsx", "--profile", "cl").stderr == ""
    assert run("report", "control", "--out", "c.csv").stderr == ""


def test_without_a_run_nothing_is_written(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No finished run is exit status 1, and no empty file that looks like a clean slate."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(Commands(), ["report", "payout-summary"], obj=lambda: installation)
    assert (result.exit_code, result.stderr) == (1, "Error: there is no finished run to report on: cuadre reconcile\n")
    assert list(tmp_path.glob("*.csv")) == []


def test_a_user_s_made_up_password_works(run: Run, reconciled: Installation) -> None:
    """Without a terminal or a file a password is made up, printed once below a line that says so, and it works."""
    result = run("users", "add", "Luz@Tienda.test", "--role", "finance")
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "luz@tienda.test may log in as finance",
        "the password, made up and not shown again; keep it or hand it over safely:",
    ]
    assert login(reconciled.store, "luz@tienda.test", result.stdout.strip(), now=utc_now()).role == "finance"


def test_a_password_comes_from_a_file(run: Run, reconciled: Installation, tmp_path: Path) -> None:
    """A password in a file is never printed."""
    (tmp_path / "password").write_text("otra clave larga\n", encoding="utf-8")
    result = run("users", "add", "luz@tienda.test", "--password-file", "password")
    assert (result.exit_code, result.stdout) == (0, "")
    assert login(reconciled.store, "luz@tienda.test", "otra clave larga", now=utc_now()).role == "viewer"


def test_users_are_listed_without_secrets(run: Run) -> None:
    """The list has stable keys and no hash; a disabled person stays in it."""
    run("users", "add", "luz@tienda.test")
    assert run("users", "disable", "luz@tienda.test").exit_code == 0
    luz, ana = map(json.loads, run("users", "list", "--json").stdout.splitlines())
    assert list(ana) == ["email", "role", "state", "second_factor", "created_at", "disabled_at", "locked_until"]
    assert (luz["email"], luz["state"], luz["disabled_at"] is None) == ("luz@tienda.test", "disabled", False)
    assert (ana["email"], ana["state"], ana["second_factor"]) == ("ana@tienda.test", "active", False)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("users", "add", "ana@tienda.test"), "there is already a user ana@tienda.test"),
        (("users", "add", "ana"), "'ana' is not an email address"),
        (("users", "disable", "luz@tienda.test"), "there is no user luz@tienda.test"),
        (("tokens", "revoke", "erp"), "there is no token erp"),
    ],
)
def test_what_cannot_be_done_is_said(run: Run, args: tuple[str, ...], message: str) -> None:
    """A person or token that is there already, or is not, is exit status 1 with one sentence."""
    result = run(*args)
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_token_is_printed_once(run: Run) -> None:
    """The token alone is on standard output; a second of the same name is refused."""
    result = run("tokens", "create", "erp")
    assert result.stdout.startswith("cuadre_")
    assert run("tokens", "create", "erp").exit_code == 1
    assert run("tokens", "revoke", "erp").exit_code == 0
