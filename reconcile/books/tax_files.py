"""Files, ZIPs and folders of tax documents as one stream of members, within bounds of size, ratio and count."""

import errno
import lzma
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo, is_zipfile

from consumer.facts.messages import Message
from reconcile.books.tax_xml import LARGEST_XML, begins_as_markup, is_tax_xml

# Comments of any length may stand before the root.
_HEAD = 1_000_000
# XML shrinks to a tenth; what shrinks to less than a hundredth is no document.
_MOST_RATIO = 100
_SMALLEST_BOMB = 100_000
MOST_MEMBERS = 250_000
LARGEST_UNPACKED = 4_000_000_000
_WORKBOOK = "[Content_Types].xml"
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Member:
    """One file, by the name a person finds it under, with its content or why that is not read.

    `is_other` holds for files that are no XML at all.
    """

    name: str
    content: bytes = b""
    problem: Message | None = None
    is_other: bool = False


def is_tax_path(path: Path) -> bool:
    """Return True for a folder, an XML file, a ZIP that is no workbook, or a file that begins as tax XML."""
    if path.is_dir() or path.suffix.lower() == ".xml":
        return True
    try:
        if is_zipfile(path):
            return is_archive(path)
        with path.open("rb") as file:
            return is_tax_xml(file.read(_HEAD))
    except (OSError, BadZipFile):
        return path.suffix.lower() == ".zip"


def is_archive(path: Path) -> bool:
    """Return True for a ZIP that is no workbook."""
    try:
        with ZipFile(path) as archive:
            return _WORKBOOK not in archive.namelist() and "mimetype" not in archive.namelist()
    except (OSError, BadZipFile):
        return False


def list_members(paths: Iterable[Path]) -> Iterator[Member]:
    """Yield every file of the paths, one at a time; folders in the order of their names, links left out."""
    for member in _walk(paths):
        name = member.name
        # Names are shown: what a terminal would obey is marked.
        yield member if name.isprintable() else replace(member, name=_to_printable(name))


def _walk(paths: Iterable[Path]) -> Iterator[Member]:
    for path in paths:
        if not path.is_dir():
            yield from _open_file(path, path.name)
            continue
        for folder, below, names in os.walk(path):
            below.sort()
            inside = "" if Path(folder) == path else f"{Path(folder).relative_to(path).as_posix()}/"
            for name in sorted(names):
                found = f"{folder}{os.sep}{name}"
                if name.startswith("."):
                    continue
                if name.lower().endswith(".xml"):
                    yield from _read_xml(found, inside + name, os.O_NOFOLLOW)
                elif not os.path.islink(found):  # noqa: PTH114 - see below
                    yield from _open_file(Path(found), inside + name)


def count_members(paths: Iterable[Path]) -> int:
    """Count what `list_members` will yield, ZIPs inside folders as one file each; for progress alone."""
    return sum(
        sum(len(names) for _, _, names in os.walk(path)) if path.is_dir() else _count_zipped(path) for path in paths
    )


def _count_zipped(path: Path) -> int:
    try:
        with ZipFile(path) as archive:
            return len(archive.namelist())
    except (OSError, BadZipFile):
        return 1


def _open_file(path: Path, name: str) -> Iterator[Member]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            yield Member(name, problem=Message("tax.no_file"))
            return
        if path.suffix.lower() == ".zip" or (path.suffix.lower() != ".xml" and is_zipfile(path)):
            yield from open_zip(path, name)
            return
        yield from _read_xml(str(path), name)
    except OSError as error:
        yield Member(name, problem=Message("books.file_unreadable", {"reason": str(error.strerror)}))


def _read_xml(path: str, name: str, flags: int = 0) -> Iterator[Member]:
    """Yield a file, or none for a link that is not to be followed.

    A path object, and each further call of the system, costs a tenth of a parse.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags)
        try:
            about = os.fstat(number)
            if not stat.S_ISREG(about.st_mode):
                yield Member(name, problem=Message("tax.no_file"))
            elif about.st_size > LARGEST_XML:
                yield Member(name, problem=refuse_size(about.st_size))
            else:
                yield _to_member(name, _read_all(number, about.st_size))
        finally:
            os.close(number)
    except OSError as error:
        if not flags or error.errno != errno.ELOOP:
            yield Member(name, problem=Message("books.file_unreadable", {"reason": str(error.strerror)}))


def _read_all(number: int, size: int) -> bytes:
    content = os.read(number, size + 1)
    while len(content) < size and (more := os.read(number, size)):
        content += more
    return content


def open_zip(path: Path, name: str, *, largest: int = LARGEST_XML) -> Iterator[Member]:
    """Yield every file of a ZIP, or why it or one of them is not read; `largest` bounds the bytes of one."""
    try:
        with ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            unpacked = sum(info.file_size for info in infos)
            if len(infos) > MOST_MEMBERS or unpacked > LARGEST_UNPACKED:
                values = {"files": len(infos), "megabytes": unpacked // _MEGABYTE}
                yield Member(name, problem=Message("tax.zip_too_large", values))
                return
            for info in infos:
                yield _unpack(archive, info, f"{name}/{info.filename}", largest)
    except BadZipFile:
        yield Member(name, problem=Message("tax.zip_broken"))


def _unpack(archive: ZipFile, info: ZipInfo, name: str, largest: int) -> Member:
    """Unpack one file, never more of it than its bounds allow; the size that the archive states proves none."""
    if info.flag_bits & 1:
        return Member(name, problem=Message("tax.zip_encrypted"))
    if info.file_size > largest:
        return Member(name, problem=refuse_size(info.file_size, largest))
    if info.file_size > max(_SMALLEST_BOMB, info.compress_size * _MOST_RATIO):
        return Member(name, problem=Message("tax.zip_bomb"))
    try:
        with archive.open(info) as file:
            return _to_member(name, file.read(largest + 1))
    except (BadZipFile, NotImplementedError, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
        return Member(name, problem=Message("tax.zip_broken"))


def _to_printable(name: str) -> str:
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in name)


def _to_member(name: str, content: bytes) -> Member:
    is_xml = name.lower().endswith(".xml") or begins_as_markup(content)
    return Member(name, content, is_other=not is_xml)


def refuse_size(size: int, largest: int = LARGEST_XML) -> Message:
    values = {"megabytes": size // _MEGABYTE, "most": largest // _MEGABYTE}
    return Message("books.file_too_large", values)
