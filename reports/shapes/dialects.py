"""Spanish is written once, as Chile says it; Mexico's own words stand in where the two differ. Pure."""

import re
from collections.abc import Mapping

# Longest first, so that an article goes with its noun.
_MEXICAN = (
    ("de la cartola", "del estado de cuenta"),
    ("a la cartola", "al estado de cuenta"),
    ("la cartola", "el estado de cuenta"),
    ("cartolas", "estados de cuenta"),
    ("cartola", "estado de cuenta"),
    ("montos", "importes"),
    ("monto", "importe"),
    ("períodos", "periodos"),
    ("período", "periodo"),
)
_WORD = re.compile(rf"\b({'|'.join(chilean for chilean, _ in _MEXICAN)})\b", re.IGNORECASE)
_SAID = dict(_MEXICAN)


def local(spanish: str, language: str) -> str:
    """Say Spanish text as the language's country does."""
    return _WORD.sub(_replaced, spanish) if language == "es-MX" else spanish


def say(words: Mapping[str, tuple[str, str]], name: str, language: str) -> str:
    """Say what has a name, from its English and Spanish; what nobody met yet keeps the name."""
    if name not in words:
        return name
    english, spanish = words[name]
    return english if language == "en" else local(spanish, language)


def _replaced(found: re.Match[str]) -> str:
    chilean = found.group()
    mexican = _SAID[chilean.lower()]
    return mexican[0].upper() + mexican[1:] if chilean[0].isupper() else mexican
