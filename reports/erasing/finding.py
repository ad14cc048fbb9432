"""Whose data it is: the ids, tax ids and mails of a person, and the objects and documents that bear them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.installation import Installation
from consumer.facts.meaning import leaves_of, read_json
from consumer.facts.messages import RefusalError
from consumer.facts.pseudonyms import is_generic, normalize, read_tax_id
from consumer.facts.store import Row
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import Customer, Entity
from consumer.facts.tables.types import core_of
from consumer.facts.texts import ERASED
from reconcile.kept import chunks
from reconcile.tables.books import LocalInvoice
from reconcile.tables.runs import Run
from reports.erasing.declared import objects_of_provider

_ROWS = 500


class ErasureError(RefusalError):
    """A person who cannot be erased; the message says why in one sentence."""


@dataclass(slots=True)
class Person:
    """What names a person: identifiers and ids of objects, and documents after their connection."""

    is_known: Callable[[str], bool]
    names: set[str] = field(default_factory=set)
    tax_ids: set[str] = field(default_factory=set)

    def is_own(self, text: str) -> bool:
        return text in self.names or normalize(text) in self.names or self.is_known(text)

    def is_in(self, node: object) -> bool:
        return any(self.is_own(text) for text in leaves_of(node))

    def is_about(self, cells: Iterable[object], connection: str) -> bool:
        return any(isinstance(cell, str) and (cell in self.names or f"{connection} {cell}" in self.names)
                   for cell in cells)  # fmt: skip

    def add(self, *names: object) -> None:
        for name in names:
            if isinstance(name, str) and name.strip() and not ERASED.search(name):
                self.names.add(normalize(name))
                tax_id = read_tax_id(name)
                if tax_id is not None:
                    self.tax_ids.add(tax_id)


def find_person(installation: Installation, session: Session, given: str) -> Person:
    """Return whom a tax id, a customer's id or a mail names; raise ErasureError if that is no one, or several."""
    wanted = normalize(given)
    own = {normalize(one.tax_id) for one in installation.settings.all_connections if one.tax_id}
    if is_generic(wanted) or wanted in own or _is_of_an_entity(session, wanted):
        raise ErasureError("erase.no_person", person=given)
    person = Person(lambda _: False)
    person.add(given)
    search(installation, session, person)
    if len(person.tax_ids) > 1:
        raise ErasureError("erase.several", person=given, tax_ids=", ".join(sorted(person.tax_ids)))
    if person.names == {wanted}:
        raise ErasureError("erase.unknown", person=given)
    return person


def _is_of_an_entity(session: Session, wanted: str) -> bool:
    bodies = session.execute(sa.select(core_of(Entity).c.body)).scalars()
    return any(normalize(text) == wanted for body in bodies for text in leaves_of(read_json(body)))


def search(installation: Installation, session: Session, person: Person) -> None:
    """Add what bears the person's names, and what bears those of that, until there is no more."""
    customers = core_of(Customer)
    while _grow(session, person, customers):
        pass
    _drop_shared_mails(session, person)
    others = [table for table in objects_of_provider() if table is not customers]
    while _grow(session, person, *others):
        pass
    events = sa.select(col(Event.id), col(Event.body)).where(col(Event.body).is_not(None))
    for identity, body in session.execute(events.execution_options(yield_per=_ROWS)):
        with suppress(ValueError):
            person.add(*[identity] if person.is_in(read_json(body)) else [])
    for row in session.exec(select(LocalInvoice)).yield_per(_ROWS):
        if person.is_own(row.customer_tax_id) or person.is_own(f"{row.connection} {row.doc_key}"):
            person.add(row.customer_tax_id)
            person.names.add(f"{row.connection} {row.doc_key}")
    for connection in installation.settings.all_connections:
        _add_unnamed_documents(session, person, connection.name)


def _objects(session: Session, table: sa.Table) -> Iterator[tuple[sa.RowMapping, dict[str, object]]]:
    for row in session.execute(sa.select(table).execution_options(yield_per=_ROWS)).mappings():
        yield row, read_json(row["body"])


def _grow(session: Session, person: Person, *tables: sa.Table) -> bool:
    """Add the objects that bear a name of the person; return False where there is none more."""
    before = len(person.names)
    for table in tables:
        for row, body in _objects(session, table):
            texts = [value for value in row.values() if isinstance(value, str) and value is not row["body"]]
            if person.is_in(texts) or person.is_in(body):
                person.names.add(row["id"])
                if table is core_of(Customer):
                    person.add(row["tax_id"], *_identifiers_of(body))
    return len(person.names) > before


def _identifiers_of(customer: Mapping[str, object]) -> Iterator[object]:
    tax_id = customer.get("tax_id")
    yield tax_id.get("value") if isinstance(tax_id, dict) else tax_id
    yield customer.get("email")


def _drop_shared_mails(session: Session, person: Person) -> None:
    """Leave out a mail that a customer with another tax id has too."""
    for row, body in _objects(session, core_of(Customer)):
        is_other = person.tax_ids and row["tax_id"] and normalize(row["tax_id"]) not in person.tax_ids
        if is_other and isinstance(mail := body.get("email"), str):
            person.names.discard(normalize(mail))


def _add_unnamed_documents(session: Session, person: Person, connection: str) -> None:
    """Add documents without a customer that the newest run paid with the person's payments."""
    names = ["resource_id", "doc_key", "doc_customer_tax_id"]
    for row in rows_of_newest_run(session, connection, chunks.LINE, names):
        if row["doc_key"] and not row["doc_customer_tax_id"] and row["resource_id"] in person.names:
            person.names.add(f"{connection} {row['doc_key']}")


def rows_of_newest_run(session: Session, connection: str, kind: str, names: Sequence[str]) -> Iterator[Row]:
    """Yield rows of the newest run whose rows are kept; none without such a run."""
    mine = select(Run).where(Run.connection == connection, col(Run.pruned_at).is_(None))
    run = session.exec(mine.order_by(col(Run.number).desc())).first()
    for table in chunks.tables(session, run, kind, names=names) if run else ():
        yield from table.to_pylist()
