"""Streams, jobs and subjects of the machinery in a reader's words."""

import pytest

from consumer.facts.messages import word
from consumer.sync.streams import STREAMS
from reports.wording import phrases


def test_every_stream_has_spanish_words() -> None:
    """A stream added to the pulls gets its words too."""
    unsaid = [name for name in (*STREAMS, "events", "payout-items") if word("stream", name, "es-CL") == name]
    assert unsaid == []


@pytest.mark.parametrize(
    ("job", "spanish", "english"),
    [
        ("pull:main:charges", "Leer datos · main · Cargos", "Fetch · main · Charges"),
        ("pull:main:all", "Leer datos · main · Todo", "Fetch · main · Everything"),
        ("nightly:main", "Noche · main", "Night · main"),
        ("nightly:main by hand", "Noche · main · a mano", "Night · main · by hand"),
        ("retention", "Retiro de lo antiguo", "Removal of what is old"),
        ("demo", "demo", "demo"),
    ],
)
def test_a_job_is_said_with_its_connection_and_stream(job: str, spanish: str, english: str) -> None:
    """What is done comes first; an unknown job keeps its name."""
    assert (phrases.job(job, "es-CL"), phrases.job(job, "en")) == (spanish, english)


@pytest.mark.parametrize(
    ("subject", "language", "said"),
    [
        ("stream:charges", "es-CL", "datos del proveedor: Cargos"),
        ("stream:account-statements", "es-MX", "datos del proveedor: Estados de cuenta"),
        ("stream:refunds", "en", "data of the provider: Refunds"),
        ("calendar:cl:2014", "es-CL", "calendario: cl 2014"),
        ("document:cl:33::1", "es-CL", "document:cl:33::1"),
    ],
)
def test_a_subject_without_a_row_is_said(subject: str, language: str, said: str) -> None:
    """What is no payout, item or document reads as words, not as the key it is stored under."""
    assert phrases.subject(subject, language) == said
