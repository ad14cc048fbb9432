"""A small identity provider under `/_sandbox/identity`: OpenID Connect with a code and PKCE, and the attacks on it.

It follows the published protocol and keeps real time. Its people log in by clicking their name.
"""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_plus, urlencode

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from flask import Blueprint, Response, redirect, request
from markupsafe import escape
from werkzeug.wrappers import Response as AnyResponse

from sandbox.state.bodies import read_body
from sandbox.state.refusal import RefusalError

PATH = "/_sandbox/identity"
CLIENT_ID, CLIENT_SECRET = "cuadre", "sandbox-client-secret"
LASTS = 300  # seconds, of a code and of an ID token
FAULTS = (
    "down", "not-json", "other-issuer", "other-discovery", "wrong-nonce", "no-nonce", "expired", "alg-none",
    "alg-hs256", "other-audience", "other-key", "wrong-access-token", "no-token", "answers-for-another",
)  # fmt: skip
PEOPLE: dict[str, dict[str, object]] = {
    "ana": {"sub": "u-100", "email": "ana@tienda.example", "email_verified": True, "groups": ["cuadre-admins"]},
    "beto": {"sub": "u-200", "email": "beto@tienda.example", "email_verified": True, "groups": ["finanzas", "todos"]},
    "carla": {"sub": "u-300", "email": "carla@tienda.example", "email_verified": True, "groups": ["todos"]},
}
PAGE = """<!doctype html><html lang="es"><meta charset="utf-8"><title>Identidad de prueba</title>
<h1>Identidad de prueba</h1><form method="post">{people}</form></html>"""
BUTTON = '<p><button name="person" value="{name}">{name}</button></p>'

Claims = dict[str, object]


@dataclass(frozen=True, slots=True)
class Grant:
    """What one login allows: a code is worth one token, for the address and the verifier it was asked with."""

    person: Claims
    address: str
    challenge: str
    nonce: str | None
    ends_at: float


