"""The backup of the night: made, drilled at once, and old ones deleted."""

from dataclasses import dataclass
from datetime import datetime

from consumer.backup.drill import Prove, drill
from consumer.backup.making import make_backup, place_for, rotate
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.work import Completion


@dataclass(frozen=True, slots=True)
class BackupOutcome:
    """How the night of backups ended, with its lines for people."""

    complete: bool
    lines: list[str]


def run_nightly_backup(installation: Installation, prove: Prove, *, now: datetime) -> BackupOutcome:
    """Make a backup and drill it; older ones go only once it is proven."""
    path = place_for(installation.settings, now=now)
    made = make_backup(installation, path, now=now)
    certificate, completion = drill(installation, path, prove, now=utc_now())
    lines = [f"{path.name}: {made.size / 1e6:.1f} MB, {certificate.state}"]
    if completion is not Completion.DONE:
        lines += [f"{one.name}: {one.found}" for one in certificate.proofs if not one.is_good]
        return BackupOutcome(complete=False, lines=lines)
    dropped = rotate(path.parent, keep=installation.settings.backup_keep)
    return BackupOutcome(complete=True, lines=[*lines, f"{len(dropped)} older ones deleted"])
