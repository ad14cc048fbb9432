"""The Movements API: a link to the merchant's account at another bank, and what was read there."""

from dataclasses import replace
from datetime import datetime, time, timedelta

from sandbox.scenarios.calendar import at_local, local_date
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.people import Merchant, to_account, to_millis, to_object, to_provider_tax_id
from sandbox.scenarios.plan import Span
from sandbox.state.happening import Happening
from sandbox.state.store import Object

EVERY = timedelta(days=3)
BALANCE = 1_820_500
LINK_TOKENS = {"cl": "link_sandboxcl_token_7Q2m", "mx": "link_sandboxmx_token_4K9p"}


def connect(chance: Chance, merchant: Merchant, span: Span, currency: str) -> tuple[str, list[Happening]]:
    """Return the link's id and the happenings of its account, movements and refreshes."""
    at = chance.moment(span.since - timedelta(days=60))
    holder = {"holder_id": to_provider_tax_id(merchant.tax_id), "holder_name": merchant.name}
    account = to_object(
        "account",
        chance.id("acc"),
        type="checking_account",
        number=chance.digits(10),
        name="Cuenta corriente",
        official_name="Cuenta Corriente Empresa",
        currency=currency,
        balance={"available": BALANCE, "current": BALANCE, "limit": BALANCE},
        refreshed_at=to_millis(at),
        **holder,
    )
    institution = "cl_banco_santander" if merchant.country == "cl" else "mx_banco_santander"
    link: Object = to_object(
        "link",
        chance.id("link"),
        link_token=LINK_TOKENS[merchant.country],
        username=holder["holder_id"],
        holder_type="business",
        institution={"id": institution, "name": "Banco Santander", "country": merchant.country},
        active=True,
        status="active",
        accounts=None,
        created_at=to_millis(at),
        **holder,
    )
    owned = account | {"_link": link["id"]}
    happenings = [Happening(at, "links", link), Happening(at, "link_accounts", owned)]
    happenings += read(chance, span, owned)
    happenings += lose_credentials(chance, span, link)
    return link["id"], happenings


def read(chance: Chance, span: Span, account: Object) -> list[Happening]:
    """Return a refresh every three days with the movements since the last; one fails, one changes a movement."""
    happenings: list[Happening] = []
    day, balance, rows = span.since, BALANCE, []
    while day < span.until:
        at = at_local(day, time(7, 30), span.country)
        fresh = [
            to_movement(chance, account, at - timedelta(hours=chance.whole(8, 60))) for _ in range(chance.whole(1, 4))
        ]
        happenings += [Happening(at, "link_movements", row) for row in fresh]
        if day < span.start <= day + EVERY:  # the newest one is not through yet when the clock starts
            happenings[-1] = replace(happenings[-1], object=fresh[-1] | {"status": "pending", "pending": True})
            happenings.append(Happening(at + EVERY, "link_movements", fresh[-1]))
        balance += sum(row["amount"] for row in fresh)
        rows += fresh
        happenings.append(tell_refresh(chance, account, at, "succeeded", len(fresh)))
        held = account["balance"] | {"available": balance, "current": balance}
        happenings.append(Happening(at, "link_accounts", account | {"balance": held, "refreshed_at": to_millis(at)}))
        day += EVERY
    failed_at = at_local(span.coming()[5], time(12), span.country)
    happenings.append(tell_refresh(chance, account, failed_at, "failed", 0))
    happenings.append(tell_refresh(chance, account, failed_at + timedelta(days=3), "rejected", 0))
    for row, change, event in ((rows[-2], {"comment": "corregido"}, "movements_modified"),
                               (rows[-3], {"status": "reversed"}, "movements_removed")):  # fmt: skip
        at = at_local(span.until - timedelta(days=1), time(9), span.country)
        happenings += [Happening(at, "link_movements", row | change), tell_refresh(chance, account, at, event, 0)]
    return happenings


def to_movement(chance: Chance, account: Object, at: datetime) -> Object:
    """Return a signed movement, about half of them transfers with a known other side."""
    other = chance.company() if chance.happens(50) else None
    amount = chance.whole(9_000, 450_000)
    inward = chance.happens(50)
    side = None
    if other is not None:
        institution = {"id": other.institution, "name": None, "country": chance.country}
        side = to_account(other) | {"holder_name": other.name, "institution": institution}
    return to_object(
        "movement",
        chance.id("mov"),
        _account=account["id"],
        _link=account["_link"],
        amount=amount if inward else -amount,
        currency=account["currency"],
        description="Transferencia" if other else "Pago en línea",
        comment=None,
        post_date=f"{local_date(at, chance.country).isoformat()}T00:00:00.000Z",
        transaction_date=None if chance.happens(20) else to_millis(at),
        type="transfer" if other else "other",
        pending=False,
        status="confirmed",
        reference_id=None,
        document_number=chance.digits(6) if chance.happens(30) else None,
        transfer_id=None,
        sender_account=side if inward else None,
        recipient_account=None if inward else side,
    )


def tell_refresh(chance: Chance, account: Object, at: datetime, end: str, count: int) -> Happening:
    """Return the end of a refresh of one account."""
    error = chance.pick(("retryable_error", "support_required_error")) if end == "failed" else None
    intent = to_object(
        "refresh_intent",
        chance.id("ri"),
        refreshed_object="account",
        refreshed_object_id=account["id"],
        status=end if end in {"failed", "rejected"} else "succeeded",
        public_error=error,
        type="only_last",
        new_movements=count,
        requires_mfa=None,
        created_at=to_millis(at),
        _link=account["_link"],
    )
    return Happening(at, "refresh_intents", intent, f"account.refresh_intent.{end}")


def lose_credentials(chance: Chance, span: Span, link: Object) -> list[Happening]:
    """Return a change of the bank's password: a refresh of the whole link fails and later works again."""
    at = chance.moment(span.coming()[10])
    happenings = [Happening(at, "links", link | {"status": "login_required"}, "link.credentials_changed")]
    for place, end in enumerate(("failed", "succeeded")):
        ended_at = at + timedelta(hours=2 + 20 * place)
        intent = to_object(
            "refresh_intent",
            chance.id("ri"),
            refreshed_object="link",
            refreshed_object_id=link["id"],
            status=end,
            public_error="support_required_error" if end == "failed" else None,
            type="historical",
            new_movements=0,
            requires_mfa=None,
            created_at=to_millis(ended_at),
            _link=link["id"],
        )
        happenings.append(Happening(ended_at, "refresh_intents", intent, f"link.refresh_intent.{end}"))
    happenings.append(Happening(at + timedelta(hours=22), "links", link))
    return happenings
