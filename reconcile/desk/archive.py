"""Where files that people add to exceptions lie, and which of them are lost."""

import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.installation import Installation
from consumer.facts.kept_files import KeptFiles
from reconcile.tables.desk import Attachment

# Part of the archive, as evidence of disputes is.
FILES = KeptFiles("attachments", col(Attachment.sha256))


def list_lost(installation: Installation) -> list[str]:
    """Say which files of exceptions are not there any more."""
    with installation.store.reading() as session:
        lost = FILES.find_lost(session, installation)
        rows = session.scalars(sa.select(Attachment).where(col(Attachment.sha256).in_(lost))).all()
    return sorted(f"{row.name} of exception {row.exception_id}" for row in rows)
