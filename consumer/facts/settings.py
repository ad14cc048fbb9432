"""The settings of one installation and of its connections: their names, types and limits."""

import base64
import ipaddress
import re
from datetime import time
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

import sqlalchemy as sa
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    StrictBool,
    field_validator,
    model_validator,
)

from consumer.facts.addresses import Network
from consumer.facts.countries import COUNTRIES, Country
from consumer.facts.engines import Engine, to_engine
from consumer.facts.identity import LoginSettings
from consumer.facts.money import to_minor
from consumer.facts.order_check import OrderCheck
from consumer.facts.taxids import TaxIdError, to_tax_id
from consumer.facts.trails import check_trail_url

# Longer than any word, and no key held down.
_SHORTEST_KEY, _FEWEST_LETTERS = 24, 8
_SHORTEST_PASSPHRASE = 16
# How PKCS #8 begins a private key of Ed25519; its 32 bytes follow.
_ED25519 = bytes.fromhex("302e020100300506032b657004220420")
_VISIBLE = re.compile(r"[!-~]+")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


def _to_list(value: object) -> object:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _check_address(value: str) -> str:
    try:
        parts = urlsplit(value)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or not _VISIBLE.fullmatch(value):
        raise ValueError("must be an http or https address")
    return value


def _check_url(value: str) -> str:
    """Refuse what cannot have a path put behind it, and a password, since this address is shown."""
    parts = urlsplit(_check_address(value))
    if parts.username is not None or "?" in value or "#" in value:
        raise ValueError("must be an http or https address without ?, # and a user")
    return value.rstrip("/")


def _check_hosts(values: tuple[str, ...]) -> tuple[str, ...]:
    if any(not _HOST.fullmatch(value) for value in values):
        raise ValueError("must be names of hosts such as files.provider.example")
    return values


def _check_one_line(value: str) -> str:
    if not value.isprintable():
        raise ValueError("must be one line of text")
    return value


