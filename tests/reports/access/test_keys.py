"""Machine tokens: kept as digests, narrowed by scopes, revocable, with their last use."""

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from consumer.facts.store import Store
from reports.access import keys
from reports.access.keys import Scope
from reports.access.people import PeopleError, Role
from reports.tables import Token

NOW = datetime(2026, 10, 8, 12, 0, tzinfo=UTC)


def test_a_token_is_kept_as_its_digest_only(store: Store) -> None:
    """The database never holds what would open the door."""
    with store.transaction() as session:
        token = keys.create_token(session, "erp", Role.VIEWER, now=NOW, scopes=[Scope.REPORTS])
    with store.reading() as session:
        row = session.scalars(sa.select(Token)).one()
    assert token.startswith("cuadre_")
    assert token not in (row.sha256, row.name)
    assert len(row.sha256) == 64


def test_a_token_works_until_it_is_revoked(store: Store) -> None:
    """A revoked or made-up token opens nothing; the last use is kept."""
    with store.transaction() as session:
        token = keys.create_token(session, "erp", Role.VIEWER, now=NOW, scopes=[Scope.REPORTS])
    assert keys.find_token(store, token, now=NOW) is not None
    with store.reading() as session:
        assert session.scalars(sa.select(Token)).one().last_used_at == NOW
    with store.transaction() as session:
        keys.revoke_token(session, "erp", now=NOW)
    assert keys.find_token(store, token, now=NOW) is None
    assert keys.find_token(store, token + "x", now=NOW) is None


def test_a_token_opens_only_its_scopes(store: Store) -> None:
    """Scopes are kept in one order, each once; a token that opens nothing is refused."""
    with store.transaction() as session:
        keys.create_token(session, "erp", Role.VIEWER, now=NOW, scopes=[Scope.API, Scope.REPORTS, Scope.API])
        keys.create_token(session, "all", Role.VIEWER, now=NOW, scopes=Scope)
        with pytest.raises(PeopleError, match="a token needs a scope: reports, api, metrics, books"):
            keys.create_token(session, "none", Role.VIEWER, now=NOW, scopes=[])
    with store.reading() as session:
        rows = session.scalars(sa.select(Token).order_by(sa.text("name"))).all()
    assert [(row.name, row.scopes) for row in rows] == [("all", "reports api metrics books"), ("erp", "reports api")]
