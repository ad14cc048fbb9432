"""The sheet back from a spreadsheet: text comes back as it was, and a row belongs to the connection it names."""

from datetime import date

import pytest
import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from reconcile.tables.desk import ExceptionRow
from reports import sheet
from reports.access.people import Role, invite_user
from reports.output import files
from reports.output.export import Format
from reports.output.files import Shape

TODAY = date(2026, 10, 8)
ROW = {
    "exception_id": "00aa00aa00aa00aa",
    "owner": "ana@tienda.test",
    "state": "open",
    "resolution": "",
    "note": "",
    "version": "1",
}


@pytest.mark.parametrize("beginning", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "'"])
def test_a_note_that_begins_like_a_formula_comes_back_as_it_was(reconciled: Installation, beginning: str) -> None:
    """What the sheet defuses on its way out is taken off on its way back: a row without a change has no effect."""
    with reconciled.store.transaction() as session:
        session.execute(sa.update(ExceptionRow).values(note=f"{beginning}1 llamar"))
    own = reconciled.connections(None)
    report = sheet.make(reconciled, own, today=TODAY)
    for shape in (Shape(Format.CSV, "cl", "es-CL"), Shape(Format.XLSX, "cl", "es-CL")):
        content = b"".join(files.pieces([report], shape))
        taken = list(sheet.take_back(reconciled, own, content, author="ana", at=utc_now(), today=TODAY))
        assert [(row.changed, str(row.refused or "")) for _, row in taken] == [((), "")] * 2


def test_a_row_without_its_connection_is_refused_where_there_are_several(two: Installation) -> None:
    """The same exception number may stand in both: which one is meant is not guessed."""
    content = (",".join(ROW) + "\r\n" + ",".join(ROW.values()) + "\r\n").encode()
    asked = {"author": "ana", "at": utc_now(), "today": TODAY}
    both = two.connections(None)
    taken = list(sheet.take_back(two, both, content, **asked))  # type: ignore[arg-type]
    assert [str(row.refused) for _, row in taken] == ["name its connection: main, mexico"]
    with two.store.reading() as session:
        owners = session.scalars(sa.select(col(ExceptionRow.owner)).distinct()).all()
    assert "ana@tienda.test" not in owners
    taken = list(sheet.take_back(two, both[:1], content, **asked))  # type: ignore[arg-type]
    assert [row.changed for _, row in taken] == [("owner",)]


def test_a_resolution_without_its_state_is_refused(reconciled: Installation) -> None:
    """Why something needs no more work, written beside an open state, is not dropped in silence."""
    filled = ROW | {"owner": "", "resolution": "pagado en caja"}
    content = (",".join(filled) + "\r\n" + ",".join(filled.values()) + "\r\n").encode()
    own = reconciled.connections(None)
    [(_, row)] = sheet.take_back(reconciled, own, content, author="ana", at=utc_now(), today=TODAY)
    assert str(row.refused) == (
        "exception 00aa00aa00aa00aa has a resolution and is still open: set its state too, or leave it empty"
    )


def test_an_owner_in_the_sheet_is_a_person_who_sees_it(reconciled: Installation) -> None:
    """A login of a person goes in; a name of no one is refused, except the one that stands there already."""
    with reconciled.store.transaction() as session:
        invite_user(session, "luz@tienda.test", Role.FINANCE, now=utc_now())
        session.execute(sa.update(ExceptionRow).where(col(ExceptionRow.id).startswith("11")).values(owner="antes"))
    own, asked = reconciled.connections(None), {"author": "ana", "at": utc_now(), "today": TODAY}
    rows = [
        ROW | {"owner": "luz@tienda.test"}, ROW | {"owner": "nadie", "version": "2"},
        ROW | {"exception_id": "11bb11bb11bb11bb", "owner": "antes", "note": "sigue"},
    ]  # fmt: skip
    content = "\r\n".join([",".join(ROW), *(",".join(row.values()) for row in rows)]).encode()
    taken = [row for _, row in sheet.take_back(reconciled, own, content, **asked)]  # type: ignore[arg-type]
    assert [row.changed for row in taken] == [("owner",), (), ("note",)]
    assert "no person here has the login nadie" in str(taken[1].refused)
