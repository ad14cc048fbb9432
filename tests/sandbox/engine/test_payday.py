"""What is paid over HTTP is paid out as the scenario's own trade is: at the next cut, less fees, in full view."""

import csv
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import httpx

from sandbox.engine.world import NO_SCENARIO
from sandbox.state.happening import Happening
from tests.sandbox.conftest import START, Open, advance, payment, trade

Object = dict[str, Any]
HOUR, DAY = 3_600, 86_400


def sell(client: httpx.Client, amount: int = 100_000, **fields: Any) -> str:
    """A payment created and paid."""
    made = client.post("/v1/payment_intents", json={"amount": amount, "currency": "CLP", **fields}).json()
    assert client.post("/_sandbox/pay", json={"id": made["id"]}).json()["status"] == "succeeded"
    return str(made["id"])


def payouts(client: httpx.Client) -> list[Object]:
    return list(client.get("/v1/payouts").json())


def lines(client: httpx.Client, payout: str) -> list[list[str]]:
    text = client.get(f"/_sandbox/payouts/{payout}.csv").text
    return [line.split(";") for line in text.splitlines()[1:]]


def truth(client: httpx.Client) -> dict[tuple[str, str], Object]:
    rows = [httpx.Response(200, text=line).json() for line in client.get("/_sandbox/truth").text.splitlines()]
    return {(row["kind"], row["id"]): row for row in rows}


def test_a_payment_is_paid_out_at_the_next_cut(open_sandbox: Open) -> None:
    """Paid before 14:00 of a bank day: 20 minutes to three a payout less fee and VAT, through forty minutes later."""
    client = open_sandbox(NO_SCENARIO)
    sold = sell(client)

    advance(client, 14 * HOUR + 39 * 60)
    assert payouts(client) == []
    advance(client, 60)
    (made,) = payouts(client)
    assert (made["amount"], made["currency"], made["status"]) == (100_000 - 1_607, "CLP", "in_progress")
    assert made["created_at"] == "2026-10-01T17:40:00.000Z"
    resources = client.get(f"/v1/payouts/{made['id']}/resources?resource_type=payment_intent")
    assert [row["id"] for row in resources.json()] == [sold]
    assert lines(client, made["id"]) == [
        [sold, "2026-10-01T03:00:00.000Z", "100000", "1607", "payment_intent", "bank_transfer", "100000"]
    ]
    advance(client, 40 * 60)
    assert payouts(client)[0]["succeeded_at"] == "2026-10-01T18:20:00.000Z"
    types = [event["type"] for event in client.get("/v2/events").json()]
    assert types == ["payout.succeeded", "payout.created", "payment_intent.succeeded"]


def test_after_the_cut_comes_the_next_bank_day(open_sandbox: Open) -> None:
    """Paid on a Friday at 14:00, it is paid out on Monday: one payout for the whole weekend."""
    client = open_sandbox(NO_SCENARIO, start_at=datetime(2026, 10, 2, 17, tzinfo=UTC))
    first = sell(client)
    advance(client, DAY)
    second = sell(client, 50_000)
    advance(client, 3 * DAY)

    (made,) = payouts(client)
    assert made["created_at"] == "2026-10-05T17:40:00.000Z"
    assert [row[0] for row in lines(client, made["id"])] == [first, second]
    assert made["amount"] == 150_000 - 1_607 - 803


def test_the_scenarios_payout_of_the_day_takes_it_in(open_sandbox: Open) -> None:
    """One payout a cycle: its amount, resources, report and truth hold both trades."""
    client, plain = open_sandbox("busy-month", scale=0.3), open_sandbox("busy-month", scale=0.3)
    sold = sell(client, 777_001)
    for each in (client, plain):
        advance(each, 15 * HOUR)

    written, made = payouts(plain)[0], payouts(client)[0]
    assert (made["id"], len(payouts(client))) == (written["id"], len(payouts(plain)))
    assert made["amount"] - written["amount"] == 777_001 - 12_483
    assert len(lines(client, made["id"])) == len(lines(plain, made["id"])) + 1
    assert sum(int(row[6]) - int(row[3]) for row in lines(client, made["id"])) == made["amount"]
    rows = truth(client)
    assert sold in rows["payout", made["id"]]["links"]
    assert rows["payment", sold] == {
        "kind": "payment", "id": sold, "links": [made["id"]], "outcome": "no_document",
        "exceptions": ["PAYMENT_NO_INVOICE"], "amount_at_risk": 777_001, "currency": "CLP", "decidable": True,
    }  # fmt: skip
    assert len(rows) == len(truth(plain)) + 1


