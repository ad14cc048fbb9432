"""The wheel, installed away from the repository: it carries what the program needs and nothing else, and works."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.ports import free_port

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("app.py", "cuadre.py", "consumer", "reconcile", "reports", "sandbox")
_PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built from a copy, since building leaves folders behind."""
    source = tmp_path_factory.mktemp("wheel") / "source"
    source.mkdir()
    for name in (*SHIPPED, "pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    build = [*_PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", source.parent, source]
    subprocess.run(build, check=True)
    return next(source.parent.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed wheel alone; the libraries are those of the tests."""
    folder = tmp_path_factory.mktemp("installed") / "site"
    subprocess.run([*_PIP, "install", "--no-deps", "--target", folder, wheel], check=True)
    return folder


def run(installed: Path, home: Path, *arguments: str, **environ: str) -> str:
    """Run a command of the installed wheel as a user with an empty home; return what it prints."""
    home.mkdir(exist_ok=True)
    own = {"PYTHONPATH": str(installed), "HOME": str(home), "PATH": os.environ["PATH"], **environ}
    command = [sys.executable, "-P", *arguments]
    done = subprocess.run(command, cwd=home, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def files_of(folder: Path) -> set[Path]:
    """List what lies in a folder, without what Python keeps for itself."""
    return {path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def tracked(*paths: str) -> set[str]:
    """List the files of the repository below some paths."""
    listed = subprocess.run(["git", "ls-files", "--", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(listed.stdout.splitlines())


def test_the_wheel_carries_the_program_and_nothing_else(wheel: Path) -> None:
    """Every file of the program's rooms, templates and words among them; no test, tool or document."""
    with zipfile.ZipFile(wheel) as archive:
        carried = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert carried == tracked(*SHIPPED)


@pytest.mark.parametrize(
    ("environ", "folder"),
    [({}, ".local/state/cuadre"), ({"XDG_STATE_HOME": "relative"}, ".local/state/cuadre"), (None, "elsewhere/cuadre")],
    ids=["the usual place", "an address that the standard ignores", "a place of the user's own"],
)
def test_data_lie_in_the_users_folder(
    installed: Path, tmp_path: Path, environ: Mapping[str, str] | None, folder: str
) -> None:
    """What an installed program keeps is never among its own files, where the next version would replace it."""
    home = tmp_path / "home"
    given = {"XDG_STATE_HOME": str(home / "elsewhere")} if environ is None else environ
    settings = {"CUADRE_PROVIDER_URL": "http://127.0.0.1:9", "CUADRE_API_KEY": "sk_test_x", "CUADRE_COUNTRY": "cl"}
    before = files_of(installed)
    run(installed, home, "-m", "cuadre", "db", "upgrade", **settings, **given)
    assert (home / folder / "cuadre.db").is_file()
    assert files_of(installed) == before


def test_the_demo_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    """Without the repository the demo plays its month and finds what was planted."""
    home = tmp_path / "home"
    assert run(installed, home, "-c", "import app; print(app.__file__)").strip() == str(installed / "app.py")
    scenario = ("--scenario", "quiet-month", "--once", "--json", "--port", str(free_port()))
    found = json.loads(run(installed, home, "-m", "cuadre", "demo", *scenario))
    assert found["events_stored"] == found["events_sent"] > 0
    assert found["exceptions"] == found["planted"]
    assert (home / ".local" / "state" / "cuadre" / "demo.toml").is_file()
