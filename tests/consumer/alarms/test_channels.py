"""Channels: what arrives by mail, webhook and Apprise, what a settings' mistake says, and that no secret is shown."""

import email.message
import hmac
import json
import re
import sys
from datetime import UTC, datetime

import pytest

from consumer.alarms.outbound import NotSentError
from consumer.alarms.sending import send
from consumer.alarms.states import Change, Kind
from consumer.alarms.targets import find_person, read_targets
from consumer.alarms.wording import Content, content_of, sentence_of, write
from consumer.facts.alarms import CAUSES
from consumer.facts.messages import LANGUAGES, Message
from consumer.facts.settings import ConfigError, Settings
from consumer.facts.tables.alarms import Alarm
from consumer.webhooks.signature import verify
from tests.consumer.alarms.conftest import PASSWORD, SECRET, MakeSettings, Receiver, StartPost

HEADLINE = (
    "main, conciliación del 22-11-2026: 3 de 4 liquidaciones cuadran; excepciones: 5, de ellas altas: 2; "
    "en riesgo: 1.234.567 CLP"
)
NOW = datetime(2026, 11, 23, 13, 30, tzinfo=UTC)


def alarm(cause: str = "exception:PAYOUT_NOT_IN_BANK") -> Alarm:
    return Alarm(
        connection="main", cause=cause, severity="high", since=NOW, seen_at=NOW, count=3,
        amounts='{"CLP": 1234567}', found="3 open",
    )  # fmt: skip


def raised(*alarms: Alarm) -> Content:
    return content_of("alarm", [Change(Kind.RAISED, one) for one in alarms or (alarm(),)])


def body_of(mail: email.message.Message) -> str:
    body = mail.get_payload(decode=True)
    assert isinstance(body, bytes)
    return body.decode().replace("\r\n", "\n")


def send_all(settings: Settings, content: Content) -> None:
    for target in read_targets(settings).values():
        send(target, content, settings, message_id="cuadre-1", now=NOW)


@pytest.mark.parametrize("scheme", ["smtp+starttls", "smtps", "smtp"])
def test_a_mail_arrives_over_every_line(post: StartPost, alarmed: MakeSettings, scheme: str) -> None:
    """The mail says what stands, since when, what it is worth and what to do, in the country's language."""
    server = post(scheme)
    login = f"ops:{PASSWORD}@" if scheme == "smtp+starttls" else ""
    url = f"{scheme}://{login}127.0.0.1:{server.port}?from=cuadre@tienda.test"
    settings = alarmed("mailto:ops@tienda.test", smtp_url=url, public_url="https://pay.tienda.test")

    send_all(settings, raised())

    (mail,) = server.mails
    assert (mail["To"], mail["From"]) == ("ops@tienda.test", "cuadre@tienda.test")
    assert mail["Message-ID"] == "<cuadre-1@tienda.test>"
    assert write(raised(), settings, "es-CL").subject == (
        "[Cuadre] Alarma: Liquidación no llegó al banco, abiertas: 3, 1.234.567 CLP en riesgo"
    )
    assert body_of(mail) == (
        "\nAlarma · Alta · main: Liquidación no llegó al banco, abiertas: 3, 1.234.567 CLP en riesgo\n"
        "  Desde 2026-11-23 10:30\n"
        "  La página de excepciones dice qué hacer con cada una.\n"
        "\nhttps://pay.tienda.test/alarms\n"
    )
    assert server.logins == ([("ops", PASSWORD)] if login else [])


def test_a_person_named_in_a_comment_gets_a_mail(post: StartPost, alarmed: MakeSettings) -> None:
    """It says who names them, in which exception, and leads there; no other text is a person's address."""
    server = post("smtp")
    settings = alarmed(smtp_url=f"smtp://127.0.0.1:{server.port}", public_url="https://pay.tienda.test")
    said = [Message("casework.named_by", {"who": "ana@tienda.test"}), Message("title.PAYMENT_NO_INVOICE")]
    content = {
        "kind": "mention",
        "headline": [one.to_text() for one in said],
        "alarms": [],
        "path": "/exceptions/main/1",
    }

    send(find_person("person luz@tienda.test", settings), content, settings, message_id="cuadre-1", now=NOW)

    (mail,) = server.mails
    assert (mail["To"], mail["Subject"]) == ("luz@tienda.test", "[Cuadre] Le mencionan en un comentario")
    assert body_of(mail) == (
        "ana@tienda.test le menciona en un comentario:\nPago sin documento\n\nhttps://pay.tienda.test/exceptions/main/1\n"
    )
    assert [find_person(name, settings) for name in ("person luz", "mail tienda.test 12", "person a@b, c@d")] == [
        None
    ] * 3


