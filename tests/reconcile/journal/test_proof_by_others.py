"""hledger and beancount, programs of others, check the journal of two months of each scenario of the sandbox."""

import importlib.util
import json
import shutil
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from cuadre import Commands
from sandbox.scenarios import NAMES
from tests.thoroughness import for_run

ACCURACY = Path(__file__).resolve().parents[2] / "benchmarks" / "accuracy" / "merchant.py"
CHECKS = {"hledger": ["hledger", "check", "--strict", "-f"], "beancount": ["bean-check"]}


@pytest.fixture(scope="module")
def living() -> ModuleType:
    spec = importlib.util.spec_from_file_location("accuracy_merchant_of_journals", ACCURACY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def check() -> Callable[[str, Path], str]:
    """Let the program of a layout check a file; answer what it complains of."""
    for command in CHECKS.values():
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not installed")

    def run(profile: str, path: Path) -> str:
        done = subprocess.run([*CHECKS[profile], str(path)], capture_output=True, text=True, check=False)
        return done.stdout + done.stderr if done.returncode or done.stderr else ""

    return run


def call(merchant: Any, *words: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(Commands(), [*words, "--json"], obj=lambda: merchant.installation)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("scenario", for_run(short=["busy-month", "mexico"], full=NAMES))
def test_others_accept_every_month(
    living: ModuleType, check: Callable[[str, Path], str], scenario: str, tmp_path: Path
) -> None:
    """Each month closed and exported in its turn, the second corrects the first, and both programs accept both."""
    with living.merchant_of(scenario, 1) as merchant:
        country = merchant.scenario.country
        merchant.installation.settings.config_dir.joinpath("accounts.toml").write_text(f'chart = "{country}"\n')
        found = []
        for day, last in ((timedelta(days=3), "2026-09-30"), (timedelta(days=31, hours=12), "2026-10-31")):
            at = living.START + day
            merchant.live_until(at)
            as_of = at.date().isoformat()
            call(
                merchant, "periods", "close", "--to", last, "--as-of", as_of, "--reason", "month end", "--author", "ana"
            )
            found += call(merchant, "journal", "--profile", "hledger,beancount,journal", "--out", str(tmp_path / last))
        closings = [
            body["final_balance_cents"]
            for (shelf, _), body in merchant.objects.items()
            if shelf == "account_statements" and body["end_date"] == "2026-10-31"
        ]
    assert sum(row["entries"] for row in found) > 0
    checked = [row for row in found if row["profile"] in CHECKS]
    assert len(checked) == 4
    assert {row["file"]: check(row["profile"], Path(row["file"])) for row in checked} == {
        row["file"]: "" for row in checked
    }
    if scenario == "busy-month":
        # The account payouts go to ends where the provider's statement of it ends.
        (closing,) = closings
        assert f"Assets:Bank:1-1-01-10  0 CLP = {closing} CLP" in Path(checked[-2]["file"]).read_text(encoding="utf-8")
    # A file that is wrong by one unit is refused, so that silence means something.
    wrong = Path(checked[-2]["file"])
    text = wrong.read_text(encoding="utf-8")
    assert " 0 " in text
    wrong.write_text(text.replace(" = ", " = 1", 1), encoding="utf-8")
    assert check("hledger", wrong) != ""
