"""What a run read, in a reader's words: tables, calendars, tolerances. Pure."""

from consumer.facts.messages import is_translated, translate, word


def fact(key: str, language: str) -> str:
    """Name a fact; what follows its first word names the connection and the part that it is about."""
    first, _, rest = key.partition(" ")
    connection, _, part = rest.partition(" ")
    name = word("tolerance", part, language) if first == "tolerance" else name_input(part, language)
    return ", ".join(filter(None, (word("fact", first, language), connection, name)))


def format_value(key: str, value: str, language: str) -> str:
    """Say what a fact holds."""
    match key.partition(" ")[0]:
        case "modes":
            return ", ".join(word("mode", mode, language) for mode in value.split())
        case "countries":
            return ", ".join(word("country", code, language) for code in value.split("-"))
        case "calendars":
            return _calendars(value, language)
        case "tolerance" if key.endswith("_bps"):
            return _share(value, language)
        case "rounding":
            return translate(value, language)
    return value


def _calendars(value: str, language: str) -> str:
    """Say of each `holidays 0.109 cl` the country before the edition of its bank days."""
    parts = (calendar.rpartition(" ") for calendar in value.split("; "))
    return "; ".join(f"{word('country', code, language)} ({edition})".replace(" ()", "") for edition, _, code in parts)


def _share(text: str, language: str) -> str:
    """Say hundredths of a percent."""
    whole, part = divmod(int(text), 100)
    share = f"{whole}.{part:02d}".rstrip("0").rstrip(".") if part else str(whole)
    return f"{share.replace('.', ',') if language == 'es-CL' else share} %"


def name_input(name: str, language: str) -> str:
    """Name a table that a run read."""
    return word("input" if is_translated(f"input.{name}", language) else "stream", name, language)