def test_a_mail_may_be_in_english(post: StartPost, alarmed: MakeSettings) -> None:
    """`language=en` after the address changes the words of that channel alone."""
    server = post("smtp")
    settings = alarmed("mailto:ops@tienda.test?language=en", smtp_url=f"smtp://127.0.0.1:{server.port}")

    send_all(settings, content_of("test"))

    assert server.mails[0]["Subject"] == "[Cuadre] Test message"


def test_a_refused_login_shows_no_password(post: StartPost, alarmed: MakeSettings) -> None:
    """What goes wrong names the server and the kind of error, without login or address."""
    server = post("smtp+starttls")
    url = f"smtp+starttls://ops:another-password@127.0.0.1:{server.port}"
    with pytest.raises(NotSentError) as refused:
        send_all(alarmed("mailto:ops@tienda.test", smtp_url=url), raised())

    assert re.fullmatch(r"127\.0\.0\.1 took no mail \(SMTP\w+( \d+)?\)", str(refused.value))


def test_a_webhook_is_signed_as_the_provider_signs(receiver: Receiver, alarmed: MakeSettings) -> None:
    """Whoever verifies webhooks of the provider verifies these; the body holds codes and sentences."""
    send_all(alarmed(f"{receiver.url}/hooks?of=cuadre#{SECRET}"), raised())

    (got,) = receiver.got
    assert got.path == "/hooks?of=cuadre"
    assert verify(got.body, got.headers["Cuadre-Signature"], [SECRET.encode()], now=NOW, tolerance=0) == 0
    expected = hmac.new(SECRET.encode(), b"1795440600." + got.body, "sha256").hexdigest()
    assert got.headers["Cuadre-Signature"] == f"t=1795440600,v1={expected}"
    body = json.loads(got.body)
    assert body["id"] == "cuadre-1"
    assert body["alarms"] == [
        {
            "change": "raised",
            "connection": "main",
            "cause": "exception:PAYOUT_NOT_IN_BANK",
            "severity": "high",
            "since": "2026-11-23T13:30:00Z",
            "ended_at": None,
            "count": 3,
            "amounts": {"CLP": 1234567},
            "acknowledged": False,
        }
    ]
    assert body["subject"].startswith("[Cuadre] Alarma: Liquidación no llegó al banco")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_apprise_reaches_what_it_knows(receiver: Receiver, alarmed: MakeSettings) -> None:
    """Any other scheme is Apprise's; what is not taken is an error without the address."""
    settings = alarmed(receiver.url.replace("http://", "json://user:a-key-of-it@") + "/x")
    send_all(settings, raised())
    assert json.loads(receiver.got[0].body)["title"].startswith("[Cuadre] Alarma: ")

    receiver.status = 500
    with pytest.raises(NotSentError) as refused:
        send_all(settings, raised())
    assert str(refused.value) == "json did not take the message"


