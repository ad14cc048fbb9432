"""A refund that needs a second person is sent once two people have agreed to exactly it."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from consumer.commands.provider_writes import refunds
from consumer.facts import approvals
from consumer.facts.approvals import Subject
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from sandbox.serve import RunningSandbox
from tests.consumer.conftest import Run
from tests.merchant import row_of, settings_of

ANA, LUZ = Subject("ana@tienda.test", 1), Subject("luz@tienda.test", 2)


@pytest.fixture
def running() -> Iterator[RunningSandbox]:
    with RunningSandbox("quiet", scale=0.5) as running:
        yield running


@pytest.fixture
def settings(running: RunningSandbox, tmp_path: Path) -> Settings:
    (tmp_path / "cuadre.toml").write_text("[approvals]\nrefunds = true\n", encoding="utf-8")
    return settings_of(running.url, tmp_path)


def test_a_refund_is_sent_once_two_people_agreed(run: Run, running: RunningSandbox, installation: Installation) -> None:
    """The terminal asks and sends nothing; approved, the same command sends it once, and another amount asks anew."""
    headers = {"Authorization": "sk_test_sandbox"}
    with httpx.Client(base_url=running.url, headers=headers, timeout=120) as api:
        rows = api.get("/v1/payment_intents", params={"per_page": 300}).json()
        taken = {refund["resource_id"] for refund in api.get("/v1/refunds", params={"per_page": 300}).json()}
        payment = next(row["id"] for row in rows if row["status"] == "succeeded" and row["id"] not in taken)

        def sent() -> list[int]:
            made = api.get("/v1/refunds", params={"per_page": 300}).json()
            return [refund["amount"] for refund in made if refund["resource_id"] == payment]

        command = ("create", payment, "--amount", "700", "--yes", "--json")
        asked = run(refunds, *command)
        assert (asked.exit_code, sent()) == (3, [])
        assert f"Give back 700 CLP of {payment}: request 1 waits on the page Approvals for two people" in asked.stderr
        with installation.store.transaction() as session:
            approvals.approve(session, 1, ANA, now=utc_now())
        assert (run(refunds, *command).exit_code, sent()) == (3, [])
        with installation.store.transaction() as session:
            with pytest.raises(approvals.ApprovalError, match="another person"):
                approvals.approve(session, 1, ANA, now=utc_now())
            approvals.approve(session, 1, LUZ, now=utc_now())
        assert run(refunds, "create", payment, "--amount", "701", "--yes").exit_code == 3
        done = run(refunds, *command)
        assert (done.exit_code, sent()) == (0, [700])
        repeat = run(refunds, *command, "--idempotency-key", str(row_of(done)["idempotency_key"]))
        assert (repeat.exit_code, sent()) == (0, [700])
        assert (run(refunds, *command).exit_code, sent()) == (3, [700])
