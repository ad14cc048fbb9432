"""Refusals and stored words as a page says them."""

from collections.abc import Sequence

from consumer.facts.messages import Message, translate


def name_differences(names: Sequence[str], language: str) -> str:
    """Name what documents differ in that look the same."""
    headings = {"order_ref": "column.order_ref", "issue_date": "Issued", "due_date": "Due"}
    named = [translate(headings[name], language).lower() for name in names]
    return ", ".join(named) or translate("only their number", language)


def refusal(said: Message | str, language: str) -> str:
    """Return why something cannot be done as a sentence of a page; what an earlier version stored stays as it is."""
    if isinstance(said, str):
        return said
    sentence = translate(said, language)
    if language == "en" or sentence.endswith("."):
        return sentence
    # A parameter of an address, a job or a file keeps its name as it is written.
    is_named = set(":.") & set(sentence.partition(" ")[0])
    return f"{sentence if is_named else sentence[0].upper() + sentence[1:]}."
