"""What each exception means and asks for, in a reader's words; pure."""

from consumer.facts.messages import is_translated, translate, word


def code_title(code: str, language: str) -> str:
    return word("title", code, language)


def title_of(stored: str, language: str, code: str) -> str:
    """Say a stored title, which is English; what a code of tomorrow says stays in English."""
    return stored if language == "en" or not is_translated(f"title.{code}", language) else code_title(code, language)


def action_of(stored: str, language: str, code: str) -> str:
    """Say what to do: by the stored sentence where one case of a code asks for something of its own."""
    if language == "en" or not is_translated(f"action.{code}", language):
        return stored
    return translate(stored if is_translated(stored, language) else f"action.{code}", language)
