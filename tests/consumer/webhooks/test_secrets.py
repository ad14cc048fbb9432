"""Webhook secrets as people see them: label, dates where rotation made them, last use over all processes."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from flask import Flask

from consumer.facts.installation import Installation
from consumer.health.doctor import examine
from consumer.webhooks import keyring
from consumer.webhooks.blueprint import webhooks
from consumer.webhooks.keyring import KnownSecret, NewSecret, end_secret, keep_secret, known_secrets

Sign = Callable[..., str]
NOW = datetime(2026, 10, 5, 12, 0, tzinfo=UTC)


def test_the_last_use_of_every_secret_is_kept_for_all_processes(installation: Installation, sign: Sign) -> None:
    """A use is written with the event it verified, once a minute; another process reads it, and no secret with it."""
    now = [1791201600]
    with installation.store.transaction() as session:
        keep_secret(session, installation.settings, NewSecret("main", "october", "we_2", "whsec_rotated"), now=NOW)
        end_secret(session, connection="main", endpoint_id="we_2", ends_at=NOW + timedelta(days=1))
    app = Flask("receiver")
    app.register_blueprint(webhooks(installation, now=lambda: datetime.fromtimestamp(now[0], UTC)))

    def seen() -> list[KnownSecret]:
        with installation.store.reading() as session:
            return known_secrets(session, installation.settings, installation.settings.connection("main"), now=NOW)

    def post(number: int) -> int:
        body = json.dumps({"id": f"evt_{number}"}).encode()
        header = {"Fintoc-Signature": sign(body, at=now[0])}
        return app.test_client().post("/webhooks", data=body, headers=header).status_code

    october = KnownSecret("october", None, NOW, NOW + timedelta(days=1))
    assert seen() == [KnownSecret("settings 1", None), october]
    assert post(1) == 200
    assert seen() == [KnownSecret("settings 1", NOW), october]
    now[0] += 59
    assert post(2) == 200
    assert seen()[0].last_used_at == NOW
    now[0] += 1
    assert post(3) == 200
    assert seen()[0].last_used_at == NOW + timedelta(minutes=1)
    with installation.store.reading() as session:
        kept = session.connection().execute(sa.text("SELECT connection, mark FROM webhook_secret_use")).one()
    assert kept[0] == "main"
    assert "whsec" not in kept[1]


def test_the_doctor_names_secrets_with_dates_and_uses(installation: Installation) -> None:
    """The line says which secrets are valid, since and until when, and when they were last used."""
    made = datetime(2026, 10, 1, tzinfo=UTC)
    with installation.store.transaction() as session:
        row = keep_secret(
            session, installation.settings, NewSecret("main", "october", "we_2", "whsec_rotated"), now=made
        )
        row.last_used_at = NOW

    found = {check.check: check.found for check in examine(installation, "main")}

    assert found["webhook secrets"] == (
        "2 are valid: settings 1 (never used); october (made 2026-10-01T00:00:00Z, last used 2026-10-05T12:00:00Z)"
    )


def knock(app: Flask, sign: Sign, number: int, *, secret: str) -> int:
    body = json.dumps({"id": f"evt_{number}"}).encode()
    return (
        app.test_client()
        .post("/webhooks", data=body, headers={"Fintoc-Signature": sign(body, secret=secret)})
        .status_code
    )


@pytest.mark.both_databases
def test_an_ended_secret_is_refused_by_the_next_request(installation: Installation, sign: Sign) -> None:
    """A receiver that just knew the secret refuses it at once when another process ends it, and stores nothing."""
    with installation.store.transaction() as session:
        keep_secret(session, installation.settings, NewSecret("main", "october", "we_2", "whsec_rotated"), now=NOW)
    app = Flask("receiver")
    app.register_blueprint(webhooks(installation, now=lambda: NOW))
    assert knock(app, sign, 1, secret="whsec_rotated") == 200

    with installation.store.transaction() as session:
        end_secret(session, connection="main", endpoint_id="we_2", ends_at=NOW)

    assert knock(app, sign, 2, secret="whsec_rotated") == 401
    assert knock(app, sign, 3, secret="whsec_test_secret") == 200
    with installation.store.reading() as session:
        assert set(session.connection().execute(sa.text("SELECT id FROM event")).scalars()) == {"evt_1", "evt_3"}


def test_a_new_secret_works_at_the_first_request_after_a_pause(
    installation: Installation, sign: Sign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is known is older than its bound, so the database is asked before the answer and not after it."""
    app = Flask("receiver")
    app.register_blueprint(webhooks(installation, now=lambda: NOW))
    assert knock(app, sign, 1, secret="whsec_test_secret") == 200
    with installation.store.transaction() as session:
        keep_secret(session, installation.settings, NewSecret("main", "october", "we_2", "whsec_rotated"), now=NOW)

    monkeypatch.setattr(keyring, "_FRESH_SECONDS", 0.0)

    assert knock(app, sign, 2, secret="whsec_rotated") == 200
