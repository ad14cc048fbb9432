"""What layers of settled rows add up to, and how little of them a night opens."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, TypeAlias

import pytest
import sqlalchemy as sa

from consumer.facts.installation import Connection, Installation
from consumer.facts.tables.provider import PaymentIntent
from reconcile.runs.run import run
from tests.reconcile.closing.histories import History, now

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

_Parameters: TypeAlias = dict[str, str | int] | tuple[str | int, ...]


@pytest.mark.both_databases
def test_a_night_opens_no_chunk_for_what_an_earlier_layer_hid(
    world: "World", installation: Installation, main: Connection
) -> None:
    """A later layer has the sums without it; a cell that is reached since opens the chunks of its days alone."""
    bounded = replace(installation, settings=installation.settings.model_copy(update={"horizon": True}))
    history = History(world, Random(1))  # noqa: S311 - repeatable trade
    world.complete(datetime(2026, 12, 1, 6, tzinfo=UTC))
    for closing in range(3):
        for number in (10 * closing + 1, 10 * closing + 2):
            history.issue(str(number), 5000, rut="76192083-9", order=f"PED-{number}")
            history.pay(f"pi_{number}", 5000, {"metadata": {"order_ref": f"PED-{number}"}}, "76192083-9")
        history.pay_out(at_bank=True)
        history.day += timedelta(days=40)
        history.close(bounded, main, history.day - timedelta(days=1))
        history.day += timedelta(days=1)
        if closing == 1:
            history._set(PaymentIntent, PaymentIntent.id, ["pi_1"], subtype="credit_card", written_at=now())
        assert run(bounded, main, as_of=history.day).is_new
        history.age()

    def settle() -> tuple[set[tuple[int, int]], dict[str, int], int]:
        with opened(installation) as chunks:
            result = run(bounded, main, as_of=history.day, dry_run=True).result
        assert result is not None
        rows = result.settled[result.settled["resource_type"] == "payment_intent"]
        judged = result.lines["resource_id"].tolist()
        return chunks, {"count": int(rows["count"].sum()), "amount": int(rows["amount_signed"].sum())}, len(judged)

    # The first payment changed before the second closing, which settled it again, so it stands in two layers.
    assert settle() == (set(), {"count": 6, "amount": 30_000}, 0)
    history.issue("901", 7000, rut="76192083-9", order="PED-11")
    assert settle() == ({(1, 0)}, {"count": 5, "amount": 25_000}, 1)


@contextmanager
def opened(installation: Installation) -> Iterator[set[tuple[int, int]]]:
    """Collect the layer and the number of each chunk of lines of a layer that is read."""
    found: set[tuple[int, int]] = set()

    def note(_connection: object, _cursor: object, text: str, parameters: _Parameters, *_more: object) -> None:
        values = list(parameters.values()) if isinstance(parameters, dict) else list(parameters)
        if "result_chunk.content" in text and "line" in values:
            owner = next(str(one) for one in values if "+" in str(one))
            found.add((int(owner.rpartition("+")[2]) - 1, int(values[-1])))

    engine = installation.store.engine
    sa.event.listen(engine, "before_cursor_execute", note)
    yield found
    sa.event.remove(engine, "before_cursor_execute", note)
