"""Comments of exceptions: kept with their author, and found by whom they name until they have looked."""

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pytest
from sqlmodel import select

from reconcile.desk import casework, decisions
from reconcile.desk.decisions import DecisionError, Signature
from reconcile.tables.desk import ExceptionComment, ExceptionRow

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

pytestmark = pytest.mark.both_databases
AT = datetime(2026, 9, 11, 12, tzinfo=UTC)
LOGINS = ("ana@tienda.test", "luz@tienda.test", "luz@otra.test", "eva")


@pytest.fixture
def desk(world: "World") -> "World":
    world.keep(
        ExceptionRow(
            connection="main", id="e1", code="AMOUNT_DIFF", severity="medium", subject="resource:pi_1", title="t",
            opened_on=date(2026, 9, 10), last_seen_on=date(2026, 9, 11), amount_at_risk=190, currency="CLP",
            state="open", run_first="r1", run_last="r1",
        )
    )  # fmt: skip
    return world


def _say(desk: "World", text: str) -> None:
    with desk.store.transaction() as session:
        casework.comment(session, "main", "e1", Signature("eva", text, AT), logins=LOGINS)


def _unseen(desk: "World", login: str) -> int:
    with desk.store.reading() as session:
        return len(casework.unseen(session, ["main"], login))


def test_who_is_named_finds_it_until_they_have_looked(desk: "World") -> None:
    """By the login or what stands before its @; an address of mail inside a word names no one."""
    _say(desk, "@ana, mire esto con @luz@otra.test. El pago llegó a pagos@banco.test")
    assert [_unseen(desk, login) for login in LOGINS] == [1, 0, 1, 0]
    with desk.store.transaction() as session:
        assert casework.see(session, "main", "e1", "ana@tienda.test", at=AT)
        assert not casework.see(session, "main", "e1", "ana@tienda.test", at=AT)
    assert [_unseen(desk, login) for login in LOGINS] == [0, 0, 1, 0]
    with desk.store.reading() as session:
        changes = [(row.author, row.change) for row in decisions.history(session, "main", "e1")]
        assert changes == [("eva", "comment"), ("ana@tienda.test", "seen")]
        assert list(casework.find_comments(session, "main", "e1").values()) == [
            "@ana, mire esto con @luz@otra.test. El pago llegó a pagos@banco.test"
        ]


@pytest.mark.parametrize(
    ("text", "code"),
    [(" ", "casework.no_text"), ("@nadie mire", "casework.unknown_name"), ("@luz mire", "casework.unknown_name"),
     ("x" * 2001, "desk.reason_too_long")],
)  # fmt: skip
def test_a_comment_that_cannot_be_kept_is_refused_whole(desk: "World", text: str, code: str) -> None:
    """Empty, too long, or naming no one or two: nothing of it is kept."""
    with pytest.raises(DecisionError) as refused:
        _say(desk, text)
    assert refused.value.message.code == code
    with desk.store.reading() as session:
        assert session.exec(select(ExceptionComment)).all() == []