def test_money_in_the_merchants_account_adds_up(open_sandbox: Open) -> None:
    """The payout arrives whole; every later balance, and the month's statement, follow."""
    client = open_sandbox("busy-month", scale=0.3)
    sell(client, 777_001)
    advance(client, 33 * DAY)

    (account,) = client.get("/v2/accounts").json()
    moved: list[Object] = []
    url = f"/v2/accounts/{account['id']}/movements?limit=300"
    while url:
        page = client.get(url)
        moved += page.json()
        url = page.links["next"]["url"] if page.links else ""
    signed = [row["amount"] if row["direction"] == "inbound" else -row["amount"] for row in moved]
    assert len(moved) > 40
    assert all(newer["balance"] - older["balance"] == change
               for newer, older, change in zip(moved, moved[1:], signed, strict=False))  # fmt: skip
    assert account["available_balance"] == moved[0]["balance"]
    arrived = {row["amount"] for row in client.get("/v2/transfers?limit=300&direction=inbound").json()}
    with_it = [row for row in client.get("/v1/payouts?per_page=300").json() if holds(client, row["id"], 777_001)]
    assert [row["amount"] in arrived for row in with_it] == [True]
    october = client.get(f"/v2/accounts/{account['id']}/account_statements").json()[0]
    assert october["start_date"] == "2026-10-01"
    totals = october["total_credited_cents"] - october["total_debited_cents"]
    assert october["final_balance_cents"] - october["initial_balance_cents"] == totals
    inside = [row for row in moved if "2026-10-01T03:00" <= row["transaction_date"] < "2026-11-01T03:00"]
    assert october["final_balance_cents"] == inside[0]["balance"]
    assert october["total_credited_cents"] == sum(row["amount"] for row in inside if row["direction"] == "inbound")


def test_the_banks_own_file_tells_what_moved(open_sandbox: Open) -> None:
    """Each movement up to now, those of requests too, but for one deposit of 27,244."""
    client = open_sandbox("busy-month")
    sell(client, 777_001)
    advance(client, 20 * DAY)

    (account,) = client.get("/v2/accounts").json()
    moved: list[int] = []
    url = f"/v2/accounts/{account['id']}/movements?limit=300"
    while url:
        page = client.get(url)
        moved += [row["amount"] if row["direction"] == "inbound" else -row["amount"] for row in page.json()]
        url = page.links["next"]["url"] if page.links else ""
    head, *rows = list(csv.reader(client.get("/_sandbox/bank.csv").text.splitlines()))
    assert head == ["date", "description", "amount", "currency"]
    assert rows == sorted(rows, key=lambda row: row[0])
    filed = Counter(int(row[2]) for row in rows)
    assert (Counter(moved) - filed, filed - Counter(moved)) == (Counter([27_244]), Counter())


def holds(client: httpx.Client, payout: str, amount: int) -> bool:
    return any(row[2] == str(amount) for row in lines(client, payout))


def test_a_payout_that_fails_gives_it_back(open_sandbox: Open) -> None:
    """Canceled in the afternoon, the money is in the payout of the next bank day."""
    made = {"id": "po_1", "object": "payout", "mode": "test", "amount": 5_000, "currency": "CLP",
            "created_at": "2026-10-01T17:30:00.000Z"}  # fmt: skip
    shown = trade(
        Happening(START.replace(hour=17, minute=30), "payouts", made | {"status": "in_progress"}, "payout.created"),
        Happening(START.replace(hour=18, minute=30), "payouts", made | {"status": "canceled"}, "payout.canceled"),
    )
    client = open_sandbox(shown)
    sell(client)
    advance(client, 15 * HOUR)
    assert [row["amount"] for row in payouts(client)] == [5_000 + 98_393]
    advance(client, DAY)

    assert [(row["amount"], row["status"]) for row in payouts(client)] == [
        (98_393, "in_progress"),
        (5_000 + 98_393, "canceled"),
    ]


def test_a_refund_is_taken_off(open_sandbox: Open) -> None:
    """Processed at 15:00, it is in the next payout, with a fee; alone it waits for money to be taken from."""
    client = open_sandbox(NO_SCENARIO)
    sold = sell(client)
    advance(client, 15 * HOUR)
    refund = client.post("/v1/refunds", json={"resource_id": sold, "amount": 40_000}).json()
    advance(client, 3 * DAY + 2 * HOUR)
    assert len(payouts(client)) == 1
    later = sell(client, 60_000)
    advance(client, 2 * DAY)

    made = payouts(client)[0]
    assert {row[0]: row[2:5] for row in lines(client, made["id"])} == {
        refund["id"]: ["-40000", "612", "refund"],
        later: ["60000", "964", "payment_intent"],
    }
    assert made["amount"] == 60_000 - 964 - 40_000 - 612


