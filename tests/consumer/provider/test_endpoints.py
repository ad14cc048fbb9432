"""Our endpoint at the provider, opened, renewed and changed, against the sandbox over HTTP."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from consumer.commands.webhook import webhook
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.tables.inbox import Secret
from consumer.provider.client import Provider, open_provider
from consumer.webhooks.endpoints import EndpointError, create_endpoint, list_endpoints, rotate
from consumer.webhooks.keyring import cipher
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from tests.consumer.conftest import Run
from tests.merchant import row_of, rows_of, settings_of

PAYOUTS = ["payout.created", "payout.succeeded"]


@pytest.fixture
def running() -> Iterator[RunningSandbox]:
    """A provider with hardly any trade."""
    with RunningSandbox("quiet") as running:
        yield running


@pytest.fixture
def settings(running: RunningSandbox, tmp_path: Path) -> Settings:
    return settings_of(running.url, tmp_path, public_url="http://127.0.0.1:9")


@pytest.fixture
def provider(installation: Installation) -> Iterator[Provider]:
    with open_provider(installation, installation.settings.connection("main")) as provider:
        yield provider


def test_create_keeps_the_secret_encrypted(
    installation: Installation, provider: Provider, running: RunningSandbox
) -> None:
    """The secret that the provider shows once is in the database, and not in clear."""
    endpoint = create_endpoint(installation, provider, events=PAYOUTS)
    with installation.store.reading() as session:
        kept = session.exec(select(Secret)).one()
    true = running.world.secrets[endpoint.id]
    assert true.encode() not in kept.encrypted
    assert cipher(installation.settings).decrypt(kept.encrypted).decode() == true
    assert (kept.connection, kept.label, kept.endpoint_id) == ("main", "2026-10-01", endpoint.id)
    assert endpoint.url == "http://127.0.0.1:9/webhooks"


def test_a_second_endpoint_for_one_address_is_refused(installation: Installation, provider: Provider) -> None:
    """Opening it again would deliver everything twice."""
    first = create_endpoint(installation, provider, events=PAYOUTS)
    with pytest.raises(EndpointError, match=f"{first.id} already delivers to http://127.0.0.1:9/webhooks"):
        create_endpoint(installation, provider, events=PAYOUTS)


def test_rotation_opens_waits_and_deletes(
    installation: Installation, provider: Provider, running: RunningSandbox
) -> None:
    """The second endpoint takes over the events; the first goes only after the overlap, and its secret ends."""
    first = create_endpoint(installation, provider, events=PAYOUTS)
    made = rotate(installation, provider)
    assert made.made
    assert made.new.enabled_events == tuple(PAYOUTS)
    assert made.ends_at == datetime(2026, 10, 2, 3, tzinfo=UTC)
    running.world.advance(timedelta(hours=1))
    waiting = rotate(installation, provider)
    assert (waiting.made, waiting.deleted) == (False, False)
    running.world.advance(timedelta(hours=24))
    done = rotate(installation, provider)
    assert done.deleted
    assert [endpoint.id for endpoint in list_endpoints(provider)[0]] == [made.new.id]
    with installation.store.reading() as session:
        ended = {secret.endpoint_id: secret.ends_at is not None for secret in session.exec(select(Secret))}
    assert ended == {first.id: True, made.new.id: False}


def test_the_commands_create_list_and_update(run: Run) -> None:
    """An endpoint is opened with every event we handle, listed as JSON, and disabled."""
    created = run(webhook, "create", "--name", "cuadre", "--json")
    assert created.exit_code == 0, created.output
    endpoint = json.loads(created.stdout)
    assert endpoint["connection"] == "main"
    assert "payout.returned" in endpoint["events"]
    assert "whsec_" not in created.output
    updated = run(webhook, "update", endpoint["id"], "--disable", "--event", "payout.succeeded", "--json")
    assert json.loads(updated.stdout) == endpoint | {"status": "disabled", "events": ["payout.succeeded"]}
    assert row_of(run(webhook, "list", "--json")) == json.loads(updated.stdout)


def test_update_without_a_change_is_wrong_usage(run: Run) -> None:
    """Nothing to change is said, with exit 2."""
    refused = run(webhook, "update", "we_1")
    assert refused.exit_code == 2
    assert "nothing to change" in refused.output


def test_a_test_event_is_asked_for(run: Run, running: RunningSandbox) -> None:
    """The provider is asked to send one event of the type to that endpoint."""
    endpoint = row_of(run(webhook, "create", "--json"))
    assert run(webhook, "test", endpoint["id"], "--type", "refund.succeeded").exit_code == 0
    with Steer(running.url) as steer:
        steer.advance(1)  # answers once everything due was tried
        assert {attempt.endpoint_id for attempt in steer.deliveries()} == {endpoint["id"]}


def test_rotate_says_what_comes_next(run: Run) -> None:
    """The overlap is given once: the next call keeps it, and no other default takes its place."""
    run(webhook, "create")
    assert "run this again after 2026-10-03T03:00:00Z" in run(webhook, "rotate", "--overlap-hours", "48").output
    waiting = run(webhook, "rotate").output
    assert "stays until 2026-10-03T03:00:00Z" in waiting
    assert "nothing was changed" in waiting
    assert "is deleted" in run(webhook, "rotate", "--overlap-hours", "0").output


def test_no_overlap_means_now(run: Run, installation: Installation) -> None:
    """One call makes the new endpoint, deletes the old one and ends its secret at once."""
    first = row_of(run(webhook, "create", "--json"))
    done = run(webhook, "rotate", "--overlap-hours", "0")
    assert done.exit_code == 0, done.output
    assert f"{first['id']} is deleted" in done.output
    assert len(run(webhook, "list", "--json").stdout.splitlines()) == 1
    with installation.store.reading() as session:
        valid = [secret.endpoint_id for secret in session.exec(select(Secret)) if secret.ends_at is None]
        ended = [secret.ends_at for secret in session.exec(select(Secret)) if secret.ends_at is not None]
    assert len(valid) == 1
    assert ended[0] <= utc_now()


def test_revoke_ends_a_secret_and_says_what_still_delivers(run: Run, installation: Installation) -> None:
    """By label or endpoint it is over at once; an unknown label names those there are, a shared one its endpoints."""
    first = row_of(run(webhook, "create", "--json"))
    run(webhook, "rotate")
    refused = run(webhook, "revoke", "september")
    assert str(refused.exception) == "main has no webhook secret 'september'; it has 2026-10-01 (2)"
    both = run(webhook, "revoke", "2026-10-01")
    assert f"2 webhook secrets of main are labelled '2026-10-01': give the endpoint, {first['id']} or " in str(
        both.exception
    )
    done = run(webhook, "revoke", first["id"])
    assert done.exit_code == 0, done.output
    assert f"the secret of {first['id']} is ended everywhere; its endpoint still delivers" in done.output
    with installation.store.reading() as session:
        ended = {secret.endpoint_id: secret.ends_at is not None for secret in session.exec(select(Secret))}
    assert ended[first["id"]]
    assert list(ended.values()).count(False) == 1


def test_after_a_revocation_rotation_deletes_what_was_revoked(run: Run) -> None:
    """Also where that is the newer of two endpoints: the one whose secret is valid stays."""
    first = row_of(run(webhook, "create", "--json"))
    run(webhook, "rotate")
    second = next(one["id"] for one in rows_of(run(webhook, "list", "--json")) if one != first)
    run(webhook, "revoke", second)
    assert f"{second} is deleted; {first['id']} delivers alone" in run(webhook, "rotate", "--overlap-hours", "0").output


def test_a_secret_of_the_settings_is_ended_there(run: Run) -> None:
    """What stands in the settings of each machine cannot be ended from one of them, and the refusal says where."""
    refused = run(webhook, "revoke", "settings 1")
    assert str(refused.exception) == (
        "secrets of the settings end there: take it out of CUADRE_WEBHOOK_SECRETS on every machine and start again"
    )
