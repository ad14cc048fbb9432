"""A report as a file: its name, its bytes in one format, and writing it whole or not at all."""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from consumer.facts.durable import write_durably
from consumer.facts.messages import LANGUAGES, RefusalError
from reports.output import export, workbook
from reports.output.export import PROFILES, Format
from reports.shapes.build import Report
from reports.wording.cells import in_english, in_words

MIME = {
    Format.CSV: "text/csv; charset=utf-8",
    Format.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    Format.PARQUET: "application/vnd.apache.parquet",
}


class ShapeError(RefusalError):
    """A format, profile or language that there is not."""


@dataclass(frozen=True, slots=True)
class Shape:
    """In which format, profile and language a report is written."""

    format: Format = Format.CSV
    profile: str = "machine"
    language: str = "en"


def to_shape(file_format: str, profile: str | None, language: str | None) -> Shape:
    """Check the three names; without a language a profile speaks its own. Raises ShapeError."""
    profile = profile or "machine"
    if file_format not in set(Format):
        raise ShapeError("reports.word_not_one_of", name="format", value=file_format, known=", ".join(Format))
    if profile not in PROFILES:
        raise ShapeError("reports.word_not_one_of", name="profile", value=profile, known=", ".join(PROFILES))
    language = language or PROFILES[profile].language
    if language not in LANGUAGES:
        raise ShapeError("reports.word_not_one_of", name="language", value=language, known=", ".join(LANGUAGES))
    return Shape(Format(file_format), profile, language)


def name_of(report: Report, file_format: Format) -> str:
    """Name a file by report, days, country, organisation and run, in lower-case ASCII; without a first day by one."""
    since, until = report.span.since, report.span.until or report.as_of
    days = (since.isoformat() if since else "", until.isoformat())
    facts = report.facts
    parts = (report.definition.name, *days, facts["countries"], facts["connections"], facts["run_numbers"])
    return re.sub(r"[^a-z0-9._-]", "-", "_".join(part for part in parts if part).lower()) + f".{file_format}"


def pieces(reports: Sequence[Report], shape: Shape) -> Iterator[bytes]:
    """Give a file's bytes; reports after the first become further sheets where the format has sheets."""
    profile = PROFILES[shape.profile]
    if profile.for_people and shape.format is not Format.PARQUET:
        reports = [export.in_local_time(export.in_short(in_words(report, shape.language))) for report in reports]
    else:
        reports = [in_english(report) for report in reports]
    match shape.format:
        case Format.CSV:
            yield from export.to_csv(reports[0], profile, shape.language)
        case Format.XLSX:
            yield workbook.to_xlsx(reports, profile, shape.language)
        case Format.PARQUET:
            yield export.to_parquet(reports[0])


def write(path: Path, content: Iterator[bytes], *, on_bytes: Callable[[int], None] = lambda _count: None) -> str:
    """Write a file whole or not at all, and return its SHA-256."""
    digest = hashlib.sha256()
    with write_durably(path) as file:
        os.fchmod(file.fileno(), 0o640)
        for piece in content:
            digest.update(piece)
            file.write(piece)
            on_bytes(len(piece))
    return digest.hexdigest()
