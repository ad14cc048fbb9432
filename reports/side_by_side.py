"""Pure: a payment beside the documents it could mean: what agrees, and what tells documents of one amount apart."""

from collections import Counter
from collections.abc import Sequence

from reports.shapes.spans import Row

# What a document says that another one of the same customer and amount may say otherwise, besides its number.
_TELLING = ("order_ref", "issue_date", "due_date")
_ALIKE = ("currency", "balance", "customer_tax_id")


def beside(payment: Row, candidates: Sequence[Row]) -> list[Row]:
    """Add to each candidate the columns that agree with the payment, how many look alike, and what tells it apart."""
    families = Counter(_family(row) for row in candidates)
    return [
        {
            **row,
            "same": _agreeing(payment, row),
            "alike": families[_family(row)] - 1,
            "apart": _telling(row, candidates),
        }
        for row in candidates
    ]


def _family(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _ALIKE)


def _agreeing(payment: Row, row: Row) -> set[str]:
    names = ("customer_tax_id", "order_ref")
    same = {name for name in names if payment[name] and payment[name] == row[name]}
    return same | ({"balance"} if row["difference"] == 0 else set())


def _telling(row: Row, candidates: Sequence[Row]) -> list[str]:
    """Name the columns in which documents that look alike differ; none where only their numbers do."""
    family = [other for other in candidates if _family(other) == _family(row)]
    return [name for name in _TELLING if len({other[name] for other in family}) > 1]
