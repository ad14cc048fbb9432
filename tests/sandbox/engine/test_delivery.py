"""Webhooks: what is signed and sent, what is tried again, and when."""

import hashlib
import hmac
import time

import httpx

from sandbox.engine.delivery import sign
from tests.sandbox.conftest import Open, Receiver, advance, paid, subscribe, trade
from tests.thoroughness import for_run

PUBLISHED_BODY = (
    b'{"id":"evt_2AaZeLCz0GjOW5zj","type":"payment_intent.succeeded","mode":"test",'
    b'"created_at":"2025-04-05T21:57:31.834Z","data":{"id":"pi_2vKOKniSGXRhXTKrJ67VXZxGCVt","mode":"test","amount":1,'
    b'"object":"payment_intent","status":"succeeded","currency":"MXN","metadata":{},'
    b'"created_at":"2025-04-05T21:57:17Z","expires_at":null,"error_reason":null,"payment_type":"bank_transfer",'
    b'"reference_id":null,"widget_token":null,"customer_email":null,"sender_account":{"type":"checking_account",'
    b'"number":"501514890244223279","holder_id":"mfiu593501oe4","institution_id":"mx_stp"},"business_profile":null,'
    b'"transaction_date":null,"recipient_account":{"type":"checking_account","number":"646180357600000000",'
    b'"holder_id":"fsm211008hz9","institution_id":"mx_stp"},"payment_type_options":{}},"object":"event"}'
)
SUCCEEDED = "payment_intent.succeeded"


def attempts(client: httpx.Client) -> list[tuple[int, str, int | None]]:
    found = client.get("/_sandbox/deliveries").json()
    return [(row["attempt"], row["at"][11:19], row["response_code"]) for row in found]


def test_the_published_vector_verifies_what_is_sent() -> None:
    """The signature is the provider's: time, full stop and raw body under the whole secret."""
    assert sign("whsec_test_secret", PUBLISHED_BODY, 1743890251) == (
        "t=1743890251,v1=11b98dd8f5500109246aa4d9875fad2e97d462560b012a5f50ff924411de0b0f"
    )


def test_a_webhook_is_the_event_signed_with_the_endpoints_secret(client: httpx.Client, receiver: Receiver) -> None:
    """What arrives has the bytes of the event in the log, the provider's header and real time."""
    secret = subscribe(client, SUCCEEDED)["secret"]

    advance(client, 3600)

    (request,) = receiver.requests
    timestamp, digest = request.headers["Fintoc-Signature"].removeprefix("t=").split(",v1=")
    expected = hmac.new(secret.encode(), f"{timestamp}.".encode() + request.content, hashlib.sha256).hexdigest()
    assert digest == expected
    assert abs(int(timestamp) - time.time()) < for_run(short=600, full=60)
    assert request.content == client.get(f"/v2/events/{receiver.events()[0]['id']}").content
    assert (request.method, str(request.url)) == ("POST", "https://shop.example/webhooks")
    assert request.headers["Content-Type"] == "application/json"


def test_the_prefix_of_the_header_is_a_setting(open_sandbox: Open, receiver: Receiver) -> None:
    """Another prefix names the signature header."""
    client = open_sandbox(header_prefix="Service")
    subscribe(client, SUCCEEDED)

    advance(client, 3600)

    assert "Service-Signature" in receiver.requests[0].headers


def test_only_what_happens_once_an_endpoint_exists_is_sent(client: httpx.Client, receiver: Receiver) -> None:
    """History is in the log but is never delivered."""
    subscribe(client, SUCCEEDED)

    advance(client, 7200)

    assert [event["data"]["id"] for event in receiver.events()] == ["pi_3"]


def test_an_endpoint_gets_only_the_types_it_asked_for(client: httpx.Client, receiver: Receiver) -> None:
    """An event of another type is in the log and on no wire."""
    subscribe(client, "refund.succeeded")

    advance(client, 3600)

    assert receiver.requests == []