@pytest.mark.parametrize("status", [301, 404, 500])
def test_only_a_2xx_is_taken(receiver: Receiver, alarmed: MakeSettings, status: int) -> None:
    """A redirect is not followed, since the signature was made for one address."""
    receiver.status = status
    with pytest.raises(NotSentError) as refused:
        send_all(alarmed(f"{receiver.url}/hooks#{SECRET}"), raised())

    assert str(refused.value) == f"127.0.0.1 answered {status}"
    assert len(receiver.got) == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("urls", "smtp", "line"),
    [
        ("mailto:ops@tienda.test", "", "CUADRE_ALERT_URLS: address 1 is of mail, which needs CUADRE_SMTP_URL"),
        ("mailto:ops", "smtps://m", "CUADRE_ALERT_URLS: address 1 is no mail address such as mailto:ops@shop.example"),
        ("https://h/x", "", "CUADRE_ALERT_URLS: address 1 needs its secret after a #, 16 letters or more"),
        ("https://h/x#short", "", "CUADRE_ALERT_URLS: address 1 needs its secret after a #, 16 letters or more"),
        (f"https://h/x#{SECRET},https://h/x#{SECRET}", "", "CUADRE_ALERT_URLS: address 2 stands there twice"),
        ("nonsense://x", "", "CUADRE_ALERT_URLS: Apprise knows no address like 1, nonsense://"),
        (
            "ops",
            "",
            "CUADRE_ALERT_URLS: address 1 is none: write mailto:…, https://…#secret or an Apprise address",
        ),
        (
            "mailto:o@t.cl?language=fr",
            "smtps://m",
            "CUADRE_ALERT_URLS: the language of address 1 must be one of es-CL, es-MX, en",
        ),
        (
            "mailto:o@t.cl",
            "smtp://u:pw@mail.test",
            "CUADRE_SMTP_URL would send its password unencrypted: write smtps:// or smtp+starttls://",
        ),
        (
            "mailto:o@t.cl",
            "imap://mail.test",
            "CUADRE_SMTP_URL must look like smtp+starttls://user:password@host:587, or smtps:// or smtp://",
        ),
    ],
)
def test_a_channel_that_cannot_be_used_stops_the_start(alarmed: MakeSettings, urls: str, smtp: str, line: str) -> None:
    """One line names the setting and the place of the address in it, and quotes none of it."""
    settings = alarmed(urls, **({"smtp_url": smtp} if smtp else {}))
    with pytest.raises(ConfigError) as refused:
        read_targets(settings)

    assert str(refused.value) == line


def test_an_address_that_needs_the_extra_says_so(alarmed: MakeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Apprise its addresses stop the start with what to install."""
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(ConfigError) as refused:
        read_targets(alarmed("slack://a/b/c"))

    line = "CUADRE_ALERT_URLS: slack:// of address 1 needs the extra: pip install 'cuadre[apprise]'"
    assert str(refused.value) == line


def test_no_name_or_setting_shows_a_secret(alarmed: MakeSettings) -> None:
    """Names of channels, targets and settings are printed, and none of them holds a password or a key."""
    settings = alarmed(
        f"https://hooks.test/a-token-in-the-path#{SECRET}", "mailto:ops@tienda.test",
        smtp_url=f"smtps://ops:{PASSWORD}@mail.test", ping_url_nightly="https://hc.test/a-token-in-the-path",
    )  # fmt: skip
    targets = read_targets(settings)

    assert [name.rpartition(" ")[0] for name in targets] == ["webhook hooks.test", "mail tienda.test"]
    shown = repr(targets) + repr(settings)
    assert [secret for secret in (SECRET, PASSWORD, "a-token-in-the-path") if secret in shown] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_cause_has_its_words(alarmed: MakeSettings, language: str) -> None:
    """No kind of cause is without a sentence and what to do, and no placeholder is left in one."""
    abouts = {"exception": ":PAYOUT_LATE", "job": ":banking-cut:main", "channel": ":mail tienda.test"}
    alarms = [alarm(kind + abouts.get(kind, "")) for kind in CAUSES]
    for change in Kind:
        content = content_of("alarm", [Change(change, one) for one in alarms])
        text = write(content, alarmed(), language)
        assert [word for word in ("alarm.", "alarm_do", "{", "title.") if word in text.subject + text.body] == []


def test_the_headline_is_worded_when_it_is_sent(alarmed: MakeSettings) -> None:
    """Its amounts are grouped as the reader's country writes them."""
    counts = {"closed": 3, "payouts": 4, "exceptions": 5, "high": 2}
    names = {"connection": "main", "day": "2026-11-22", "at_risk": '{"CLP": 1234567}'}
    line = Message("alarm.headline", {**counts, **names}).to_text()
    text = write(content_of("digest", headline=[line]), alarmed(), "es-CL")

    assert text.subject == "[Cuadre] El día en breve"
    assert text.body.splitlines() == [
        HEADLINE,
        "No hay alarmas vigentes.",
    ]


def test_a_sentence_without_money_names_none() -> None:
    """What is worth no amount ends with its count."""
    assert sentence_of("quarantine", 2, {}, "en") == "Events set aside: 2"
    assert sentence_of("job:fiscal:main", 1, {}, "es-CL") == "Una tarea falló o no corrió: Datos tributarios"
