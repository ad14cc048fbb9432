"""The tax documents that follow from the rows of the books."""

from datetime import date, datetime
from decimal import Decimal

from sandbox.scenarios.books import DECIMALS
from sandbox.scenarios.calendar import ZONES
from sandbox.scenarios.people import MERCHANTS
from sandbox.state.happening import Document
from sandbox.state.papers import CORRECTS, CREDITS, NOTES, PUBLIC, REPLACES, Paper, Party, Relation


def to_paper(document: Document, country: str) -> Paper:
    """Return the tax document of a row of the books."""
    row = document.row
    own = MERCHANTS[country]
    minor = {name: to_minor(row[name], row["currency"]) for name in ("net", "exempt", "vat", "total")}
    issued_on = date.fromisoformat(row["issue_date"])
    buyer = row["customer_tax_id"] or PUBLIC[country]
    name = row["customer_name"] or ("PUBLICO EN GENERAL" if country == "mx" else "Cliente sin nombre")
    issued_at = datetime.combine(issued_on, to_local(document.known_at, country).time(), ZONES[country])
    return Paper(
        country, row["doc_type"], Party(own.tax_id, own.name), Party(buyer, name), row["folio"], issued_at,
        row["currency"], minor["net"], minor["exempt"], minor["vat"], minor["total"],
        series=row["series"], uuid=row["uuid"], method=row["payment_method"], form=row["payment_form"],
        due_on=date.fromisoformat(row["due_date"]) if row["due_date"] else None,
        order_ref=row["order_ref"], relations=_relate(row, country, issued_on),
        cancelled_at=document.known_at if row["status"] == "void" and country == "mx" else None,
    )  # fmt: skip


def _relate(row: dict[str, str], country: str, on: date) -> tuple[Relation, ...]:
    if not row["ref_number"]:
        return ()
    is_note = row["doc_type"] in NOTES[country]
    if country == "mx":
        return (Relation(CREDITS if is_note else REPLACES, row["ref_type"], row["ref_number"], on),)
    reason = "Devolucion" if is_note else "Reemplaza documento"
    return (Relation(CORRECTS if is_note else "", row["ref_type"], row["ref_number"], on, reason),)


def to_minor(text: str, currency: str) -> int:
    """Return decimal text of the major unit in minor units."""
    return int(Decimal(text).scaleb(DECIMALS[currency]))


def to_local(at: datetime, country: str) -> datetime:
    """Return a moment on the clock of the country."""
    return at.astimezone(ZONES[country])
