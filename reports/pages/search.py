"""One search for everything: as a page, as the list under the field while one types, and for programs."""

from collections.abc import Sequence
from dataclasses import dataclass

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue

from reports.pages import desk
from reports.queries.names import Reader
from reports.search import filling, finding
from reports.search.finding import Hit
from reports.search.sources import KINDS

blueprint = Blueprint("search", __name__)

# How many of each kind stand on the page, and under the field.
_ON_THE_PAGE, _UNDER_THE_FIELD = 20, 5
# Kinds that stand under one heading, in their order.
_HEADINGS = {
    "document": "Documents", "payout": "Payouts", "payment": "Payments", "charge": "Charges", "refund": "Refunds",
    "dispute": "Disputes", "bank_line": "Bank lines", "exception": "Exceptions",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    heading: str
    hits: Sequence[Hit]


@blueprint.get("/search")
def show() -> ResponseReturnValue:
    """Show what `q` finds, of one `kind` or of all; with `part` only its list, for fields that suggest."""
    text, is_part = asked(), "part" in request.args
    asked_kind = desk.choice("kind", KINDS)
    kinds = (asked_kind,) if asked_kind else KINDS
    hits = find(desk.names(), text, kinds, _UNDER_THE_FIELD if is_part else _ON_THE_PAGE)
    groups = [Group(_HEADINGS[kind], own) for kind in KINDS if (own := [hit for hit in hits if hit.kind == kind])]
    return render_template(
        "search_found.html" if is_part else "search.html",
        text=text,
        groups=groups,
        count_found=len(hits),
        is_too_short=bool(text) and not finding.is_searchable(text, to_reader(desk.language())),
        is_empty=not groups and not is_part and not _has_rows(),
        address=address_of,
        is_part=is_part,
    )


def asked() -> str:
    return request.args.get("q", "").strip()[:200]


def find(connections: Sequence[str], text: str, kinds: Sequence[str], limit: int, language: str = "") -> list[Hit]:
    """Return what a text finds in these connections, at most `limit` of each kind: for pages, forms and suggestions."""
    with desk.installation().store.reading() as session:
        return finding.find(session, connections, text, kinds, limit, to_reader(language or desk.language()))


def to_reader(language: str) -> Reader:
    return Reader(language, desk.zone_of, desk.bank_name, desk.today())


def _has_rows() -> bool:
    with desk.installation().store.reading() as session:
        return filling.has_rows(session, desk.names())


def address_of(hit: Hit) -> str:
    """Return the page of what was found."""
    own = hit.connection
    match hit.kind:
        case "document":
            return url_for("documents.show", doc_key=hit.key, connection=own)
        case "payout":
            return url_for("payouts.show", payout_id=hit.key)
        case "exception":
            return url_for("case.show", exception_id=hit.key, connection=own)
        case "bank_line":
            return url_for("books.index", name="bank-file-lines", q=hit.detail.rpartition(" · ")[2], connection=own)
    if hit.payout_id:
        return url_for("payouts.show", payout_id=hit.payout_id, item=hit.key, _anchor="items")
    return url_for("operations.index", name="events", q=hit.key, connection=own)
