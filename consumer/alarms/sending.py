"""One message to one channel: by mail, as a signed webhook, or as Apprise knows how."""

import hmac
import importlib
import json
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime

from consumer.alarms.outbound import NotSentError, post
from consumer.alarms.targets import Apprise, Mail, Server, Target, Webhook
from consumer.alarms.wording import Content, Text, write
from consumer.facts.settings import Settings

_SECONDS = 15.0
SIGNATURE = "Cuadre-Signature"


def send(target: Target | None, content: Content, settings: Settings, *, message_id: str, now: datetime) -> None:
    """Send a message once; raise NotSentError if it is not known to have arrived.

    The id is the same each time a message is sent, so that a receiver recognises one that comes twice.
    """
    match target:
        case Mail():
            _send_mail(target, write(content, settings, target.language), message_id, now)
        case Webhook():
            body = to_body(content, settings, message_id=message_id)
            headers = {"Content-Type": "application/json", SIGNATURE: sign(body, target.secret, now=now)}
            post(target.url, body, headers)
        case Apprise():
            _send_by_apprise(target, write(content, settings, _language(settings)))
        case None:
            raise NotSentError("channel.not_in_settings")


def to_body(content: Content, settings: Settings, *, message_id: str) -> bytes:
    text = write(content, settings, _language(settings))
    whole = {"id": message_id, **content, "headline": text.body.splitlines()[: len(content["headline"])]}
    return json.dumps(whole | {"subject": text.subject, "text": text.body}, ensure_ascii=False).encode()


def sign(body: bytes, secret: bytes, *, now: datetime) -> str:
    """Return the header of a body, in the form of the provider's: HMAC-SHA256 of the time, a point and the body."""
    time = str(int(now.timestamp())).encode()
    return f"t={time.decode()},v1={hmac.new(secret, time + b'.' + body, 'sha256').hexdigest()}"


def _language(settings: Settings) -> str:
    return settings.connection("main").country.language


def _send_mail(target: Mail, text: Text, message_id: str, now: datetime) -> None:
    server, mail = target.server, EmailMessage()
    mail["From"], mail["To"], mail["Subject"], mail["Date"] = (
        server.sender,
        target.to,
        text.subject,
        format_datetime(now),
    )
    mail["Message-ID"] = f"<{message_id}@{server.sender.rpartition('@')[2]}>"
    mail.set_content(text.body)
    try:
        with _connect(server) as line:
            if server.user:
                line.login(server.user, server.password)
            line.send_message(mail)
    except (OSError, smtplib.SMTPException) as error:
        # The text of such an error may quote the login or the address.
        code = getattr(error, "smtp_code", "")
        reason = f"{type(error).__name__} {code}".strip()
        raise NotSentError("channel.took_no_mail", host=server.host, error=reason) from None


@contextmanager
def _connect(server: Server) -> Iterator[smtplib.SMTP]:
    context = ssl.create_default_context()
    if server.scheme == "smtps":
        with smtplib.SMTP_SSL(server.host, server.port, timeout=_SECONDS, context=context) as line:
            yield line
        return
    with smtplib.SMTP(server.host, server.port, timeout=_SECONDS) as line:
        if server.scheme == "smtp+starttls":
            line.starttls(context=context)
        yield line


def _send_by_apprise(target: Apprise, text: Text) -> None:
    apprise = importlib.import_module("apprise").Apprise()
    kind = target.name.partition(" ")[0]
    apprise.add(target.url)
    if not apprise.notify(title=text.subject, body=text.body):
        raise NotSentError("channel.not_taken", name=kind)
