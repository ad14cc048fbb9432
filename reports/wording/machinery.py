"""What the machinery calls its parts, in a reader's words: streams of the provider, jobs, subjects without a row."""

from consumer.facts.messages import is_translated, word

# What the name of a night ends with that a command started.
_BY_HAND = " by hand"


def stream(name: str, language: str) -> str:
    """Say a stream; one that nobody has met yet keeps its name."""
    return word("stream", name, language)


def job(name: str, language: str) -> str:
    """Say `pull:main:charges`: what is done, of which connection and of which stream, and whether by hand."""
    kind, _, rest = name.removesuffix(_BY_HAND).partition(":")
    connection, _, part = rest.partition(":")
    asked = word("job", "by hand", language) if name.endswith(_BY_HAND) else ""
    told = (word("job", kind, language), connection, stream(part, language) if part else "", asked)
    return " · ".join(filter(None, told))


def subject(text: str, language: str) -> str:
    """Say what an exception is about that is no payout, item or document: `stream:charges`."""
    kind, _, name = text.partition(":")
    if not is_translated(f"subject.{kind}", language):
        return text
    said = stream(name, language) if kind == "stream" else name.replace(":", " ")
    return f"{word('subject', kind, language)}: {said}"
