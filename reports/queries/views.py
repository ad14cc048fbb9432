"""Views of lists that people keep: named, shared or pinned; and the columns and page size each remembers."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qs, urlencode

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.messages import RefusalError
from consumer.facts.store import Store
from reports.access.visibility import to_limit
from reports.tables import SavedView, User

MOST_OF_A_PERSON = 100
LONGEST_NAME = 80
_LONGEST = 2000
_SETTING = ""


class ViewError(RefusalError):
    """A view that cannot be kept or changed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a person chose for one list."""

    columns: tuple[str, ...] = ()
    size: int = 0


def find_setting(store: Store, person_id: int | None, of_list: str) -> Setting:
    """Return what a person chose for a list; a machine never chooses."""
    if person_id is None:
        return Setting()
    with store.reading() as session:
        found = _find(session, person_id, of_list, _SETTING)
    if found is None:
        return Setting()
    kept = parse_qs(found.asked)
    return Setting(tuple(kept.get("columns", [""])[0].split(",")), int(kept.get("size", ["0"])[0]))


def keep_setting(session: Session, person_id: int, of_list: str, setting: Setting, *, now: datetime) -> None:
    """Remember columns and page size; the last choice of a person counts."""
    asked = urlencode({"columns": ",".join(setting.columns), "size": setting.size})
    found = _find(session, person_id, of_list, _SETTING)
    if found is None:
        found = SavedView(person_id=person_id, list=of_list, name=_SETTING, asked=asked, changed_at=now)
    found.asked, found.changed_at = asked, now
    session.add(found)


def _find(session: Session, person_id: int, of_list: str, name: str) -> SavedView | None:
    mine = (col(SavedView.person_id) == person_id, col(SavedView.list) == of_list, col(SavedView.name) == name)
    return session.scalar(sa.select(SavedView).where(*mine))


def list_views(
    session: Session, person_id: int | None, visible: Collection[str], every: Collection[str]
) -> list[tuple[SavedView, str]]:
    """Return a person's own views and those that others share, with their owners; none of a connection not seen.

    A shared view that names no connection is of all that its owner sees, and its filter may name a customer there.
    """
    is_mine = sa.or_(col(SavedView.person_id) == person_id, col(SavedView.is_shared))
    query = sa.select(SavedView, User).join(User, col(User.id) == SavedView.person_id)
    rows = session.execute(
        query.where(is_mine, col(SavedView.name) != _SETTING).order_by(col(SavedView.name), col(SavedView.id))
    )
    found = []
    for view, owner in rows:
        limit = to_limit(owner) if view.person_id != person_id else frozenset[str]()
        of = parse_qs(view.asked).get("connection") or (every if limit is None else limit)
        if set(of) <= set(visible):
            found.append((view, owner.email))
    return found


def keep(session: Session, person_id: int, of_list: str, name: str, asked: str, *, now: datetime) -> SavedView:
    """Keep a view under a name that its owner has not given yet in this list."""
    name = _to_name(name)
    if len(asked) > _LONGEST:
        raise ViewError("views.too_long", most=_LONGEST)
    if _find(session, person_id, of_list, name) is not None:
        raise ViewError("views.name_taken", name=name)
    if (
        session.scalar(sa.select(sa.func.count()).where(col(SavedView.person_id) == person_id)) or 0
    ) >= MOST_OF_A_PERSON:
        raise ViewError("views.too_many", most=MOST_OF_A_PERSON)
    view = SavedView(person_id=person_id, list=of_list, name=name, asked=asked, changed_at=now)
    session.add(view)
    session.flush()
    return view


def change(session: Session, view: SavedView, *, version: int, now: datetime, **to: str | bool) -> None:
    """Change a view that is as its owner saw it; raise ViewError if another window changed it meanwhile."""
    if "name" in to:
        to["name"] = _to_name(str(to["name"]))
        other = _find(session, view.person_id, view.list, str(to["name"]))
        if other is not None and other.id != view.id:
            raise ViewError("views.name_taken", name=str(to["name"]))
    same = sa.update(SavedView).where(*_as_seen(view, version)).returning(col(SavedView.id))
    if session.execute(same.values(version=version + 1, changed_at=now, **to)).first() is None:
        raise ViewError("views.changed", name=view.name)


def drop(session: Session, view: SavedView, *, version: int) -> None:
    """Delete a view that is as its owner saw it."""
    same = sa.delete(SavedView).where(*_as_seen(view, version)).returning(col(SavedView.id))
    if session.execute(same).first() is None:
        raise ViewError("views.changed", name=view.name)


def _as_seen(view: SavedView, version: int) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    return col(SavedView.id) == view.id, col(SavedView.version) == version


def _to_name(name: str) -> str:
    name = " ".join(name.split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise ViewError("views.bad_name", most=LONGEST_NAME)
    return name
