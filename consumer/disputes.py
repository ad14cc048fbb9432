"""Evidence of disputes: kept in the archive before it is sent, sent once under a key that is kept with it."""

import hashlib
import uuid
from collections.abc import Sequence
from datetime import timedelta

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.clock import format_instant, utc_now
from consumer.facts.disputes import (
    FILES,
    WAITS,
    Chosen,
    DisputeDesk,
    EvidenceError,
    Standing,
    State,
    find_evidence_type,
    not_waiting,
)
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.facts.store import Turn, take_turn
from consumer.facts.tables.disputes import Evidence
from consumer.provider import fields
from consumer.provider.client import Provider, Upload, open_provider
from consumer.provider.errors import MissingError, ProviderError, RefusedError, UnreachableError
from consumer.provider.paging import DISPUTES
from consumer.provider.writes import NotKeptError, keep_answer

_REVIEW = ""
# Longer than a request and its repetitions last: who claimed it before that may be sending it still.
_SENDING_LASTS = timedelta(minutes=10)
# What the provider's codes say.
_REFUSALS = {
    "invalid_document": "refused.invalid_document",
    "invalid_dispute_status": "refused.invalid_dispute_status",
    "deadline_passed": "refused.deadline_passed",
    "missing_documents": "refused.missing_documents",
}


def desk_of(installation: Installation) -> DisputeDesk:
    """Return what pages may ask, each question on a client of its own."""

    def look(connection: Connection, dispute_id: str) -> Standing:
        with open_provider(installation, connection) as provider:
            return look_up(provider, dispute_id)

    def send(connection: Connection, dispute_id: str, number: int, who: str) -> None:
        with open_provider(installation, connection) as provider:
            send_document(installation, provider, find(installation, connection, dispute_id, number), who=who)

    def submit(connection: Connection, dispute_id: str, seen: int, who: str) -> None:
        with open_provider(installation, connection) as provider:
            submit_dispute(installation, provider, dispute_id, seen=seen, who=who)

    return DisputeDesk(
        lambda connection, dispute_id: list_kept(installation, connection, dispute_id),
        lambda connection, dispute_id, chosen: keep_document(installation, connection, dispute_id, chosen),
        lambda connection, dispute_id, number: drop(installation, find(installation, connection, dispute_id, number)),
        lambda evidence: read_document(installation, evidence),
        look,
        send,
        submit,
    )


def list_kept(installation: Installation, connection: Connection, dispute_id: str) -> Sequence[Evidence]:
    """Return everything of one dispute, oldest first."""
    mine = (col(Evidence.connection) == connection.name, col(Evidence.dispute_id) == dispute_id)
    with installation.store.reading() as session:
        return session.scalars(sa.select(Evidence).where(*mine).order_by(col(Evidence.id))).all()


def find(installation: Installation, connection: Connection, dispute_id: str, number: int) -> Evidence:
    """Return one document of a dispute; raise EvidenceError if there is none of this number."""
    found = next((row for row in list_kept(installation, connection, dispute_id) if row.id == number), None)
    if found is None or found.sha256 == _REVIEW:
        raise EvidenceError("disputes.no_document", number=number, dispute=dispute_id)
    return found


def keep_document(installation: Installation, connection: Connection, dispute_id: str, chosen: Chosen) -> Evidence:
    """Keep a document with its digest; the same one again is the one that is there.

    Raise EvidenceError if the provider would not take it, or if it was sent before.
    """
    find_evidence_type(chosen.name, chosen.content)
    row = Evidence(
        connection=connection.name, dispute_id=dispute_id, name=chosen.name, size=len(chosen.content), state=State.KEPT,
        sha256=hashlib.sha256(chosen.content).hexdigest(), who=chosen.who, at=chosen.at,
    )  # fmt: skip
    with installation.store.transaction() as session:
        FILES.keep(session, installation, row.sha256, chosen.content, chosen.at)
        kept = _insert(session, row)
    if kept.state == State.SENT:
        raise _already_sent(kept)
    return kept


