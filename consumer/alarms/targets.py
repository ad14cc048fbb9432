"""Where alarms go: the addresses of the settings, read before anything starts."""

import hashlib
import importlib.util
import logging
from dataclasses import dataclass
from email.utils import parseaddr
from urllib.parse import parse_qs, unquote, urlsplit

from consumer.facts.addresses import is_on_this_machine
from consumer.facts.alarms import PERSON
from consumer.facts.messages import LANGUAGES
from consumer.facts.settings import PREFIX, ConfigError, Settings

_NAME = f"{PREFIX}ALERT_URLS"
_SMTP = f"{PREFIX}SMTP_URL"
_PORTS = {"smtp": 25, "smtps": 465, "smtp+starttls": 587}
_SHORTEST_SECRET = 16


@dataclass(frozen=True, slots=True, repr=False)
class Server:
    """A server that takes mail: `scheme` says how the line is encrypted."""

    scheme: str
    host: str
    port: int
    user: str
    password: str
    sender: str


@dataclass(frozen=True, slots=True, repr=False)
class Mail:
    name: str
    to: str
    language: str
    server: Server


@dataclass(frozen=True, slots=True, repr=False)
class Webhook:
    name: str
    url: str
    secret: bytes


@dataclass(frozen=True, slots=True, repr=False)
class Apprise:
    """Any other address, which the library of that name knows how to reach."""

    name: str
    url: str


Target = Mail | Webhook | Apprise


def read_targets(settings: Settings) -> dict[str, Target]:
    """Return the channels by name; raise ConfigError, which quotes no address, for one that cannot be used."""
    server = None if settings.smtp_url is None else _to_server(settings.smtp_url.get_secret_value())
    found: dict[str, Target] = {}
    for place, given in enumerate(settings.alert_urls, start=1):
        target = _to_target(given.get_secret_value(), place, server, settings)
        if target.name in found:
            raise ConfigError(f"{_NAME}: address {place} stands there twice")
        found[target.name] = target
    return found


def find_person(channel: str, settings: Settings) -> Mail | None:
    """Return a channel that is a person's own address; None if it is none, or no server takes mail."""
    kind, _, address = channel.partition(" ")
    if kind != PERSON or settings.smtp_url is None or parseaddr(address)[1] != address or "@" not in address:
        return None
    server = _to_server(settings.smtp_url.get_secret_value())
    return Mail(channel, address, settings.connection("main").country.language, server)


def _to_target(url: str, place: int, server: Server | None, settings: Settings) -> Target:
    parts = urlsplit(url)
    kind = {"mailto": "mail", "https": "webhook", "http": "webhook"}.get(parts.scheme, parts.scheme)
    where = f"{parts.path.rpartition('@')[2]}" if kind == "mail" else "" if kind == parts.scheme else parts.hostname
    # The rest of the digest tells two addresses of one host apart without showing either.
    name = " ".join(part for part in (kind, where, hashlib.sha256(url.encode()).hexdigest()[:6]) if part)
    if kind == "mail":
        return _to_mail(url, name, place, server, settings)
    if kind == "webhook":
        secret = unquote(parts.fragment)
        if not parts.hostname or len(secret) < _SHORTEST_SECRET:
            raise ConfigError(
                f"{_NAME}: address {place} needs its secret after a #, {_SHORTEST_SECRET} letters or more"
            )
        return Webhook(name, parts._replace(fragment="").geturl(), secret.encode())
    if not parts.scheme:
        raise ConfigError(f"{_NAME}: address {place} is none: write mailto:…, https://…#secret or an Apprise address")
    if importlib.util.find_spec("apprise") is None:
        raise ConfigError(
            f"{_NAME}: {parts.scheme}:// of address {place} needs the extra: pip install 'cuadre[apprise]'"
        )
    # Its own log quotes addresses with their keys.
    logging.getLogger("apprise").setLevel(logging.CRITICAL)
    if not importlib.import_module("apprise").Apprise().add(url):
        raise ConfigError(f"{_NAME}: Apprise knows no address like {place}, {parts.scheme}://")
    return Apprise(name, url)


def _to_mail(url: str, name: str, place: int, server: Server | None, settings: Settings) -> Mail:
    parts = urlsplit(url)
    to = unquote(parts.path)
    if parseaddr(to)[1] != to or "@" not in to:
        raise ConfigError(f"{_NAME}: address {place} is no mail address such as mailto:ops@shop.example")
    if server is None:
        raise ConfigError(f"{_NAME}: address {place} is of mail, which needs {_SMTP}")
    language = parse_qs(parts.query).get("language", [settings.connection("main").country.language])[0]
    if language not in LANGUAGES:
        raise ConfigError(f"{_NAME}: the language of address {place} must be one of {', '.join(LANGUAGES)}")
    return Mail(name, to, language, server)


def _to_server(url: str) -> Server:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = 0
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise ConfigError(f"{_SMTP} must look like smtp+starttls://user:password@host:587, or smtps:// or smtp://")
    if parts.password and parts.scheme == "smtp" and not is_on_this_machine(url):
        raise ConfigError(f"{_SMTP} would send its password unencrypted: write smtps:// or smtp+starttls://")
    sender = parse_qs(parts.query).get("from", [f"cuadre@{parts.hostname}"])[0]
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return Server(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], user, password, sender)
