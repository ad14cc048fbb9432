"""The sheet of parameters in words: no rule of money stands there under its code."""

from dataclasses import fields

from reconcile.rules.terms import RuleSet
from reports.wording import inputs


def test_every_number_of_the_rules_has_words() -> None:
    """A rule that is added gets its words in both languages."""
    names = [field.name for field in fields(RuleSet) if isinstance(field.default, int)]
    assert [name for name in names if inputs.fact(f"tolerance main {name}", "es-CL").endswith(name)] == []
    assert [name for name in names if inputs.fact(f"tolerance main {name}", "en").endswith(name)] == []
    assert len(names) > 10


def test_calendars_modes_and_countries_are_said() -> None:
    """Codes become names; what is unknown stays as it is."""
    assert inputs.format_value("calendars", "holidays 0.109 cl; holidays 0.109 mx", "es-CL") == (
        "Chile (holidays 0.109); México (holidays 0.109)"
    )
    assert inputs.format_value("modes", "test live", "es-CL") == "prueba, real"
    assert inputs.format_value("countries", "cl-mx", "en") == "Chile, Mexico"
    assert inputs.format_value("tolerance main fee_band_bps", "550", "es-MX") == "5.5 %"
    assert inputs.format_value("calendars", "", "en") == ""
