"""A person who is named in a comment gets a mail, where a server takes mail."""

import json
from collections.abc import Callable
from dataclasses import replace

from flask import Flask
from flask.testing import FlaskClient
from pydantic import SecretStr

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.tables.alarms import AlarmMessage
from reports.access.people import Role, add_user, to_user
from tests.reports.pages.looking import kept

CASE = "/exceptions/main/00aa00aa00aa00aa"


def say(client: FlaskClient, csrf: Callable[..., str], text: str) -> None:
    form = {"csrf_token": csrf(client, CASE), "text": text}
    assert client.post(f"{CASE}/comment", data=form).status_code == 302


def test_who_is_named_gets_a_mail_that_leads_to_the_exception(
    reconciled: Installation,
    make_app: Callable[..., Flask],
    login: Callable[..., FlaskClient],
    csrf: Callable[..., str],
) -> None:
    """One mail for each person named, who says so and about what, without the words of the comment."""
    with reconciled.store.transaction() as session:
        add_user(session, to_user("luz@tienda.test", "otra clave larga", Role.FINANCE, now=utc_now()))
    mailed = reconciled.settings.model_copy(update={"smtp_url": SecretStr("smtp://127.0.0.1:2525")})
    say(login(make_app(replace(reconciled, settings=mailed))), csrf, "@luz @luz mire el RUT 11.111.111-1")
    (message,) = kept(reconciled, AlarmMessage)
    assert (message.channel, message.kind, message.sent_at) == ("person luz@tienda.test", "mention", None)
    content = json.loads(message.content)
    assert content["path"] == CASE
    assert "11.111.111-1" not in message.content


def test_without_a_mail_server_the_person_finds_it_on_today_alone(
    client: FlaskClient, csrf: Callable[..., str], reconciled: Installation
) -> None:
    """No message waits for a channel that will never be."""
    say(client, csrf, "@ana mire")
    assert kept(reconciled, AlarmMessage) == []
