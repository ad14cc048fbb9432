"""Damage done to the mirror at random: every difference is found by name, none is invented, repair leaves nothing."""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.facts.tables.types import core_of
from consumer.inbox.apply import drain
from consumer.provider.client import open_provider
from consumer.provider.rows import KINDS
from consumer.sync.backfill import read_log
from consumer.sync.drift import compare_streams
from consumer.sync.pull import STREAMS, read_streams
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from tests.merchant import settings_of
from tests.thoroughness import for_run

SEEDS = for_run(short=range(2), full=range(20))
DAMAGES = 24
TABLES = {name: core_of(KINDS[stream.kind].table) for name, stream in STREAMS.items()}
# A text that most kinds of object have; where there is none, the object is lost instead.
CHANGEABLE = ("status", "name", "holder_name", "number", "description")
LATER = datetime(2026, 12, 1, tzinfo=UTC)

Found = set[tuple[str, str, str, str | None]]


@pytest.fixture(scope="module")
def running() -> Iterator[RunningSandbox]:
    with RunningSandbox("busy-month", scale=0.3) as running:
        yield running


@pytest.fixture(scope="module")
def mirrored(
    running: RunningSandbox, migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """An installation that holds all the trade of a month."""
    folder = tmp_path_factory.mktemp("mirror")
    shutil.copy(migrated_sqlite, folder / "cuadre.db")
    with Steer(running.url) as steer:
        tokens = steer.credentials()["link_tokens"]
    settings = settings_of(running.url, folder, link_tokens=",".join(tokens), data_dir=str(folder))
    installation = Installation(settings, Store(settings.database_url))
    with open_provider(installation, settings.connection("main")) as provider:
        assert read_log(installation, provider).complete
        drain(installation.store, settings, worker="test")
        assert read_streams(installation, provider, STREAMS.values()).complete
    yield installation
    installation.store.close()


def _known_ids(session: Session, name: str) -> list[str]:
    core = TABLES[name]
    return sorted(session.execute(sa.select(core.c.id).where(core.c.gone_at.is_(None))).scalars())


def _damage(installation: Installation, luck: Random, seed: int) -> Found:
    """Lose, change, invent or bury two dozen objects of any stream, and say what must be found."""
    planted: Found = set()
    with installation.store.transaction() as session:
        ids = {name: _known_ids(session, name) for name in TABLES}
        for number in range(DAMAGES):
            name = luck.choice([name for name in sorted(ids) if ids[name]])
            core = TABLES[name]
            id_ = ids[name].pop(luck.randrange(len(ids[name])))
            mine = core.c.id == id_
            row = dict(session.execute(sa.select(core).where(mine)).mappings().one())
            body = json.loads(row["body"])
            field = next((field for field in CHANGEABLE if isinstance(body.get(field), str)), None)
            kind = luck.choice(["lost", "changed", "invented", "buried"])
            kind = "lost" if kind == "changed" and field is None else kind
            if kind == "lost":
                session.execute(core.delete().where(mine))
                planted.add((name, id_, "missing_here", None))
            elif kind == "changed":
                changed = {"body": json.dumps(body | {field: "made_up"}), "version_at": LATER}
                session.execute(core.update().where(mine).values(changed))
                planted.add((name, id_, "differs", field))
            elif kind == "invented":
                twin = f"made_up_{seed}_{number}"
                row |= {"id": twin, "body": json.dumps(body | {"id": twin})}
                session.execute(core.insert().values(row))
                planted.add((name, twin, "missing_there", None))
            else:
                session.execute(core.update().where(mine).values(gone_at=LATER))
                planted.add((name, id_, "missing_here", None))
    return planted


def test_every_seeded_difference_is_found_and_none_invented(mirrored: Installation) -> None:
    """For each seed exactly the planted differences are found; after the repair the comparison finds nothing."""
    with open_provider(mirrored, mirrored.settings.connection("main")) as provider:

        def found(*, repair: bool) -> Found:
            outcome = compare_streams(mirrored, provider, STREAMS.values(), days=60, repair=repair)
            assert outcome.left == (0 if repair else len(outcome.found))
            return {(name, one.id, one.kind.value, one.field) for name, one in outcome.found}

        assert found(repair=False) == set()
        for seed in SEEDS:
            planted = _damage(mirrored, Random(seed), seed)  # noqa: S311 - damage that is the same every time
            assert found(repair=False) == planted, f"seed {seed}"
            assert found(repair=True) == planted, f"seed {seed}"
            assert found(repair=False) == set(), f"seed {seed}"
