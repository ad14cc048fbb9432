"""How importing files ends: partly done if some were refused, not done if all were."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from consumer.commands.terminal import print_rows
from consumer.facts.work import Completion

REJECT_KEYS = ("line", "column", "value", "reason")


class FileOutcome(Protocol):
    """What every import says of one file."""

    @property
    def accepted(self) -> bool: ...


def status_of(outcomes: Sequence[FileOutcome]) -> Completion:
    """Return the exit status: partly done if some files were refused, not done if all were."""
    refused = sum(not outcome.accepted for outcome in outcomes)
    if not refused:
        return Completion.DONE
    return Completion.NOTHING_DONE if refused == len(outcomes) else Completion.PARTLY_DONE


def print_files(rows: Sequence[Mapping[str, Any]], keys: Sequence[str], *, as_json: bool) -> None:
    """Print a row for each file; people read its rejects as a table of their own."""
    if as_json:
        print_rows(rows, keys, as_json=True)
        return
    shown = [{**row, "rejects": len(row["rejects"])} for row in rows]
    print_rows(shown, keys, as_json=False)
    rejects = [{"file": row["file"], **reject} for row in rows for reject in row["rejects"]]
    if rejects:
        show_rejects(rejects, ("file", *REJECT_KEYS))


def show_rejects(rejects: Iterable[Mapping[str, Any]], keys: Sequence[str] = REJECT_KEYS) -> None:
    """Print what is wrong in a file; what is wrong with the file as a whole stands on no line of it."""
    print_rows([{**reject, "line": reject["line"] or None} for reject in rejects], keys, as_json=False)
