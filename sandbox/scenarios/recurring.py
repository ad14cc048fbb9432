"""The subscribers of a Chilean merchant and everything else that customers leave behind when they agree to pay."""

from datetime import datetime, timedelta

from sandbox.scenarios.billing import DRAFT_FOR, Biller
from sandbox.scenarios.calendar import add_bank_days
from sandbox.scenarios.charges import monthly
from sandbox.scenarios.methods import LINK_LIFE, lose_method, save_method, to_payment_link
from sandbox.scenarios.plan import Span
from sandbox.scenarios.shop import Shop
from sandbox.scenarios.wire import Merchant, to_millis
from sandbox.state.happening import Happening

PLANS = (("Plan Bodega", 8, "CLP"), ("Plan Ruta", 14, "CLF"), ("Plan Vitrina", 20, "CLP"))


def recur(shop: Shop, merchant: Merchant, span: Span) -> None:
    """Three subscribers who pay every month, the second only at the second attempt, and four who do not."""
    for place, (plan, day, currency) in enumerate(PLANS):
        biller = to_biller(shop, merchant, plan, day, currency=currency)
        subscription = biller.subscribe(shop.chance.moment(span.since - timedelta(days=3 + place)))
        for on in monthly(shop.ledger, day=day):
            biller.fails_once = currency == "CLF" and on >= span.start
            biller.announce(subscription, on - timedelta(days=3))
            biller.bill(subscription, on)
    try_out(to_biller(shop, merchant, "Plan Prueba", 16), span)
    send_invoices(to_biller(shop, merchant, "Plan Factura", 5), span)
    incomplete = to_biller(shop, merchant, "Plan Inconcluso", 3)
    incomplete.subscribe(shop.chance.moment(span.coming()[3]), status="incomplete")
    agree(shop, span)


def to_biller(shop: Shop, merchant: Merchant, plan: str, day: int, *, currency: str = "CLP") -> Biller:
    """A new subscriber with a price of its own."""
    _, _, price = shop.chance.free_total(15_000, 90_000)
    return Biller(shop, merchant, shop.chance.company(), day, price, plan, currency)


def try_out(biller: Biller, span: Span) -> None:
    """A trial that begins before the start, ends after it, and turns into a subscription with another method."""
    chance = biller.shop.chance
    trial_end = chance.moment(span.coming()[6])
    begun = biller.subscribe(trial_end - timedelta(days=14), status="trialing") | {"trial_end": to_millis(trial_end)}
    biller.say(trial_end - timedelta(days=14), "subscriptions", begun)
    active = begun | {"status": "active"}
    biller.say(trial_end, "subscriptions", active)
    biller.bill(active, add_bank_days(span.coming()[6], 1, "cl"))
    at = chance.moment(span.coming()[8])
    biller.say(at, "subscriptions", active, "subscription.payment_method_update_failed")
    changed = active | {"payment_method": chance.id("pm")}
    biller.say(chance.later(at, 200, 900), "subscriptions", changed, "subscription.payment_method_updated")


def send_invoices(biller: Biller, span: Span) -> None:
    """A subscriber who gets invoices by mail: one paid elsewhere, one voided, then no more."""
    chance = biller.shop.chance
    begun = biller.subscribe(chance.moment(span.past()[0]), method="send_invoice")
    for on, end, event in ((span.past()[1], "paid", "invoice.paid"), (span.coming()[2], "void", "invoice.voided")):
        created_at = chance.moment(on)
        opened = biller.open(biller.draft(begun, created_at), created_at)
        ended = opened | {"status": end, "external_payment": end == "paid"}
        biller.say(created_at + DRAFT_FOR + timedelta(days=2), "invoices", ended, event)
    biller.say(chance.moment(span.coming()[7]), "subscriptions", begun | {"status": "canceled"})


def agree(shop: Shop, span: Span) -> None:
    """Methods saved and lost, links sent, and consents to direct debit that worked or did not."""
    chance, told = shop.chance, shop.ledger.happenings
    coming = span.coming()
    told += save_method(chance, "bank_transfer", chance.human(), chance.moment(coming[1]))
    told += save_method(chance, "pac", chance.human(), chance.moment(span.past()[2]))
    told += lose_method(chance, "pac", chance.human(), chance.moment(coming[2]))
    for on, end in (
        (span.past()[3], "expired"),
        (coming[3], "canceled"),
        (coming[9], "active"),
        (coming[11], "active"),
    ):
        at = chance.moment(on)
        link = to_payment_link(chance, chance.price(), shop.ledger.currency, at, status="active")
        told.append(Happening(at, "payment_links", link))
        if end != "active":
            told.append(Happening(at + LINK_LIFE, "payment_links", link | {"status": end}))
    for on, end, error in ((coming[4], "succeeded", None), (coming[5], "failed", "login_invalid_credentials"),
                           (coming[6], "rejected", None)):  # fmt: skip
        told += consent(shop, chance.moment(on), end, error)


def consent(shop: Shop, at: datetime, end: str, error: str | None) -> list[Happening]:
    """A widget in which somebody allows direct debit, or does not."""
    started = {
        "id": shop.chance.id("si", 20),
        "object": "subscription_intent",
        "mode": "test",
        "status": "created",
        "subscription": None,
        "public_error": None,
        "widget_token": None,
        "business_profile": None,
        "created_at": to_millis(at),
    }
    ended = started | {"status": end, "public_error": error}
    ended_at = shop.chance.later(at, 60, 400)
    return [
        Happening(at, "subscription_intents", started),
        Happening(ended_at, "subscription_intents", ended, f"subscription_intent.{end}"),
    ]
