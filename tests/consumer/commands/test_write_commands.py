"""The back office's writes against the sandbox: shown first, sent once, kept at once."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from sqlmodel import select

from consumer.commands.provider_writes import billing, refunds
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.tables.provider import BillingInvoice, Refund
from sandbox.serve import RunningSandbox
from tests.consumer.conftest import Run
from tests.merchant import row_of, settings_of

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


@pytest.fixture
def running() -> Iterator[RunningSandbox]:
    with RunningSandbox("quiet", scale=0.5) as running:
        yield running


@pytest.fixture
def settings(running: RunningSandbox, tmp_path: Path) -> Settings:
    return settings_of(running.url, tmp_path)


@pytest.fixture
def api(running: RunningSandbox) -> Iterator[httpx.Client]:
    """The provider's API without Cuadre between."""
    with httpx.Client(base_url=running.url, headers={"Authorization": "sk_test_sandbox"}, timeout=120) as client:
        yield client


@pytest.fixture
def payment(api: httpx.Client) -> dict[str, Any]:
    """A succeeded payment of which nothing went back."""
    rows = api.get("/v1/payment_intents", params={"per_page": 300}).json()
    taken = {refund["resource_id"] for refund in api.get("/v1/refunds", params={"per_page": 300}).json()}
    found: dict[str, Any] = next(row for row in rows if row["status"] == "succeeded" and row["id"] not in taken)
    return found


