"""Subscriptions: their first invoice, renewals, items, methods, and sessions that begin them."""

import httpx

from tests.sandbox.conftest import Object, advance, event_types, make, read, refusal

HOUR = 3600
DAY = 24 * HOUR


PRICE = {"currency": "CLP", "unit_amount": 9000, "product_data": {"name": "Plan"}}


ITEM = {"price_data": PRICE, "quantity": 2, "description": "Two plans"}


SUBSCRIPTION: Object = {"customer": "cus_1", "items": [ITEM]}


def invoices_of(client: httpx.Client, subscription: str) -> list[Object]:
    found: list[Object] = read(client, f"/v2/invoices?subscription={subscription}")
    return found


def test_a_subscription_becomes_active_when_its_first_payment_is_credited(billing: httpx.Client) -> None:
    """It begins incomplete; its first invoice is final at once and paid seconds later, in the provider's order."""
    made = make(billing, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_active")
    assert made["status"] == "incomplete"

    advance(billing, 10)

    assert read(billing, f"/v2/subscriptions/{made['id']}")["status"] == "active"
    (invoice,) = invoices_of(billing, made["id"])
    assert (invoice["status"], invoice["total"]) == ("paid", 18_000)
    assert invoice["payments"][0]["status"] == "succeeded"
    assert event_types(billing, invoice["id"]) == [
        "invoice.created",
        "invoice.finalized",
        "invoice.payment_created",
        "invoice.payment_succeeded",
        "invoice.paid",
    ]


def test_a_subscription_whose_charge_fails_stays_incomplete(billing: httpx.Client) -> None:
    """The invoice stays open and gets a page to pay on."""
    made = make(billing, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_poor")

    advance(billing, 10)

    assert read(billing, f"/v2/subscriptions/{made['id']}")["status"] == "incomplete"
    (invoice,) = invoices_of(billing, made["id"])
    assert invoice["status"] == "open"
    assert invoice["hosted_invoice_url"].startswith("https://")
    assert event_types(billing, invoice["id"])[-1] == "invoice.payment_failed"


def test_a_sent_invoice_needs_no_method(billing: httpx.Client) -> None:
    """The subscription is active at once and its invoice open, with a page."""
    made = make(billing, "/v2/subscriptions", **SUBSCRIPTION, collection_method="send_invoice")

    assert made["status"] == "active"
    (invoice,) = invoices_of(billing, made["id"])
    assert (invoice["status"], invoice["payments"]) == ("open", [])
    assert invoice["hosted_invoice_url"]


def test_a_trial_bills_nothing_until_it_ends(billing: httpx.Client) -> None:
    """The first invoice comes with the trial's end, a day ahead at least."""
    short = billing.post("/v2/subscriptions", json={**SUBSCRIPTION, "trial_end": "2026-10-02T02:59:59Z"})
    assert refusal(short) == (400, "invalid_date", "trial_end")
    made = make(
        billing, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_active", trial_end="2026-10-03T03:00:00Z"
    )
    assert made["status"] == "trialing"

    advance(billing, 2 * DAY - 1)
    assert invoices_of(billing, made["id"]) == []
    advance(billing, 10)

    assert invoices_of(billing, made["id"])[0]["status"] == "paid"
    assert read(billing, f"/v2/subscriptions/{made['id']}")["status"] == "active"


def test_a_renewal_is_announced_drafted_and_final_an_hour_later(billing: httpx.Client) -> None:
    """Three days before, a preview without an id; a month after the first, a draft, paid after an hour."""
    made = make(billing, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_active")

    advance(billing, 29 * DAY)
    (preview,) = read(billing, "/v2/events?type=invoice.upcoming")
    assert (preview["data"]["id"], preview["data"]["total"]) == (None, 18_000)
    advance(billing, 2 * DAY)
    assert [row["status"] for row in invoices_of(billing, made["id"])] == ["draft", "paid"]
    advance(billing, HOUR + 10)

    assert [row["status"] for row in invoices_of(billing, made["id"])] == ["paid", "paid"]


def test_a_clf_price_is_billed_in_pesos(billing: httpx.Client) -> None:
    """Half a unit of account inside a subscription in pesos; a Mexican price is not compatible."""
    clf = {**ITEM, "quantity": 1, "price_data": {**PRICE, "currency": "CLF", "unit_amount": 5000}}
    peso = {**ITEM, "price_data": {**PRICE, "currency": "MXN"}}
    made = make(billing, "/v2/subscriptions", customer="cus_1", items=[clf], collection_method="send_invoice")

    assert made["currency"] == "CLP"
    assert invoices_of(billing, made["id"])[0]["total"] == 19_500
    answer = billing.post("/v2/subscriptions", json={"customer": "cus_1", "items": [clf, peso]})
    assert refusal(answer) == (400, "currency_mismatch", "items")


def test_a_canceled_subscription_is_not_editable(billing: httpx.Client) -> None:
    """Canceling again, changing and billing are over."""
    made = make(billing, "/v2/subscriptions", **SUBSCRIPTION, collection_method="send_invoice")
    path = f"/v2/subscriptions/{made['id']}"

    assert billing.post(f"{path}/cancel").json()["status"] == "canceled"

    assert refusal(billing.post(f"{path}/cancel")) == (409, "subscription_not_editable", "id")
    assert refusal(billing.patch(path, json={"payment_method": "pm_active"})) == (
        409,
        "subscription_not_editable",
        "id",
    )
    advance(billing, 40 * DAY)
    assert len(invoices_of(billing, made["id"])) == 1


def test_changing_the_method_charges_nothing(billing: httpx.Client) -> None:
    """The open invoice stays unpaid; the change is announced, a failed one too."""
    made = make(billing, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_poor")
    advance(billing, 10)
    path = f"/v2/subscriptions/{made['id']}"

    assert refusal(billing.patch(path, json={})) == (
        400,
        "missing_parameter",
        "trial_end, payment_method or collection_method",
    )
    assert refusal(billing.patch(path, json={"payment_method": "pm_foreign"})) == (
        400,
        "invalid_params",
        "payment_method",
    )
    assert refusal(billing.patch(path, json={"payment_method": "pm_expired"}))[1] == "payment_method_inactive"
    assert billing.patch(path, json={"payment_method": "pm_active"}).json()["payment_method"] == "pm_active"
    advance(billing, 60)

    assert event_types(billing, made["id"]) == [
        "subscription.payment_method_update_failed",
        "subscription.payment_method_updated",
    ]
    assert invoices_of(billing, made["id"])[0]["status"] == "open"
    assert billing.patch(path, json={"collection_method": "send_invoice"}).json()["collection_method"] == "send_invoice"


def test_detaching_clears_the_method_of_unpaid_invoices(billing: httpx.Client) -> None:
    """Open invoices forget it, void ones keep it; without a method it stays as it is, without an event."""
    made = make(
        billing, "/v2/subscriptions", **SUBSCRIPTION, collection_method="send_invoice", payment_method="pm_active"
    )
    path = f"/v2/subscriptions/{made['id']}/payment_method"
    advance(billing, 31 * DAY)
    newer, older = invoices_of(billing, made["id"])
    billing.post(f"/v2/invoices/{older['id']}/void")

    assert billing.delete(path).json()["payment_method"] is None
    assert billing.delete(path).json()["payment_method"] is None

    assert event_types(billing, made["id"]) == ["subscription.payment_method_updated"]
    assert read(billing, f"/v2/invoices/{newer['id']}")["default_payment_method"] is None
    assert read(billing, f"/v2/invoices/{older['id']}")["default_payment_method"] == "pm_active"


def test_an_automatic_or_canceled_subscription_keeps_its_method(billing: httpx.Client) -> None:
    """Detaching is a conflict there."""
    made = make(billing, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_active")
    sent = make(billing, "/v2/subscriptions", **SUBSCRIPTION, collection_method="send_invoice")
    billing.post(f"/v2/subscriptions/{sent['id']}/cancel")

    for id_ in (made["id"], sent["id"]):
        assert billing.delete(f"/v2/subscriptions/{id_}/payment_method").status_code == 409


def test_items_are_added_changed_and_removed(billing: httpx.Client) -> None:
    """The last one cannot go; a known product is taken as it is."""
    made = make(billing, "/v2/subscriptions", **SUBSCRIPTION, collection_method="send_invoice")
    items = f"/v2/subscriptions/{made['id']}/items"
    first = made["items"][0]
    product = first["price"]["product"]["id"]
    added = make(billing, items, price_data={"currency": "CLP", "unit_amount": 100, "product": product})

    assert billing.post(f"{items}/{added['id']}", json={"quantity": 5, "name": "Extra"}).json()["quantity"] == 5
    assert [row["quantity"] for row in read(billing, items)] == [2, 5]
    assert read(billing, "/v2/products")[0]["id"] == product
    assert billing.delete(f"{items}/{first['id']}").json()["id"] == first["id"]

    assert refusal(billing.delete(f"{items}/{added['id']}")) == (409, "last_subscription_item", "id")
    assert refusal(billing.post(f"{items}/{first['id']}", json={}))[0] == 404


def test_the_payment_is_told_after_what_it_paid(billing: httpx.Client) -> None:
    """The order of a cycle's events ends with the payment intent."""
    make(billing, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_active")

    advance(billing, 10)

    assert [event["type"] for event in read(billing, "/v2/events?limit=3")] == [
        "payment_intent.succeeded",
        "invoice.paid",
        "invoice.payment_succeeded",
    ]


def test_a_setup_session_leaves_a_card(billing: httpx.Client) -> None:
    """The setup intent names the saved method; a subscription it points at is charged with it from then on."""
    subscription = make(billing, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_poor")["id"]
    session = make(billing, "/v2/checkout_sessions", flow="setup", customer="cus_1", subscription=subscription)

    make(billing, "/_sandbox/pay", id=session["id"])

    setup = read(billing, f"/v2/setup_intents/{session['setup_intent']['id']}")
    assert setup["status"] == "succeeded"
    assert read(billing, f"/v2/payment_methods/{setup['payment_method']}")["type"] == "card"
    assert read(billing, f"/v2/subscriptions/{subscription}")["payment_method"] == setup["payment_method"]
    assert event_types(billing, subscription) == ["subscription.payment_method_updated"]


def test_a_failed_setup_saves_nothing(billing: httpx.Client) -> None:
    """The session is over, the intent failed and bears its reason."""
    session = make(billing, "/v2/checkout_sessions", flow="setup", customer="cus_1")
    before = len(read(billing, "/v2/payment_methods"))

    make(billing, "/_sandbox/pay", id=session["id"], outcome="failed")

    setup = read(billing, f"/v2/setup_intents/{session['setup_intent']['id']}")
    assert (setup["status"], setup["error_reason"]) == ("failed", "card_declined")
    assert len(read(billing, "/v2/payment_methods")) == before


def test_a_subscription_session_begins_a_subscription(billing: httpx.Client) -> None:
    """The card that was left is charged for the first invoice."""
    session = make(billing, "/v2/checkout_sessions", flow="subscription", customer="cus_1", line_items=[ITEM])

    make(billing, "/_sandbox/pay", id=session["id"])
    advance(billing, 10)

    (subscription,) = read(billing, "/v2/subscriptions?customer=cus_1")
    assert subscription["status"] == "active"
    assert invoices_of(billing, subscription["id"])[0]["total"] == 18_000
    assert event_types(billing, session["id"]) == ["checkout_session.finished"]


def test_a_product_is_made_by_itself(billing: httpx.Client) -> None:
    """It has a name at least, and an item can name it."""
    made = make(billing, "/v2/products", name="Gym", metadata={"sku": "1"})

    assert (made["object"], made["name"], made["description"], made["metadata"]) == (
        "product", "Gym", None, {"sku": "1"}
    )  # fmt: skip
    assert read(billing, "/v2/products") == [made]
    assert refusal(billing.post("/v2/products", json={})) == (400, "missing_parameter", "name")
