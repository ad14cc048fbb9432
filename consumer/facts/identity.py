"""The settings of a login by the company's own identity provider, by OpenID Connect."""

from importlib.util import find_spec
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from consumer.facts.addresses import is_on_this_machine

_NEEDED = ("oidc_client_id", "oidc_client_secret")


def _check_issuer(value: str) -> str:
    """Keep an issuer as it is written, since what a token names must equal it to the letter."""
    parts = urlsplit(value)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_on_this_machine(value))
    if not is_safe or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("must be an https address without a query, as the provider names itself")
    return value


class OidcRoles(BaseModel):
    """Which role each value of the claim gives; a value that is not named gives none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    roles: dict[str, Literal["viewer", "finance", "admin"]] = Field(default_factory=dict)


class LoginSettings(BaseModel):
    """Where people log in besides the pages' own form."""

    oidc_issuer: Annotated[str, AfterValidator(_check_issuer)] | None = None
    oidc_client_id: str | None = Field(default=None, min_length=1)
    oidc_client_secret: SecretStr | None = Field(default=None, min_length=1)
    oidc_role_claim: str = Field(default="roles", min_length=1)
    oidc: OidcRoles = OidcRoles()

    def check_login(self, *, public_url: str | None) -> None:
        """Raise ValueError if a login by an identity provider is begun and not whole."""
        named = {name: getattr(self, name) for name in ("oidc_issuer", *_NEEDED)}
        if not any(named.values()):
            return
        missing = [f"CUADRE_{name.upper()}" for name, value in named.items() if not value]
        missing += [] if public_url else ["CUADRE_PUBLIC_URL"]
        missing += [] if self.oidc.roles else ["[oidc.roles]"]
        if missing:
            raise ValueError(f"a login by an identity provider also needs {', '.join(missing)}")
        if find_spec("authlib") is None:
            raise ValueError("CUADRE_OIDC_ISSUER needs Authlib: pip install 'cuadre[oidc]'")
