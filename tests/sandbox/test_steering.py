"""The routes that steer the sandbox: clock, faults, scenario, files, truth."""

import httpx
import pytest

from tests.sandbox.conftest import Open, advance, subscribe, trade


def test_the_clock_moves_only_when_told(client: httpx.Client) -> None:
    """It begins at its start, advances by seconds, and says where it is."""
    assert client.get("/_sandbox/clock").json() == {"now": "2026-10-01T03:00:00.000Z"}

    answer = client.post("/_sandbox/clock/advance", json={"seconds": 90})

    assert answer.json() == {"now": "2026-10-01T03:01:30.000Z"}


@pytest.mark.parametrize("seconds", [-1, "1", None, True, 1e15])
def test_time_never_goes_back(client: httpx.Client, seconds: object) -> None:
    """A negative, missing, endless or unreadable number of seconds is refused."""
    assert client.post("/_sandbox/clock/advance", json={"seconds": seconds}).status_code == 400


@pytest.mark.parametrize(
    "wish",
    [
        {"name": "gremlin"},
        {},
        {"name": "drop", "probability": 2},
        {"name": "drop", "probability": "often"},
        {"name": "drop", "seed": 1.5},
        {"name": "drop", "times": True},
        {"name": "delay", "seconds": -1},
        {"name": "drop", "colour": "red"},
        {"name": "rate-limit", "retry_after": "soon"},
        {"name": "delay", "seconds": 1e12},
        {"name": "drop", "path": 7},
        {"name": "version-switch", "version": "2020-01-01"},
    ],
)
def test_an_unusable_fault_is_refused_with_a_sentence(client: httpx.Client, wish: dict[str, object]) -> None:
    """Unknown names, options and numbers out of range are a 400, and nothing is switched on."""
    answer = client.post("/_sandbox/faults", json=wish)

    assert answer.status_code == 400
    assert answer.json()["error"]["message"]
    assert client.get("/_sandbox/faults").json() == []


def test_an_unknown_fault_lists_the_names(client: httpx.Client) -> None:
    """The refusal says what could be asked for."""
    message = client.post("/_sandbox/faults", json={"name": "gremlin"}).json()["error"]["message"]

    assert "gremlin" in message
    assert "insert-while-paging" in message


def test_credentials_hold_keys_and_secrets(client: httpx.Client) -> None:
    """Everything a client needs to talk to the sandbox."""
    made = subscribe(client, "payout.created")

    assert client.get("/_sandbox/credentials").json() == {
        "keys": {"test": "sk_test_sandbox", "live": "sk_live_sandbox"},
        "link_tokens": [],
        "webhook_secrets": [
            {
                "endpoint_id": made["id"],
                "mode": "test",
                "url": "https://shop.example/webhooks",
                "secret": made["secret"],
            }
        ],
    }


def test_truth_is_json_lines(client: httpx.Client) -> None:
    """One object a line with the contract's keys."""
    answer = client.get("/_sandbox/truth")

    assert answer.text == (
        '{"kind":"payment","id":"pi_1","links":["cl:33::7","po_1"],"outcome":"matched","exceptions":[],'
        '"amount_at_risk":0,"currency":"CLP","decidable":true}\n'
    )


def test_the_books_hold_what_is_known_by_now(client: httpx.Client) -> None:
    """An invoice of tomorrow is in the file tomorrow."""
    assert client.get("/_sandbox/invoices.csv").text == (
        "doc_type,series,folio,uuid,issue_date,due_date,customer_tax_id,customer_name,net,exempt,vat,total,currency,"
        "status,order_ref,ref_type,ref_number,payment_method,payment_form\r\n"
        "33,,7,,,,,,,,,1000,,,,,,,\r\n"
    )
    advance(client, 86_400)
    assert client.get("/_sandbox/invoices.csv").text.count("\r\n") == 3


