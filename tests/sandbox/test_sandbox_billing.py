"""Recurring billing: payment methods, subscriptions, their items and their invoices."""

from typing import Any

import httpx
import pytest

from tests.sandbox.conftest import PDF, Object, Open, advance, customer, make, read, refusal, saved_method, told, trade

HOUR = 3600
DAY = 24 * HOUR
PRICE = {"currency": "CLP", "unit_amount": 9000, "product_data": {"name": "Plan"}}
ITEM = {"price_data": PRICE, "quantity": 2, "description": "Two plans"}
SUBSCRIPTION: Object = {"customer": "cus_1", "items": [ITEM]}
LINE = {"amount": 500, "quantity": 3, "description": "Boxes"}
INVOICE: Object = {"customer": "cus_1", "currency": "CLP", "default_payment_method": "pm_active", "lines": [LINE]}


@pytest.fixture
def shop(open_sandbox: Open) -> httpx.Client:
    """Two customers; the first has an active, an expired and a poor method."""
    poor = saved_method("active", id="pm_poor", metadata={"sandbox_outcome": "failed"})
    foreign = saved_method("active", customer="cus_2", id="pm_foreign")
    return open_sandbox(trade(customer(), customer("cus_2"), saved_method(), saved_method("expired"), poor, foreign))


def invoices_of(client: httpx.Client, subscription: str) -> list[Object]:
    found: list[Object] = read(client, f"/v2/invoices?subscription={subscription}")
    return found


