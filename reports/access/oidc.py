"""Login by an identity provider: OpenID Connect with a code, PKCE and a nonce; what comes back is checked whole."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import httpx
import structlog
from authlib.common.errors import AuthlibBaseError
from authlib.oauth2.client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from consumer.facts.addresses import is_on_this_machine
from consumer.facts.messages import RefusalError
from consumer.facts.settings import Settings

log = structlog.get_logger("cuadre.oidc")

# Signed by a key that the provider publishes: neither unsigned nor by a secret that both know.
ALGORITHMS = ["RS256", "PS256", "ES256"]
_LEEWAY_SECONDS = 60
_LONGEST_SUBJECT = 255  # as the protocol says
_TIMEOUT = httpx.Timeout(5)
_SCOPE = "openid email profile"
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")

Claims = Mapping[str, object]


class OidcError(RefusalError):
    """A login that the identity provider did not confirm; the log says which check failed."""


class UnreachableError(OidcError):
    """The identity provider gives no usable answer."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One login under way; its browser keeps it in the session, and it is good for one answer."""

    state: str
    nonce: str
    verifier: str


def new_attempt() -> Attempt:
    return Attempt(*(secrets.token_urlsafe(48) for _ in range(3)))


class IdentityProvider:
    """The identity provider that the settings name, as one of its clients asks it."""

    def __init__(self, settings: Settings, *, transport: httpx.BaseTransport | None = None) -> None:
        assert settings.oidc_issuer
        assert settings.oidc_client_id
        assert settings.oidc_client_secret
        self._issuer = settings.oidc_issuer
        self._client_id = settings.oidc_client_id
        self._secret = settings.oidc_client_secret
        self._address = f"{settings.public_url}/login/callback"
        self._transport = transport

    def begin(self, attempt: Attempt) -> str:
        """Return the address at which the browser logs in."""
        with self._open() as http:
            metadata = self._discover(http)
            address, _ = self._client(http).create_authorization_url(
                metadata["authorization_endpoint"],
                state=attempt.state,
                nonce=attempt.nonce,
                code_verifier=attempt.verifier,
            )
        return str(address)

    def finish(self, attempt: Attempt, answer: Mapping[str, str]) -> Claims:
        """Return what the provider says of who logged in. Raise OidcError unless all of it can be believed."""
        if "code" not in answer:
            raise _refuse(OidcError("oidc.declined"), answer.get("error", "no code")[:40])
        if answer.get("iss", self._issuer) != self._issuer:
            raise _refuse(OidcError("oidc.refused"), "the answer is of another issuer")
        with self._open() as http:
            metadata = self._discover(http)
            token = self._exchange(http, metadata, answer["code"], attempt.verifier)
            keys = _read(http, metadata["jwks_uri"])
        try:
            return self._verify(token, keys, attempt.nonce)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise _refuse(OidcError("oidc.refused"), _describe(error)) from None

    def _open(self) -> httpx.Client:
        return httpx.Client(timeout=_TIMEOUT, transport=self._transport, follow_redirects=False)

    def _client(self, http: httpx.Client) -> OAuth2Client:
        return OAuth2Client(
            http,
            client_id=self._client_id,
            client_secret=self._secret.get_secret_value(),
            scope=_SCOPE,
            redirect_uri=self._address,
            code_challenge_method="S256",
        )

    def _discover(self, http: httpx.Client) -> dict[str, str]:
        """Read how the provider describes itself; it must bear the very name that the settings give it."""
        found = _read(http, f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != self._issuer:
            raise _refuse(OidcError("oidc.refused"), "the provider describes itself as another issuer")
        addresses = {name: str(found.get(name, "")) for name in _ENDPOINTS}
        for name, address in addresses.items():
            if not address.startswith("https://") and not is_on_this_machine(address):
                raise _refuse(OidcError("oidc.refused"), f"{name} is no https address")
        return addresses

    def _exchange(self, http: httpx.Client, metadata: Mapping[str, str], code: str, verifier: str) -> Claims:
        login = httpx.BasicAuth(self._client_id, self._secret.get_secret_value())
        asked = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier}
        try:
            token: Claims = self._client(http).fetch_token(
                metadata["token_endpoint"], auth=login, redirect_uri=self._address, **asked
            )
        except AuthlibBaseError as error:
            raise _refuse(OidcError("oidc.refused"), _describe(error)) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise _say_unreachable(error) from None
        return token

    def _verify(self, token: Claims, keys: Mapping[str, object], nonce: str) -> Claims:
        signed = jwt.decode(str(token["id_token"]), KeySet.import_key_set(keys), algorithms=ALGORITHMS)  # type: ignore[arg-type]  # the provider's own JSON
        expected = {name: {"essential": True, "value": value} for name, value in self._own_claims().items()}
        params = {"nonce": nonce, "client_id": self._client_id, "access_token": token.get("access_token")}
        claims = CodeIDToken(signed.claims, signed.header, expected, params)
        claims.validate(leeway=_LEEWAY_SECONDS)
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT or not subject.isprintable():
            raise ValueError("sub is no plain text")
        return dict(claims)

    def _own_claims(self) -> dict[str, str]:
        return {"iss": self._issuer, "aud": self._client_id}


def _read(http: httpx.Client, address: str) -> dict[str, object]:
    try:
        answer = http.get(address)
        answer.raise_for_status()
        found = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise _say_unreachable(error) from None
    if not isinstance(found, dict):
        raise _say_unreachable(TypeError())
    return found


def _describe(error: Exception) -> str:
    """Name what is wrong without what it is wrong in: a message may hold a piece of a token."""
    return f"{type(error).__name__} {getattr(error, 'error', '')} {getattr(error, 'claim', '')}".strip()


def _refuse(error: OidcError, reason: str) -> OidcError:
    log.warning("a login by the identity provider is refused", reason=reason)
    return error


def _say_unreachable(error: Exception) -> UnreachableError:
    log.warning("the identity provider gives no usable answer", reason=type(error).__name__)
    return UnreachableError("oidc.unreachable")
