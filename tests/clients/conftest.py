"""The provider's own client libraries, each version installed once a run into a folder of its own."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.thoroughness import AWAY

HERE = Path(__file__).parent
SYSTEM_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True)
class Library:
    """One version of one library; what else it needs is resolved by its package manager."""

    name: str
    packages: tuple[str, ...]

    @property
    def is_node(self) -> bool:
        return self.name.startswith("Node")

    def install(self, folder: Path) -> None:
        """Install it. Raise CalledProcessError if the registry does not give it."""
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-warn-conflicts"]
        npm = ["npm", "install", "--loglevel=error", "--no-package-lock", "--no-audit", "--no-fund"]
        npm += ["--fetch-timeout=60000", "--prefix", str(folder)]
        command = [*npm, *self.packages] if self.is_node else [*pip, "--target", str(folder), *self.packages]
        environ = {**os.environ}
        # Node brings certificates of its own; a registry behind a company's proxy is known to the system alone.
        if "NODE_EXTRA_CA_CERTS" not in environ and SYSTEM_CERTIFICATES.exists():
            environ["NODE_EXTRA_CA_CERTS"] = str(SYSTEM_CERTIFICATES)
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=300, env=environ)

    def run(self, folder: Path, script: str, *arguments: str, given: object = None) -> Any:
        """Run a script of this folder with nothing but the library to import, and return the JSON it prints last."""
        if self.is_node:
            command, variable = ["node", str(HERE / f"{script}.cjs")], {"NODE_PATH": str(folder / "node_modules")}
        else:
            # Without the packages of this environment.
            command, variable = [sys.executable, "-S", str(HERE / f"{script}.py")], {"PYTHONPATH": str(folder)}
        asked = None if given is None else json.dumps(given)
        environ = {"PATH": os.environ["PATH"], **variable}
        done = subprocess.run(
            [*command, *arguments], check=False, input=asked, env=environ, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout.splitlines()[-1])


# With httpx 0.28 both Python versions ask for the first page of a list for ever: it drops the query of the next link.
NEWEST = Library("Python 2.26.0", ("fintoc==2.26.0", "httpx<0.28"))
OLDEST = Library("Python 1.1.0", ("fintoc==1.1.0", "httpx<0.28"))
NODE = Library("Node 1.15.0", ("fintoc@1.15.0",))
LIBRARIES = (NEWEST, OLDEST, NODE)
Install = Callable[[Library], Path]


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Install:
    """Return the folder of a library, installed by the first process of the run that asks."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "clients"

    def installed(library: Library) -> Path:
        if library.is_node and not shutil.which("npm"):
            pytest.skip("no npm is installed")
        folder = shared / library.name.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        with (shared / f"{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                if not any(folder.iterdir()):
                    library.install(folder)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                pytest.skip(f"{AWAY} {library.name}: {error.stderr!r}"[:400])
        return folder

    return installed
