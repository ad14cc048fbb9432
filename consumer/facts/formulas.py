"""Text that a spreadsheet would run as a formula: an apostrophe before it on the way out, off again on the way back."""

BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n", "\x00", "＝", "＋", "－", "＠")


def defuse(text: str) -> str:
    return f"'{text}" if text.startswith(BEGINNINGS) else text


def restore(text: str) -> str:
    """Take off the apostrophe that `defuse` put there."""
    return text[1:] if text.startswith("'") and text[1:].startswith(BEGINNINGS) else text
