"""Files that people hand in through a page: how large they may be, and what they are."""

# Pages read no more of a file; the provider takes evidence under this size.
LARGEST = 10_000_000
# By its first bytes, since a name says nothing certain.
_BEGINNINGS = {"application/pdf": b"%PDF-", "image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n"}


def find_media(content: bytes) -> str | None:
    """Return the media type of a document or a picture, None where it is neither."""
    return next((media for media, begins in _BEGINNINGS.items() if content.startswith(begins)), None)