def test_the_books_come_as_other_systems_write_them(client: httpx.Client) -> None:
    """A variant is asked for by name; one that does not exist is refused with those that do."""
    spanish = client.get("/_sandbox/invoices.csv?variant=spanish-headings").text
    assert spanish.startswith("Tipo Doc,series,Folio,")
    assert client.get("/_sandbox/invoices.csv?variant=byte-order-mark").content.startswith(b"\xef\xbb\xbfdoc_type")

    refused = client.get("/_sandbox/invoices.csv?variant=pdf")
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "variant")
    assert "choose one of plain, semicolon" in refused.json()["error"]["message"]


def test_the_payout_report_is_the_providers(client: httpx.Client) -> None:
    """Semicolons, gross amounts, refunds negative, adjustments positive and free."""
    answer = client.get("/_sandbox/payouts/po_1.csv")

    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.text == (
        "id;created_at;amount;fee;resource_type;resource_subtype;share_amount\r\n"
        "pi_1;2026-09-30T15:00:00Z;1000;16;payment_intent;bank_transfer;1000\r\n"
        "pi_2;2026-09-30T15:00:00Z;2000;60;payment_intent;credit_card;2000\r\n"
        "re_1;2026-09-30T15:00:00.000Z;-300;17;refund;;-300\r\n"
        "re_1;2026-09-30T15:00:00.000Z;300;0;refund;;300\r\n"
    )
    assert client.get("/_sandbox/payouts/po_none.csv").status_code == 404


def test_bank_lines_and_tariff_are_the_scenarios(client: httpx.Client, open_sandbox: Open) -> None:
    """What the merchant's bank says up to today, and what the contract says."""
    assert client.get("/_sandbox/bank.csv").text == "date,amount\r\n2026-10-01,2907\r\n"
    later = trade(bank_lines=({"date": "2026-10-01", "amount": "5"}, {"date": "2026-10-02", "amount": "6"}))
    assert open_sandbox(later).get("/_sandbox/bank.csv").text == "date,amount\r\n2026-10-01,5\r\n"
    assert client.get("/_sandbox/tariff").json() == {"vat_bps": 1900, "refund": {"flat": 14}}


def test_another_scenario_starts_over(client: httpx.Client) -> None:
    """Objects, events and clock begin anew; endpoints and faults stay."""
    subscribe(client, "payout.created")
    client.post("/_sandbox/faults", json={"name": "drop", "probability": 0.5})
    advance(client, 3600)

    answer = client.post("/_sandbox/scenario", json={"name": "quiet", "seed": 3})

    assert answer.json() == {"name": "quiet", "seed": 3, "country": "cl", "now": "2026-10-01T03:00:00.000Z"}
    assert client.get("/v1/payment_intents/pi_3").status_code == 404
    assert len(client.get("/v1/webhook_endpoints").json()) == 1
    assert client.get("/_sandbox/faults").json() == [{"name": "drop", "probability": 0.5}]


@pytest.mark.parametrize(
    "body", [{}, {"name": "loud"}, {"name": 5}, {"name": "quiet", "scale": -1}, {"name": "quiet", "scale": 1e12}]
)
def test_an_unknown_scenario_changes_nothing(client: httpx.Client, body: dict[str, object]) -> None:
    """The refusal is a 400, and the trade goes on as it was."""
    assert client.post("/_sandbox/scenario", json=body).status_code == 400
    assert client.get("/_sandbox/scenario").json()["name"] == "hand-made"


def test_a_scenario_takes_damages_by_name(client: httpx.Client) -> None:
    """A damage named with its rate is in the truth afterwards; an unknown one is a 400."""
    body = {"name": "quiet-month", "seed": 3, "damages": {"paid_twice": 0.05}}
    assert client.post("/_sandbox/scenario", json=body).status_code == 200
    client.post("/_sandbox/clock/advance", json={"seconds": 31 * 24 * 60 * 60})
    assert "DUPLICATE_PAYMENT" in client.get("/_sandbox/truth").text

    answer = client.post("/_sandbox/scenario", json=body | {"damages": {"paid_thrice": 1}})
    assert answer.status_code == 400
    assert "paid_thrice" in answer.json()["error"]["message"]


def test_steering_needs_no_key(client: httpx.Client) -> None:
    """The steering routes are no part of the provider."""
    assert client.get("/_sandbox/clock", headers={"Authorization": ""}).status_code == 200