class Signer:
    """One RSA key under the name that its set of keys gives it."""

    def __init__(self) -> None:
        self.name = secrets.token_hex(4)
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def to_jwk(self) -> Mapping[str, str]:
        numbers = self._key.public_key().public_numbers()
        modulus, exponent = (_encode(n.to_bytes((n.bit_length() + 7) // 8, "big")) for n in (numbers.n, numbers.e))
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.name, "n": modulus, "e": exponent}

    def sign(self, text: bytes) -> bytes:
        return self._key.sign(text, padding.PKCS1v15(), hashes.SHA256())


class IdentityProvider:
    """The people, the key and the open logins of one sandbox; its key is made when it is first asked for."""

    def __init__(self) -> None:
        self.people = {name: dict(claims) for name, claims in PEOPLE.items()}
        self.fault = ""
        self.grants: dict[str, Grant] = {}
        self._signer: Signer | None = None

    @property
    def signer(self) -> Signer:
        self._signer = self._signer or Signer()
        return self._signer

    def discover(self) -> Response:
        issuer = _issuer()
        if self.fault == "not-json":
            return Response("<html>maintenance</html>", content_type="text/html")
        names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "jwks"}
        return _json(
            {
                "issuer": f"{issuer}/elsewhere" if self.fault == "other-discovery" else issuer,
                **{key: f"{issuer}/{name}" for key, name in names.items()},
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                # A careless one lists even those that must never be accepted.
                "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    def show_keys(self) -> Response:
        return _json({"keys": [self.signer.to_jwk()]})

    def authorize(self) -> AnyResponse:
        """Show who may log in; once one is chosen, lead back with a code."""
        asked = request.args
        if asked.get("client_id") != CLIENT_ID or asked.get("code_challenge_method") != "S256":
            raise RefusalError(400, "invalid_request", "the client is unknown, or asks without a challenge by S256")
        name = request.form.get("person", "")
        if name not in self.people:
            people = "".join(BUTTON.format(name=escape(one)) for one in self.people)
            return Response(PAGE.format(people=people), content_type="text/html; charset=utf-8")
        code, address = secrets.token_urlsafe(16), asked.get("redirect_uri", "")
        person, until = self.people[name], time.time() + LASTS
        self.grants[code] = Grant(person, address, asked.get("code_challenge", ""), asked.get("nonce"), until)
        issuer = "https://another.example" if self.fault == "answers-for-another" else _issuer()
        return redirect(f"{address}?{urlencode({'code': code, 'state': asked.get('state', ''), 'iss': issuer})}")

    def exchange(self) -> Response:
        """Give a token for a code, once, to the client that shows its secret and the verifier."""
        grant = self.grants.pop(request.form.get("code", ""), None)
        verifier = hashlib.sha256(request.form.get("code_verifier", "").encode()).digest()
        login = request.authorization
        is_client = login is not None and (
            (unquote_plus(login.username or ""), unquote_plus(login.password or "")) == (CLIENT_ID, CLIENT_SECRET)
        )
        if not is_client:
            return _json({"error": "invalid_client"}, 401)
        is_right = grant is not None and grant.ends_at > time.time() and grant.challenge == _encode(verifier)
        if grant is None or not is_right or grant.address != request.form.get("redirect_uri"):
            return _json({"error": "invalid_grant"}, 400)
        access = secrets.token_urlsafe(16)
        answer = {"access_token": access, "token_type": "Bearer", "id_token": self._to_token(grant, access)}
        if self.fault == "no-token":
            del answer["id_token"]
        return _json(answer)

    def _to_token(self, grant: Grant, access: str) -> str:
        now = int(time.time())
        half = hashlib.sha256(access.encode()).digest()[:16]
        claims: Claims = {
            "iss": _issuer(), "aud": CLIENT_ID, "iat": now, "exp": now + LASTS, "nonce": grant.nonce,
            "at_hash": _encode(half), **grant.person,
        }  # fmt: skip
        wrong: dict[str, Claims] = {
            "other-issuer": {"iss": "https://another.example"},
            "wrong-nonce": {"nonce": "another"},
            "no-nonce": {"nonce": None},
            "expired": {"iat": now - 2 * LASTS, "exp": now - LASTS},
            "other-audience": {"aud": "another-client"},
            "wrong-access-token": {"at_hash": _encode(b"another")},
        }
        claims |= wrong.get(self.fault, {})
        claims = {name: value for name, value in claims.items() if value is not None}
        return self._sign(claims)

    def _sign(self, claims: Claims) -> str:
        signer = Signer() if self.fault == "other-key" else self.signer
        algorithm = {"alg-none": "none", "alg-hs256": "HS256"}.get(self.fault, "RS256")
        header = {"typ": "JWT", "alg": algorithm, "kid": self.signer.name}
        text = b".".join(_encode(msgspec.json.encode(part)).encode() for part in (header, claims))
        match algorithm:
            case "none":
                signature = b""
            case "HS256":
                signature = hmac.digest(CLIENT_SECRET.encode(), text, "sha256")
            case _:
                signature = signer.sign(text)
        return f"{text.decode()}.{_encode(signature)}"

    def steer(self) -> Response:
        """Take a person more, a fault in place of the one before (empty for none), or a new key; show what holds."""
        body = read_body(request)
        fault = body.get("fault", self.fault)
        if fault not in ("", *FAULTS):
            raise RefusalError(400, "invalid_fault", f"fault must be one of {', '.join(FAULTS)}", param="fault")
        self.fault = str(fault)
        people = body.get("people", {})
        if not isinstance(people, dict) or not all(isinstance(claims, dict) for claims in people.values()):
            raise RefusalError(400, "invalid_params", "people must be claims by name", param="people")
        self.people.update(people)
        if body.get("rotate"):
            self._signer = Signer()
        return _json({"fault": self.fault, "people": self.people, "key": self.signer.name})


def to_blueprint() -> Blueprint:
    """Make an identity provider and return its routes."""
    provider, blueprint = IdentityProvider(), Blueprint("identity", __name__, url_prefix=PATH)

    @blueprint.before_request
    def _fail() -> Response | None:
        return Response(status=503) if provider.fault == "down" and request.path != PATH else None

    blueprint.get("/.well-known/openid-configuration")(provider.discover)
    blueprint.get("/jwks")(provider.show_keys)
    blueprint.route("/authorize", methods=["GET", "POST"])(provider.authorize)
    blueprint.post("/token")(provider.exchange)
    blueprint.post("")(provider.steer)
    return blueprint


def _issuer() -> str:
    return f"{request.host_url.rstrip('/')}{PATH}"


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _json(body: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(body), status, content_type="application/json")
