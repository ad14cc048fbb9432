"""The wheel, installed away from the repository: it carries what the program needs and nothing else, and works."""

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.conftest import ROOT, SHIPPED
from tests.ports import free_port

PROVIDER = {"CUADRE_PROVIDER_URL": "http://127.0.0.1:9", "CUADRE_API_KEY": "sk_test_x", "CUADRE_COUNTRY": "cl"}


def files_of(folder: Path) -> set[Path]:
    """List what lies in a folder, without what Python keeps for itself."""
    return {path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def test_the_wheel_carries_the_program_and_nothing_else(wheel: Path) -> None:
    """Every file of the program's rooms, templates and words among them; no test, tool or document."""
    listed = subprocess.run(["git", "ls-files", "--", *SHIPPED], cwd=ROOT, capture_output=True, text=True, check=True)
    with zipfile.ZipFile(wheel) as archive:
        carried = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert carried == set(listed.stdout.splitlines())


@pytest.mark.parametrize(
    ("state_home", "folder"),
    [(None, ".local/state/cuadre"), ("relative", ".local/state/cuadre"), ("/elsewhere", "elsewhere/cuadre")],
    ids=["the usual place", "a relative one, which the standard ignores", "a place of the user's own"],
)
def test_data_lie_in_the_users_folder(
    installed: Path,
    user_environ: Callable[[Path], dict[str, str]],
    run: Callable[..., str],
    state_home: str | None,
    folder: str,
) -> None:
    """What an installed program keeps is never among its own files, where the next version would replace it."""
    environ = user_environ(installed)
    home = Path(environ["HOME"])
    if state_home is not None:
        environ["XDG_STATE_HOME"] = state_home.replace("/", f"{home}/")
    before = files_of(installed)
    run(environ | PROVIDER, "-m", "cuadre", "db", "upgrade")
    assert (home / folder / "cuadre.db").is_file()
    assert files_of(installed) == before


def test_the_demo_runs_from_the_wheel(
    installed: Path, user_environ: Callable[[Path], dict[str, str]], run: Callable[..., str]
) -> None:
    """Without the repository the demo plays its month and finds what was planted."""
    environ = user_environ(installed)
    assert run(environ, "-c", "import app; print(app.__file__)").strip() == str(installed / "app.py")
    asked = ("--scenario", "quiet-month", "--once", "--json", "--port", str(free_port()))
    found = json.loads(run(environ, "-m", "cuadre", "demo", *asked))
    assert found["events_stored"] == found["events_sent"] > 0
    assert found["exceptions"] == found["planted"]
    assert Path(environ["HOME"], ".local/state/cuadre/demo.toml").is_file()
