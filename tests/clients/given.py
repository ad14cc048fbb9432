"""What the libraries cannot make themselves: objects of a scenario they start from, and the organization's keys."""

from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

Object = dict[str, Any]
PDF = b"%PDF-1.7\n" + b"x" * 200
LONGEST_WAIT = 30  # days
CLABE = "012180004118359719"
CHILEAN = {
    "holder_id": "111111111",
    "holder_name": "Ana",
    "account_number": "123",
    "account_type": "checking_account",
    "institution_id": "cl_banco_de_chile",
}


def prepare(address: str, key_file: Path) -> Object:
    """Write a private key, register its public half, and return the ids a driver needs."""
    with httpx.Client(base_url=address, headers={"Authorization": "sk_test_sandbox"}, timeout=60) as client:
        _register_key(client, key_file)
        key_file.with_name("document.pdf").write_bytes(PDF)
        disputed = _wait_for_disputes(client)
        scenario = client.get("/_sandbox/scenario").json()
        country = scenario["country"]
        currency = "CLP" if country == "cl" else "MXN"
        customer = client.get("/v2/customers").json()[0]["id"]
        draft = {"customer": customer, "currency": "CLP", "collection_method": "send_invoice"}
        price = {"product_data": {"name": "Gym"}, "currency": currency, "unit_amount": 9_900}
        subscribed = {"customer": customer, "collection_method": "send_invoice", "items": [{"price_data": price}]}
        methods = client.get("/v2/payment_methods").json()
        return {
            "scenario": scenario["name"],
            "country": country,
            "currency": currency,
            "link": client.get("/_sandbox/credentials").json()["link_tokens"][0],
            "account": client.get("/v2/accounts").json()[0]["id"],
            "payment_method": next(row["id"] for row in methods if row[row["type"]]["status"] == "active"),
            "file": str(key_file.with_name("document.pdf")),
            "invoice": _make(client, "/v2/invoices", **draft, lines=[{"amount": 5, "currency": "CLP"}])["id"],
            "subscription": _make(client, "/v2/subscriptions", **subscribed)["id"],
            "disputes": disputed,
            "holder_id": "771112223" if country == "cl" else "OTR190301KX8",
            "recipient": {"holder_id": "111111111", "number": "123", "type": "checking_account",
                          "institution_id": "cl_banco_de_chile"},
            "counterparty": CHILEAN if country == "cl" else {"account_number": CLABE},
        }  # fmt: skip


def _make(client: httpx.Client, path: str, **body: Any) -> Object:
    return dict(client.post(path, json=body).raise_for_status().json())


def _wait_for_disputes(client: httpx.Client) -> list[str]:
    """Let the trade go on until disputes wait for documents; give one of them a document."""
    for _ in range(LONGEST_WAIT):
        waiting = [row["id"] for row in client.get("/v1/disputes?status=waiting_documentation").json()]
        if waiting:
            file = {"file": ("a.pdf", PDF)}
            client.post(f"/v1/disputes/{waiting[0]}/documents", files=file).raise_for_status()
            return waiting
        client.post("/_sandbox/clock/advance", json={"seconds": 86_400})
    return []


def _register_key(client: httpx.Client, key_file: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    key_file.write_bytes(private)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    client.put("/_sandbox/jws_key", json={"public_key": public.decode()}).raise_for_status()
