"""Schemathesis over HTTP: an API's own description decides what is asked, and what may be answered."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "unsupported_method", "allow_header_conformance",
)  # fmt: skip
Parameters = Mapping[str, Mapping[str, str]]  # by operation: what its parameters are, as `path.id`


def check_description(
    address: str,
    base: str,
    authorization: str,
    folder: Path,
    *,
    parameters: Parameters,
    without_objects: Sequence[str] = (),
    phases: str = "coverage,fuzzing",
) -> None:
    """Raise AssertionError if an answer is not as described, or an operation answers 404 alone though it has objects.

    The cases are the same in every run: edges of every schema, and in the phase fuzzing one made up for each operation.
    """
    settings = folder / "schemathesis.toml"
    settings.write_text(_settings(parameters, without_objects), encoding="utf-8")
    program = str(Path(sys.executable).with_name("schemathesis"))
    words = [program, "--config-file", str(settings), "run", address, "--url", base, "--no-color"]
    words += ["--header", f"Authorization: {authorization}", "--checks", ",".join(CHECKS), "--no-shrink"]
    words += ["--phases", phases, "--max-examples", "1", "--generation-deterministic"]
    done = subprocess.run(words, check=False, cwd=folder, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]


def _settings(parameters: Parameters, without_objects: Sequence[str]) -> str:
    lines = ["[warnings]", 'fail-on = ["missing_test_data"]', 'display = ["missing_test_data"]']
    for name in sorted({*parameters, *without_objects}):
        lines += ["[[operations]]", f'include-name = "{name}"']
        lines += ["warnings = false"] if name in without_objects else []
        lines += [
            "[operations.parameters]",
            *(f'"{key}" = "{value}"' for key, value in parameters.get(name, {}).items()),
        ]
    return "\n".join(lines) + "\n"