def _check_secrets(values: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
    if any(not value.get_secret_value().strip() for value in values):
        raise ValueError("holds an empty secret")
    return tuple(map(_check_key, values))


def _check_key(value: SecretStr) -> SecretStr:
    if not _VISIBLE.fullmatch(value.get_secret_value()):
        raise ValueError("holds a blank, a control character or a letter outside ASCII")
    return value


def _check_strength(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if len(text) < _SHORTEST_KEY or len(set(text)) < _FEWEST_LETTERS:
        raise ValueError("can be guessed: take 32 random characters or more, such as openssl rand -base64 32 prints")
    return value


def _check_passphrase(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < _SHORTEST_PASSPHRASE:
        raise ValueError(f"can be guessed: take {_SHORTEST_PASSPHRASE} characters or more, such as five random words")
    return value


def _check_database(value: str) -> str:
    try:
        url = sa.make_url(value)
    except (sa.exc.ArgumentError, ValueError):  # the latter of a port that is no number
        raise ValueError("must look like sqlite:///file or postgresql+psycopg://user@host/name") from None
    if url.drivername not in {"sqlite", "postgresql+psycopg"}:
        raise ValueError("must begin with sqlite:/// or postgresql+psycopg://")
    if url.query.get("pooler", "transaction") != "transaction":
        raise ValueError("knows one kind of pooler, ?pooler=transaction; one that keeps sessions needs no word")
    if url.drivername == "sqlite" and url.query:
        raise ValueError("takes no ? with SQLite")
    if url.drivername == "sqlite" and url.database in {None, "", ":memory:"}:
        raise ValueError("must name a file: what lies in memory alone is lost")
    return value


def _check_replica(value: str) -> str:
    if not value.startswith("postgresql"):
        raise ValueError("must look like postgresql+psycopg://user@host/name")
    return _check_database(value)


def _to_networks(value: object) -> object:
    if not isinstance(value, (list, tuple)):
        return value
    try:
        # A number would be read as an address too.
        networks = tuple(ipaddress.ip_network(str(part)) for part in value)
    except ValueError:
        raise ValueError("must be addresses or networks such as 10.0.0.5 or 10.0.0.0/8") from None
    if any(network.prefixlen == 0 for network in networks):
        raise ValueError("would believe everyone: name the proxies alone")
    return networks


def _to_time(value: object) -> object:
    if isinstance(value, time):
        return value
    text = str(value)
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?", text):
        raise ValueError("must be a local time such as 03:15")
    return time.fromisoformat(text)


def _to_number(value: object) -> object:
    """Variables of the environment are text."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


def _to_hours(value: object) -> object:
    """Read `22:00-07:00`; hours may lie across midnight."""
    if isinstance(value, str):
        begins, _, ends = value.partition("-")
        try:
            return _to_time(begins.strip()), _to_time(ends.strip())
        except ValueError:
            raise ValueError("must be two local times such as 22:00-07:00") from None
    return value


def _check_hours(value: tuple[time, time]) -> tuple[time, time]:
    if value[0] == value[1]:
        raise ValueError("must be two local times that differ")
    return value


def _check_trail(value: SecretStr) -> SecretStr:
    check_trail_url(value.get_secret_value())
    return value


def _check_ping(value: SecretStr) -> SecretStr:
    _check_address(value.get_secret_value())
    return value


def check_tax_id(value: str | None, country: str, *, name: str = "tax_id") -> None:
    """Raise ValueError, without the id itself, if it is none of the country."""
    try:
        if value is not None:
            to_tax_id(value, country)
    except TaxIdError:
        form = "an RFC of 12 or 13 characters" if country == "mx" else "a RUT with its check digit"
        raise ValueError(f"{name} is not {form}") from None


def _check_signing_key(value: SecretStr) -> SecretStr:
    lines = value.get_secret_value().split("\n")
    try:
        content = base64.b64decode("".join(lines[1:-1]), validate=True)
    except ValueError:
        content = b""
    if not content.startswith(_ED25519) or len(content) != len(_ED25519) + 32:
        raise ValueError("is no private key of Ed25519 in PEM: openssl genpkey -algorithm ed25519 makes one")
    return value


Url = Annotated[str, AfterValidator(_check_url)]
Hosts = Annotated[tuple[str, ...], BeforeValidator(_to_list), AfterValidator(_check_hosts)]
Secrets = Annotated[tuple[SecretStr, ...], BeforeValidator(_to_list), AfterValidator(_check_secrets)]
Key = Annotated[SecretStr, Field(min_length=1), AfterValidator(_check_key)]
# Which documents a sale by card has in Chile: the voucher, a boleta, or both.
VoucherModel = Literal["voucher", "boleta", "both"]
LegalName = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_check_one_line)] | None
# Within how many months of a sale a note lowers its tax: two texts of the SII say three and six.
NoteMonths = Annotated[Literal[3, 6], BeforeValidator(_to_number)]
# When income counts in Mexico: as it is paid, as the tax office's letters compare it, or as it is issued (LISR 17).
IncomeBy = Literal["paid", "issued"]
# A year at most, so that no sum of times leaves the calendar.
Seconds = Annotated[int, Field(ge=0, le=31_536_000)]
SecretKey = Annotated[SecretStr, AfterValidator(_check_strength)]
Database = Annotated[str, AfterValidator(_check_database)]
Replica = Annotated[str, AfterValidator(_check_replica)]
Networks = Annotated[tuple[Network, ...], BeforeValidator(_to_networks), BeforeValidator(_to_list)]
_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1"))
EngineOf = Annotated[Engine, BeforeValidator(to_engine)]
TimeOfDay = Annotated[time, BeforeValidator(_to_time)]
Hours = Annotated[tuple[time, time], BeforeValidator(_to_hours), AfterValidator(_check_hours)]
TrailUrl = Annotated[SecretStr, AfterValidator(_check_trail)]
PingUrl = Annotated[SecretStr, AfterValidator(_check_ping)]


PREFIX = "CUADRE_"


class Approvals(BaseModel):
    """What needs a second person; `write_off` is the amount by currency above which accepted differences do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    closing: StrictBool = False
    refunds: StrictBool = False
    payers: StrictBool = False
    write_off: dict[str, int] | None = None

    @field_validator("write_off", mode="before")
    @classmethod
    def _to_minor(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        if any(isinstance(amount, float) for amount in value.values()):
            raise ValueError("must hold whole numbers, or decimals in quotes")
        limits = {currency: to_minor(str(amount), currency) for currency, amount in value.items()}
        if any(amount < 0 for amount in limits.values()):
            raise ValueError("must hold amounts of zero or more")
        return limits

    def needs_second(self, amount: int, currency: str) -> bool:
        """Return True if accepting a difference of this size needs a second person; no amount given, any does."""
        return self.write_off is not None and abs(amount) > self.write_off.get(currency, 0)


class ConfigError(Exception):
    """A setting that is missing, unknown or malformed; the message is one line that names it."""


class Connection(BaseModel):
    """One organisation in one mode at the provider."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")
    api_key: Key
    webhook_secrets: Secrets = ()
    link_tokens: Secrets = ()
    country_code: Literal["cl", "mx"] = Field(alias="country")
    mode: Literal["test", "live"]
    api_version: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._-]{1,40}$")
    legal_name: LegalName = None
    tax_id: str | None = Field(default=None, repr=False)
    provider_tax_id: str | None = None
    voucher_model: VoucherModel = "voucher"
    note_months: NoteMonths = 6
    income_by: IncomeBy = "paid"
    provider_url: Url = ""  # that of the settings, unless the connection has an address of its own

    @model_validator(mode="before")
    @classmethod
    def _mode_follows_from_the_key(cls, values: dict[str, object]) -> dict[str, object]:
        key = values.get("api_key")
        key = key.get_secret_value() if isinstance(key, SecretStr) else key
        if isinstance(key, str):
            of_key = "test" if key.startswith("sk_test_") else "live"
            if values.setdefault("mode", of_key) != of_key:
                raise ValueError(f"mode says {values['mode']} but the api_key is a {of_key} key")
        return values

    @model_validator(mode="after")
    def _tax_id_is_of_the_country(self) -> Self:
        check_tax_id(self.tax_id, self.country_code)
        check_tax_id(self.provider_tax_id, self.country_code, name="provider_tax_id")
        return self

    @property
    def country(self) -> Country:
        return COUNTRIES[self.country_code]


class Settings(LoginSettings):
    """The settings of one installation; secrets are masked wherever this is printed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider_url: Url
    api_key: Key
    country: Literal["cl", "mx"]
    database_url: Database = Field(repr=False)
    read_url: Replica | None = Field(default=None, repr=False)
    data_dir: Path
    shared_dir: Path | None = None
    config_dir: Path
    config_name: str = "cuadre.toml"
    api_version: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._-]{1,40}$")
    header_prefix: str = Field(default="Fintoc", pattern=r"^[A-Za-z][A-Za-z0-9-]{0,39}$")
    webhook_secrets: Secrets = ()
    link_tokens: Secrets = ()
    signature_tolerance: Annotated[Seconds, Field(gt=0)] = 300
    rate_limit: float = Field(default=25, gt=0, allow_inf_nan=False)
    settle_seconds: Seconds = 60
    # Runs leave out what closed days settled; not the default while pages read the newest run alone.
    horizon: bool = False
    overlap_seconds: Seconds = 3600
    nightly_at: TimeOfDay = time(3, 15)
    night_hours: float = Field(default=12, gt=0, le=168)
    max_body_bytes: int = Field(default=1048576, gt=0, le=1_000_000_000)
    max_attempts: int = Field(default=8, gt=0, le=1_000)
    retention_days: int = Field(default=400, gt=0, le=36_500)
    archive_days: int = Field(default=2_200, gt=0, le=36_500)
    retention_access_days: int = Field(default=90, ge=1, le=36_500)
    retention_trail_days: int = Field(default=0, ge=0, le=36_500)
    secret_key: SecretKey
    generated_key: Path | None = None
    public_url: Url | None = None
    trusted_proxies: Networks = _LOOPBACK
    engine: EngineOf = Engine()
    download_hosts: Hosts = ()
    alert_urls: Secrets = ()
    smtp_url: Key | None = None
    alert_digest_at: TimeOfDay | None = None
    quiet_hours: Hours | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    access_log: bool = False
    trail_url: TrailUrl | None = None
    ping_urls: dict[str, PingUrl] = Field(default_factory=dict)
    books_folder: Path | None = None
    backup_dir: Path | None = None
    backup_at: TimeOfDay = time(5, 30)
    backup_keep: int = Field(default=14, gt=0, le=10_000)
    backup_passphrase: Annotated[SecretStr, AfterValidator(_check_passphrase)] | None = None
    legal_name: LegalName = None
    tax_id: str | None = Field(default=None, repr=False)
    provider_tax_id: str | None = None
    voucher_model: VoucherModel = "voucher"
    note_months: NoteMonths = 6
    income_by: IncomeBy = "paid"
    signing_key: Annotated[SecretStr, AfterValidator(_check_signing_key)] | None = None
    tariff: dict[str, object] = Field(default_factory=dict)
    rules: dict[str, object] = Field(default_factory=dict)
    order_check: OrderCheck | None = None
    approvals: Approvals = Approvals()
    connections: tuple[Connection, ...] = ()

    _by_name: dict[str, Connection] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _add_the_main_connection(self) -> Self:
        check_tax_id(self.tax_id, self.country, name=f"{PREFIX}TAX_ID")
        check_tax_id(self.provider_tax_id, self.country, name=f"{PREFIX}PROVIDER_TAX_ID")
        main = Connection.model_validate(
            {
                "name": "main",
                "api_key": self.api_key,
                "webhook_secrets": self.webhook_secrets,
                "link_tokens": self.link_tokens,
                "country": self.country,
                "api_version": self.api_version,
                "legal_name": self.legal_name,
                "tax_id": self.tax_id,
                "provider_tax_id": self.provider_tax_id,
                "voucher_model": self.voucher_model,
                "note_months": self.note_months,
                "income_by": self.income_by,
            }
        )
        for connection in (main, *self.connections):
            if connection.name in self._by_name:
                raise ValueError(f"two connections are named {connection.name!r}")
            address = {"provider_url": connection.provider_url or self.provider_url}
            self._by_name[connection.name] = connection.model_copy(update=address)
        if self.order_check is not None and self.order_check.connection not in self._by_name:
            raise ValueError(f"[order_check] connection: there is no connection {self.order_check.connection!r}")
        return self

    @model_validator(mode="after")
    def _replica_has_a_primary(self) -> Self:
        if self.read_url is not None and self.database_url.startswith("sqlite"):
            raise ValueError("CUADRE_READ_URL names a replica, which only a PostgreSQL has")
        return self

    @model_validator(mode="after")
    def _login_is_whole(self) -> Self:
        self.check_login(public_url=self.public_url)
        return self

    @property
    def files_dir(self) -> Path:
        """Return where files lie that every machine must reach: uploads, the archive, inputs of runs, mappings."""
        return self.shared_dir or self.data_dir

    @property
    def all_connections(self) -> tuple[Connection, ...]:
        return tuple(self._by_name.values())

    def connection(self, name: str) -> Connection:
        """Return one connection by name, or raise ConfigError naming those there are."""
        found = self._by_name.get(name)
        if found is None:
            raise ConfigError(f"there is no connection {name!r}; there are {', '.join(sorted(self._by_name))}")
        return found
