"""Drive every method of the provider's Python library against a sandbox and print, as JSON, what came of each.

Runs in an environment that holds that library alone, any version of it: `python drive.py ADDRESS KEY_FILE GIVEN`.
"""

import http.client
import json
import sys
from collections.abc import Callable
from typing import Any

from fintoc import Fintoc, core

ADDRESS, KEY_FILE, GIVEN = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
KEY = "sk_test_sandbox"
IS_OLD = not hasattr(Fintoc("key"), "v2")
found: dict[str, Any] = {}
outcomes: dict[str, str] = {}


def connect() -> Any:
    core.API_BASE_URL = ADDRESS
    return Fintoc(KEY) if IS_OLD else Fintoc(KEY, jws_private_key=KEY_FILE)


def post(path: str, **body: object) -> None:
    connection = http.client.HTTPConnection(ADDRESS.removeprefix("http://"))
    connection.request("POST", path, json.dumps(body))
    assert connection.getresponse().read()
    connection.close()


def advance(seconds: int) -> None:
    post("/_sandbox/clock/advance", seconds=seconds)


def attempt(name: str, call: Callable[[], Any]) -> None:
    """Make one call. It works if what comes back is what was asked for; a list must hold something."""
    try:
        answer = call()
        if not isinstance(answer, (str, dict)) and not hasattr(answer, "serialize"):
            answer = list(answer)
    except Exception as error:  # noqa: BLE001 - whatever a library raises is the outcome
        outcomes[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
        return
    outcomes[name] = "works" if answer or answer == {} else "holds nothing"
    found[name] = answer


def first(name: str, **fields: Any) -> Any:
    """The first object of a list whose fields are these."""
    return next(row for row in found[name] if all(getattr(row, key) == value for key, value in fields.items()))


def drive_old(client: Any) -> None:
    """What 1.1 offers: links, what is read through them, and webhook endpoints; lists are called `all`."""
    token = GIVEN["link"]
    attempt("links.list", lambda: client.links.all(lazy=False))
    attempt("links.get", lambda: client.links.get(token))
    attempt("links.update", lambda: client.links.update(token, active=True))
    link = found["links.get"]
    attempt("link.update", lambda: link.update(active=True))
    attempt("link.accounts.list", link.accounts.all)
    attempt("link.accounts.get", lambda: link.accounts.get(first("link.accounts.list").id))
    account = found["link.accounts.get"]
    attempt("account.movements.list", lambda: account.movements.all(since="2026-09-01"))
    attempt("account.movements.get", lambda: account.movements.get(first("account.movements.list").id))
    attempt("link.subscriptions.list", link.subscriptions.all)
    attempt("link.subscriptions.get", lambda: link.subscriptions.get(first("link.subscriptions.list").id))
    attempt("link.tax_returns.list", link.tax_returns.all)
    attempt("link.tax_returns.get", lambda: link.tax_returns.get(first("link.tax_returns.list").id))
    attempt("link.invoices.list", link.invoices.all)
    attempt("link.invoices.get", lambda: link.invoices.get(first("link.invoices.list").id))
    drive_endpoints(client.webhook_endpoints)
    drop_link(client.links)


def drive_endpoints(endpoints: Any) -> None:
    asked = {"url": "https://shop.example/webhooks", "enabled_events": ["payout.created"]}
    attempt("webhook_endpoints.create", lambda: endpoints.create(**asked))
    id_ = found["webhook_endpoints.create"].id
    attempt("webhook_endpoints.list", endpoints.all if IS_OLD else endpoints.list)
    attempt("webhook_endpoints.get", lambda: endpoints.get(id_))
    attempt("webhook_endpoints.update", lambda: endpoints.update(id_, name="Shop"))
    attempt("webhook_endpoint.update", lambda: found["webhook_endpoints.get"].update(name="Store"))
    if not IS_OLD:
        attempt("webhook_endpoints.test", lambda: endpoints.test(id_, type="payout.created"))
    attempt("webhook_endpoint.delete", lambda: endpoints.create(**asked).delete())
    attempt("webhook_endpoints.delete", lambda: endpoints.delete(id_))


def drive_new(client: Any) -> None:
    drive_links(client)
    drive_payments(client)
    drive_disputes(client.disputes)
    drive_endpoints(client.webhook_endpoints)
    drive_entities(client.v2)
    drive_accounts(client.v2)
    drive_transfers(client.v2)
    drive_billing(client.v2)
    drop_link(client.links)


def drop_link(links: Any) -> None:
    """Once through the object and, after the trade has begun anew, once through its manager."""
    attempt("link.delete", lambda: links.get(GIVEN["link"]).delete())
    post("/_sandbox/scenario", name=GIVEN["scenario"], scale=0.1)
    attempt("links.delete", lambda: links.delete(GIVEN["link"]))


def drive_links(client: Any) -> None:
    token = GIVEN["link"]
    attempt("links.list", client.links.list)
    attempt("links.get", lambda: client.links.get(token))
    attempt("links.update", lambda: client.links.update(token, active=True))
    attempt("link.update", lambda: found["links.get"].update(active=True))
    attempt("accounts.list", lambda: client.accounts.list(link_token=token))
    id_ = found["accounts.list"][0].id
    attempt("accounts.get", lambda: client.accounts.get(id_, link_token=token))
    movements, of = client.accounts.movements, {"account_id": id_, "link_token": token}
    attempt("accounts.movements.list", lambda: movements.list(**of, per_page=7))
    attempt("accounts.movements.get", lambda: movements.get(first("accounts.movements.list").id, **of))
    attempt("refresh_intents.create", lambda: client.refresh_intents.create(link_token=token))
    attempt("refresh_intents.list", lambda: client.refresh_intents.list(link_token=token))
    attempt("refresh_intents.get", lambda: client.refresh_intents.get(refreshed(), link_token=token))
    advance(3600)
    attempt("invoices.list", lambda: client.invoices.list(link_token=token))
    attempt("tax_returns.list", lambda: client.tax_returns.list(link_token=token))
    attempt("tax_returns.get", lambda: client.tax_returns.get(first("tax_returns.list").id, link_token=token))
    drive_one_link(client.links.get(token))


def refreshed() -> str:
    return str(found["refresh_intents.list"][0].id)


def drive_one_link(link: Any) -> None:
    """What is read through the object of a link, with the token it was got by."""
    attempt("link.accounts.list", link.accounts.list)
    account = found["link.accounts.list"][0]
    attempt("link.accounts.get", lambda: link.accounts.get(account.id))
    attempt("account.movements.list", account.movements.list)
    attempt("account.movements.get", lambda: account.movements.get(first("account.movements.list").id))
    attempt("link.subscriptions.list", link.subscriptions.list)
    attempt("link.subscriptions.get", lambda: link.subscriptions.get(first("link.subscriptions.list").id))
    attempt("link.tax_returns.list", link.tax_returns.list)
    attempt("link.tax_returns.get", lambda: link.tax_returns.get(first("link.tax_returns.list").id))
    attempt("link.invoices.list", link.invoices.list)
    attempt("link.refresh_intents.create", link.refresh_intents.create)
    attempt("link.refresh_intents.list", link.refresh_intents.list)
    attempt("link.refresh_intents.get", lambda: link.refresh_intents.get(refreshed()))


def drive_payments(client: Any) -> None:
    currency = GIVEN["currency"]
    money = {"amount": 1500, "currency": currency}
    intents, links = client.payment_intents, client.payment_links
    attempt("payment_intents.list", lambda: intents.list(per_page=60))
    attempt("payment_intents.create", lambda: intents.create(**money, recipient_account=GIVEN["recipient"]))
    attempt("payment_intents.get", lambda: intents.get(found["payment_intents.create"].id))
    attempt("payment_intents.expire", lambda: intents.expire(found["payment_intents.create"].id))
    sender = {"institution_id": "cl_banco_de_chile", "holder_id": "111111111"}
    attempt("payment_intents.check_eligibility", lambda: intents.check_eligibility(**money, sender_account=sender))
    attempt("payment_links.create", lambda: links.create(**money, recipient_account=GIVEN["recipient"]))
    attempt("payment_links.list", links.list)
    attempt("payment_links.get", lambda: links.get(found["payment_links.create"].id))
    attempt("payment_links.cancel", lambda: links.cancel(found["payment_links.create"].id))
    paid = next((row.id for row in found["payment_intents.list"] if row.status == "succeeded"), "")
    asked = {"resource_type": "payment_intent", "resource_id": paid, "amount": 1}
    attempt("refunds.create", lambda: client.refunds.create(**asked))
    attempt("refunds.list", client.refunds.list)
    attempt("refunds.get", lambda: client.refunds.get(found["refunds.create"].id))
    attempt("refunds.cancel", lambda: client.refunds.cancel(found["refunds.create"].id))
    drive_sessions("", client.checkout_sessions, money)
    drive_sessions("v2.", client.v2.checkout_sessions, money)
    attempt("v2.checkout_sessions.list", lambda: client.v2.checkout_sessions.list(limit=9))
    drive_direct_debit(client, money)


def drive_sessions(prefix: str, sessions: Any, money: dict[str, Any]) -> None:
    pages = {"success_url": "https://shop.example/", "cancel_url": "https://shop.example/"}
    attempt(f"{prefix}checkout_sessions.create", lambda: sessions.create(**money, **pages))
    id_ = found[f"{prefix}checkout_sessions.create"].id
    attempt(f"{prefix}checkout_sessions.get", lambda: sessions.get(id_))
    attempt(f"{prefix}checkout_sessions.expire", lambda: sessions.expire(id_))


def drive_direct_debit(client: Any, money: dict[str, Any]) -> None:
    attempt("subscription_intents.create", client.subscription_intents.create)
    attempt("subscription_intents.get", lambda: client.subscription_intents.get(signed()))
    attempt("subscription_intents.list", client.subscription_intents.list)
    advance(60)
    attempt("subscriptions.list", client.subscriptions.list)
    id_ = found["subscriptions.list"][0].id
    attempt("subscriptions.get", lambda: client.subscriptions.get(id_))
    attempt("charges.create", lambda: client.charges.create(**money, subscription_id=id_))
    attempt("charges.list", client.charges.list)
    attempt("charges.get", lambda: client.charges.get(found["charges.create"].id))


def signed() -> str:
    return str(found["subscription_intents.create"].id)


def drive_disputes(disputes: Any) -> None:
    attempt("disputes.list", disputes.list)
    attempt("disputes.get", lambda: disputes.get(found["disputes.list"][0].id))
    file = "JVBERi0xLjcK"
    attempt("disputes.documents.create", lambda: disputes.documents.create(dispute_id=GIVEN["disputes"][0], file=file))
    attempt("disputes.submit_for_review", lambda: disputes.submit_for_review(GIVEN["disputes"][0]))


def drive_entities(v2: Any) -> None:
    entities, onboardings = v2.entities, v2.entities.onboardings
    attempt("v2.entities.list", entities.list)
    holder = {"holder_name": "Otra", "holder_id": GIVEN["holder_id"], "country_code": GIVEN["country"]}
    attempt("v2.entities.create", lambda: entities.create(**holder))
    id_ = found["v2.entities.create"].id
    attempt("v2.entities.get", lambda: entities.get(id_))
    data = {
        "company_information": {"business_activity": "Servicios financieros", "phone": "+521111111111"},
        "legal_representatives": [{"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.com"}],
        "transactional_profile": {"resource_origins": ["trusts"]},
        "shareholders": [{"type": "natural_person", "name": "Ada", "percentage": 100}],
    }
    of = {"entity_id": id_}
    attempt("v2.entities.onboardings.create", lambda: onboardings.create(**of, type="account_holder", data=data))
    made = found["v2.entities.onboardings.create"]
    person, owner = made.legal_representatives[0].id, made.shareholders[0].id
    attempt("v2.entities.onboardings.list", lambda: onboardings.list(**of))
    attempt("v2.entities.onboardings.get", lambda: onboardings.get(made.id, **of))
    file = GIVEN["file"]
    name = "v2.entities.onboardings.upload_"
    attempt(f"{name}document", lambda: onboardings.upload_document(made.id, "bylaws", file, **of))
    attempt(f"{name}shareholder_document", lambda: onboardings.upload_shareholder_document(made.id, owner, file, **of))
    attempt(
        f"{name}legal_representative_document",
        lambda: onboardings.upload_legal_representative_document(made.id, person, "identification", file, **of),
    )
    attempt("v2.entities.onboardings.submit", lambda: onboardings.submit(made.id, **of))


def drive_accounts(v2: Any) -> None:
    accounts, numbers = v2.accounts, v2.account_numbers
    operational = first("v2.entities.list", status="operational").id
    attempt("v2.accounts.create", lambda: accounts.create(entity_id=operational, description="Main"))
    id_ = found["v2.accounts.create"].id
    attempt("v2.accounts.list", accounts.list)
    attempt("v2.accounts.get", lambda: accounts.get(id_))
    attempt("v2.accounts.update", lambda: accounts.update(id_, description="Second"))
    attempt("v2.account.update", lambda: found["v2.accounts.get"].update(description="Third"))
    used = GIVEN["account"]
    movements = accounts.movements
    attempt("v2.accounts.movements.list", lambda: movements.list(account_id=used, limit=20))
    movement = found["v2.accounts.movements.list"][0].id
    attempt("v2.accounts.movements.get", lambda: movements.get(movement, account_id=used))
    attempt("v2.accounts.account_statements.list", lambda: accounts.account_statements.list(account_id=used))
    attempt("v2.account_numbers.create", lambda: numbers.create(account_id=id_, description="Rent"))
    number = found["v2.account_numbers.create"].id
    attempt("v2.account_numbers.list", numbers.list)
    attempt("v2.account_numbers.get", lambda: numbers.get(number))
    attempt("v2.account_numbers.update", lambda: numbers.update(number, description="Dues"))
    attempt("v2.account_number.update", lambda: found["v2.account_numbers.get"].update(description="Fees"))
    attempt("v2.account_numbers.delete", lambda: numbers.delete(number))
    attempt("v2.account_number.delete", lambda: numbers.create(account_id=id_).delete())


def drive_transfers(v2: Any) -> None:
    account, money = found["v2.accounts.create"], {"amount": 900, "currency": GIVEN["currency"].lower()}
    target = {"account_number_id": account.root_account_number_id}
    attempt("v2.simulate.receive_transfer", lambda: v2.simulate.receive_transfer(**money, **target))
    order = {"account_id": account.id, "amount": 100, "counterparty": GIVEN["counterparty"]}
    attempt(
        "v2.transfers.create", lambda: v2.transfers.create(**order, currency=GIVEN["currency"], idempotency_key="1")
    )
    attempt("v2.transfers.list", lambda: v2.transfers.list(limit=20))
    attempt("v2.transfers.get", lambda: v2.transfers.get(found["v2.transfers.create"].id))
    received = found["v2.simulate.receive_transfer"].id
    attempt("v2.transfers.return", lambda: v2.transfers.return_(transfer_id=received))
    batch = {"description": "Payroll", "currency": money["currency"], "transfers": [order]}
    attempt("v2.transfer_batches.create", lambda: v2.transfer_batches.create(**batch))
    since = {"since": "2026-01-01T00:00:00Z", "until": "2027-01-01T00:00:00Z"}
    attempt("v2.transfer_batches.list", lambda: v2.transfer_batches.list(**since))
    attempt("v2.transfer_batches.get", lambda: v2.transfer_batches.get(found["v2.transfer_batches.create"].id))
    verifications = v2.account_verifications
    attempt("v2.account_verifications.create", lambda: verifications.create(account_number="735969000000203226"))
    attempt("v2.account_verifications.list", verifications.list)
    attempt("v2.account_verifications.get", lambda: verifications.get(found["v2.account_verifications.list"][0].id))


def drive_billing(v2: Any) -> None:
    currency = GIVEN["currency"]
    attempt("v2.customers.create", lambda: v2.customers.create(email="Ana@Example.com"))
    attempt("v2.customers.list", v2.customers.list)
    customer = found["v2.customers.create"].id
    attempt("v2.customers.get", lambda: v2.customers.get(customer))
    attempt("v2.payment_methods.list", v2.payment_methods.list)
    attempt("v2.payment_methods.get", lambda: v2.payment_methods.get(GIVEN["payment_method"]))
    saved = {"amount": 100, "currency": currency, "payment_method": GIVEN["payment_method"]}
    attempt("v2.payment_intents.create", lambda: v2.payment_intents.create(**saved))
    attempt("v2.payment_intents.list", v2.payment_intents.list)
    attempt("v2.payment_intents.get", lambda: v2.payment_intents.get(found["v2.payment_intents.create"].id))
    attempt("v2.products.create", lambda: v2.products.create(name="Gym"))
    attempt("v2.products.list", v2.products.list)
    attempt("v2.products.get", lambda: v2.products.get(found["v2.products.create"].id))
    drive_subscriptions(v2, customer)
    attempt("v2.invoices.list", v2.invoices.list)
    draft = GIVEN["invoice"]
    attempt("v2.invoices.get", lambda: v2.invoices.get(draft))
    line = {"amount": 100, "currency": "CLP", "quantity": 1}
    attempt("v2.invoices.add_lines", lambda: v2.invoices.add_lines(draft, lines=[line]))
    made = found["v2.invoices.add_lines"].lines[-1].id
    attempt("v2.invoices.lines.update", lambda: v2.invoices.lines.update(made, invoice_id=draft, quantity=2))
    attempt("v2.invoices.remove_lines", lambda: v2.invoices.remove_lines(draft, lines=[made]))


def drive_subscriptions(v2: Any, customer: str) -> None:
    subscriptions, items = v2.subscriptions, v2.subscriptions.items
    price = {"product": found["v2.products.create"].id, "currency": GIVEN["currency"], "unit_amount": 9900}
    asked = {"customer": customer, "collection_method": "send_invoice", "items": [{"price_data": price}]}
    attempt("v2.subscriptions.create", lambda: subscriptions.create(**asked))
    id_ = found["v2.subscriptions.create"].id
    attempt("v2.subscriptions.list", subscriptions.list)
    attempt("v2.subscriptions.get", lambda: subscriptions.get(id_))
    attempt("v2.subscriptions.update", lambda: subscriptions.update(id_, collection_method="send_invoice"))
    attempt("v2.subscription.update", lambda: found["v2.subscriptions.get"].update(collection_method="send_invoice"))
    of = {"subscription_id": id_}
    attempt("v2.subscriptions.items.create", lambda: items.create(**of, price_data=price))
    item = found["v2.subscriptions.items.create"].id
    attempt("v2.subscriptions.items.update", lambda: items.update(item, **of, quantity=2))
    attempt("v2.subscription_item.update", lambda: found["v2.subscriptions.items.create"].update(quantity=3))
    attempt("v2.subscriptions.items.delete", lambda: items.delete(item, **of))
    attempt("v2.subscription_item.delete", lambda: items.create(**of, price_data=price).delete())
    attempt("v2.subscriptions.cancel", lambda: subscriptions.cancel(id_))


def offered(manager: Any, path: str) -> set[str]:
    """Every method of a manager and of the managers within it."""
    names = {f"{path}.{method.replace('all', 'list').rstrip('_')}" for method in type(manager).methods}
    for name, value in vars(type(manager)).items():
        if isinstance(value, property) and name not in {"resource", "methods"}:
            names |= offered(getattr(manager, name), f"{path}.{name}")
    return names


def offered_by(client: Any, path: str = "") -> set[str]:
    names = set[str]()
    for name, value in vars(client).items():
        if name == "v2":
            names |= offered_by(value, "v2.")
        elif hasattr(type(value), "methods"):
            names |= offered(value, f"{path}{name}")
    return names


api = connect()
(drive_old if IS_OLD else drive_new)(api)
json.dump({"outcomes": outcomes, "offered": sorted(offered_by(api))}, sys.stdout)
