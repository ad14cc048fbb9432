"""What a server takes while hostile bodies arrive at once: each is refused, and memory stays within a bound."""

import http.client
import os
import re
from contextlib import closing
from pathlib import Path

from tests.benchmarks.ingest.bench_beside_a_night import serving
from tests.benchmarks.ingest.bench_bodies import attacks, measure
from tests.benchmarks.ingest.trade import SECRET
from tests.thoroughness import for_run

BODIES = for_run(short=16, full=64)
MEGABYTES = 20
# Held whole, the bodies of one attack would take 320 and 1,280 MB; /webhooks may hold 1 MiB of each.
MOST_MEGABYTES = for_run(short=80, full=160)


def test_bodies_at_once_take_little_memory(tmp_path: Path) -> None:
    """Every kind of body is refused with its own status, and above rest the server stays below the bound."""
    environ = {
        **os.environ,
        "CUADRE_PROVIDER_URL": "http://127.0.0.1:9",
        "CUADRE_API_KEY": "sk_test_bench",
        "CUADRE_COUNTRY": "cl",
        "CUADRE_WEBHOOK_SECRETS": SECRET,
        "CUADRE_DATA_DIR": str(tmp_path),
    }
    with serving(environ, tmp_path / "serve.log") as (port, pid):
        rows = [measure(attack, port, pid, BODIES) for attack in attacks(MEGABYTES * 1_000_000)]
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("GET", "/healthz")
            alive = connection.getresponse().status

    found = [re.split(r" *\| *", row.strip("| ")) for row in rows]
    statuses = [{int(status) for status in re.findall(r"(\d{3}): ", row[1])} for row in found]
    assert statuses == [{413}, {413}, {413}, {413}, {401}, {413}], found
    assert [row for row in found if int(row[-1]) > MOST_MEGABYTES] == []
    assert alive == 200
