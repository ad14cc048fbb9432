"""The specification's rules by their letter, where a first reading went astray."""

import httpx
import pytest

from tests.sandbox.conftest import (
    Open,
    advance,
    customer,
    event_types,
    make,
    open_account,
    read,
    receive,
    refusal,
    trade,
)

ITEM = {"price_data": {"currency": "CLP", "unit_amount": 100, "product_data": {"name": "Plan"}}}
DAY = 86_400


def test_an_invoice_being_paid_can_still_be_noted_as_paid_outside(billing: httpx.Client) -> None:
    """Rule 6: it works on any open invoice; the charge on its way then pays nothing twice."""
    invoice = make(billing, "/v2/invoices", customer="cus_1", currency="CLP", default_payment_method="pm_active",
                   lines=[{"amount": 5}])  # fmt: skip
    make(billing, f"/v2/invoices/{invoice['id']}/finalize")

    assert make(billing, f"/v2/invoices/{invoice['id']}/pay", external_payment=True)["status"] == "paid"
    advance(billing, 60)

    assert event_types(billing, invoice["id"]).count("invoice.paid") == 1
    assert read(billing, f"/v2/invoices/{invoice['id']}")["external_payment"] is True


def test_an_invoice_takes_methods_of_its_customer_only(billing: httpx.Client) -> None:
    """Another customer's default method is refused before anything is charged."""
    answer = billing.post(
        "/v2/invoices", json={"customer": "cus_1", "currency": "CLP", "default_payment_method": "pm_foreign"}
    )

    assert refusal(answer) == (400, "invalid_params", "default_payment_method")


def test_lines_are_removed_by_names_of_any_kind(billing: httpx.Client) -> None:
    """Ids that are lists, numbers or nothing are lines that do not exist."""
    invoice = make(billing, "/v2/invoices", customer="cus_1", currency="CLP", collection_method="send_invoice",
                   lines=[{"amount": 5}])  # fmt: skip

    odd: list[list[object]] = [[{"id": []}], [{"id": 5}, "x"], [None]]
    for lines in odd:
        answer = billing.post(f"/v2/invoices/{invoice['id']}/remove_lines", json={"lines": lines})
        assert refusal(answer) == (404, "missing_resource", "lines")


def test_a_trial_that_is_moved_is_billed_at_its_new_end(billing: httpx.Client) -> None:
    """No invoice during the trial, one when it ends, and none at the end it once had."""
    made = make(billing, "/v2/subscriptions", customer="cus_1", payment_method="pm_active", items=[ITEM],
                trial_end="2026-10-03T03:00:00Z")  # fmt: skip
    billing.patch(f"/v2/subscriptions/{made['id']}", json={"trial_end": "2026-10-11T03:00:00Z"})

    advance(billing, 9 * DAY)
    assert read(billing, f"/v2/invoices?subscription={made['id']}") == []
    advance(billing, DAY + 60)

    assert len(read(billing, f"/v2/invoices?subscription={made['id']}")) == 1
    assert read(billing, f"/v2/subscriptions/{made['id']}")["status"] == "active"


def test_shares_in_percent_add_up_before_rounding(client: httpx.Client) -> None:
    """Thirds of a thousand are accepted; whoever carries the fee gets the peso that rounding leaves."""
    shares = [{"entity_id": f"ent_{n}", "percentage": part, "charge_processing_fee": n == 2}
              for n, part in enumerate((3333, 3333, 3334))]  # fmt: skip
    session = make(client, "/v2/checkout_sessions", amount=1000, currency="CLP", split=shares)

    client.post("/_sandbox/pay", json={"id": session["id"]})

    applied = read(client, f"/v2/events?resource_id={session['id']}")[0]["data"]["split_applied"]
    assert [share["amount"] for share in applied] == [333, 333, 334]


@pytest.mark.parametrize("count", [0, 11])
def test_a_split_has_one_to_ten_entries(client: httpx.Client, count: int) -> None:
    """None at all is no split either."""
    shares = [{"entity_id": "ent_1", "flat": 1, "charge_processing_fee": n == 0} for n in range(count)]

    answer = client.post("/v2/checkout_sessions", json={"amount": 11, "currency": "CLP", "split": shares})

    assert refusal(answer) == (400, "invalid_params", "split")


def test_an_rfc_keeps_its_ampersand(client: httpx.Client) -> None:
    """Rule 7: any case, and no letter lost."""
    made = make(client, "/v2/customers", tax_id={"type": "mx_rfc", "value": "a&b010101ab1"})

    assert made["tax_id"]["value"] == "A&B010101AB1"
    assert [row["id"] for row in read(client, "/v2/customers?tax_id=A%26b010101aB1")] == [made["id"]]
    assert read(client, "/v2/customers?tax_id=AB010101AB1") == []


def test_a_chilean_reversal_is_pending_first(bank: httpx.Client) -> None:
    """Rule 13: `reverse_pending`, then `reversed` with its moment and its event."""
    account = open_account(bank, "cl")
    receive(bank, account, 900)
    payee = {"holder_id": "1-9", "holder_name": "Ana", "account_number": "12", "account_type": "sight",
             "institution_id": "cl_banco_de_chile"}  # fmt: skip
    sent = make(bank, "/v2/transfers", account_id=account["id"], amount=500, currency="CLP", counterparty=payee,
                metadata={"sandbox_outcome": "reversed"})  # fmt: skip
    advance(bank, 3603)
    assert [row["id"] for row in read(bank, "/v1/transfers?status=reverse_pending")] == [sent["id"]]

    advance(bank, 60)

    assert read(bank, f"/v1/transfers/{sent['id']}")["reversed_at"] == "2026-10-01T04:00:06.000Z"
    assert event_types(bank, sent["id"]) == ["transfer.outbound.succeeded", "transfer.outbound.reversed"]


def test_the_oldest_version_leaves_the_last_day_out_whatever_day_it_is(open_sandbox: Open) -> None:
    """The first day of all has nothing before it, which is no reason to fail."""
    client = open_sandbox("busy-month", seed=4, scale=0.1)
    link = read(client, "/_sandbox/credentials")["link_tokens"][0]

    answer = client.get(f"/v1/invoices?link_token={link}&until=0001-01-01", headers={"Fintoc-Version": "2023-11-15"})

    assert (answer.status_code, answer.json()) == (200, [])


def test_customers_are_written_in_one_way(open_sandbox: Open) -> None:
    """An e-mail in lower case, a country in small letters; neither is needed beside a tax id."""
    client = open_sandbox(trade(customer()))

    made = make(client, "/v2/customers", email="ANA@Example.COM", address={"country": " CL "})

    assert (made["email"], made["address"]["country"]) == ("ana@example.com", "cl")
    assert make(client, "/v2/customers", tax_id={"type": "cl_rut", "value": "12.345.678-5"})["email"] is None
    for tax_id in ({"type": "cl_rut"}, {"value": "1-9"}):
        assert refusal(client.post("/v2/customers", json={"tax_id": tax_id}))[:2] == (400, "missing_parameter")
