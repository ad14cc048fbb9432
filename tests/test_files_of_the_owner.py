"""What the program writes is for its owner alone."""

import subprocess
import sys
from pathlib import Path


def test_the_data_folder_is_closed_to_others(tmp_path: Path) -> None:
    """Event bodies and books hold personal data, so no other user of the machine may read them."""
    folder = tmp_path / "data"
    environ = {
        "CUADRE_PROVIDER_URL": "http://provider.test",
        "CUADRE_API_KEY": "sk_test_sandbox",
        "CUADRE_COUNTRY": "cl",
        "CUADRE_DATA_DIR": str(folder),
    }

    subprocess.run(
        [sys.executable, "-m", "cuadre", "db", "upgrade"],
        cwd=Path(__file__).parents[1],
        env=environ,
        check=True,
        capture_output=True,
    )

    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in [folder, *folder.iterdir()]}
    assert modes["data"] == "0o700"
    assert modes["cuadre.db"] == "0o600"
    assert {mode for name, mode in modes.items() if name != "data"} == {"0o600"}
