"""Reads the settings once and strictly: the environment first, then `cuadre.toml`."""

import contextlib
import difflib
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from consumer.facts.settings import PREFIX, ConfigError, Settings

_HOME = Path(__file__).resolve().parent.parent
_CONFIG_ONLY = {"approvals", "connections", "oidc", "order_check", "rules", "tariff"}
# What follows from where the settings are.
_DERIVED = {"config_dir", "config_name", "generated_key"}
_FOLDERS = {"data_dir", "shared_dir", "books_folder", "backup_dir"}
# What the library would say in words of programs.
_WORDS = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": "must be a table",
    "extra_forbidden": "is not a setting",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "model_type": "must be a table",
    "string_type": "must be text",
    "tuple_type": "must be a list",
}
# One setting for each job, and their names follow.
_PINGS, _PING = "ping_urls", "ping_url_"
_NAMES = sorted(set(Settings.model_fields) - _CONFIG_ONLY - _DERIVED - {_PINGS})


def setting_names() -> list[str]:
    """List every environment variable that is understood, for the documentation's test."""
    return [PREFIX + name.upper() for name in [*_NAMES, "config"]] + [f"{PREFIX}{_PING.upper()}<JOB>"]


def load(environ: Mapping[str, str], *, folder: Path, overrides: Mapping[str, object] | None = None) -> Settings:
    """Read the settings; `overrides` are those a command brings itself, as the demo does."""
    values = _from_file(environ, folder) | _from_environment(environ)
    values[_PINGS] = {name.removeprefix(_PING): values.pop(name) for name in list(values) if name.startswith(_PING)}
    values.update(overrides or {})
    connections = values["connections"] = _to_connections(values.get("connections", {}))
    config = folder / environ.get(PREFIX + "CONFIG", "cuadre.toml")
    values["config_dir"], values["config_name"] = config.parent, config.name
    # An absolute path stays what it is.
    values.setdefault("data_dir", _default_data_dir(environ))
    for name in sorted(_FOLDERS & values.keys()):
        values[name] = _to_folder(name, values[name], folder)
    data_dir = folder / str(values["data_dir"])
    url = str(values.setdefault("database_url", f"sqlite:///{data_dir / 'cuadre.db'}"))
    if "secret_key" not in values:
        values["secret_key"] = _own_secret_key(data_dir, url)
        values["generated_key"] = data_dir / "secret_key"
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigError(_one_line(error, [str(one["name"]) for one in connections])) from None


def _default_data_dir(environ: Mapping[str, str]) -> Path:
    """Return `instance/` of a checkout; installed from a wheel, a folder of the user, which updates leave alone."""
    if (_HOME / "pyproject.toml").is_file():
        return _HOME / "instance"
    # The standard ignores a path that is not absolute.
    named = Path(environ.get("XDG_STATE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".local" / "state") / "cuadre"


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for variable, text in sorted(environ.items()):
        if not variable.startswith(PREFIX) or variable.startswith(PREFIX + "TEST_") or variable == PREFIX + "CONFIG":
            continue
        name = variable.removeprefix(PREFIX).lower()
        value = text
        if name not in _NAMES and name.endswith("_file") and _is_known(name.removesuffix("_file")):
            name = name.removesuffix("_file")
            if PREFIX + name.upper() in environ:
                raise ConfigError(f"{PREFIX}{name.upper()} and {variable} are both set; keep one")
            value = _read_secret_file(variable, text)
        if not _is_known(name):
            raise ConfigError(f"{variable} is not a setting{_guess(variable, setting_names())}")
        found[name] = value
    return found


def _is_known(name: str) -> bool:
    return name in _NAMES or (name.startswith(_PING) and name != _PING)


def _from_file(environ: Mapping[str, str], folder: Path) -> dict[str, object]:
    named = environ.get(PREFIX + "CONFIG")
    path = folder / (named or "cuadre.toml")
    if not path.is_file():
        if named:
            raise ConfigError(f"{PREFIX}CONFIG names {named}, which is not a file")
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path.name} cannot be read: {error}") from None
    allowed = [*_NAMES, *sorted(_CONFIG_ONLY)]
    for name in values:
        if name not in allowed and not name.startswith(_PING):
            raise ConfigError(f"{path.name}: {name} is not a setting{_guess(name, allowed)}")
        # The library would take true for the number 1.
        if isinstance(values[name], bool) and name in _NAMES and Settings.model_fields[name].annotation is not bool:
            raise ConfigError(f"{PREFIX}{name.upper()}: must not be true or false")
    return values


def _read_secret_file(variable: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"{variable} names a file that cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{variable} names a file that cannot be read: it is no UTF-8 text") from None


def _to_connections(tables: object) -> tuple[dict[str, object], ...]:
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise ConfigError("connections must be tables named [connections.NAME]")
    if named := next((name for name, table in tables.items() if "name" in table), None):
        raise ConfigError(f"connections.{named}.name is not a setting: the table's own name is it")
    return tuple({"name": name, **table} for name, table in tables.items())


def _to_folder(name: str, value: object, folder: Path) -> Path:
    """Refuse what is no path, and a shared folder that is not there: unmounted, it hides what other machines keep."""
    if not isinstance(value, str | Path) or not str(value) or not str(value).isprintable():
        raise ConfigError(f"{PREFIX}{name.upper()} must name a folder")
    if name == "shared_dir" and not (folder / value).is_dir():
        raise ConfigError(f"{PREFIX}SHARED_DIR is no folder: mount it on every machine before the start")
    return folder / value


def _own_secret_key(data_dir: Path, database_url: str) -> str:
    """Keep a generated key in the data folder; several machines on one PostgreSQL must share a given one."""
    if database_url.startswith("postgresql"):
        raise ConfigError(f"{PREFIX}SECRET_KEY is required with PostgreSQL, the same on every machine")
    path = data_dir / "secret_key"
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            # Linked only when whole, so that two first starts agree on one key.
            draft = data_dir / f"secret_key.{secrets.token_hex(4)}"
            draft.touch(mode=0o600)
            draft.write_text(secrets.token_urlsafe(32), encoding="utf-8")
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(draft)
            draft.unlink()
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{PREFIX}DATA_DIR cannot be used: {error.strerror}") from None


def _one_line(error: ValidationError, connections: Sequence[str]) -> str:
    lines = []
    for problem in error.errors(include_input=False, include_url=False):
        where = [str(part) for part in problem["loc"]]
        if where[:1] == ["connections"] and len(where) > 1:
            where[1] = connections[int(where[1])]
        name = PREFIX + where[0].upper() if where and where[0] in _NAMES else ".".join(where)
        if where[:1] == [_PINGS]:
            name = f"{PREFIX}{_PING}{where[1]}".upper()
        message = _WORDS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
        lines.append(f"{name} is missing" if problem["type"] == "missing" else f"{name}: {message}".removeprefix(": "))
    return "; ".join(dict.fromkeys(lines))


def _guess(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else "; docs/reference.md lists them all"
