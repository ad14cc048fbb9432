"""What goes wrong anywhere is one line that says what to do."""

from consumer.commands.refusals import to_refusal
from consumer.facts.settings import ConfigError
from consumer.facts.work import Completion


def test_missing_settings_say_where_they_go() -> None:
    """Whoever calls a command in an empty folder learns the next step, and that the demo needs none."""
    refusal = to_refusal(ConfigError("CUADRE_API_KEY is missing; CUADRE_COUNTRY is missing"))
    assert refusal is not None
    assert refusal.completion == Completion.MISUSED
    assert refusal.message == (
        "CUADRE_API_KEY is missing; CUADRE_COUNTRY is missing: set what is missing in the environment or, in lower"
        " case and without CUADRE_, in cuadre.toml of this folder; cuadre demo needs no settings"
    )


def test_a_malformed_setting_says_only_what_is_wrong() -> None:
    """Where a setting goes is known to whoever wrote one."""
    refusal = to_refusal(ConfigError("CUADRE_COUNTRY: must be cl or mx"))
    assert refusal is not None
    assert refusal.message == "CUADRE_COUNTRY: must be cl or mx"
