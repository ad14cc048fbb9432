"""How large a body each route takes, held before anything reads it."""

from io import BytesIO
from typing import IO

from flask import Flask, Response, abort, request

from consumer.facts.messages import Message
from consumer.facts.uploads import LARGEST

# A form of a page brings texts and choices; a route that takes files takes its form with them.
_FORM = 65_536
_LARGEST = {
    "books.look": LARGEST + _FORM,
    "exceptions.take_sheet": LARGEST + _FORM,
    "deliveries.take": LARGEST + _FORM,
    "disputes.keep": LARGEST + _FORM,
    "case.attach": LARGEST + _FORM,
    # An archive is written to the disk as it comes.
    "packs.check": 20 * LARGEST + _FORM,
}
_MEGABYTE, _KILOBYTE = 1_000_000, 1024
# A sender whose body is not read to its end sees a broken connection instead of the answer.
_DRAINED = 16 * 1024 * 1024


def limit_bodies(app: Flask) -> None:
    """Refuse a body over the limit of its route with 413; one without a length is counted while it is read."""

    @app.before_request
    def _limit() -> None:
        limit = request.max_content_length = _limit_here()
        if (request.content_length or 0) > limit:
            abort(413)
        if request.content_length is None and request.environ.get("wsgi.input_terminated"):
            _count_chunks(limit)

    @app.after_request
    def _read_the_rest(response: Response) -> Response:
        announced = request.content_length or 0
        if announced <= _limit_here():
            # Unlike the server's own stream, the request's ends where its body does.
            _drop(request.stream, announced)
        return response


def _count_chunks(limit: int) -> None:
    """Refuse a body in chunks that grows past the limit; a form would be read as if it ended there.

    Files are left to the reader of forms, which refuses them itself and keeps them out of memory.
    """
    if limit > _FORM:
        return
    body = bytearray()
    while len(body) <= limit and (piece := request.environ["wsgi.input"].read(_FORM)):
        body += piece
    if len(body) > limit:
        abort(413)
    request.environ["wsgi.input"] = BytesIO(body)


def refuse_body() -> Message:
    """Read and drop a reasonable rest of a body that is too large, and return what to say of it."""
    limit, announced = _limit_here(), request.content_length
    if announced is None or announced > limit:
        _drop(request.environ["wsgi.input"], _DRAINED if announced is None else min(announced, _DRAINED))
    size = f"{limit // _MEGABYTE} MB" if limit > _MEGABYTE else f"{limit // _KILOBYTE} KB"
    return Message("pages.too_large", {"size": size})


def _drop(body: IO[bytes], left: int) -> None:
    """Read what is left of a body, at most so many bytes, and forget it."""
    while left > 0 and (piece := body.read(min(left, _FORM))):
        left -= len(piece)


def _limit_here() -> int:
    return _LARGEST.get(request.endpoint or "", _FORM)