def drop(installation: Installation, evidence: Evidence) -> None:
    """Forget a document that was never sent; its file goes unless another dispute has the same."""
    never = col(Evidence.state).in_((State.KEPT, State.REFUSED))
    with installation.store.transaction() as session:
        take_turn(session, Turn.EVIDENCE)
        session.execute(sa.delete(Evidence).where(col(Evidence.id) == evidence.id, never))
    FILES.drop_unused(installation, [evidence.sha256])


def read_document(installation: Installation, evidence: Evidence) -> bytes:
    """Return the bytes of a document; raise EvidenceError if they are not those that were kept."""
    path = FILES.find(installation, evidence.sha256)
    if path is None:
        raise EvidenceError("disputes.changed", name=evidence.name)
    return path.read_bytes()


def look_up(provider: Provider, dispute_id: str) -> Standing:
    """Ask the provider how a dispute stands."""
    try:
        answer = provider.get(DISPUTES, dispute_id)
        documents = answer.value.get("documents")
        return Standing(
            fields.required_text(answer.value, "status"),
            fields.instant(answer.value, "documentation_upload_deadline"),
            answer.at or utc_now(),
            len(documents) if isinstance(documents, list) else 0,
        )
    except MissingError:
        raise EvidenceError("disputes.unknown", dispute=dispute_id) from None
    except (ProviderError, fields.UnusableObjectError) as error:
        raise EvidenceError("disputes.not_read", dispute=dispute_id, problem=_reason_of(error)) from None


def send_document(installation: Installation, provider: Provider, evidence: Evidence, *, who: str) -> None:
    """Send one document, once.

    1. Refuse what was sent, what is too late, and bytes that are not those that were kept.
    2. Claim it: write the key down before anything goes out. Who finds it claimed is refused.
    3. Send it; a refusal frees it, and after a lost answer it can be sent again under the same key.
    """
    if evidence.state == State.SENT:
        raise _already_sent(evidence)
    check_open(look_up(provider, evidence.dispute_id), evidence.dispute_id)
    content = read_document(installation, evidence)
    file = Upload(evidence.name, content, find_evidence_type(evidence.name, content))
    _send(installation, provider, evidence, who=who, action="documents", file=file)


def submit_dispute(installation: Installation, provider: Provider, dispute_id: str, *, seen: int, who: str) -> None:
    """Ask for the review of a dispute, once; raise EvidenceError if other documents are there than were seen."""
    connection = provider.connection.name
    standing = look_up(provider, dispute_id)
    with installation.store.transaction() as session:
        asked = Evidence(
            connection=connection, dispute_id=dispute_id, name="", size=0, state=State.KEPT, sha256=_REVIEW, who=who,
            at=utc_now(),
        )  # fmt: skip
        row = _insert(session, asked)
    if row.state == State.SENDING and standing.status != WAITS:
        # The dispute shows that the first attempt arrived, whether or not its answer does.
        _mark(installation, row, State.SENT)
        _refresh(installation, provider, dispute_id)
        if row.sent_by == who:
            return
        raise _already_sent(row)
    if row.state == State.SENT:
        raise _already_sent(row)
    check_ready(standing, dispute_id)
    if standing.documents != seen:
        _refresh(installation, provider, dispute_id)
        raise EvidenceError("disputes.other_documents", dispute=dispute_id, seen=seen, documents=standing.documents)
    _send(installation, provider, row, who=who, action="submit_for_review")


def check_open(standing: Standing, dispute_id: str) -> None:
    """Raise EvidenceError if a dispute takes no documents any more."""
    if standing.status != WAITS:
        raise not_waiting(dispute_id, standing.status)
    if standing.due_at is not None and standing.due_at <= standing.at:
        raise EvidenceError("disputes.too_late", dispute=dispute_id, due=format_instant(standing.due_at))


def check_ready(standing: Standing, dispute_id: str) -> None:
    """Raise EvidenceError if a dispute cannot be submitted for review."""
    check_open(standing, dispute_id)
    if not standing.documents:
        raise EvidenceError("disputes.no_documents", dispute=dispute_id)


