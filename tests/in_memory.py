"""Run pytest with its folders on a disk in memory, where the machine has one with room; arguments are pytest's."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MEMORY, ROOM = Path("/dev/shm"), 3 * 1024**3  # noqa: S108 - the folder made there has a name of its own


def main() -> int:
    command = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ROOM:
        return subprocess.run(command, check=False).returncode
    with tempfile.TemporaryDirectory(prefix="cuadre-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        # A PostgreSQL started by root runs as another user, whose path leads through here.
        Path(folder).chmod(0o755)
        return subprocess.run(command, env=os.environ | {"TMPDIR": folder}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
