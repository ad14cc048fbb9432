"""The catalogues against the code: every code has its sentence in every language, with the values it is given."""

import re
from datetime import date
from functools import cache
from string import Formatter
from typing import TypeAlias

import pytest

from consumer.facts.messages import LANGUAGES, Message, RefusalError, translate
from reconcile.rules.outcomes import Code
from tools import catalogues

# Values that only English shows; Spanish says it otherwise.
ENGLISH_ALONE = {
    "desk.about_no_payment": {"column"},
    "desk.not_the_sheet": {"columns"},
    "desk.resolution_while_open": {"state"},
    "desk.stands_already": {"kind"},
}
# Families whose keys the provider names, or a page puts together.
FROM_ELSEWHERE = ("means.", "trail.change ")


# Where a message is made, its code or text, the names of its values.
Used: TypeAlias = list[tuple[str, str, set[str] | None]]


@pytest.fixture(scope="module")
def used() -> Used:
    return list(catalogues.find_used())


@cache
def sentences(language: str) -> dict[str, str]:
    return {str(entry.id): str(entry.string) for entry in catalogues.read(language.replace("-", "_")) if entry.id}


def names_in(sentence: str) -> set[str]:
    return {re.split(r"[.\[]", name)[0] for _, name, _, _ in Formatter().parse(sentence) if name is not None}


def test_every_code_has_its_sentence(used: Used) -> None:
    """A message without words in one of the languages is found here, not by a reader."""
    missing = [
        (language, where, text)
        for language in LANGUAGES
        for where, text, _ in used
        if not sentences(language).get(text) and (language != "en" or catalogues.is_code(text))
    ]
    assert missing == []


def test_every_sentence_has_its_code(used: Used) -> None:
    """What nothing says any more goes, and no language has sentences of its own."""
    codes = {text for _, text, _ in used}
    english = {code for code in sentences("en") if catalogues.is_code(code)}
    # A stored word, as `status.closed`, is made of a group and a key that the code names.
    sources = catalogues.read_sources()
    unnamed = [code for code in sorted(english - codes) if code.partition(".")[2] not in sources]
    assert [code for code in unnamed if not code.startswith(FROM_ELSEWHERE)] == []
    assert [text for text in sentences("es-CL") if text not in english and text not in sources] == []
    assert {code for code in sentences("es-CL") if catalogues.is_code(code)} == english
    assert sentences("es-CL").keys() == sentences("es-MX").keys()


def test_sentences_show_the_values_they_are_given(used: Used) -> None:
    """A value that is forgotten or misspelt in one language would fail before a reader."""
    for where, text, names in used:
        if names is None:
            continue
        for language in LANGUAGES:
            own = names - (set() if language == "en" else ENGLISH_ALONE.get(text, set()))
            assert names_in(sentences(language).get(text, text)) == own, f"{where}: {text} in {language}"


def test_a_refusal_is_english_for_programs_and_translated_for_people() -> None:
    """One error says itself in the terminal, and on pages in the reader's language, with what it quotes."""
    error = RefusalError("closing.closed_already", until=date(2026, 10, 31))
    assert str(error) == "the days up to 2026-10-31 are closed already"
    assert translate(error.message, "es-CL") == "los días hasta el 31-10-2026 ya están cerrados"
    pair = Message("desk.pair", {"payment": "pi_1", "document": "cl:33::7"})
    nested = Message("desk.nothing_to_take_back", {"subject": pair})
    assert str(nested) == "nothing decided about pi_1 and cl:33::7 holds: there is nothing to take back"
    assert translate(nested, "es-MX") == "no vale ninguna decisión sobre pi_1 y cl:33::7: no hay nada que deshacer"


@pytest.mark.parametrize("language", LANGUAGES)
def test_text_without_a_translation_stays(language: str) -> None:
    """A sentence that an earlier version stored is shown as it is, braces and all."""
    assert translate("paid {half} in cash", language) == "paid {half} in cash"
    assert translate("", language) == ""


def test_catalogues_are_in_order() -> None:
    """The files are what `make words` writes, so that a translator's change shows alone."""
    for language in catalogues.LANGUAGES:
        before = catalogues.path_of(language).read_text(encoding="utf-8")
        assert catalogues.render(language, catalogues.read(language)) == before


def test_english_actions_are_those_a_run_keeps() -> None:
    """What to do about an exception is written once, beside its code; `make words` copies it."""
    assert {code: translate(f"action.{code}", "en") for code in Code} == {code: code.action for code in Code}