def test_of_a_shared_payment_each_recipient_is_paid_out_its_part(open_sandbox: Open) -> None:
    """The root entity's share in its payout, less the fee on the whole; the other's in a payout of its own."""
    client = open_sandbox("busy-month", scale=0.3)
    root = client.get("/v2/entities?is_root=true").json()[0]
    other = client.get("/v2/entities?is_root=false").json()[0]
    split = [
        {"entity_id": root["id"], "flat": 200_000, "charge_processing_fee": True},
        {"entity_id": other["id"], "flat": 133_333, "charge_processing_fee": False},
    ]
    session = client.post("/v2/checkout_sessions", json={"amount": 333_333, "currency": "CLP", "split": split}).json()
    paid = client.post("/_sandbox/pay", json={"id": session["id"]}).json()["id"]
    advance(client, 16 * HOUR)

    others, own = payouts(client)[:2]
    (row,) = [row for row in lines(client, own["id"]) if row[0] == paid]
    assert (row[2], row[3], row[6]) == ("333333", "5355", "200000")
    assert [row[2:4] + row[6:] for row in lines(client, others["id"])] == [["333333", "0", "133333"]]
    assert (others["amount"], others["recipient_account"]["holder_id"]) == (133_333, other["holder_id"])
    shown = client.get("/v2/events", params={"resource_id": others["id"]}).json()
    assert [event["type"] for event in shown] == ["payout.succeeded", "payout.created"]
    assert ("payout", others["id"]) not in truth(client)


def test_what_may_mean_a_document_of_the_books_is_left_undecided(open_sandbox: Open) -> None:
    """A payment that names an invoice of the books, and the invoice: neither is judged."""
    client = open_sandbox("busy-month", scale=0.3)
    head, *rows = [line.split(",") for line in client.get("/_sandbox/invoices.csv").text.splitlines()]
    invoice = dict(zip(head, next(row for row in rows if row[0] == "33"), strict=True))
    sold = sell(client, 123_457, metadata={"order_ref": invoice["order_ref"]})

    found = truth(client)
    assert (found["payment", sold]["outcome"], found["payment", sold]["exceptions"]) == ("unexplained", [])
    assert not found["payment", sold]["decidable"]
    assert not found["document", f"cl:33::{invoice['folio']}"]["decidable"]


def test_pesos_of_mexico_are_paid_out_the_mexican_way(open_sandbox: Open) -> None:
    """The local date's money on the next bank day in the morning, at Mexico's fees."""
    client = open_sandbox(NO_SCENARIO)
    made = client.post("/v1/payment_intents", json={"amount": 50_000, "currency": "MXN", "payment_type": "card"}).json()
    paid = client.post("/_sandbox/pay", json={"id": made["id"]}).json()
    assert paid["payment_type_options"]["card"]["kind"] == "credit"
    advance(client, 2 * DAY)

    (payout,) = payouts(client)
    assert payout["created_at"] == "2026-10-01T15:20:00.000Z"
    assert payout["amount"] == 50_000 - 1_682


def test_live_payments_have_payouts_and_reports_of_their_own(open_sandbox: Open) -> None:
    """The live key sees its payout; its report is handed out as any other."""
    client = open_sandbox("busy-month", scale=0.3)
    client.headers["Authorization"] = "sk_live_sandbox"
    advance(client, 7 * DAY)

    assert payouts(client)
    for written in payouts(client):
        assert sum(int(row[6]) - int(row[3]) for row in lines(client, written["id"])) == written["amount"]
    sold = sell(client)
    advance(client, 2 * DAY)
    assert [row[0] for row in lines(client, payouts(client)[0]["id"])] == [sold]


def test_no_payout_is_made_where_no_calendar_reaches(open_sandbox: Open) -> None:
    """Bank days are known to the end of 2027: later money waits, and nothing breaks."""
    client = open_sandbox(NO_SCENARIO)
    advance(client, 900 * DAY)
    sell(client)
    advance(client, 10 * DAY)

    assert payouts(client) == []


def test_a_payment_the_scenario_made_is_not_paid_out_again(open_sandbox: Open) -> None:
    """Only what requests move waits; what happens by itself is in the scenario's own payouts."""
    client = open_sandbox(trade(Happening(START, "payment_intents", payment("pi_1", START, "succeeded"))))
    advance(client, 3 * DAY)

    assert payouts(client) == []
