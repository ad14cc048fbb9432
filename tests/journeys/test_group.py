"""A group of merchants in two countries on one installation: providers, nights, reports and readers of each."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

import app
from consumer.facts.clock import utc_now
from reports.access import people
from reports.access.visibility import limit
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from sandbox.state.events import TYPES
from tests.ports import free_port
from tests.thoroughness import for_run

CHILE: tuple[str, ...] = for_run(
    short=("main", "andes", "biobio"), full=("main", "andes", "biobio", "copiapo", "puerto")
)
MEXICO: tuple[str, ...] = for_run(short=("norte", "sur", "toluca"), full=("norte", "sur", "oaxaca", "puebla", "toluca"))
BETO, PASSWORD = "beto@grupo.test", "una clave larga"
SEEN = ("andes", "norte", "sur")
HIDDEN = [name for name in (*CHILE[1:], *MEXICO) if name not in SEEN]
# Two days, and the hours until they are over in Mexico too.
ENOUGH = (2 * 24 + 4) * 60 * 60


def _settings(providers: dict[str, str], secrets: dict[str, str]) -> str:
    tables = (
        f'[connections.{name}]\napi_key = "sk_test_sandbox"\ncountry = "{country}"\n'
        f'provider_url = "{providers[country]}"\nwebhook_secrets = ["{secrets[name]}"]\n'
        for country, names in (("cl", CHILE), ("mx", MEXICO))
        for name in names
        if name != "main"
    )
    return "\n".join(tables)


def _rows(content: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content)))


def test_connections_of_two_countries(
    cuadre: Callable[..., bytes], receiving: Callable[[int], AbstractContextManager[None]], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Webhooks, backfill, pull, nights, reports; a person who sees three of them finds nothing of the others."""
    port = free_port()
    monkeypatch.chdir(tmp_path)
    with (
        RunningSandbox("quiet", seed=1) as chile, RunningSandbox("mexico", seed=2, scale=0.004) as mexico,
        Steer(chile.url) as in_chile, Steer(mexico.url) as in_mexico,
    ):  # fmt: skip
        steers = dict.fromkeys(CHILE, in_chile) | dict.fromkeys(MEXICO, in_mexico)
        address = f"http://127.0.0.1:{port}"
        secrets = {
            name: str(steer.create_endpoint(f"{address}/webhooks/{name}", list(TYPES))["secret"])
            for name, steer in steers.items()
        }
        (tmp_path / "cuadre.toml").write_text(_settings({"cl": chile.url, "mx": mexico.url}, secrets), encoding="utf-8")
        for name, value in {
            "PROVIDER_URL": chile.url, "API_KEY": "sk_test_sandbox", "COUNTRY": "cl",
            "SECRET_KEY": "a key that only tests know",
            "WEBHOOK_SECRETS": secrets["main"], "DATA_DIR": str(tmp_path / "data"), "RATE_LIMIT": "1000",
        }.items():  # fmt: skip
            monkeypatch.setenv(f"CUADRE_{name}", value)
        with receiving(port):
            in_chile.advance(ENOUGH)
            in_mexico.advance(ENOUGH)
            cuadre("backfill", "--connection", "andes")
            cuadre("pull", "all", "--connection", "norte")
            cuadre("nightly", "--date", "2026-10-02")
            _check_reports(cuadre)
            _check_pages(address)


def _check_reports(cuadre: Callable[..., bytes]) -> None:
    """Each connection has its own run, currency and payouts; the report of all holds those of each."""
    payouts = {}
    for name in (*CHILE, *MEXICO):
        asked = ("report", "payout-summary", "--connection", name, "--as-of", "2026-10-02", "--out", "-")
        rows = _rows(cuadre(*asked).decode())
        assert {(row["connection"], row["currency"]) for row in rows} == {(name, "CLP" if name in CHILE else "MXN")}
        payouts[name] = len(rows)
    whole = _rows(cuadre("report", "payout-summary", "--as-of", "2026-10-02", "--out", "-").decode())
    assert Counter(row["connection"] for row in whole) == payouts
    assert [payouts[name] for name in CHILE] == [2] * len(CHILE)
    assert len({payouts[name] for name in MEXICO}) == 1
    sources = {
        (row["connection"], row["source"]) for row in map(json.loads, cuadre("events", "list", "--json").splitlines())
    }
    assert {name for name, source in sources if source == "webhook"} == {*CHILE, *MEXICO}
    nights = [json.loads(line) for line in cuadre("jobs", "--json").splitlines()]
    done = {row["job"]: row["state"] for row in nights if row["outcome"] and row["job"].startswith("nightly:")}
    assert done == {f"nightly:{name} by hand": "complete" for name in (*CHILE, *MEXICO)}


def _check_pages(address: str) -> None:
    """A person of three connections reads those, in lists, reports and files, and no word of the others."""
    installation = app.open_installation()
    with installation.store.transaction() as session:
        beto = people.add_user(session, people.to_user(BETO, PASSWORD, people.Role.FINANCE, now=utc_now()))
        limit(session, beto, SEEN, known=[*CHILE, *MEXICO])
    installation.store.close()
    with httpx.Client(base_url=address, follow_redirects=True) as browser:
        token = browser.get("/login").text.split('name="csrf_token" value="', 1)[1].split('"', 1)[0]
        assert (
            browser.post("/login", data={"email": BETO, "password": PASSWORD, "csrf_token": token}).status_code == 200
        )
        for path in ("/", "/payouts", "/exceptions", "/operation/runs", "/view/receivables", "/reports"):
            page = browser.get(path)
            assert (path, page.status_code) == (path, 200)
            assert [name for name in HIDDEN if re.search(rf"\b{name}\b", page.text)] == [], path
        rows = _rows(browser.get("/reports/payout-summary.csv", params={"as_of": "2026-10-02"}).text)
        assert {row["connection"] for row in rows} == set(SEEN)
        hidden = browser.get("/reports/payout-summary.csv", params={"connection": "toluca"})
        assert hidden.status_code in {400, 404}
