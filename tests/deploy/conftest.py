"""The wheel of this tree, and what is installed from it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ("app.py", "cuadre.py", "consumer", "reconcile", "reports", "sandbox")
_PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def build_wheel(source: Path) -> Path:
    """Build the wheel of a tree that may be written to, and return where it is."""
    command: list[str | Path] = [
        *_PIP,
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        source.parent,
        source,
    ]
    subprocess.run(command, check=True)
    return next(source.parent.glob("*.whl"))


def install(wheel: Path, folder: Path) -> Path:
    """Install a wheel alone into a folder; the libraries are those of the tests."""
    subprocess.run([*_PIP, "install", "--no-deps", "--target", folder, wheel], check=True)
    return folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built from a copy, since building leaves folders behind."""
    source = tmp_path_factory.mktemp("wheel") / "source"
    source.mkdir()
    for name in (*SHIPPED, "pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    return build_wheel(source)


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel installs."""
    return install(wheel, tmp_path_factory.mktemp("installed") / "site")


@pytest.fixture
def user_environ(tmp_path: Path) -> Callable[[Path], dict[str, str]]:
    """Give the environment of a user with an empty home who runs what is installed in a folder."""

    def of(site: Path) -> dict[str, str]:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        return {"PYTHONPATH": str(site), "HOME": str(home), "PATH": os.environ["PATH"]}

    return of


@pytest.fixture
def run() -> Callable[..., str]:
    """Run Python with an environment in its home, and return what it prints."""

    def call(environ: Mapping[str, str], *arguments: str) -> str:
        command = [sys.executable, "-P", *arguments]
        done = subprocess.run(command, cwd=environ["HOME"], env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call