def test_a_subscription_becomes_active_when_its_first_payment_is_credited(shop: httpx.Client) -> None:
    """It begins incomplete; its first invoice is final at once and paid seconds later, in the provider's order."""
    made = make(shop, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_active")
    assert made["status"] == "incomplete"

    advance(shop, 10)

    assert read(shop, f"/v2/subscriptions/{made['id']}")["status"] == "active"
    (invoice,) = invoices_of(shop, made["id"])
    assert (invoice["status"], invoice["total"]) == ("paid", 18_000)
    assert invoice["payments"][0]["status"] == "succeeded"
    assert told(shop, invoice["id"]) == [
        "invoice.created",
        "invoice.finalized",
        "invoice.payment_created",
        "invoice.payment_succeeded",
        "invoice.paid",
    ]


def test_a_subscription_whose_charge_fails_stays_incomplete(shop: httpx.Client) -> None:
    """The invoice stays open and gets a page to pay on."""
    made = make(shop, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_poor")

    advance(shop, 10)

    assert read(shop, f"/v2/subscriptions/{made['id']}")["status"] == "incomplete"
    (invoice,) = invoices_of(shop, made["id"])
    assert invoice["status"] == "open"
    assert invoice["hosted_invoice_url"].startswith("https://")
    assert told(shop, invoice["id"])[-1] == "invoice.payment_failed"


def test_a_sent_invoice_needs_no_method(shop: httpx.Client) -> None:
    """The subscription is active at once and its invoice open, with a page."""
    made = make(shop, "/v2/subscriptions", **SUBSCRIPTION, collection_method="send_invoice")

    assert made["status"] == "active"
    (invoice,) = invoices_of(shop, made["id"])
    assert (invoice["status"], invoice["payments"]) == ("open", [])
    assert invoice["hosted_invoice_url"]


def test_a_trial_bills_nothing_until_it_ends(shop: httpx.Client) -> None:
    """The first invoice comes with the trial's end, a day ahead at least."""
    short = shop.post("/v2/subscriptions", json={**SUBSCRIPTION, "trial_end": "2026-10-02T02:59:59Z"})
    assert refusal(short) == (400, "invalid_date", "trial_end")
    made = make(shop, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_active", trial_end="2026-10-03T03:00:00Z")
    assert made["status"] == "trialing"

    advance(shop, 2 * DAY - 1)
    assert invoices_of(shop, made["id"]) == []
    advance(shop, 10)

    assert invoices_of(shop, made["id"])[0]["status"] == "paid"
    assert read(shop, f"/v2/subscriptions/{made['id']}")["status"] == "active"


def test_a_renewal_is_announced_drafted_and_final_an_hour_later(shop: httpx.Client) -> None:
    """Three days before, a preview without an id; a month after the first, a draft, paid after an hour."""
    made = make(shop, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_active")

    advance(shop, 29 * DAY)
    (preview,) = read(shop, "/v2/events?type=invoice.upcoming")
    assert (preview["data"]["id"], preview["data"]["total"]) == (None, 18_000)
    advance(shop, 2 * DAY)
    assert [row["status"] for row in invoices_of(shop, made["id"])] == ["draft", "paid"]
    advance(shop, HOUR + 10)

    assert [row["status"] for row in invoices_of(shop, made["id"])] == ["paid", "paid"]


def test_a_clf_price_is_billed_in_pesos(shop: httpx.Client) -> None:
    """Half a unit of account inside a subscription in pesos; a Mexican price is not compatible."""
    clf = {**ITEM, "quantity": 1, "price_data": {**PRICE, "currency": "CLF", "unit_amount": 5000}}
    peso = {**ITEM, "price_data": {**PRICE, "currency": "MXN"}}
    made = make(shop, "/v2/subscriptions", customer="cus_1", items=[clf], collection_method="send_invoice")

    assert made["currency"] == "CLP"
    assert invoices_of(shop, made["id"])[0]["total"] == 19_500
    answer = shop.post("/v2/subscriptions", json={"customer": "cus_1", "items": [clf, peso]})
    assert refusal(answer) == (400, "currency_mismatch", "items")


def test_a_canceled_subscription_is_not_editable(shop: httpx.Client) -> None:
    """Canceling again, changing and billing are over."""
    made = make(shop, "/v2/subscriptions", **SUBSCRIPTION, collection_method="send_invoice")
    path = f"/v2/subscriptions/{made['id']}"

    assert shop.post(f"{path}/cancel").json()["status"] == "canceled"

    assert refusal(shop.post(f"{path}/cancel")) == (400, "subscription_not_editable", "id")
    assert refusal(shop.patch(path, json={"payment_method": "pm_active"})) == (400, "subscription_not_editable", "id")
    advance(shop, 40 * DAY)
    assert len(invoices_of(shop, made["id"])) == 1


def test_changing_the_method_charges_nothing(shop: httpx.Client) -> None:
    """The open invoice stays unpaid; the change is announced, a failed one too."""
    made = make(shop, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_poor")
    advance(shop, 10)
    path = f"/v2/subscriptions/{made['id']}"

    assert refusal(shop.patch(path, json={})) == (
        400,
        "missing_parameter",
        "trial_end, payment_method or collection_method",
    )
    assert refusal(shop.patch(path, json={"payment_method": "pm_foreign"})) == (400, "invalid_params", "payment_method")
    assert refusal(shop.patch(path, json={"payment_method": "pm_expired"}))[1] == "payment_method_inactive"
    assert shop.patch(path, json={"payment_method": "pm_active"}).json()["payment_method"] == "pm_active"
    advance(shop, 60)

    assert told(shop, made["id"]) == [
        "subscription.payment_method_update_failed",
        "subscription.payment_method_updated",
    ]
    assert invoices_of(shop, made["id"])[0]["status"] == "open"
    assert shop.patch(path, json={"collection_method": "send_invoice"}).json()["collection_method"] == "send_invoice"


def test_detaching_clears_the_method_of_unpaid_invoices(shop: httpx.Client) -> None:
    """Open invoices forget it, void ones keep it; without a method nothing happens and nothing is told."""
    made = make(shop, "/v2/subscriptions", **SUBSCRIPTION, collection_method="send_invoice", payment_method="pm_active")
    path = f"/v2/subscriptions/{made['id']}/payment_method"
    advance(shop, 31 * DAY)
    newer, older = invoices_of(shop, made["id"])
    shop.post(f"/v2/invoices/{older['id']}/void")

    assert shop.delete(path).json()["payment_method"] is None
    assert shop.delete(path).json()["payment_method"] is None

    assert told(shop, made["id"]) == ["subscription.payment_method_updated"]
    assert read(shop, f"/v2/invoices/{newer['id']}")["default_payment_method"] is None
    assert read(shop, f"/v2/invoices/{older['id']}")["default_payment_method"] == "pm_active"


def test_an_automatic_or_canceled_subscription_keeps_its_method(shop: httpx.Client) -> None:
    """Detaching is a conflict there."""
    made = make(shop, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_active")
    sent = make(shop, "/v2/subscriptions", **SUBSCRIPTION, collection_method="send_invoice")
    shop.post(f"/v2/subscriptions/{sent['id']}/cancel")

    for id_ in (made["id"], sent["id"]):
        assert shop.delete(f"/v2/subscriptions/{id_}/payment_method").status_code == 409


def test_items_are_added_changed_and_removed(shop: httpx.Client) -> None:
    """The last one cannot go; a known product is taken as it is."""
    made = make(shop, "/v2/subscriptions", **SUBSCRIPTION, collection_method="send_invoice")
    items = f"/v2/subscriptions/{made['id']}/items"
    first = made["items"][0]
    product = first["price"]["product"]["id"]
    added = make(shop, items, price_data={"currency": "CLP", "unit_amount": 100, "product": product})

    assert shop.post(f"{items}/{added['id']}", json={"quantity": 5, "name": "Extra"}).json()["quantity"] == 5
    assert [row["quantity"] for row in read(shop, items)] == [2, 5]
    assert read(shop, "/v2/products")[0]["id"] == product
    assert shop.delete(f"{items}/{first['id']}").json()["id"] == first["id"]

    assert refusal(shop.delete(f"{items}/{added['id']}")) == (409, "last_subscription_item", "id")
    assert refusal(shop.post(f"{items}/{first['id']}", json={}))[0] == 404


def test_an_invoice_is_drafted_finalized_and_charged(shop: httpx.Client) -> None:
    """Nobody finalizes it but its owner; then it is charged right away."""
    made = make(shop, "/v2/invoices", **INVOICE)
    advance(shop, 40 * DAY)
    assert (made["status"], made["total"]) == ("draft", 1500)
    assert read(shop, f"/v2/invoices/{made['id']}")["status"] == "draft"

    assert shop.post(f"/v2/invoices/{made['id']}/finalize").json()["status"] == "open"
    assert refusal(shop.post(f"/v2/invoices/{made['id']}/void")) == (409, "invalid_invoice_status", "id")
    advance(shop, 10)

    assert read(shop, f"/v2/invoices/{made['id']}")["status"] == "paid"
    assert refusal(shop.post(f"/v2/invoices/{made['id']}/void")) == (409, "invalid_invoice_status", "id")
    assert refusal(shop.post(f"/v2/invoices/{made['id']}/finalize")) == (409, "invalid_invoice_status", "id")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"customer": None}, (400, "missing_parameter", "customer")),
        ({"customer": "cus_x"}, (404, "missing_resource", "id")),
        ({"default_payment_method": None}, (400, "missing_parameter", "default_payment_method")),
        ({"currency": "MXN"}, (400, "invalid_currency", "currency")),
        ({"lines": [{**LINE, "currency": "MXN"}]}, (400, "currency_mismatch", "currency")),
        ({"lines": [{"quantity": 1}]}, (400, "missing_parameter", "amount")),
        ({"lines": {}}, (400, "invalid_array", "lines")),
    ],
)
def test_what_an_invoice_needs(shop: httpx.Client, change: dict[str, Any], expected: tuple[int, str, str]) -> None:
    """A customer, a method where it is charged, pesos, and lines in them."""
    assert refusal(shop.post("/v2/invoices", json={**INVOICE, **change})) == expected


def test_lines_change_in_draft_all_or_nothing(shop: httpx.Client) -> None:
    """The total follows; one bad line spoils the whole request; afterwards lines are fixed."""
    made = make(shop, "/v2/invoices", **INVOICE)
    path = f"/v2/invoices/{made['id']}"
    bad = shop.post(f"{path}/add_lines", json={"lines": [{"amount": 1}, {"amount": -1}]})
    assert refusal(bad) == (400, "invalid_amount", "amount")
    added = make(shop, f"{path}/add_lines", lines=[{"amount": 10}, {"amount": 20}])
    assert (added["total"], len(added["lines"])) == (1530, 3)

    line = added["lines"][1]["id"]
    assert shop.post(f"{path}/lines/{line}", json={"quantity": 4}).json()["total"] == 1560
    unknown = shop.post(f"{path}/remove_lines", json={"lines": [line, "il_none"]})
    assert refusal(unknown) == (404, "missing_resource", "lines")
    assert shop.post(f"{path}/remove_lines", json={"lines": [line]}).json()["total"] == 1520
    assert refusal(shop.post(f"{path}/lines/il_none", json={})) == (404, "missing_resource", "id")
    shop.post(f"{path}/finalize")

    assert refusal(shop.post(f"{path}/add_lines", json={"lines": [LINE]})) == (409, "invalid_invoice_status", "id")


def test_an_open_invoice_is_paid_once(shop: httpx.Client) -> None:
    """By an active method of its own customer, or outside the service; never by both."""
    made = make(shop, "/v2/invoices", **{**INVOICE, "collection_method": "send_invoice"})
    path = f"/v2/invoices/{made['id']}"
    assert refusal(shop.post(f"{path}/pay", json={})) == (409, "invalid_invoice_status", "id")
    assert shop.post(f"{path}/finalize").json()["payments"] == []

    both = shop.post(f"{path}/pay", json={"payment_method": "pm_active", "external_payment": True})
    assert refusal(both)[:2] == (400, "mutually_exclusive_params")
    assert refusal(shop.post(f"{path}/pay", json={"payment_method": "pm_foreign"})) == (
        400,
        "invalid_params",
        "payment_method",
    )
    assert refusal(shop.post(f"{path}/pay", json={"payment_method": "pm_expired"}))[1] == "payment_method_inactive"
    assert shop.post(f"{path}/pay", json={}).json()["payments"][0]["status"] == "in_progress"
    advance(shop, 10)

    assert read(shop, path)["status"] == "paid"
    assert refusal(shop.post(f"{path}/pay", json={"external_payment": True})) == (409, "invalid_invoice_status", "id")


def test_a_payment_outside_the_service_is_noted_at_once(shop: httpx.Client) -> None:
    """No payment is created; the invoice says so."""
    made = make(shop, "/v2/invoices", **{**INVOICE, "collection_method": "send_invoice"})
    shop.post(f"/v2/invoices/{made['id']}/finalize")

    found = shop.post(f"/v2/invoices/{made['id']}/pay", json={"external_payment": True}).json()

    assert (found["status"], found["external_payment"], found["payments"]) == ("paid", True, [])
    assert told(shop, made["id"])[-1] == "invoice.paid"


def test_voiding_twice_changes_nothing(shop: httpx.Client) -> None:
    """A void invoice is returned as it is, and told once."""
    made = make(shop, "/v2/invoices", **INVOICE)
    path = f"/v2/invoices/{made['id']}/void"

    assert shop.post(path).json()["status"] == shop.post(path).json()["status"] == "void"

    assert told(shop, made["id"]).count("invoice.voided") == 1


FIELDS = {
    "customer": "cus_1",
    "type": "mx_direct_debit",
    "mx_direct_debit[account_number]": "646180157000000004",
    "mx_direct_debit[account_holder_id]": "ATP190301KX8",
    "mx_direct_debit[max_amount]": "500000",
}
DOCUMENTS = "mx_direct_debit[consent_documents][]"


def enrol(client: httpx.Client, *contents: bytes, **fields: str) -> httpx.Response:
    files = [(DOCUMENTS, (f"{n}.pdf", content)) for n, content in enumerate(contents)]
    return client.post("/v2/payment_methods", data={**FIELDS, **fields}, files=files)


def test_a_mandate_is_pending_until_the_bank_confirms_it(shop: httpx.Client) -> None:
    """A day later it is active, and can be charged."""
    answer = enrol(shop, PDF, PDF, PDF, PDF)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert made["mx_direct_debit"] == {
        "status": "pending",
        "institution": {"id": "mx_646", "country": "mx", "name": None},
        "account_number_last4": "0004",
        "max_amount": 500_000,
        "account_holder_id": "ATP190301KX8",
    }
    charge = {"amount": 5, "currency": "MXN", "payment_method": made["id"]}
    assert refusal(shop.post("/v2/payment_intents", json=charge))[1] == "payment_method_inactive"

    advance(shop, DAY)

    assert read(shop, f"/v2/payment_methods/{made['id']}")["mx_direct_debit"]["status"] == "active"
    assert told(shop, made["id"]) == ["payment_method.activated"]
    assert shop.post("/v2/payment_intents", json=charge).status_code == 201
    assert len(read(shop, "/v2/payment_methods?customer=cus_1")) == 4


def test_a_mandate_without_an_answer_expires(shop: httpx.Client) -> None:
    """After seven days it is canceled, and cannot be charged."""
    made = enrol(shop, PDF, PDF, PDF, PDF, **{"metadata[sandbox_outcome]": "expired"}).json()

    advance(shop, 7 * DAY)

    assert read(shop, f"/v2/payment_methods/{made['id']}")["mx_direct_debit"]["status"] == "expired"
    assert told(shop, made["id"]) == ["payment_method.canceled"]


@pytest.mark.parametrize(
    "contents", [[PDF, PDF, PDF], [PDF, PDF, PDF, PDF[:99]], [PDF, PDF, PDF, b"x" * 200]], ids=["three", "tiny", "text"]
)
def test_a_bad_document_creates_nothing(shop: httpx.Client, contents: list[bytes]) -> None:
    """Four documents of 100 bytes to 10 MB that are PDF, JPEG or PNG, or 422."""
    before = len(read(shop, "/v2/payment_methods"))

    assert enrol(shop, *contents).status_code == 422

    assert len(read(shop, "/v2/payment_methods")) == before


def test_what_a_mandate_needs(shop: httpx.Client) -> None:
    """A customer, a CLABE and documents."""
    assert refusal(enrol(shop, PDF, customer=""))[1:] == ("missing_parameter", "customer")
    bad = enrol(shop, PDF, **{"mx_direct_debit[account_number]": "12"})
    assert refusal(bad) == (400, "invalid_clabe", "account_number")
    assert refusal(enrol(shop))[:2] == (400, "missing_parameter")


def test_an_older_version_has_the_former_names(shop: httpx.Client) -> None:
    """The mandate's fields bear the names they had."""
    made = enrol(shop, PDF, PDF, PDF, PDF).json()

    older = shop.get(f"/v2/payment_methods/{made['id']}", headers={"Fintoc-Version": "2023-11-15"}).json()

    assert older["mx_direct_debit"] == {
        "status": "pending",
        "account_holder_id": "ATP190301KX8",
        "institution_id": "mx_646",
        "last_four_digits": "0004",
        "max_amount_cents": 500_000,
        "max_amount_currency": "MXN",
    }


def test_the_payment_is_told_after_what_it_paid(shop: httpx.Client) -> None:
    """The order of a cycle's events ends with the payment intent."""
    make(shop, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_active")

    advance(shop, 10)

    assert [event["type"] for event in read(shop, "/v2/events?limit=3")] == [
        "payment_intent.succeeded",
        "invoice.paid",
        "invoice.payment_succeeded",
    ]


def test_a_setup_session_leaves_a_card(shop: httpx.Client) -> None:
    """The setup intent names the saved method; a subscription it points at is charged with it from then on."""
    subscription = make(shop, "/v2/subscriptions", **SUBSCRIPTION, payment_method="pm_poor")["id"]
    session = make(shop, "/v2/checkout_sessions", flow="setup", customer="cus_1", subscription=subscription)

    make(shop, "/_sandbox/pay", id=session["id"])

    setup = read(shop, f"/v2/setup_intents/{session['setup_intent']['id']}")
    assert setup["status"] == "succeeded"
    assert read(shop, f"/v2/payment_methods/{setup['payment_method']}")["type"] == "card"
    assert read(shop, f"/v2/subscriptions/{subscription}")["payment_method"] == setup["payment_method"]
    assert told(shop, subscription) == ["subscription.payment_method_updated"]


def test_a_failed_setup_saves_nothing(shop: httpx.Client) -> None:
    """The session is over, the intent failed and bears its reason."""
    session = make(shop, "/v2/checkout_sessions", flow="setup", customer="cus_1")
    before = len(read(shop, "/v2/payment_methods"))

    make(shop, "/_sandbox/pay", id=session["id"], outcome="failed")

    setup = read(shop, f"/v2/setup_intents/{session['setup_intent']['id']}")
    assert (setup["status"], setup["error_reason"]) == ("failed", "card_declined")
    assert len(read(shop, "/v2/payment_methods")) == before


def test_a_subscription_session_begins_a_subscription(shop: httpx.Client) -> None:
    """The card that was left is charged for the first invoice."""
    session = make(shop, "/v2/checkout_sessions", flow="subscription", customer="cus_1", line_items=[ITEM])

    make(shop, "/_sandbox/pay", id=session["id"])
    advance(shop, 10)

    (subscription,) = read(shop, "/v2/subscriptions?customer=cus_1")
    assert subscription["status"] == "active"
    assert invoices_of(shop, subscription["id"])[0]["total"] == 18_000
    assert told(shop, session["id"]) == ["checkout_session.finished"]