def _send(
    installation: Installation,
    provider: Provider,
    evidence: Evidence,
    *,
    who: str,
    action: str,
    file: Upload | None = None,
) -> None:
    claimed = _claim(installation, evidence, who=who)
    dispute_id, path = claimed.dispute_id, f"{claimed.dispute_id}/{action}"
    try:
        provider.create(DISPUTES, {}, idempotency_key=claimed.key, action=path, file=file)
    except ProviderError as error:
        if error.retryable or not isinstance(error, RefusedError):
            lost = EvidenceError("disputes.no_answer", dispute=dispute_id)
            _mark(installation, claimed, State.SENDING, refusal=lost.message)
            raise lost from None
        reason = _reason_of(error)
        _mark(installation, claimed, State.REFUSED, refusal=reason)
        raise EvidenceError("disputes.refused", dispute=dispute_id, reason=reason) from None
    _mark(installation, claimed, State.SENT)
    _refresh(installation, provider, dispute_id)


def _claim(installation: Installation, evidence: Evidence, *, who: str) -> Evidence:
    """Write down that this goes out and under which key; raise EvidenceError if it went out or is going out.

    After a lost answer, or where its sender stopped, it goes out again under the key it has.
    """
    now, state = utc_now(), col(Evidence.state)
    is_over = sa.or_(col(Evidence.refusal) != "", col(Evidence.sent_at) < now - _SENDING_LASTS)
    is_free = (col(Evidence.id) == evidence.id, state != State.SENT, sa.or_(state != State.SENDING, is_over))
    key = sa.case((state == State.SENDING, col(Evidence.key)), else_=str(uuid.uuid4()))
    claim = {"state": State.SENDING, "key": key, "sent_by": who, "sent_at": now, "refusal": ""}
    with installation.store.transaction() as session:
        is_mine = session.connection().execute(sa.update(Evidence).where(*is_free).values(claim)).rowcount
        found = session.get(Evidence, evidence.id, populate_existing=True)
        if found is None:
            raise EvidenceError("disputes.no_document", number=evidence.id or 0, dispute=evidence.dispute_id)
        session.expunge(found)
    if found.state == State.SENT:
        raise _already_sent(found)
    if not is_mine:
        at = format_instant(found.sent_at) if found.sent_at else ""
        raise EvidenceError("disputes.being_sent", dispute=found.dispute_id, who=found.sent_by, at=at)
    return found


def _mark(installation: Installation, evidence: Evidence, state: State, *, refusal: Message | str = "") -> None:
    """Write down what became of an attempt; what was sent stays sent."""
    text = refusal.to_text() if isinstance(refusal, Message) else refusal
    mine = (col(Evidence.id) == evidence.id, col(Evidence.state) == State.SENDING)
    with installation.store.transaction() as session:
        session.execute(sa.update(Evidence).where(*mine).values(state=state, refusal=text))


def _refresh(installation: Installation, provider: Provider, dispute_id: str) -> None:
    """Keep the dispute as it is now; where that fails, its webhook and the next pull bring it."""
    try:
        keep_answer(installation, provider, "dispute", provider.get(DISPUTES, dispute_id))
    except (ProviderError, NotKeptError):
        return


def _insert(session: Session, row: Evidence) -> Evidence:
    """Insert a row unless one of its digest is there, and return the one that is."""
    mine = (
        col(Evidence.connection) == row.connection,
        col(Evidence.dispute_id) == row.dispute_id,
        col(Evidence.sha256) == row.sha256,
    )
    asked = sa.select(Evidence).where(*mine)
    found = session.scalars(asked).one_or_none()
    if found is None:
        try:
            with session.begin_nested():
                session.add(row)
            found = row
        except sa.exc.IntegrityError:
            # Another was faster.
            found = session.scalars(asked).one()
    session.flush()
    session.refresh(found)
    session.expunge(found)
    return found


def _already_sent(evidence: Evidence) -> EvidenceError:
    at = format_instant(evidence.sent_at) if evidence.sent_at else ""
    code = "disputes.already_submitted" if evidence.sha256 == _REVIEW else "disputes.already_sent"
    return EvidenceError(code, dispute=evidence.dispute_id, name=evidence.name, who=evidence.sent_by, at=at)


def _reason_of(error: Exception) -> Message | str:
    """Return why the provider refused or did not answer: in words where they are known."""
    if isinstance(error, UnreachableError):
        return Message("refused.no_answer")
    code = error.code if isinstance(error, ProviderError) else None
    return Message(_REFUSALS[code]) if code in _REFUSALS else code or str(error)