def refunds_of(api: httpx.Client, payment: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = api.get("/v1/refunds", params={"per_page": 300}).json()
    return [row for row in rows if row["resource_id"] == payment["id"]]


def test_a_payment_is_given_back_in_part_and_the_refund_is_kept(
    run: Run, api: httpx.Client, installation: Installation, payment: dict[str, Any]
) -> None:
    """The sentence says what is sent, the line what came of it, and the refund is a fact before any webhook."""
    result = run(refunds, "create", payment["id"], "--amount", "700", "--yes", "--json")
    line = row_of(result)
    assert f"main (test): give back 700 CLP of {payment['id']}, which brought {payment['amount']} CLP" in result.stderr
    (there,) = refunds_of(api, payment)
    assert (line["id"], line["status"], line["amount"], line["currency"]) == (there["id"], "created", "700", "CLP")
    assert (line["resource_id"], line["sent"]) == (payment["id"], True)
    with installation.store.reading() as session:
        assert session.get_one(Refund, ("main", there["id"])).amount == 700


def test_without_an_amount_all_that_is_left_goes_back(run: Run, api: httpx.Client, payment: dict[str, Any]) -> None:
    """A second refund takes the rest, and a third finds nothing left and is not sent."""
    row_of(run(refunds, "create", payment["id"], "--amount", "700", "--yes", "--json"))
    rest = row_of(run(refunds, "create", payment["id"], "--yes", "--json"))
    assert rest["amount"] == str(payment["amount"] - 700)
    third = run(refunds, "create", payment["id"], "--yes")
    assert third.exception is not None
    assert str(third.exception) == f"{payment['id']}: 0 CLP can still be given back"
    assert len(refunds_of(api, payment)) == 2


def test_nothing_is_sent_unless_somebody_agrees(run: Run, api: httpx.Client, payment: dict[str, Any]) -> None:
    """Without a terminal --yes is needed, exit 2; a dry run shows the plan and sends nothing."""
    refused = run(refunds, "create", payment["id"])
    assert refused.exit_code == 2
    assert "no terminal to ask on: give --yes" in refused.output
    planned = row_of(run(refunds, "create", payment["id"], "--dry-run", "--json"))
    assert (planned["id"], planned["status"], planned["sent"]) == (None, None, False)
    assert refunds_of(api, payment) == []


def test_the_same_attempt_again_is_done_once(run: Run, api: httpx.Client, payment: dict[str, Any]) -> None:
    """A repeat under the key of the first attempt answers with the same refund."""
    words = ("create", payment["id"], "--amount", "700", "--yes", "--json", "--idempotency-key", "attempt-1")
    assert row_of(run(refunds, *words))["id"] == row_of(run(refunds, *words))["id"]
    assert len(refunds_of(api, payment)) == 1


def test_a_repeat_is_sent_though_its_first_attempt_is_known_here(
    run: Run, api: httpx.Client, payment: dict[str, Any]
) -> None:
    """A refund of more than half, kept here before it is repeated under its key, is asked again and done once."""
    most = str(payment["amount"] * 6 // 10)
    words = ("create", payment["id"], "--amount", most, "--yes", "--json", "--idempotency-key", "attempt-3")
    first, again = row_of(run(refunds, *words)), run(refunds, *words)
    assert row_of(again)["id"] == first["id"]
    assert "unless the attempt under this key has done it" in again.stderr
    assert len(refunds_of(api, payment)) == 1


def test_a_repeat_must_say_how_much(run: Run, api: httpx.Client, payment: dict[str, Any]) -> None:
    """All that is left may be something else by now, so a key without an amount is refused, exit 2."""
    refused = run(refunds, "create", payment["id"], "--yes", "--idempotency-key", "attempt-4")
    assert refused.exit_code == 2
    assert "--idempotency-key needs --amount" in refused.output
    assert refunds_of(api, payment) == []


def test_the_key_is_told_before_anything_is_sent(
    run: Run, payment: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who interrupts the call has read the key under which to repeat it."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("consumer.provider.client.Provider.create", interrupted)
    stopped = run(refunds, "create", payment["id"], "--amount", "700", "--yes")
    assert re.search(r"^idempotency key [0-9a-f-]{36}$", stopped.stderr, re.MULTILINE)


def test_what_was_done_and_cannot_be_kept_is_said_so(
    run: Run, api: httpx.Client, installation: Installation, payment: dict[str, Any]
) -> None:
    """Where our own row or database stands in the way, exit 1 names the refund, the key and no row's content."""
    words = ("create", payment["id"], "--amount", "700", "--yes", "--json", "--idempotency-key", "attempt-5")
    made = row_of(run(refunds, *words))["id"]
    done = f"it was done, as {made}, under idempotency key attempt-5, and could not be kept here: "
    with installation.store.transaction() as session:
        session.execute(sa.update(Refund).values(mode="live"))
    assert f"{done}refund {made} is live here and test there" in run(refunds, *words).output
    with installation.store.transaction() as session:
        session.execute(sa.text("ALTER TABLE refund RENAME COLUMN amount TO sum"))
    unkept = run(refunds, "cancel", made, "--yes", "--idempotency-key", "attempt-6")
    assert unkept.exit_code == 1
    assert f"it was done, as {made}, under idempotency key attempt-6, and could not be kept here: Oper" in unkept.output
    assert refunds_of(api, payment)[0]["status"] == "canceled"


def test_a_cancellation_is_repeated_under_its_key(run: Run, payment: dict[str, Any]) -> None:
    """A repeat of a cancellation that was done answers as the first did, instead of calling it impossible."""
    made = row_of(run(refunds, "create", payment["id"], "--amount", "700", "--yes", "--json"))
    words = ("cancel", made["id"], "--yes", "--json", "--idempotency-key", "attempt-7")
    assert row_of(run(refunds, *words))["status"] == "canceled"
    assert row_of(run(refunds, *words))["status"] == "canceled"


def test_a_lost_answer_names_the_key(
    run: Run, running: RunningSandbox, payment: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the provider breaks on the POST, exit 1 says that it is not known and how to repeat it safely."""
    monkeypatch.setattr("consumer.provider.client.RETRIES", 0)
    with httpx.Client(base_url=running.url, timeout=120) as steer:
        fault = {"name": "server-error", "probability": 1.0, "seed": 1, "path": "/v1/refunds"}
        assert steer.post("/_sandbox/faults", json=fault).is_success
    words = ("create", payment["id"], "--amount", "700", "--yes", "--idempotency-key", "attempt-2")
    broken = run(refunds, *words)
    assert broken.exit_code == 1
    again = "repeat with --amount 700 --idempotency-key attempt-2, and it is done at most once"
    assert f"whether it was done is not known: {again}" in broken.output


def test_a_refund_that_was_not_sent_is_cancelled_once(
    run: Run, api: httpx.Client, installation: Installation, payment: dict[str, Any]
) -> None:
    """Cancelling is kept as a fact; a refund that is cancelled already is not asked again."""
    made = row_of(run(refunds, "create", payment["id"], "--yes", "--json"))
    cancelled = row_of(run(refunds, "cancel", made["id"], "--yes", "--json"))
    assert (cancelled["id"], cancelled["status"]) == (made["id"], "canceled")
    assert refunds_of(api, payment)[0]["status"] == "canceled"
    with installation.store.reading() as session:
        assert session.get_one(Refund, ("main", made["id"])).status == "canceled"
    again = run(refunds, "cancel", made["id"], "--yes")
    assert str(again.exception) == f"{made['id']} is canceled: only a refund that was not sent yet can be cancelled"


def test_an_open_invoice_is_marked_as_paid_outside(run: Run, api: httpx.Client, installation: Installation) -> None:
    """The provider records an external payment, our fact says paid, and a paid invoice is not asked again."""
    customer = api.post("/v2/customers", json={"email": "pagos@cliente.example"}).json()
    body = {"customer": customer["id"], "currency": "CLP", "collection_method": "send_invoice"}
    invoice = api.post("/v2/invoices", json={**body, "lines": [{"amount": 1500, "quantity": 1}]}).json()
    early = run(billing, "mark-paid", invoice["id"], "--yes")
    assert str(early.exception) == f"{invoice['id']} is draft: only an open invoice can be marked as paid"
    api.post(f"/v2/invoices/{invoice['id']}/finalize").raise_for_status()
    result = run(billing, "mark-paid", invoice["id"], "--yes", "--json")
    line = row_of(result)
    assert "paid outside the provider, which checks nothing and cannot be undone" in result.stderr
    assert (line["id"], line["status"], line["amount"]) == (invoice["id"], "paid", "1500")
    assert api.get(f"/v2/invoices/{invoice['id']}").json()["external_payment"] is True
    with installation.store.reading() as session:
        assert session.exec(select(BillingInvoice.status)).one() == "paid"


@pytest.mark.parametrize("words", [("--amount", "7.5"), ("--amount", "-700"), ("--amount", "all"), ("--amount", "0")])
def test_an_amount_that_is_none_is_not_sent(
    run: Run, api: httpx.Client, payment: dict[str, Any], words: tuple[str, ...]
) -> None:
    """Fractions of a peso, negative amounts, words and zero are refused before anything is sent."""
    assert run(refunds, "create", payment["id"], *words, "--yes").exit_code == 1
    assert refunds_of(api, payment) == []
