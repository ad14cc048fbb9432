"""Damages switched on from outside: in Python and on the command line."""

from datetime import timedelta

import pytest
from click.testing import CliRunner

from sandbox.commands import sandbox as command
from sandbox.scenarios import UnknownScenarioError, build_scenario
from sandbox.serve import create_sandbox
from sandbox.state.clock import START_AT


def test_a_sandbox_is_started_with_damages() -> None:
    """What is planted is in its truth."""
    app = create_sandbox("quiet-month", scale=0.3, damages={"paid_twice": 0.03})
    truth = app.world.scenario.truth(START_AT + timedelta(days=34))
    assert sum("DUPLICATE_PAYMENT" in row.exceptions for row in truth) == 5


@pytest.mark.parametrize(("damages", "sentence"), [
    (["paid_twice"], "The damages of a scenario are names, each with its rate"),
    ({"paid_twice": "often"}, "the rate of paid_twice must be a number from 0 to 1, not 'often'"),
    ({"file_variant": 1}, "file_variant is no damage of trade: use invoices.csv?variant="),
])  # fmt: skip
def test_damages_that_make_no_sense_are_refused(damages: object, sentence: str) -> None:
    """As whoever asks over HTTP will read it."""
    with pytest.raises(UnknownScenarioError) as refused:
        build_scenario("quiet-month", 1, 1.0, START_AT, damages=damages)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--scenario", "quiet-month", "--damage", "paid_twice"], "'paid_twice' is no NAME=RATE with a rate from 0 to 1"),
    (["--scenario", "quiet-month", "--damage", "paid=0.1"], "there is no damage 'paid': choose one of"),
    (["--damage", "paid_twice=0.1"], "the troubles of busy-month are planted; damages go with quiet-month"),
])  # fmt: skip
def test_the_command_line_refuses_what_it_cannot_do(arguments: list[str], sentence: str) -> None:
    """A usage error with one sentence."""
    result = CliRunner().invoke(command, ["--port", "0", *arguments])
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())
