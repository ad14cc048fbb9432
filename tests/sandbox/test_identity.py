"""The sandbox's identity provider follows the published protocol, and each of its faults breaks one rule of it."""

import base64
import json
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.errors import BadSignatureError
from joserfc.jwk import KeySet

from sandbox.identity import CLIENT_ID, CLIENT_SECRET, FAULTS
from tests.sandbox.conftest import Open

# The pair that RFC 7636 publishes in its appendix B.
VERIFIER, CHALLENGE = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
BACK = "http://merchant.test/login/callback"
PATH = "/_sandbox/identity"
ASKED = {
    "client_id": CLIENT_ID, "redirect_uri": BACK, "state": "s-1", "nonce": "n-1", "response_type": "code",
    "code_challenge": CHALLENGE, "code_challenge_method": "S256",
}  # fmt: skip


@pytest.fixture
def client(open_sandbox: Open) -> httpx.Client:
    return open_sandbox()


def choose(client: httpx.Client, person: str = "ana") -> dict[str, str]:
    """Choose a person on the page, and return what the address led back to carries."""
    answer = client.post(f"{PATH}/authorize", params=ASKED, data={"person": person})
    assert answer.headers["Location"].startswith(f"{BACK}?")
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["Location"]).query).items()}


def exchange(client: httpx.Client, code: str, /, **changes: str) -> httpx.Response:
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "redirect_uri": BACK}
    return client.post(f"{PATH}/token", data=form | changes, auth=(CLIENT_ID, CLIENT_SECRET))


def parts_of(token: str) -> list[dict[str, Any]]:
    return [json.loads(base64.urlsafe_b64decode(part + "==")) for part in token.split(".")[:2]]


def test_a_login_ends_in_a_signed_token(client: httpx.Client) -> None:
    """The page names who may log in; their code is worth one token, signed by the key that is published."""
    page = client.get(f"{PATH}/authorize", params=ASKED).text
    back = choose(client)
    token = exchange(client, back["code"]).json()["id_token"]
    found = jwt.decode(token, KeySet.import_key_set(client.get(f"{PATH}/jwks").json()), algorithms=["RS256"])

    assert [name in page for name in ("ana", "beto", "carla")] == [True, True, True]
    assert back["state"] == "s-1"
    named = {name: found.claims[name] for name in ("iss", "sub", "aud", "nonce", "email", "groups")}
    assert named == {
        "iss": back["iss"], "sub": "u-100", "aud": "cuadre", "nonce": "n-1", "email": "ana@tienda.example",
        "groups": ["cuadre-admins"],
    }  # fmt: skip
    assert exchange(client, back["code"]).json() == {"error": "invalid_grant"}


@pytest.mark.parametrize(
    "changes", [{"code_verifier": "another"}, {"redirect_uri": "http://evil.test/"}, {"code": "x"}]
)
def test_a_code_is_worth_nothing_elsewhere(client: httpx.Client, changes: dict[str, str]) -> None:
    """Without the verifier, for another address or under another code there is no token."""
    answer = exchange(client, choose(client)["code"], **changes)
    assert (answer.status_code, answer.json()) == (400, {"error": "invalid_grant"})


def test_strangers_get_nothing(client: httpx.Client) -> None:
    """An unknown client, a login without S256 and a wrong secret are refused."""
    for change in ({"client_id": "other"}, {"code_challenge_method": "plain"}):
        assert client.get(f"{PATH}/authorize", params=ASKED | change).status_code == 400
    form = {"code": choose(client)["code"], "code_verifier": VERIFIER, "redirect_uri": BACK}
    assert client.post(f"{PATH}/token", data=form, auth=(CLIENT_ID, "wrong")).status_code == 401


def test_a_key_is_replaced_on_demand(client: httpx.Client) -> None:
    """After a rotation the set of keys holds the new key alone, and tokens are signed with it."""
    before = client.get(f"{PATH}/jwks").json()["keys"]
    client.post(PATH, json={"rotate": True})
    after = client.get(f"{PATH}/jwks").json()["keys"]
    header, _ = parts_of(exchange(client, choose(client)["code"]).json()["id_token"])
    assert [len(before), len(after), before[0]["kid"] == after[0]["kid"]] == [1, 1, False]
    assert header["kid"] == after[0]["kid"]


@pytest.mark.parametrize(
    ("fault", "name", "value"),
    [
        ("other-issuer", "iss", "https://another.example"),
        ("wrong-nonce", "nonce", "another"),
        ("no-nonce", "nonce", None),
        ("other-audience", "aud", "another-client"),
        ("alg-none", "alg", "none"),
        ("alg-hs256", "alg", "HS256"),
    ],
)
def test_a_fault_changes_what_a_token_says(client: httpx.Client, fault: str, name: str, value: str | None) -> None:
    """Each fault puts its one wrong word into the token."""
    client.post(PATH, json={"fault": fault})
    header, claims = parts_of(exchange(client, choose(client)["code"]).json()["id_token"])
    assert (header | claims).get(name) == value


def test_other_faults(client: httpx.Client) -> None:
    """A token that is over, one of an unknown key, no token, an issuer that is another, and no answer at all."""
    found = {}
    for fault in ("expired", "other-key", "no-token"):
        client.post(PATH, json={"fault": fault})
        found[fault] = exchange(client, choose(client)["code"]).json()
    _, claims = parts_of(found["expired"]["id_token"])
    assert claims["exp"] < time.time()
    keys = KeySet.import_key_set(client.get(f"{PATH}/jwks").json())
    with pytest.raises(BadSignatureError):
        jwt.decode(found["other-key"]["id_token"], keys, algorithms=["RS256"])
    assert "id_token" not in found["no-token"]
    client.post(PATH, json={"fault": "answers-for-another"})
    assert choose(client)["iss"] == "https://another.example"
    discovery = f"{PATH}/.well-known/openid-configuration"
    client.post(PATH, json={"fault": "other-discovery"})
    assert client.get(discovery).json()["issuer"].endswith("/_sandbox/identity/elsewhere")
    client.post(PATH, json={"fault": "down"})
    assert client.get(discovery).status_code == 503
    assert client.post(PATH, json={"fault": "unheard-of"}).status_code == 400
    assert len(FAULTS) == 14
