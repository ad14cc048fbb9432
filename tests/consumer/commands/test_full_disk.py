"""Commands on a disk that takes nothing more: one sentence and an exit status, never a traceback."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def let_no_file_grow() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize(
    "words",
    [
        ["users", "add", "ana@tienda.test"],
        ["report", "payout-summary"],
        ["reconcile", "--as-of", "2026-10-01"],
        ["invoices", "import", "facturas.csv"],
    ],
)
def test_a_command_on_a_full_disk_says_so_in_one_sentence(tmp_path: Path, migrated_url: str, words: list[str]) -> None:
    """Whatever it was to write: a row, a file, the inputs of a run."""
    (tmp_path / "facturas.csv").write_text("doc_type,folio,issue_date,total\n33,1,2026-10-01,1000\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "cuadre", *words],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "CUADRE_PROVIDER_URL": "http://127.0.0.1:9",
            "CUADRE_API_KEY": "sk_test_sandbox",
            "CUADRE_COUNTRY": "cl",
            "CUADRE_DATABASE_URL": migrated_url,
            "CUADRE_SECRET_KEY": "a key that only tests know",
            "CUADRE_DATA_DIR": str(tmp_path / "instance"),
        },
        preexec_fn=let_no_file_grow,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in {1, 2, 3}, done.stderr
    assert "database cannot be used" in done.stderr or "can be written" in done.stderr, done.stderr
