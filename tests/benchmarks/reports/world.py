"""The database a benchmark of reports measures: made for it, or kept between two measurements."""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from consumer.config import load
from consumer.facts import schema
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.facts.tables.types import core_of
from reconcile.tables.books import LocalInvoice


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--postgresql", default="", help="address of an empty database, or of one a benchmark filled")
    parser.add_argument("--keep", type=Path, help="folder in which the world stays, and is found the next time")


@contextmanager
def open_world(given: argparse.Namespace) -> Iterator[Installation]:
    with tempfile.TemporaryDirectory() as own:
        folder = given.keep or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        environ = {"CUADRE_COUNTRY": "cl", "CUADRE_API_KEY": "sk_test_x", "CUADRE_PROVIDER_URL": "http://127.0.0.1:9"}
        settings = load({**environ, "CUADRE_DATA_DIR": str(folder)}, folder=folder)
        store = Store(given.postgresql or f"sqlite:///{folder}/world.db")
        schema.upgrade(store)
        yield Installation(settings=settings, store=store)
        store.close()


def is_empty(store: Store) -> bool:
    with store.reading() as session:
        return session.scalar(sa.select(core_of(LocalInvoice).c.doc_key).limit(1)) is None
