"""Pure: the account map of `accounts.toml`: which account each key has, by connection and means of payment."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from consumer.facts.messages import RefusalError
from consumer.facts.money import MoneyError, to_minor
from consumer.facts.taxids import TaxIdError, to_tax_id
from reconcile.journal.postings import KEYS, REASONS

FILE = "accounts.toml"
CHARTS = Path(__file__).parent / "charts"
_CLEARING = "clearing"
_ROUNDING = 5


class AccountsError(RefusalError):
    """Why the account map cannot be used; the message names the key and what to do."""


class Account(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An account of the merchant's own plan, and the key of the map it has."""

    key: str
    code: str
    name: str = ""
    cost_centre: str = ""


class _Written(Struct, frozen=True, forbid_unknown_fields=True):
    code: str
    name: str = ""
    cost_centre: str = ""


class _Provider(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose tax documents clear the fees."""

    tax_id: str


_Codes = dict[str, str | _Written]


class _Section(Struct, frozen=True, forbid_unknown_fields=True):
    chart: Literal["cl", "mx"] | None = None
    provider: _Provider | None = None
    rounding: dict[str, str] = msgspec.field(default_factory=dict)
    profiles: tuple[str, ...] = ()
    options: dict[str, str] = msgspec.field(default_factory=dict)
    accounts: _Codes = msgspec.field(default_factory=dict)
    means: dict[str, _Codes] = msgspec.field(default_factory=dict)
    differences: _Codes = msgspec.field(default_factory=dict)


class _File(_Section, frozen=True, forbid_unknown_fields=True):
    connections: dict[str, _Section] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AccountMap:
    """The accounts of one connection."""

    connection: str
    provider_tax_id: str | None
    _layers: tuple[_Section, ...]

    def find(self, key: str, part: str = "") -> Account | None:
        """Return the account of a key for a means of payment or a reason, else its one account; None without one."""
        for section in self._layers:
            if KEYS[key].by_reason and part in section.differences:
                return _to_account(key, section.differences[part])
            for codes in (section.means.get(part, {}), section.accounts):
                if key in codes:
                    return _to_account(key, codes[key])
        return None

    def rounding_limit(self, currency: str) -> int:
        """Return the largest difference, in minor units, that is rounding."""
        for section in self._layers:
            if currency in section.rounding:
                return to_minor(section.rounding[currency], currency)
        return _ROUNDING

    @property
    def profiles(self) -> tuple[str, ...]:
        """Return the layouts of the ledger, where the file names some."""
        return next((section.profiles for section in self._layers if section.profiles), ())

    @property
    def options(self) -> Mapping[str, str]:
        """Return the values that layouts ask for, those of the connection before those of all."""
        return {name: value for section in reversed(self._layers) for name, value in section.options.items()}

    def all_accounts(self) -> Iterator[tuple[str, Account]]:
        """Yield every account that can be found, with the means of payment or the reason it is for."""
        parts = sorted({name for section in self._layers for name in (*section.means, *section.differences)})
        for key in KEYS:
            general = self.find(key)
            for name in ("", *parts):
                account = self.find(key, name)
                if account is not None and (name == "" or account != general):
                    yield name, account


def read_accounts(text: str, connection: str, country: str, known_connections: tuple[str, ...]) -> AccountMap:
    """Return the accounts of one connection; raise AccountsError if the file is not one of accounts."""
    file = _parse(text, FILE, _File)
    unknown = sorted(set(file.connections) - set(known_connections))
    if unknown:
        raise AccountsError("journal.unknown_connection", name=unknown[0], known=", ".join(known_connections))
    own = file.connections.get(connection, _Section())
    sections: list[_Section] = []
    for section in (own, file):
        _check(section, country)
        sections += [section, *([_chart(section.chart)] if section.chart else [])]
    provider = own.provider or file.provider
    found = AccountMap(connection, _to_provider(provider, country), tuple(sections))
    _check_clearing(found)
    return found


def _parse(text: str, name: str, kind: type[_File]) -> _File:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise AccountsError("journal.accounts_unreadable", file=name, problem=str(problem)) from None
    # A number would lose zeros and points at its end: 1.10 is 1.1.
    if number := next(_find_numbers(tables), None):
        raise AccountsError("journal.account_number", file=name, key=number)
    try:
        return msgspec.convert(tables, kind)
    except msgspec.ValidationError as problem:
        raise AccountsError("journal.accounts_unreadable", file=name, problem=str(problem)) from None


def _find_numbers(tables: Mapping[str, object]) -> Iterator[str]:
    """Yield the names of values that are numbers, as a reader finds them in the file."""
    for key, value in tables.items():
        if isinstance(value, dict):
            yield from (f"{key}.{name}" for name in _find_numbers(value))
        elif isinstance(value, int | float):
            yield key


@cache
def _chart(country: str) -> _Section:
    return _parse((CHARTS / f"{country}.toml").read_text(encoding="utf-8"), f"{country}.toml", _File)


def _check(section: _Section, country: str) -> None:
    for codes in (section.accounts, *section.means.values()):
        for key, written in codes.items():
            if key not in KEYS:
                raise AccountsError("journal.unknown_key", key=key, known=", ".join(KEYS))
            _check_code(key, written)
    for reason, written in section.differences.items():
        if reason not in REASONS:
            raise AccountsError("journal.unknown_reason", reason=reason, known=", ".join(REASONS))
        _check_code(f"differences.{reason}", written)
    for means, codes in section.means.items():
        fixed = sorted(key for key in codes if not KEYS[key].by_means)
        if fixed:
            raise AccountsError("journal.not_by_means", key=fixed[0], means=means)
    _check_limits(section)
    _to_provider(section.provider, country)


def _check_limits(section: _Section) -> None:
    for currency, limit in section.rounding.items():
        try:
            is_negative = to_minor(limit, currency) < 0
        except MoneyError:
            is_negative = True
        if is_negative:
            raise AccountsError("journal.rounding_limit", currency=currency, limit=limit)


def _check_code(key: str, written: str | _Written) -> None:
    code, account = written if isinstance(written, str) else written.code, _to_account(key, written)
    if not account.code or not f"{code}{account.name}{account.cost_centre}".isprintable():
        raise AccountsError("journal.empty_account", key=key)


def _to_provider(provider: _Provider | None, country: str) -> str | None:
    try:
        return None if provider is None else to_tax_id(provider.tax_id, country)
    except TaxIdError:
        raise AccountsError("journal.provider_tax_id") from None


def _check_clearing(accounts: AccountMap) -> None:
    """Refuse a clearing account with other postings: its balance would not be the money in transit."""
    clearing = accounts.find(_CLEARING)
    for _, account in accounts.all_accounts():
        if clearing is not None and account.key != _CLEARING and account.code == clearing.code:
            raise AccountsError("journal.clearing_shared", code=account.code, key=account.key)


def _to_account(key: str, written: str | _Written) -> Account:
    if isinstance(written, str):
        return Account(key, written.strip())
    return Account(key, written.code.strip(), written.name, written.cost_centre)
