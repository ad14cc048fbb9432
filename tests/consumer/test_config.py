"""Settings: read once and strictly; every mistake is one clear line and no secret is ever printed."""

from pathlib import Path

import pytest

from consumer.config import load, setting_names
from consumer.facts.settings import ConfigError, Settings

GOOD = {
    "CUADRE_PROVIDER_URL": "https://api.provider.test",
    "CUADRE_API_KEY": "sk_test_key",
    "CUADRE_COUNTRY": "cl",
}


def read(tmp_path: Path, **changes: str) -> Settings:
    environ = {**GOOD, "CUADRE_DATA_DIR": str(tmp_path / "data"), **changes}
    return load({name: value for name, value in environ.items() if value}, folder=tmp_path)


def test_the_defaults_are_those_of_the_documentation(tmp_path: Path) -> None:
    """Three settings are enough to start; the rest has its documented default."""
    settings = read(tmp_path)

    assert settings.database_url == f"sqlite:///{tmp_path}/data/cuadre.db"
    assert (settings.signature_tolerance, settings.rate_limit, settings.max_body_bytes) == (300, 25, 1048576)
    assert (settings.settle_seconds, settings.overlap_seconds, settings.retention_days) == (60, 3600, 400)
    assert settings.nightly_at.isoformat() == "03:15:00"
    assert settings.connection("main").mode == "test"
    assert settings.connection("main").country.zone == "America/Santiago"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"CUADRE_API_KEY": ""}, "CUADRE_API_KEY is missing"),
        ({"CUADRE_COUNTRY": "pe"}, "CUADRE_COUNTRY: Input should be 'cl' or 'mx'"),
        ({"CUADRE_RATE_LIMT": "3"}, "CUADRE_RATE_LIMT is not a setting; did you mean CUADRE_RATE_LIMIT?"),
        ({"CUADRE_RATE_LIMIT": "0"}, "CUADRE_RATE_LIMIT: Input should be greater than 0"),
        ({"CUADRE_RATE_LIMIT": "nan"}, "CUADRE_RATE_LIMIT: Input should be a finite number"),
        ({"CUADRE_SIGNATURE_TOLERANCE": "0"}, "CUADRE_SIGNATURE_TOLERANCE: Input should be greater than 0"),
        ({"CUADRE_NIGHTLY_AT": "25:00"}, "CUADRE_NIGHTLY_AT: must be a local time such as 03:15"),
        ({"CUADRE_PROVIDER_URL": "ftp://x"}, "CUADRE_PROVIDER_URL: must be an http or https address"),
        ({"CUADRE_DATABASE_URL": "mysql://x/y"}, "CUADRE_DATABASE_URL: must begin with sqlite:/// or postgresql"),
        ({"CUADRE_READ_URL": "replica.shop"}, "CUADRE_READ_URL: must look like postgresql+psycopg://user@host/name"),
        (
            {"CUADRE_READ_URL": "postgresql+psycopg://h/d"},
            "CUADRE_READ_URL names a replica, which only a",
        ),
        ({"CUADRE_DATABASE_URL": "postgresql+psycopg://h/d"}, "CUADRE_SECRET_KEY is required with PostgreSQL"),
        ({"CUADRE_SHARED_DIR": "nowhere"}, "CUADRE_SHARED_DIR is no folder: mount it on every machine"),
        ({"CUADRE_SECRET_KEY": "cuadre"}, "CUADRE_SECRET_KEY: can be guessed: take 32 random characters or more"),
        ({"CUADRE_SECRET_KEY": "a" * 64}, "CUADRE_SECRET_KEY: can be guessed: take 32 random characters or more"),
        ({"CUADRE_TRUSTED_PROXIES": "10.0.0.0/8, proxy"}, "CUADRE_TRUSTED_PROXIES: must be addresses or networks"),
        ({"CUADRE_API_KEY_FILE": "/x"}, "CUADRE_API_KEY and CUADRE_API_KEY_FILE are both set"),
        ({"CUADRE_CONFIG": "none.toml"}, "CUADRE_CONFIG names none.toml, which is not a file"),
        ({"CUADRE_ENGINE": "ray://h:1"}, "CUADRE_ENGINE: must be local, processes:N with N from 1 to 999, or dask://"),
        (
            {"CUADRE_ENGINE": "processes:0"},
            "CUADRE_ENGINE: must be local, processes:N with N from 1 to 999, or dask://",
        ),
        ({"CUADRE_ENGINE": "dask://h"}, "CUADRE_ENGINE: must be local, processes:N with N from 1 to 999, or dask://"),
        (
            {"CUADRE_ENGINE": "dask://h:99999"},
            "CUADRE_ENGINE: must be local, processes:N with N from 1 to 999, or dask",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_bad_setting_stops_the_start_with_its_name(tmp_path: Path, changes: dict[str, str], line: str) -> None:
    """The line names the setting and what to do, and is one line."""
    with pytest.raises(ConfigError) as refusal:
        read(tmp_path, **changes)

    assert str(refusal.value).startswith(line)
    assert "\n" not in str(refusal.value)


def test_a_secret_never_shows(tmp_path: Path) -> None:
    """Neither the settings nor a complaint about them holds a secret's value."""
    database = "postgresql+psycopg://cuadre:hidden-password@h/d"
    settings = read(
        tmp_path,
        CUADRE_API_KEY="sk_live_hidden",
        CUADRE_WEBHOOK_SECRETS="whsec_hidden, whsec_hidden2",
        CUADRE_LINK_TOKENS="link_hidden",
        CUADRE_DATABASE_URL=database,
        CUADRE_SECRET_KEY="hidden key, long enough to pass",
    )

    assert "hidden" not in repr(settings)
    assert [s.get_secret_value() for s in settings.connection("main").webhook_secrets] == [
        "whsec_hidden",
        "whsec_hidden2",
    ]
    assert settings.connection("main").mode == "live"


def test_a_file_gives_a_secret(tmp_path: Path) -> None:
    """NAME_FILE reads the value from a file, without its last line break."""
    (tmp_path / "key").write_text("sk_test_from_file\n", encoding="utf-8")

    settings = read(tmp_path, CUADRE_API_KEY="", CUADRE_API_KEY_FILE=str(tmp_path / "key"))

    assert settings.api_key.get_secret_value() == "sk_test_from_file"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A file that cannot be read stops the start with the setting that names it."""
    with pytest.raises(ConfigError, match=r"^CUADRE_API_KEY_FILE names a file that cannot be read"):
        read(tmp_path, CUADRE_API_KEY="", CUADRE_API_KEY_FILE=str(tmp_path / "nothing"))


def test_variables_win_over_the_file_and_tables_come_from_it(tmp_path: Path) -> None:
    """`cuadre.toml` holds the same names in lower case, the tariff, and further connections."""
    (tmp_path / "cuadre.toml").write_text(
        """
        rate_limit = 5
        country = "mx"
        webhook_secrets = ["whsec_a", "whsec_b"]
        [tariff]
        vat_bps = 1900
        [connections.mexico]
        api_key = "sk_live_x"
        country = "mx"
        """,
        encoding="utf-8",
    )

    settings = read(tmp_path)

    assert (settings.rate_limit, settings.country, len(settings.webhook_secrets)) == (5, "cl", 2)
    assert settings.tariff == {"vat_bps": 1900}
    assert [(c.name, c.mode, c.country_code) for c in settings.all_connections] == [
        ("main", "test", "cl"),
        ("mexico", "live", "mx"),
    ]


def test_a_connection_may_have_an_address_of_its_own(tmp_path: Path) -> None:
    """Each connection asks its own provider, and the provider of the settings where it names none."""
    tables = (
        '[connections.mexico]\napi_key = "sk_test_m"\ncountry = "mx"\nprovider_url = "https://mx.provider.test/"\n'
        '[connections.chile]\napi_key = "sk_test_c"\ncountry = "cl"\n'
    )
    (tmp_path / "cuadre.toml").write_text(tables, encoding="utf-8")

    found = read(tmp_path, CUADRE_PROVIDER_URL="https://provider.test")

    assert {one.name: one.provider_url for one in found.all_connections} == {
        "main": "https://provider.test",
        "mexico": "https://mx.provider.test",
        "chile": "https://provider.test",
    }
    (tmp_path / "cuadre.toml").write_text(tables.replace("https://mx", "ftp://mx"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"connections\.mexico\.provider_url: must be an http or https address"):
        read(tmp_path, CUADRE_PROVIDER_URL="https://provider.test")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("rate_limt = 5", "cuadre.toml: rate_limt is not a setting; did you mean rate_limit?"),
        ("rate_limit =", "cuadre.toml cannot be read: "),
        ("connections = 5", "connections must be tables named"),
        ('[connections.x]\napi_key = "k"\ncountry = "pe"', "connections.x.country: Input should be 'cl' or 'mx'"),
        ('[connections.main]\napi_key = "k"\ncountry = "cl"', "two connections are named 'main'"),
        ('[connections.x]\napi_key = "sk_test_k"\ncountry = "cl"\nmode = "live"', "connections.x: mode says live but"),
    ],
)
def test_a_bad_file_is_one_line_too(tmp_path: Path, text: str, line: str) -> None:
    """The file is read as strictly as the environment."""
    (tmp_path / "cuadre.toml").write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError) as refusal:
        read(tmp_path)

    assert str(refusal.value).startswith(line)


def test_names_for_tests_are_ignored(tmp_path: Path) -> None:
    """A name that begins CUADRE_TEST_ belongs to the tests."""
    assert read(tmp_path, CUADRE_TEST_DATABASE_URL="x").country == "cl"


def test_a_generated_key_is_kept_and_private(tmp_path: Path) -> None:
    """The session key is made once in the data folder and readable by its owner alone."""
    first, second = read(tmp_path).secret_key, read(tmp_path).secret_key

    assert first == second
    assert (tmp_path / "data" / "secret_key").stat().st_mode & 0o777 == 0o600


def test_every_setting_is_a_variable() -> None:
    """The names that the documentation's test relies on."""
    assert "CUADRE_RATE_LIMIT" in setting_names()
    assert "CUADRE_CONFIG" in setting_names()
    assert "CUADRE_TARIFF" not in setting_names()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("CUADRE_API_KEY", "sk_test_ñ", "outside ASCII"),
        ("CUADRE_API_KEY", "sk_test_a\n", "control character"),
        ("CUADRE_LINK_TOKENS", "link_\x07", "control character"),
        ("CUADRE_PROVIDER_URL", "http://x:99999", "http or https address"),
        ("CUADRE_API_VERSION", "1\r\nX: y", "API_VERSION"),
        ("CUADRE_NIGHTLY_AT", "03:15+05:00", "local time such as 03:15"),
        ("CUADRE_NIGHTLY_AT", "25:00", "local time such as 03:15"),
        ("CUADRE_SETTLE_SECONDS", "99999999999999999", "SETTLE_SECONDS"),
        ("CUADRE_OVERLAP_SECONDS", "99999999999999999", "OVERLAP_SECONDS"),
        ("CUADRE_SIGNATURE_TOLERANCE", "99999999999999999999999", "SIGNATURE_TOLERANCE"),
        ("CUADRE_RETENTION_DAYS", "99999999999", "RETENTION_DAYS"),
        ("CUADRE_DATABASE_URL", "sqlite:///:memory:", "must name a file"),
        ("CUADRE_DATABASE_URL", "sqlite://", "must name a file"),
    ],
)
def test_what_cannot_work_stops_the_start(tmp_path: Path, name: str, value: str, message: str) -> None:
    """A value that would fail later, or be no limit at all, is refused at once and never printed when secret."""
    with pytest.raises(ConfigError, match=message) as caught:
        read(tmp_path, **{name: value})
    assert "sk_test_" not in str(caught.value)
    assert "link_" not in str(caught.value).replace("link_tokens", "")


