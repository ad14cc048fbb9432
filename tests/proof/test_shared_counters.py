"""Several processes of one server: what all of them counted, and the sessions that were left."""

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from consumer.facts.store import Store
from reports.access import people
from tests.proof.test_wire import EVENT


def counted(metrics: bytes, name: str) -> float:
    return sum(float(line.split()[-1]) for line in metrics.decode().splitlines() if line.startswith(f"{name}{{"))


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_counters_of_several_processes_add_up(migrated_url: str, install: Callable[[str], Any]) -> None:
    """Deliveries and forgeries taken by two processes are one number each, whoever answers; gauges stay one line."""
    installation = install(migrated_url)
    installation.serve_all(processes=2)
    for number in range(30):
        assert installation.post(json.dumps(EVENT | {"id": f"evt_{number}"}).encode())[0] == 200
        assert installation.post(b"{}", secret=b"whsec_other")[0] == 401

    for _ in range(8):
        status, metrics = installation.get("/metrics")
        assert (status, counted(metrics, "cuadre_webhook_received_total")) == (200, 30)
        assert counted(metrics, "cuadre_webhook_refused_total") == 30
        assert metrics.count(b"cuadre_inbox_waiting{") == 1


DISK_FULL = """
    CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END$$;
    CREATE TRIGGER disk_is_full BEFORE UPDATE ON login_session EXECUTE FUNCTION disk_is_full()
"""


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_a_session_that_was_left_is_over_in_every_process(migrated_url: str, install: Callable[[str], Any]) -> None:
    """Where the database takes no row, a copy of the cookie opens nothing in any process of the server."""
    installation = install(migrated_url)
    with closing(Store(migrated_url)) as store:
        people.ensure_user(store, "ana@tienda.test", "una clave larga", people.Role.ADMIN)
        installation.serve_all(processes=2)
        address = f"http://127.0.0.1:{installation.port}"
        with httpx.Client(base_url=address) as browser:
            form = {"email": "ana@tienda.test", "password": "una clave larga"}
            assert browser.post("/login", data=form | _token(browser, "/login")).headers["Location"] == "/"
            cookies = dict(browser.cookies)
            assert _opened(address, cookies, times=1) == {200}
            token = _token(browser, "/")
            with store.connection() as connection:
                connection.execute(sa.text(DISK_FULL))
            assert browser.post("/logout", data=token).status_code == 302
        assert _opened(address, cookies, times=40) == {302}


def _token(browser: httpx.Client, path: str) -> dict[str, str]:
    return {"csrf_token": browser.get(path).text.split('name="csrf_token" value="', 1)[1].split('"', 1)[0]}


def _opened(address: str, cookies: dict[str, str], *, times: int) -> set[int]:
    """Ask over connections of their own, which any process takes."""
    return {httpx.get(f"{address}/", cookies=cookies).status_code for _ in range(times)}
