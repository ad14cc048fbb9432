"""What docs/sandbox.md says is true: its commands are run, its tables are compared, its example is executed."""

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from sandbox.commands import DEFAULT_PORT
from sandbox.commands import sandbox as command
from sandbox.engine.faults import NAMES, OF_ALL, OPTIONS
from sandbox.scenarios import NAMES as SCENARIOS
from sandbox.scenarios.books import VARIANTS
from sandbox.scenarios.damages import TABLE
from sandbox.serve import RunningSandbox
from sandbox.steering import STEPS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
SHOP = "127.0.0.1:8701"
CURL = shutil.which("curl")


@pytest.fixture
def shop() -> Iterator[int]:
    """The port of a receiver that takes every webhook."""

    @Request.application
    def take(request: Request) -> Response:
        return Response(f"thanks for {request.get_json()['type']}")

    server = make_server("127.0.0.1", 0, take, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def steps(block: str) -> list[tuple[str, str]]:
    """Each command of a block and the answer shown below it."""
    starts = [match.start() for match in re.finditer(r"^\$ ", block, re.MULTILINE)]
    parts = [block[start:end] for start, end in pairwise([*starts, len(block)])]
    return [(line[2:], answer) for line, _, answer in (part.partition("\n") for part in parts)]


def run(line: str) -> str:
    """What the command prints; where curl is missing its few options are read here."""
    words = shlex.split(line)
    assert words[0] == "curl"
    if CURL:
        done = subprocess.run([CURL, "--noproxy", "*", *words[1:]], capture_output=True, check=True, timeout=300)
        return done.stdout.decode().replace("\r\n", "\n")
    reader = argparse.ArgumentParser()
    reader.add_argument("url")
    reader.add_argument("-s", action="store_true")
    reader.add_argument("-i", action="store_true")
    reader.add_argument("-X", default=None)
    reader.add_argument("-H", action="append", default=[])
    reader.add_argument("-d", default=None)
    asked = reader.parse_args(words[1:])
    headers = dict(header.split(": ", 1) for header in asked.H)
    with httpx.Client(trust_env=False, timeout=120) as client:
        answer = client.request(asked.X or ("POST" if asked.d else "GET"), asked.url, content=asked.d, headers=headers)
    head = f"HTTP/1.1 {answer.status_code} {answer.reason_phrase}\n"
    head += "".join(f"{name.title()}: {value}\n" for name, value in answer.headers.items()) + "\n"
    return (head if asked.i else "") + answer.text.replace("\r\n", "\n")


def fits(shown: str, printed: str) -> bool:
    """Whether the answer shown, its dots standing for anything, is the one printed."""
    parts = [re.escape(part.strip("\n")) for part in shown.strip().split("…")]
    return re.fullmatch(".*?".join(parts) + r"\n?.*", printed.strip(), re.DOTALL) is not None


def test_every_command_answers_as_shown(shop: int) -> None:
    """All curl lines of the page, in order, against one sandbox as the command starts it."""
    with RunningSandbox() as running:
        here = {f"127.0.0.1:{DEFAULT_PORT}": f"127.0.0.1:{running.port}", SHOP: f"127.0.0.1:{shop}"}
        for line, shown in (step for block in BLOCKS for step in steps(block)):
            for written, real in here.items():
                line, shown = line.replace(written, real), shown.replace(written, real)  # noqa: PLW2901 - both change
            printed = run(line)

            assert fits(shown, printed), f"{line}\n--- shown\n{shown}\n--- printed\n{printed[:2000]}"


def test_no_command_of_the_page_is_missed() -> None:
    """Every line with curl stands in a block that is run."""
    assert PAGE.count("curl -s") == sum(len(steps(block)) for block in BLOCKS) == 19


def section(heading: str) -> str:
    """What stands under a heading."""
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_every_scenario_is_in_the_table() -> None:
    """The first column is what `--scenario` takes."""
    assert set(re.findall(r"^\| `([a-z-]+)` \|", section("Start it"), re.MULTILINE)) == set(SCENARIOS)


def test_every_damage_is_in_the_table_with_its_rates() -> None:
    """Number, name where it can be switched, base and stress rate, in the order of the list."""
    rows = re.findall(r"^\| (\d+) \| `?([a-z0-9_–]+)`? \| (\S+) % \| (\S+) % \|", PAGE, re.MULTILINE)
    reported = [(int(number), name, float(base), float(stress)) for number, name, base, stress in rows]

    assert reported == [
        (
            damage.number,
            "–" if damage.instead else damage.name,
            round(damage.base * 100, 3),
            round(damage.stress * 100, 3),
        )
        for damage in TABLE
    ]
    assert {number for number, *_ in reported} == set(range(1, 28))


def test_every_variant_of_the_books_is_named() -> None:
    """And no other."""
    reported = re.search(r"`invoices\.csv\?variant=` is (.*?)\n\n", PAGE, re.DOTALL)
    assert reported is not None
    assert [name for name in re.findall(r"`([a-z0-9-]+)`", reported[1]) if not name.isdigit()] == list(VARIANTS)


def test_every_fault_and_its_options_are_in_the_table() -> None:
    """The table is the registry, in its order; the options of all faults are named above it."""
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]*)\|", section("Do something wrong"), re.MULTILINE)

    assert {name: tuple(re.findall(r"`(\w+)`", options)) for name, options in rows} == OPTIONS
    assert tuple(name for name, _ in rows) == NAMES
    assert all(f"`{option}` (" in PAGE for option in OF_ALL[1:])


def test_every_steering_route_is_in_the_table() -> None:
    """No route under /_sandbox/ is left out, and none is made up."""
    built = {f"{method} /_sandbox/{path}" for method, path, _ in STEPS}

    assert set(re.findall(r"^\| `((?:GET|POST|PUT|DELETE) /_sandbox/[^`]+)` \|", PAGE, re.MULTILINE)) == built


def test_every_option_of_the_command_is_named() -> None:
    """The page names what `cuadre sandbox` takes."""
    options = [option for parameter in command.params for option in parameter.opts if option != "--host"]

    assert [option for option in options if f"`{option}" not in PAGE] == []


def test_the_example_is_a_test_that_passes(tmp_path: Path) -> None:
    """The page's fixture, in process and on a port, is executed by pytest as it stands."""
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "test_example.py").write_text(example)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "test_example.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert "2 passed" in done.stdout, done.stdout
