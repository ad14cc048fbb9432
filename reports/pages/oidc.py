"""The way to the company's identity provider and back, where the settings name one."""

import hmac
from dataclasses import astuple
from datetime import datetime, timedelta

from flask import Blueprint, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from consumer.facts.settings import Settings
from reports.access import identities, oidc
from reports.access.identities import NoEntryError
from reports.access.oidc import Attempt, IdentityProvider, OidcError, UnreachableError
from reports.pages import desk, login

_UNDER_WAY, _LASTS = "oidc", timedelta(minutes=10)


def to_blueprint(settings: Settings) -> Blueprint:
    """Make the two routes of a login by the identity provider."""
    provider, blueprint = IdentityProvider(settings), Blueprint("oidc", __name__, url_prefix="/login")

    @blueprint.get("/oidc")
    def begin() -> ResponseReturnValue:
        """Lead to the provider, with a state and a nonce that this browser alone holds."""
        attempt, target = oidc.new_attempt(), request.args.get("next", "")
        try:
            address = provider.begin(attempt)
        except OidcError as error:
            return _say(error, target)
        session[_UNDER_WAY] = [*astuple(attempt), (desk.now() + _LASTS).isoformat(), target]
        return redirect(address)

    @blueprint.get("/callback")
    def finish() -> ResponseReturnValue:
        """Take the provider's answer once, and begin a session for whom it names."""
        kept, target = _take_attempt()
        if kept is None:
            return _say(OidcError("oidc.too_late"), target)
        try:
            claims = provider.finish(kept, request.args)
            role = identities.find_role(claims, settings.oidc_role_claim, settings.oidc.roles)
            store = desk.installation().store
            user = identities.come_in(store, claims, role, now=desk.now(), address=desk.address())
        except (OidcError, NoEntryError) as error:
            return _say(error, target)
        login.open_session(user)
        return redirect(login.own_address(target) or url_for("today.show"))

    return blueprint


def _take_attempt() -> tuple[Attempt | None, str]:
    """Return the login under way that an answer belongs to, and where it leads; it is good for one answer."""
    state, nonce, verifier, until, target = session.pop(_UNDER_WAY, None) or ("", "", "", "", "")
    given = request.args.get("state", "").encode()
    is_own = bool(until) and datetime.fromisoformat(until) > desk.now() and hmac.compare_digest(state.encode(), given)
    return (Attempt(state, nonce, verifier) if is_own else None), target


def _say(error: OidcError | NoEntryError, target: str) -> ResponseReturnValue:
    """Say in one sentence what went wrong, with the form for a password still there."""
    status = 503 if isinstance(error, UnreachableError) else 401
    return render_template("login.html", failed=error.message.code, next=target), status