@pytest.mark.parametrize(
    ("country", "good", "bad", "form"),
    [
        ("cl", "76.192.083-9", "76.192.083-1", "a RUT with its check digit"),
        ("mx", "AAA010101AAA", "BBB", "an RFC of 12 or 13 characters"),
    ],
)
def test_the_merchants_tax_id_is_checked_and_not_repeated(
    tmp_path: Path, country: str, good: str, bad: str, form: str
) -> None:
    """A wrong one stops the start with the name of its setting; printed settings leave the right one out."""
    settings = read(tmp_path, CUADRE_COUNTRY=country, CUADRE_TAX_ID=good)
    assert settings.connection("main").tax_id == good
    assert good not in repr(settings)
    with pytest.raises(ConfigError) as of_main:
        read(tmp_path, CUADRE_COUNTRY=country, CUADRE_TAX_ID=bad)
    assert str(of_main.value) == f"CUADRE_TAX_ID is not {form}"
    table = f'[connections.x]\napi_key = "sk_test_k"\ncountry = "{country}"\ntax_id = "{bad}"\n'
    (tmp_path / "cuadre.toml").write_text(table, encoding="utf-8")
    with pytest.raises(ConfigError) as of_another:
        read(tmp_path)
    assert str(of_another.value) == f"connections.x: tax_id is not {form}"


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("CUADRE_PROVIDER_URL", "https://h h", "must be an http or https address"),
        ("CUADRE_PROVIDER_URL", "https://ex\nample", "must be an http or https address"),
        ("CUADRE_PROVIDER_URL", "https://[::1", "must be an http or https address"),
        ("CUADRE_PROVIDER_URL", "https://me:word@h", "must be an http or https address without ?, # and a user"),
        ("CUADRE_PROVIDER_URL", "https://h/?a=1", "must be an http or https address without ?, # and a user"),
        ("CUADRE_PUBLIC_URL", "https://h#top", "must be an http or https address without ?, # and a user"),
        ("CUADRE_PING_URL_NIGHTLY", "https://h/a b", "must be an http or https address"),
        ("CUADRE_DATABASE_URL", "sqlite:///x.db?mode=ro", "takes no ? with SQLite"),
        (
            "CUADRE_DOWNLOAD_HOSTS",
            "https://files.shop.example",
            "must be names of hosts such as files.provider.example",
        ),
        ("CUADRE_DOWNLOAD_HOSTS", "*", "must be names of hosts such as files.provider.example"),
        ("CUADRE_TRUSTED_PROXIES", "::/0", "would believe everyone: name the proxies alone"),
        ("CUADRE_QUIET_HOURS", "22:00-22:00", "must be two local times that differ"),
        ("CUADRE_LEGAL_NAME", "Shop\nSpA", "must be one line of text"),
        ("CUADRE_RATE_LIMIT", "ten", "must be a number"),
        ("CUADRE_MAX_ATTEMPTS", "3.5", "must be a whole number"),
        ("CUADRE_ACCESS_LOG", "perhaps", "must be true or false"),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, name: str, value: str, line: str) -> None:
    """Addresses, hosts, numbers and texts that cannot be meant stop the start, in words and not in types."""
    with pytest.raises(ConfigError) as refusal:
        read(tmp_path, **{name: value})
    assert str(refusal.value) == f"{name}: {line}"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("rate_limit = true", "CUADRE_RATE_LIMIT: must not be true or false"),
        ("nightly_at = 3", "CUADRE_NIGHTLY_AT: must be a local time such as 03:15"),
        (
            "trusted_proxies = [5]",
            "CUADRE_TRUSTED_PROXIES: must be addresses or networks such as 10.0.0.5 or 10.0.0.0/8",
        ),
        ("engine = 5", "CUADRE_ENGINE: must be local, processes:N with N from 1 to 999, or dask://host:port"),
        ("alert_urls = 5", "CUADRE_ALERT_URLS: must be a list"),
        ("smtp_url = 5", "CUADRE_SMTP_URL: must be text"),
        ("rules = 5", "rules: must be a table"),
        ("shared_dir = 5", "CUADRE_SHARED_DIR must name a folder"),
        ('backup_dir = ["a"]', "CUADRE_BACKUP_DIR must name a folder"),
        ('books_folder = ""', "CUADRE_BOOKS_FOLDER must name a folder"),
        ('backup_dir = "a\\u0000b"', "CUADRE_BACKUP_DIR must name a folder"),
        ("[approvals]\nrefund = true", "approvals.refund: is not a setting"),
        ("[approvals]\nwrite_off = { CLP = -5 }", "approvals.write_off: must hold amounts of zero or more"),
        ('[connections.x]\napi_key = "k"\ncountry = "cl"\nkey = 1', "connections.x.key: is not a setting"),
        (
            '[connections.x]\napi_key = "k"\ncountry = "cl"\nname = "y"',
            "connections.x.name is not a setting: the table's own name is it",
        ),
    ],
)
def test_a_value_of_another_kind_is_named(tmp_path: Path, text: str, line: str) -> None:
    """A number where a text belongs, a text where a list does: the line names the setting, and the connection."""
    (tmp_path / "cuadre.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as refusal:
        read(tmp_path)
    assert str(refusal.value) == line


@pytest.mark.parametrize(
    ("content", "why"), [(None, "Is a directory"), (b"\xff\xfe\x00", "it is no UTF-8 text")], ids=["a folder", "bytes"]
)
def test_a_secret_file_that_cannot_be_read_says_why(tmp_path: Path, content: bytes | None, why: str) -> None:
    """A folder or bytes in place of a text end the start with the reason in plain words."""
    path = tmp_path / "secret"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as refusal:
        read(tmp_path, CUADRE_SECRET_KEY_FILE=str(path))
    assert str(refusal.value) == f"CUADRE_SECRET_KEY_FILE names a file that cannot be read: {why}"
