"""When a person is erased, and when the call is refused, repeated or killed."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import col, select

from consumer.facts.installation import Installation
from consumer.facts.tables.erasures import Erasure
from consumer.facts.tables.jobs import Tick
from reports.tables import AuditEntry
from tests.merchant import start_apart
from tests.reconcile.conftest import World
from tests.reports.erasing.conftest import NAME, RUT, call, figures, found_in, observed


def test_who_has_something_open_is_not_erased(lived: Installation) -> None:
    """A balance, a dispute and a refund under way are each named with their amount, and nothing is written."""
    world = World(lived.store)
    world.invoice("20", 4000, customer_tax_id=RUT, customer_name=NAME)
    observed(lived, "refund", {"id": "re_2", "status": "in_progress", "amount": 30, "currency": "CLP", "mode": "test",
             "object": "refund", "resource_id": "pi_1"})  # fmt: skip
    observed(lived, "dispute", {"id": "dp_1", "status": "in_review", "amount": 40, "currency": "CLP", "mode": "test",
             "object": "dispute", "resource_id": "pi_2"})  # fmt: skip
    before = figures(lived), found_in(lived)
    refused = call(lived, "erase", "cus_1", "--yes")
    assert refused.exit_code == 1
    assert refused.output == (
        "Error: cus_1 is not erased while this is open: cl:33::20 has a balance of 4000 CLP; "
        "dp_1 of 40 CLP is in_review; re_2 of 30 CLP is in_progress\n"
    )
    assert (figures(lived), found_in(lived)) == before


@pytest.mark.parametrize(
    ("person", "said"),
    [
        ("22222222-2", "no customer, payment or document bears 22222222-2"),
        ("nadie@correo.cl", "no customer, payment or document bears nadie@correo.cl"),
        ("66.666.666-6", "66.666.666-6 is a tax id of the public or of this merchant"),
    ],
)
def test_who_is_not_known_is_not_erased(lived: Installation, person: str, said: str) -> None:
    """An unknown tax id or mail, and one that stands for the public, are each one sentence."""
    refused = call(lived, "erase", person, "--yes")
    assert refused.exit_code == 1
    assert said in refused.output


def test_a_night_that_runs_is_waited_for(lived: Installation) -> None:
    """A job that has read the data would write it again, so the command refuses and names it."""
    now = datetime.now(UTC)
    World(lived.store).keep(Tick(job="nightly:main", planned_at=now, state="running", worker="w", started_at=now,
                                 lease_until=now + timedelta(minutes=5)))  # fmt: skip
    refused = call(lived, "erase", RUT, "--yes")
    assert refused.exit_code == 1
    assert "nightly:main is running" in refused.output


def test_it_is_asked_twice_and_can_be_called_twice(lived: Installation) -> None:
    """Without a terminal it wants --yes; a second call says when it was, and the trail has no word of the person."""
    assert call(lived, "erase", RUT).exit_code == 2
    assert RUT in {word for _, word in found_in(lived)}
    assert call(lived, "erase", RUT, "--yes").exit_code == 0
    again = call(lived, "erase", RUT, "--yes")
    assert again.exit_code == 0
    assert "and nothing of it is kept" in again.output
    with lived.store.reading() as session:
        subjects = session.exec(select(AuditEntry.subject).where(AuditEntry.action == "erase")).all()
    assert [subject.split(" rows ")[0] for subject in subjects] == ["erasure 1", "erasure 1"]


# Dies at the beginning of a step, or right after it.
_KILLED = """
import os, signal, sys
from reports.erasing import erase
from cuadre import cli

def die(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)

owner, _, name = sys.argv[1].rpartition(".")
setattr(getattr(erase, owner) if owner else erase, name, die)
cli(["erase", "12345678-5", "--yes"])
"""


@pytest.mark.both_databases
@pytest.mark.parametrize("step", ["Erasing.drop_files", "Erasing.write", "finish"])
def test_a_killed_call_is_completed_by_the_next(lived: Installation, step: str) -> None:
    """Killed before files are touched, before rows are, or before the end: the same call again leaves no word."""
    before = figures(lived)
    url = lived.store.url.render_as_string(hide_password=False)
    program = start_apart("-c", _KILLED, step, database_url=url, data_dir=lived.settings.data_dir)
    assert program.wait(timeout=180) == -9
    again = call(lived, "erase", RUT, "--yes")
    assert again.exit_code == 0, again.output
    assert found_in(lived) == set()
    assert figures(lived) == before
    with lived.store.reading() as session:
        assert session.exec(select(Erasure).where(col(Erasure.finished_at).is_(None))).all() == []