def test_a_disabled_endpoint_gets_nothing(client: httpx.Client, receiver: Receiver) -> None:
    """Disabling stops deliveries, those already due included; enabling starts new ones."""
    id_ = subscribe(client, SUCCEEDED)["id"]

    client.patch(f"/v1/webhook_endpoints/{id_}", json={"disabled": True})
    advance(client, 3600)

    assert receiver.requests == []


def test_each_endpoint_gets_its_own_delivery_with_its_own_secret(client: httpx.Client, receiver: Receiver) -> None:
    """Two endpoints mean two deliveries of one event, signed differently."""
    subscribe(client, SUCCEEDED)
    subscribe(client, SUCCEEDED, url="https://other.example/hooks")

    advance(client, 3600)

    assert len({request.headers["Fintoc-Signature"] for request in receiver.requests}) == 2
    assert len({event["id"] for event in receiver.events()}) == 1


def test_a_failure_is_tried_again_after_three_seconds_and_then_twice_as_long(
    client: httpx.Client, receiver: Receiver
) -> None:
    """Retries follow the sandbox's clock: 3, 6, 12 seconds after each failure, until a 2xx."""
    subscribe(client, SUCCEEDED)
    receiver.answer = lambda _: httpx.Response(200 if len(receiver.requests) == 4 else 503, text="no")
    advance(client, 3600)

    assert attempts(client) == [(1, "04:00:00", 503)]

    advance(client, 2)
    assert len(receiver.requests) == 1
    advance(client, 1)
    assert len(receiver.requests) == 2
    advance(client, 3600)

    assert attempts(client) == [
        (1, "04:00:00", 503),
        (2, "04:00:03", 503),
        (3, "04:00:09", 503),
        (4, "04:00:21", 200),
    ]


def test_seventeen_retries_and_no_more(client: httpx.Client, receiver: Receiver) -> None:
    """An endpoint that never accepts gets one try and 17 retries of each event."""
    subscribe(client, SUCCEEDED)
    receiver.answer = lambda _: httpx.Response(500)

    advance(client, 30 * 86_400)

    assert len(receiver.requests) == 18
    assert client.get("/_sandbox/summary").json() == {
        "events": 6,
        "deliveries": 18,
        "delivered_events": 0,
        "dropped_events": 0,
    }


def test_a_broken_connection_is_a_failure_too(client: httpx.Client, receiver: Receiver) -> None:
    """An attempt without an answer has no code, bears the reason and is tried again."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("too slow", request=request)

    subscribe(client, SUCCEEDED)
    receiver.answer = refuse

    advance(client, 3603)

    rows = client.get("/_sandbox/deliveries").json()
    assert [(row["response_code"], row["response_body"]) for row in rows] == [(None, "ConnectTimeout")] * 2


def test_a_retry_is_signed_anew(client: httpx.Client, receiver: Receiver) -> None:
    """A retry after hours bears the time it is sent at, not the first one's."""
    subscribe(client, SUCCEEDED)
    receiver.answer = lambda _: httpx.Response(500)

    advance(client, 10_800)

    stamps = [int(request.headers["Fintoc-Signature"][2:].split(",")[0]) for request in receiver.requests]
    assert max(stamps) - min(stamps) < for_run(short=600, full=60)


def test_everything_on_the_way_is_sent_before_the_clock_answers(open_sandbox: Open, receiver: Receiver) -> None:
    """One advance over many events delivers each of them once."""
    client = open_sandbox(trade(*(paid(n, n) for n in range(1, 101))))
    subscribe(client, SUCCEEDED)

    advance(client, 100 * 60)

    assert {event["data"]["id"] for event in receiver.events()} == {f"pi_{n}" for n in range(1, 101)}
    assert len(receiver.requests) == 100


def test_a_receiver_may_ask_the_provider_while_it_is_being_called(client: httpx.Client, receiver: Receiver) -> None:
    """The sandbox answers reads in the middle of a delivery."""
    subscribe(client, SUCCEEDED)
    receiver.answer = lambda _: httpx.Response(client.get("/v1/payment_intents/pi_3").status_code)

    advance(client, 3600)

    assert attempts(client) == [(1, "04:00:00", 200)]
