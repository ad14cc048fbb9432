"""How many transactions a pull costs, over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.sync.pull import pull
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from tests.merchant import settings_of
from tools.ways import make_trade


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Settings of a sandbox that holds one payout of one payment."""
    with RunningSandbox(make_trade()) as running, Steer(running.url) as steer:
        steer.advance(2 * 60 * 60)
        yield settings_of(running.url, tmp_path)


def test_a_payout_of_one_item_is_pulled_in_eight_transactions(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window, five pages of which the last closes it, and two for the shared request budget."""
    # A slow machine does not begin five requests within the second that places are held.
    monkeypatch.setattr("consumer.provider.budget.HOLD_SECONDS", 60.0)
    begun: list[object] = []
    sa.event.listen(installation.store.engine, "begin", begun.append)
    outcome = pull(installation, installation.settings.connection("main"), ["payouts"])
    assert outcome.lines == ["main: payouts: complete, 1 read, 1 new or changed, 5 pages"]
    assert len(begun) <= 8
