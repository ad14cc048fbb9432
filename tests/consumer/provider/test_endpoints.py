"""Our endpoint at the provider, opened, renewed and changed, against the sandbox over HTTP."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlmodel import select

from consumer.commands.webhook import webhook
from consumer.config import load
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Secret
from consumer.provider.client import Provider, open_provider
from consumer.webhooks.endpoints import EndpointError, create_endpoint, list_endpoints, rotate
from consumer.webhooks.keyring import cipher
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox

Run = Callable[..., Result]
PAYOUTS = ["payout.created", "payout.succeeded"]


@pytest.fixture
def running() -> Iterator[RunningSandbox]:
    """A provider with hardly any trade."""
    with RunningSandbox("quiet") as running:
        yield running


@pytest.fixture
def settings(running: RunningSandbox, tmp_path: Path) -> Settings:
    environ = {
        "CUADRE_PROVIDER_URL": running.url,
        "CUADRE_API_KEY": "sk_test_sandbox",
        "CUADRE_COUNTRY": "cl",
        "CUADRE_PUBLIC_URL": "http://127.0.0.1:9",
        "CUADRE_DATA_DIR": str(tmp_path / "instance"),
        "CUADRE_RATE_LIMIT": "100000",
    }
    return load(environ, folder=tmp_path)


@pytest.fixture
def installation(settings: Settings, store: Store) -> Installation:
    return Installation(settings=settings, store=store)


@pytest.fixture
def provider(installation: Installation) -> Iterator[Provider]:
    with open_provider(installation, installation.settings.connection("main")) as provider:
        yield provider


@pytest.fixture
def run(installation: Installation) -> Run:
    """Run `cuadre webhook` in this process."""
    return lambda *words: CliRunner().invoke(webhook, list(words), obj=lambda: installation)


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
    created = run("create", "--name", "cuadre", "--json")
    assert created.exit_code == 0, created.output
    endpoint = json.loads(created.stdout)
    assert endpoint["connection"] == "main"
    assert "payout.returned" in endpoint["events"]
    assert "whsec_" not in created.output
    updated = run("update", endpoint["id"], "--disable", "--event", "payout.succeeded", "--json")
    assert json.loads(updated.stdout) == endpoint | {"status": "disabled", "events": ["payout.succeeded"]}
    assert json.loads(run("list", "--json").stdout) == json.loads(updated.stdout)


def test_update_without_a_change_is_wrong_usage(run: Run) -> None:
    """Nothing to change is said, with exit 2."""
    refused = run("update", "we_1")
    assert refused.exit_code == 2
    assert "nothing to change" in refused.output


def test_a_test_event_is_asked_for(run: Run, running: RunningSandbox) -> None:
    """The provider is told to send one event of the type to that endpoint."""
    endpoint = json.loads(run("create", "--json").stdout)
    assert run("test", endpoint["id"], "--type", "refund.succeeded").exit_code == 0
    with Steer(running.url) as steer:
        steer.advance(1)  # answers once everything due was tried
        assert {attempt.endpoint_id for attempt in steer.deliveries()} == {endpoint["id"]}


def test_rotate_says_what_comes_next(run: Run) -> None:
    """The overlap is given once: the next call keeps it, and no other default takes its place."""
    run("create")
    assert "run this again after 2026-10-03T03:00:00Z" in run("rotate", "--overlap-hours", "48").output
    waiting = run("rotate").output
    assert "stays until 2026-10-03T03:00:00Z" in waiting
    assert "nothing was changed" in waiting
    assert "is deleted" in run("rotate", "--overlap-hours", "0").output


def test_no_overlap_means_now(run: Run, installation: Installation) -> None:
    """One call makes the new endpoint, deletes the old one and ends its secret at once."""
    first = json.loads(run("create", "--json").stdout)
    done = run("rotate", "--overlap-hours", "0")
    assert done.exit_code == 0, done.output
    assert f"{first['id']} is deleted" in done.output
    assert len(run("list", "--json").stdout.splitlines()) == 1
    with installation.store.reading() as session:
        valid = [secret.endpoint_id for secret in session.exec(select(Secret)) if secret.ends_at is None]
        ended = [secret.ends_at for secret in session.exec(select(Secret)) if secret.ends_at is not None]
    assert len(valid) == 1
    assert ended[0] <= utc_now()


def test_revoke_ends_a_secret_and_says_what_still_delivers(run: Run, installation: Installation) -> None:
    """By label or endpoint it is over at once; an unknown label names those there are, a shared one its endpoints."""
    first = json.loads(run("create", "--json").stdout)
    run("rotate")
    refused = run("revoke", "september")
    assert str(refused.exception) == "main has no webhook secret 'september'; it has 2026-10-01 (2)"
    both = run("revoke", "2026-10-01")
    assert f"2 webhook secrets of main are labelled '2026-10-01': give the endpoint, {first['id']} or " in str(
        both.exception
    )
    done = run("revoke", first["id"])
    assert done.exit_code == 0, done.output
    assert f"the secret of {first['id']} is ended everywhere; its endpoint still delivers" in done.output
    with installation.store.reading() as session:
        ended = {secret.endpoint_id: secret.ends_at is not None for secret in session.exec(select(Secret))}
    assert ended[first["id"]]
    assert list(ended.values()).count(False) == 1


def test_after_a_revocation_rotation_deletes_what_was_revoked(run: Run) -> None:
    """Also where that is the newer of two endpoints: the one whose secret is valid stays."""
    first = json.loads(run("create", "--json").stdout)
    run("rotate")
    second = next(one["id"] for one in map(json.loads, run("list", "--json").stdout.splitlines()) if one != first)
    run("revoke", second)
    assert f"{second} is deleted; {first['id']} delivers alone" in run("rotate", "--overlap-hours", "0").output


def test_a_secret_of_the_settings_is_ended_there(run: Run) -> None:
    """What stands in the settings of each machine cannot be ended from one of them, and the refusal says where."""
    refused = run("revoke", "settings 1")
    assert str(refused.exception) == (
        "secrets of the settings end there: take it out of CUADRE_WEBHOOK_SECRETS on every machine and start again"
    )
