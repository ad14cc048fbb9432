"""The sandbox on a port: connections, stopping, real deliveries, the small client, the command."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from sandbox.commands import sandbox as command
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from sandbox.state.happening import Truth
from tests.sandbox.conftest import one_payout

SUCCEEDED = "payment_intent.succeeded"


@pytest.fixture
def running() -> Iterator[RunningSandbox]:
    with RunningSandbox(one_payout()) as served:
        yield served


@pytest.fixture
def steer(running: RunningSandbox) -> Iterator[Steer]:
    with Steer(running.url) as client:
        yield client


def test_a_connection_is_kept_open(running: RunningSandbox) -> None:
    """Several requests, bodies unread by the operation included, go over one connection."""
    connection = HTTPConnection("127.0.0.1", running.port, timeout=120)
    connection.connect()
    opened = connection.sock
    found = []
    for method, path, body in (("GET", "/v1/payouts", None), ("POST", "/v1/nothing", b"hello"), ("GET", "/v1/x", None)):
        connection.request(method, path, body, {"Authorization": "sk_test_sandbox"})
        answer = connection.getresponse()
        answer.read()
        found.append((answer.status, answer.headers.get_all("Date")))

    assert connection.sock is opened
    connection.close()
    assert found == [(status, ["Thu, 01 Oct 2026 03:00:00 GMT"]) for status in (200, 404, 404)]


def test_stopping_ends_open_connections(steer: Steer, running: RunningSandbox) -> None:
    """After the stop nothing answers, not even on a connection that was open."""
    assert steer.now() == "2026-10-01T03:00:00.000Z"

    running.stop()

    with pytest.raises(httpx.TransportError):
        steer.now()
    running.world.close()


def test_the_reset_fault_resets_the_socket(running: RunningSandbox, steer: Steer) -> None:
    """The client sees its connection torn down."""
    steer.switch_on("reset", path="/v1/")

    with pytest.raises(httpx.TransportError):
        httpx.get(f"{running.url}/v1/payouts", headers={"Authorization": "sk_test_sandbox"}, timeout=120)


def test_a_slow_answer_drips_over_the_socket(running: RunningSandbox, steer: Steer) -> None:
    """The body comes in pieces and is whole."""
    steer.switch_on("slow", seconds=0.05, path="/v1/")

    answer = httpx.get(f"{running.url}/v1/payouts", headers={"Authorization": "sk_test_sandbox"}, timeout=120)

    assert answer.json()[0]["id"] == "po_1"


def test_webhooks_go_to_a_real_server(running: RunningSandbox, steer: Steer) -> None:
    """A receiver on loopback gets the event; deliveries and summary tell so."""
    received: list[bytes] = []

    @Request.application
    def shop(request: Request) -> Response:
        received.append(request.get_data())
        return Response(status=204)

    server = make_server("127.0.0.1", 0, shop, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    endpoint = steer.create_endpoint(f"http://127.0.0.1:{server.server_port}/webhooks", [SUCCEEDED])
    assert steer.advance(3600) == "2026-10-01T04:00:00.000Z"
    server.shutdown()
    server.server_close()
    thread.join()

    (attempt,) = steer.deliveries()
    assert (attempt.endpoint_id, attempt.attempt, attempt.response_code) == (endpoint["id"], 1, 204)
    assert b'"pi_3"' in received[0]
    assert steer.summary().delivered_events == 1
    running.stop()


def test_the_small_client_reads_everything(steer: Steer) -> None:
    """Truth, files, tariff, credentials and faults through the typed client."""
    assert steer.truth() == [
        Truth(
            kind="payment",
            id="pi_1",
            links=("cl:33::7", "po_1"),
            outcome="matched",
            exceptions=(),
            amount_at_risk=0,
            currency="CLP",
            decidable=True,
        )
    ]
    assert steer.invoices().startswith(b"doc_type,")
    assert steer.bank().startswith(b"date,")
    assert steer.payout_report("po_1").startswith(b"id;created_at;amount;fee;")
    assert steer.tariff()["vat_bps"] == 1900
    assert steer.credentials()["keys"]["test"] == "sk_test_sandbox"
    steer.switch_on("drop", 0.5, seed=4)
    steer.switch_off()
    steer.begin("quiet", seed=2)
    assert steer.summary().deliveries == 0


def test_a_live_clock_walks_with_real_time() -> None:
    """Without anybody advancing it the clock moves on."""
    with RunningSandbox(one_payout(), is_live=True) as served, Steer(served.url) as steer:
        until = time.monotonic() + 120
        while steer.now() == "2026-10-01T03:00:00.000Z" and time.monotonic() < until:
            time.sleep(0.05)

        assert steer.now() > "2026-10-01T03:00:00.000Z"


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_the_command_prints_where_it_is_and_stops_on_a_signal(name: signal.Signals) -> None:
    """One block with address and keys on standard output, and exit 0 when asked to stop."""
    start = "from sandbox.commands import sandbox; sandbox()"
    environ = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    arguments = ["--port", "0", "--scenario", "quiet", "--faults", "drop=0.1:seed=5:times=3,rate-limit=0:path=/v1"]
    with subprocess.Popen(
        [sys.executable, "-c", start, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(5)]
        address = re.search(r"http://127\.0\.0\.1:\d+", lines[0])
        assert address is not None
        answer = httpx.get(f"{address[0]}/v1/payouts", headers={"Authorization": "sk_test_sandbox"}, timeout=120)
        faults = httpx.get(f"{address[0]}/_sandbox/faults", timeout=120).json()
        process.send_signal(name)
        rest, errors = process.communicate(timeout=120)

    assert answer.status_code == 200
    assert faults == [
        {"name": "drop", "probability": 0.1, "seed": 5, "times": 3},
        {"name": "rate-limit", "probability": 0, "path": "/v1"},
    ]
    assert lines[1:3] == ["test key  sk_test_sandbox\n", "live key  sk_live_sandbox\n"]
    said = "stopping: deliveries on their way are finished; Ctrl-C again ends at once\n"
    assert (process.returncode, rest, errors) == (0, "", said)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--scenario", "loud"], "loud"),
        (["--scale", "-1"], "scale"),
        (["--faults", "gremlin"], "gremlin"),
        (["--faults", "drop=often"], "often"),
        (["--faults", "drop=7"], "0 to 1"),
        (["--faults", "drop:wings=2"], "drop takes no wings"),
        (["--faults", "drop:times=often"], "The times of drop must be a whole number"),
        (["--start", "someday"], "someday"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_2(arguments: list[str], word: str) -> None:
    """Unknown scenarios, faults, probabilities and dates stop the start."""
    result = CliRunner().invoke(command, ["--port", "0", *arguments])

    assert result.exit_code == 2
    assert word in result.stderr
    assert result.stdout == ""


def test_a_taken_port_is_one_sentence(running: RunningSandbox) -> None:
    """The command says which address it cannot have, and which option chooses another."""
    result = CliRunner().invoke(command, ["--port", str(running.port), "--scenario", "quiet"])

    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: cannot listen on 127.0.0.1:{running.port}: the address is in use already; "
        "choose another --port or --host\n"
    )
