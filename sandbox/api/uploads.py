"""Files that come with a request: how large they may be, and what they really are."""

from collections.abc import Iterable

from werkzeug.datastructures import FileStorage

from sandbox.state.refusal import RefusalError

MEGABYTE = 1_000_000
# What the first bytes say, whatever the file calls itself.
SIGNATURES = {"application/pdf": b"%PDF", "image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n"}


def check_file(file: FileStorage, *, smallest: int = 1, largest: int) -> int:
    """The size of a PDF, JPEG or PNG within its bounds. Raises 422."""
    content = file.stream.read()
    file.stream.seek(0)
    if not smallest <= len(content) <= largest:
        raise _unprocessable(f"A document must have {smallest} to {largest} bytes; this one has {len(content)}")
    if not any(content.startswith(signature) for signature in SIGNATURES.values()):
        raise _unprocessable("A document must be a PDF, JPEG or PNG")
    return len(content)


def check_files(files: Iterable[FileStorage], *, smallest: int, largest: int) -> None:
    for file in files:
        check_file(file, smallest=smallest, largest=largest)


def _unprocessable(message: str) -> RefusalError:
    return RefusalError(422, "invalid_document", message, param="file")
