"""The settings in force, with every secret left out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import time
from decimal import Decimal

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue
from pydantic import SecretStr

from consumer.facts.installation import Approvals
from consumer.facts.messages import translate
from reports.pages import desk
from reports.shapes import notation

blueprint = Blueprint("settings", __name__, url_prefix="/settings")

# The address of the database may hold its password; the tables have places of their own.
_HIDDEN = {"database_url", "connections", "tariff", "rules", "order_check", "oidc", "config_dir"}
_PERCENT, _VAT = 100, "vat_bps"


@dataclass(frozen=True, slots=True)
class Price:
    """What one means of payment costs: a share in percent, a fixed amount, or both."""

    name: str
    percent: str
    flat: str


@blueprint.get("")
def show() -> ResponseReturnValue:
    settings = desk.installation().settings
    names = (name for name in sorted(type(settings).model_fields) if name not in _HIDDEN)
    tariff: Mapping[str, object] = settings.tariff or {}
    return render_template(
        "settings.html",
        # They are of the whole installation, and its own connection's are among them.
        rows=[(name, _describe(getattr(settings, name))) for name in names] if desk.reader().limit is None else [],
        database=settings.database_url.partition(":")[0],
        currency=_currency(),
        prices=list(_prices(tariff)),
        vat=_percent(tariff[_VAT]) if _VAT in tariff else None,
        rules=sorted((settings.rules or {}).items()),
    )


def _prices(tariff: Mapping[str, object]) -> Iterator[Price]:
    """List prices as the tariff writes them; amounts and shares may be decimals in quotes."""
    for name, price in tariff.items():
        if isinstance(price, Mapping):
            parts = {key: price[key] for key in ("bps", "flat") if key in price}
            yield Price(name, _percent(parts["bps"]) if "bps" in parts else "", _flat(parts.get("flat")))


def _percent(bps: object) -> str:
    return format(Decimal(str(bps)) / _PERCENT, ".2f")


def _flat(minor: object) -> str:
    if minor is None:
        return ""
    currency, amount = _currency(), Decimal(str(minor))
    whole = amount == amount.to_integral_value()
    return notation.format_amount(int(amount), currency, desk.language()) if whole else str(minor)


def _currency() -> str:
    """Return the currency of the tariff, which is of the connection that the settings themselves make."""
    return desk.currency_of("main")


def _describe_approvals(value: Approvals) -> Iterator[str]:
    yield from (name for name in ("closing", "refunds", "payers") if getattr(value, name))
    if value.write_off is not None:
        amounts = (notation.format_amount(limit, name, desk.language()) for name, limit in value.write_off.items())
        yield " ".join(["write_off", *(f"> {a} {name}" for a, name in zip(amounts, value.write_off, strict=True))])


def _describe(value: object) -> str | None:
    """Return a setting as text; of secrets only how many there are."""
    language = desk.language()
    match value:
        case SecretStr():
            return translate("set", language)
        case tuple() if value and isinstance(value[0], SecretStr):
            return translate("{n} set", language, n=len(value)) if len(value) > 1 else translate("1 set", language)
        case tuple() if value and isinstance(value[0], time):
            return "–".join(at.strftime("%H:%M") for at in value)
        case dict():
            return ", ".join(sorted(value)) or None
        case tuple():
            return ", ".join(map(str, value)) or None
        case time():
            return value.strftime("%H:%M")
        case bool():
            # As cuadre.toml writes it.
            return str(value).lower()
        case int():
            return notation.format_count(value, language)
        case Approvals():
            return ", ".join(_describe_approvals(value)) or None
    return None if value is None or value == {} else str(value)
