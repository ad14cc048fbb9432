"""Commands of the month in one archive: make it of a closed period, and check it on any machine without a database."""

from pathlib import Path

import click

from consumer.commands.terminal import CommandError, json_option, login_name, on_connection, print_rows
from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import LANGUAGES, RefusalError
from reports.output.export import PROFILES
from reports.output.files import to_shape
from reports.packs.making import Asked, pack
from reports.packs.manifest import load_public_key
from reports.packs.verifying import verify

PACK_KEYS = ("connection", "period", "file", "files", "digest", "sha256", "signed")


@click.command("pack")
@click.argument("period", type=int)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=".",
              help="The folder of the archive (default: the current one).")  # fmt: skip
@click.option("--journal", "layouts", help="Layouts of the journal in it, several with commas, or none "
              "(default: journal, where there is an account map): cuadre accounts profiles.")  # fmt: skip
@click.option("--profile", type=click.Choice(list(PROFILES)), default="machine", show_default=True,
              help="How the tables are written.")  # fmt: skip
@click.option("--language", type=click.Choice(LANGUAGES), help="Of the page to sign (default: the country's).")
@click.option("--author", default=None, help="Who exports the journal in it (default: your login name).")
@on_connection
@json_option
def pack_command(
    installation: Installation, connection: Connection, *, period: int, out: Path, layouts: str | None, profile: str,
    language: str | None, author: str | None, as_json: bool,
) -> None:  # fmt: skip
    """A closed period in one archive that proves it: a page to sign, its tables, the journal, and their hashes."""
    named = (
        None if layouts is None else [name.strip() for name in layouts.split(",") if name.strip() not in ("", "none")]
    )
    asked = Asked(
        to_shape("csv", profile, None),
        language or connection.country.language,
        author or login_name(),
        utc_now(),
        named,
    )
    try:
        path, manifest = pack(installation, connection, period, asked, out)
    except OSError as error:
        raise CommandError(f"{out} cannot be written: {error.strerror}") from None
    row = {
        "connection": connection.name, "period": period, "file": str(path), "files": len(manifest.files),
        "digest": manifest.data_sha256, "sha256": manifest.sha256, "signed": "yes" if manifest.public_key else "no",
    }  # fmt: skip
    print_rows([row], PACK_KEYS, as_json=as_json)


@click.command("verify")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--key", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="The public key, in PEM, of whoever must have signed it.")  # fmt: skip
def verify_command(*, file: Path, key: Path | None) -> None:
    """Check an archive of a month or a PDF, without settings or a database: one line says what it proves."""
    try:
        expected = load_public_key(key.read_bytes(), key.name) if key else ""
        proof = verify(file, key=expected)
    except RefusalError as error:
        raise CommandError(f"{file.name} {error}") from None
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from None
    click.echo(str(proof.to_message(file.name)))
