"""The SAT's own schema PolizasPeriodo 1.3 accepts what is written, and refuses it with one attribute wrong.

The schema states no licence, so it is not kept here: a public library that carries it is fetched when the test runs.
"""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from reconcile.journal.profiles import find_profile
from tests.reconcile.journal.test_layouts import entries_of, render
from tests.thoroughness import AWAY

LIBRARY = "satcfdi==26.10.1"
SCHEMAS = "satcfdi/transform/schemas/www.sat.gob.mx/esquemas/ContabilidadE/1_3/"
PARTS = ("PolizasPeriodo/PolizasPeriodo_1_3.xsd", "CatalogosParaEsqContE/CatalogosParaEsqContE.xsd")


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """Return the path of the schema, which lies with the catalogues that it names."""
    if shutil.which("xmllint") is None:
        pytest.skip("no xmllint is installed")  # a machine may lack it; a complete run fails here
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    try:
        subprocess.run(
            [*pip, "--dest", str(tmp_path), LIBRARY], check=True, capture_output=True, text=True, timeout=300
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{AWAY} {LIBRARY}: {error.stderr!r}"[:400])  # the network is no fault of the code
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as library:
        for part in PARTS:
            library.extract(SCHEMAS + part, tmp_path)
    return tmp_path / SCHEMAS / PARTS[0]


def complaints(schema: Path, document: bytes) -> str:
    command = ["xmllint", "--noout", "--nonet", "--schema", str(schema), "-"]
    done = subprocess.run(command, input=document, capture_output=True, check=False, timeout=60)
    said = done.stderr.decode()
    assert (done.returncode == 0) == (said == "- validates\n")
    return "" if done.returncode == 0 else said


def test_a_month_is_valid_by_the_schema(schema: Path) -> None:
    """A month with corrections, VAT and documents validates; with one attribute wrong or missing it does not."""
    (document,) = render(find_profile("sat-polizas"), entries_of("mx"), "mx").values()
    assert document.count(b"<PLZ:Poliza ") == 5
    assert complaints(schema, document) == ""
    assert "UUID_CFDI" in complaints(schema, document.replace(b'UUID_CFDI="5b1c2d3e', b'UUID_CFDI="5b1c2d3'))
    assert "fractionDigits" in complaints(schema, document.replace(b'Debe="1160.00"', b'Debe="1160.001"'))
    assert "NumCta" in complaints(schema, document.replace(b'NumCta="107.05.01" ', b""))
