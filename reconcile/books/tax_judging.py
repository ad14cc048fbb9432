"""What each file of tax documents holds for the merchant; many are read by processes of their own; pure."""

import gc
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, islice
from multiprocessing import current_process, get_context, parent_process
from threading import Thread
from typing import TypeAlias

import structlog

from consumer.facts.messages import Message
from reconcile.books.tax_documents import NoStampError, NotForUsError, TaxDocument, TaxXmlError
from reconcile.books.tax_files import Member
from reconcile.books.tax_xml import read_tax_xml

log = structlog.get_logger("cuadre.books")

ISSUED, RECEIVED = "issued", "received"
# So many files are read before it pays to start processes.
FEW = 500
_MOST_PROCESSES = 4
# What one process is given at a time: so many files, or the first that bring it above so many bytes.
_FILES, _BYTES = 100, 4_000_000
# So many portions are on their way: more than go into one transaction, so that processes read while it is written.
_PORTIONS = 16
# Elements and documents hold each other in no circle: circles are looked for after so many new objects.
_OBJECTS = 100_000


class Verdict(StrEnum):
    """What became of one document of a file, or of a file that holds none."""

    TAKEN = "taken"
    KNOWN = "known"
    CHANGED = "changed"
    REPLACED = "replaced"
    CANCELLED = "cancelled"
    NO_STAMP = "without_stamp"
    OTHER_ISSUER = "other_issuer"
    NOT_FOR_US = "not_for_us"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Found:
    """One document of a file, or why there is none."""

    file: str
    verdict: Verdict
    document: TaxDocument | None = None
    direction: str = ""
    digest: str = ""
    reason: Message | None = None

    def to_row(self, connection: str) -> dict[str, object]:
        """Return it for the terminal and for programs."""
        key = self.document.doc_key if self.document else ""
        reason = str(self.reason) if self.reason else ""
        return {
            "connection": connection, "file": self.file, "verdict": self.verdict.value, "doc_key": key, "reason": reason
        }  # fmt: skip


Portion: TypeAlias = list[Member]


def judge_members(members: Iterable[Member], own: frozenset[str]) -> Iterator[Found]:
    """Yield what files hold, in their order: the first few read here, the rest side by side where there are cores.

    Only so many portions of files are in memory at a time. After a process was killed all that is left is read here.
    """
    usual = gc.get_threshold()
    gc.set_threshold(_OBJECTS)
    try:
        yield from _judge_all(iter(members), own)
    finally:
        gc.set_threshold(*usual)


def _judge_all(remaining: Iterator[Member], own: frozenset[str]) -> Iterator[Found]:
    for member in islice(remaining, FEW):
        yield from judge_member(member, own)
    portions, waiting = _cut(remaining), deque[Portion]()
    processes = min(_MOST_PROCESSES, len(os.sched_getaffinity(0)))
    waiting.extend(islice(portions, 1))
    # A daemonic process may start no other.
    if waiting and processes > 1 and not current_process().daemon:
        try:
            yield from _judge_side_by_side(waiting, portions, own, processes)
        except BrokenProcessPool:
            log.warning("tax_reader_killed")
    for portion in chain(waiting, portions):
        yield from _judge_portion(portion, own)


def _judge_side_by_side(
    waiting: deque[Portion], portions: Iterator[Portion], own: frozenset[str], processes: int
) -> Iterator[Found]:
    """Yield what processes of their own find; `waiting` holds at any time the portions whose answer is not here."""
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_end_with_parent) as pool:
        answers = deque(pool.submit(_judge_portion, portion, own) for portion in waiting)
        while answers:
            for portion in islice(portions, _PORTIONS - len(answers)):
                waiting.append(portion)
                answers.append(pool.submit(_judge_portion, portion, own))
            found = answers.popleft().result()
            waiting.popleft()
            yield from found


def _judge_portion(portion: Portion, own: frozenset[str]) -> list[Found]:
    return [found for member in portion for found in judge_member(member, own)]


def _cut(members: Iterator[Member]) -> Iterator[Portion]:
    portion: Portion = []
    size = 0
    for member in members:
        portion.append(replace(member, content=b"") if member.is_other else member)
        size += len(member.content)
        if len(portion) == _FILES or size > _BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _end_with_parent() -> None:
    """Prepare a reading process: an interrupt is its parent's to handle, and it ends where its parent was killed."""
    gc.set_threshold(_OBJECTS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def judge_member(member: Member, own: frozenset[str]) -> Iterator[Found]:
    """Yield what one file holds for the merchant, before anything is known of the books."""
    if member.problem is not None or member.is_other:
        verdict = Verdict.NOT_FOR_US if member.is_other else Verdict.UNREADABLE
        yield Found(member.name, verdict, reason=member.problem or Message("tax.no_xml"))
        return
    if not own:
        yield Found(member.name, Verdict.OTHER_ISSUER, reason=Message("tax.own_tax_id_unknown"))
        return
    is_empty = True
    try:
        for one in read_tax_xml(member.content):
            is_empty = False
            yield _judge(member.name, one, own)
    except TaxXmlError as error:
        is_empty = False
        yield Found(member.name, _verdict_of(error), reason=error.message)
    if is_empty:
        yield Found(member.name, Verdict.NOT_FOR_US, reason=Message("tax.empty"))


def _judge(name: str, one: TaxDocument | TaxXmlError, own: frozenset[str]) -> Found:
    if isinstance(one, TaxXmlError):
        return Found(name, _verdict_of(one), reason=one.message)
    if one.issuer_tax_id in own:
        return Found(name, Verdict.TAKEN, one, ISSUED, one.digest())
    if one.receiver_tax_id in own:
        return Found(name, Verdict.TAKEN, _as_received(one), RECEIVED, one.digest())
    if not one.issuer_tax_id:
        return Found(name, Verdict.UNREADABLE, reason=Message("tax.no_issuer"))
    values = {"issuer": one.issuer_tax_id, "own": ", ".join(sorted(own))}
    return Found(name, Verdict.OTHER_ISSUER, one, reason=Message("tax.other_issuer", values))


def _verdict_of(error: TaxXmlError) -> Verdict:
    if isinstance(error, NotForUsError):
        return Verdict.NOT_FOR_US
    return Verdict.NO_STAMP if isinstance(error, NoStampError) else Verdict.UNREADABLE


def _as_received(document: TaxDocument) -> TaxDocument:
    """Put the issuer into the keys of a document of others: in Chile each issuer counts its own folios."""
    if document.country == "mx":
        return document
    issuer = document.issuer_tax_id
    relations = tuple(replace(one, other_key=_with_issuer(one.other_key, issuer)) for one in document.relations)
    return replace(document, doc_key=_with_issuer(document.doc_key, issuer), relations=relations)


def _with_issuer(key: str, issuer: str) -> str:
    country, kind, _, folio = key.split(":") if key else ("", "", "", "")
    return f"{country}:{issuer}:{kind}:{folio}" if key else ""
