"""The command that starts the sandbox."""

import errno
from datetime import datetime

import click

from sandbox.engine.faults import Fault, UnusableFaultError, to_fault
from sandbox.scenarios import LARGEST_WHOLE, NAMES, UnknownScenarioError
from sandbox.serve import DEFAULT_SCENARIO, DEFAULT_SEED, RunningSandbox, serve
from sandbox.state.clock import START_AT, to_iso, to_moment
from sandbox.state.credentials import KEYS

DEFAULT_PORT = 8700


def read_faults(texts: tuple[str, ...]) -> list[Fault]:
    """Faults as `name`, `name=probability` or `name=probability:option=value`. Raises a usage error."""
    return [read_fault(part) for text in texts for part in text.split(",") if part]


def read_fault(text: str) -> Fault:
    first, *options = text.split(":")
    name, _, probability = first.partition("=")
    wish: dict[str, float | str] = {"name": name, "probability": _read_number(probability) if probability else 1.0}
    for option in options:
        key, _, value = option.partition("=")
        wish[key] = _read_number(value)
    try:
        return to_fault(wish)
    except UnusableFaultError as error:
        raise click.UsageError(str(error)) from None


def _read_number(text: str) -> float | int | str:
    """Return a number where it is one, else the text, for which what reads it has a sentence."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def read_damages(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, float]:
    """Damages as `name=rate`. Raises a usage error."""
    damages = {}
    for text in texts:
        name, _sign, rate = text.partition("=")
        try:
            damages[name] = float(rate)
        except ValueError:
            raise click.BadParameter(f"{text!r} is no NAME=RATE with a rate from 0 to 1") from None
    return damages


def read_start(_: click.Context, __: click.Parameter, text: str | None) -> datetime:
    if text is None:
        return START_AT
    try:
        return to_moment(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not an ISO 8601 date or datetime") from None


@click.command("sandbox")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=DEFAULT_PORT, show_default=True, help="0 takes a free one.")
@click.option("--seed", default=DEFAULT_SEED, show_default=True, help="The same seed gives the same trade and faults.")
@click.option("--scenario", default=DEFAULT_SCENARIO, show_default=True, help=f"One of: {', '.join(NAMES)}.")
@click.option("--scale", default=1.0, show_default=True, help="How much trade, 1 being the scenario's own.")
@click.option(
    "--start", "start_at", callback=read_start, help=f"The clock's first moment.  [default: {to_iso(START_AT)}]"
)
@click.option("--live", "is_live", is_flag=True, help="Let the clock walk with real time.")
@click.option(
    "--faults",
    "fault_texts",
    multiple=True,
    metavar="NAME[=PROBABILITY][:OPTION=VALUE]",
    help="May be repeated.",
)
@click.option("--damage", "damages", multiple=True, metavar="NAME=RATE", callback=read_damages, help="May be repeated.")
@click.option("--header-prefix", default="Fintoc", show_default=True, help="Begins the names of signature and version.")
def sandbox(  # noqa: PLR0913 - one parameter for each option
    *,
    host: str,
    port: int,
    seed: int,
    scenario: str,
    scale: float,
    start_at: datetime,
    is_live: bool,
    fault_texts: tuple[str, ...],
    damages: dict[str, float],
    header_prefix: str,
) -> None:
    """Serve the imitated provider until it is stopped."""
    faults = read_faults(fault_texts)
    if scale > LARGEST_WHOLE:
        click.echo("Telling what happened before the clock starts: minutes for a million payments", err=True)
    try:
        running = RunningSandbox(
            scenario,
            host=host,
            port=port,
            is_live=is_live,
            seed=seed,
            scale=scale,
            damages=damages,
            start_at=start_at,
            faults=faults,
            header_prefix=header_prefix,
        )
    except UnknownScenarioError as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        reason = "the address is in use already" if error.errno == errno.EADDRINUSE else error.strerror
        raise click.ClickException(
            f"cannot listen on {host}:{port}: {reason}; choose another --port or --host"
        ) from None
    click.echo(_greeting(running))
    serve(running)


def _greeting(running: RunningSandbox) -> str:
    lines = [
        f"address   {running.url}",
        *(f"{mode} key  {key}" for key, mode in KEYS.items()),
        f"scenario  {running.world.scenario.name} (seed {running.world.seed})",
        f"clock     {to_iso(running.world.now())}",
    ]
    return "\n".join(lines)
