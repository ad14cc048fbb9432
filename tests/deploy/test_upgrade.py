"""An installation of release 0.1.0 with data becomes this version's, and goes back."""

import csv
import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.conftest import ROOT, build_wheel, install
from tests.ports import free_port

FIRST = "0.1.0"


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """What the wheel of the first release installs, built from the commit that made it."""
    asked = ["git", "log", f"-S## [{FIRST}]", "--format=%H", "--", "CHANGELOG.md"]
    listed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    commit = listed.stdout.split()[-1]
    source = tmp_path / "first" / "source"
    source.mkdir(parents=True)
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "x", "-C", source], input=packed.stdout, check=True)
    wheel = build_wheel(source)
    assert wheel.name == f"cuadre-{FIRST}-py3-none-any.whl"
    return install(wheel, tmp_path / "first" / "site")


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.proof
def test_the_first_release_is_upgraded_and_gone_back_to(
    first: Path,
    installed: Path,
    tmp_path: Path,
    user_environ: Callable[[Path], dict[str, str]],
    run: Callable[..., str],
) -> None:
    """The same is reported after it; the first refuses the new tables, and works again on the copy made before."""
    data, copy = tmp_path / "data", tmp_path / "copy"
    settings = {"CUADRE_DATA_DIR": str(data)}
    old: dict[str, str] = {**user_environ(first), **settings}
    new: dict[str, str] = {**user_environ(installed), **settings}
    run(old, "-m", "cuadre", "demo", "--scenario", "quiet-month", "--once", "--port", str(free_port()))
    report = ("-m", "cuadre", "report", "payout-summary", "--as-of", "2026-11-01", "--out", "-")
    demo = {"CUADRE_CONFIG": str(data / "demo.toml")}
    before = run(old | demo, *report)
    shutil.copytree(data, copy)

    run(new | demo, "-m", "cuadre", "db", "upgrade")
    after = rows(run(new | demo, *report))
    assert [{name: row[name] for name in kept} for row, kept in zip(after, rows(before), strict=True)] == rows(before)
    assert len(after) == 42
    run(new | demo, "-m", "cuadre", "reconcile", "--as-of", "2026-11-01")

    refused = subprocess.run(
        [sys.executable, "-P", *report], env=old | demo, cwd=tmp_path, capture_output=True, check=False
    )
    assert (refused.returncode, b"the database belongs to another version of Cuadre" in refused.stderr) == (1, True)
    shutil.rmtree(data)
    shutil.move(copy, data)
    assert run(old | demo, *report) == before
