"""Logs on standard error: readable on a terminal, one JSON object a line elsewhere."""

import logging
import sys
from typing import TextIO

import structlog


def set_level(level: str) -> None:
    """Let the program's own lines through from a level on, and of libraries warnings at most."""
    number = logging.getLevelNamesMapping()[level.upper()]
    logging.getLogger("cuadre").setLevel(number)
    logging.getLogger().setLevel(max(logging.WARNING, number))


def configure_logs(stream: TextIO | None = None) -> None:
    """Set up both kinds of logger that the rooms and the libraries use; they write on standard error by default."""
    stream = stream or sys.stderr
    on_terminal = stream.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if on_terminal else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            last,
        ],
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("cuadre").setLevel(logging.INFO)
