"""The PDFs of account statements, each fetched once into the archive while its signed link is fresh."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa
from sqlmodel import select

from consumer.facts import shared_files
from consumer.facts.clock import utc_now
from consumer.facts.durable import write_durably
from consumer.facts.installation import Installation
from consumer.facts.meaning import read_json
from consumer.facts.settings import Connection
from consumer.facts.store import put
from consumer.facts.tables.provider import AccountStatement
from consumer.facts.tables.sync import ERASED_DOCUMENT, StatementDocument
from consumer.facts.tables.types import core_of
from consumer.provider.client import Provider
from consumer.provider.downloads import NotAllowedError, NotFetchedError, download
from consumer.sync.sums import Finding

FOLDER = Path("statements")
_NAME_LENGTH = 16


@dataclass(slots=True)
class Fetched:
    """`problems` may pass and leave the stream incomplete; `findings` are permanent and reported."""

    problems: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def fetch_documents(installation: Installation, provider: Provider) -> Fetched:
    """Fetch what is not in the archive yet; a document elsewhere keeps its link alone, and the row says why."""
    done, connection = Fetched(), provider.connection
    core = core_of(AccountStatement)
    mine = (core.c.connection == connection.name) & core.c.gone_at.is_(None)
    with installation.store.reading() as session:
        kept = select(StatementDocument).where(StatementDocument.connection == connection.name)
        here = {row.statement_id for row in session.exec(kept) if _is_here(installation, row)}
        asked = sa.select(core.c.id, core.c.body).where(mine).order_by(core.c.id)
        statements = [(row.id, row.body) for row in session.execute(asked) if row.id not in here]
    for statement_id, body in statements:
        link = read_json(body).get("download_url")
        if not isinstance(link, str) or not link:
            continue
        try:
            content = download(
                link,
                installation.settings,
                provider_url=connection.provider_url,
                transport=provider.transport,
                turn=provider.turn,
            )
        except NotAllowedError as reason:
            _note(installation, connection, statement_id, problem=str(reason))
        except NotFetchedError as reason:
            problem = f"{statement_id}: its document: {reason}"
            _note(installation, connection, statement_id, problem=str(reason))
            if reason.may_come:
                done.problems.append(problem)
            else:
                done.findings.append(Finding(f"{statement_id} document", problem))
        else:
            _keep(installation, connection, statement_id, content)
    return done


def _is_here(installation: Installation, row: StatementDocument) -> bool:
    if row.path is None:
        return row.problem == ERASED_DOCUMENT
    path = installation.settings.files_dir / row.path
    shared_files.fetch(installation, path)
    return path.is_file()


def _keep(installation: Installation, connection: Connection, statement_id: str, content: bytes) -> None:
    """Write the file whole before its row: a row always has its file."""
    name = hashlib.sha256(statement_id.encode()).hexdigest()[:_NAME_LENGTH]
    path = FOLDER / connection.name / f"{name}.pdf"
    with write_durably(installation.settings.files_dir / path) as file:
        file.write(content)
    shared_files.publish(installation, installation.settings.files_dir / path, now=utc_now())
    digest = hashlib.sha256(content).hexdigest()
    _note(installation, connection, statement_id, path=str(path), sha256=digest, size=len(content))


def _note(installation: Installation, connection: Connection, statement_id: str, **found: object) -> None:
    row = {"connection": connection.name, "statement_id": statement_id, "looked_at": utc_now()}
    empty = dict.fromkeys(("path", "sha256", "size", "problem"))
    with installation.store.connection() as writing:
        put(writing, StatementDocument, {**empty, **found, **row}, keys=["connection", "statement_id"])
