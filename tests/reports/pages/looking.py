"""What a reader sees of a page, and what is kept once it was used."""

import re
from typing import Any

import sqlalchemy as sa
from flask.testing import FlaskClient
from sqlmodel import SQLModel

from consumer.facts.installation import Installation


def text_in(page: str) -> str:
    """The words of a page without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def text_of(client: FlaskClient, path: str) -> str:
    """The words of a page that must be there."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return text_in(answer.get_data(as_text=True))


def kept(installation: Installation, table: type[SQLModel]) -> list[Any]:
    """Every row of a table."""
    with installation.store.reading() as session:
        return list(session.scalars(sa.select(table)))
