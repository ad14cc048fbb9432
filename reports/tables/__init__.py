"""What the report room keeps: people and their sessions, machine tokens, files made and being made, the trail."""

from datetime import date, datetime

from sqlalchemy import BigInteger, Index, LargeBinary, Text, UniqueConstraint
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import moment

SEARCH_WORDS = Text().with_variant(TSVECTOR(), "postgresql")


class User(SQLModel, table=True):
    __tablename__ = "person"

    id: int | None = Field(default=None, primary_key=True)
    email: str = Field(unique=True)
    password_hash: str
    role: str
    created_at: datetime = moment(optional=False)
    disabled_at: datetime | None = moment()
    # Names between blanks; None where no one limited what this person sees.
    connections: str | None = None


class Identity(SQLModel, table=True):
    """A subject of an identity provider, and the person it is here; an address of mail never says who someone is."""

    __tablename__ = "identity"

    issuer: str = Field(primary_key=True)
    subject: str = Field(primary_key=True)
    person_id: int = Field(unique=True)
    linked_at: datetime = moment(optional=False)


class LoginSession(SQLModel, table=True):
    """One login of one person; the cookie holds a key of which only the digest is kept, and ends with this row."""

    __tablename__ = "login_session"

    sha256: str = Field(primary_key=True)
    person_id: int = Field(index=True)
    password_sha256: str
    opened_at: datetime = moment(optional=False)
    expires_at: datetime = moment(optional=False)
    ended_at: datetime | None = moment()
    address: str = Field(default="", sa_column_kwargs={"server_default": ""})
    # When it was last used, to some minutes; None until the first of them are over.
    seen_at: datetime | None = moment()


class Invitation(SQLModel, table=True):
    """A link that lets one person choose a password, once, or makes the first admin; only its digest is kept."""

    __tablename__ = "invitation"

    sha256: str = Field(primary_key=True)
    person_id: int | None = None
    made_at: datetime = moment(optional=False)
    expires_at: datetime = moment(optional=False)
    used_at: datetime | None = moment()


class LoginFailure(SQLModel, table=True):
    """Failed logins of an account (by digest), of a network, or of both; an empty text stands for any."""

    __tablename__ = "login_failure"

    account: str = Field(primary_key=True)
    network: str = Field(primary_key=True)
    failures: int = 0
    last_at: datetime = moment(optional=False)


class KnownDevice(SQLModel, table=True):
    """A browser that a person has logged in with; it holds a key of which only the digest is kept."""

    __tablename__ = "known_device"

    sha256: str = Field(primary_key=True)
    person_id: int = Field(primary_key=True)
    failures: int = 0
    seen_at: datetime = moment(optional=False)


class SecondFactor(SQLModel, table=True):
    """The secret that a person shares with a device, encrypted; `last_step` is that of the last code accepted."""

    __tablename__ = "second_factor"

    person_id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    encrypted: bytes = Field(sa_type=LargeBinary)
    begun_at: datetime = moment(optional=False)
    confirmed_at: datetime | None = moment()
    last_step: int = Field(default=0, sa_type=BigInteger)


class RecoveryCode(SQLModel, table=True):
    """A code accepted once in place of the device's; only its digest is kept, and using it deletes the row."""

    __tablename__ = "recovery_code"

    sha256: str = Field(primary_key=True)
    person_id: int = Field(index=True)


class Token(SQLModel, table=True):
    """A machine's key; only its digest is kept, and `scopes` names what it opens."""

    __tablename__ = "token"

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    sha256: str = Field(unique=True)
    role: str
    scopes: str = Field(default="reports api metrics", sa_column_kwargs={"server_default": "reports api metrics"})
    created_at: datetime = moment(optional=False)
    expires_at: datetime | None = moment()
    revoked_at: datetime | None = moment()
    last_used_at: datetime | None = moment()
    connections: str | None = None


class ReportFile(SQLModel, table=True):
    """A finished report file in the archive, with what it was made from."""

    __tablename__ = "report_file"

    id: int | None = Field(default=None, primary_key=True)
    name: str
    format: str
    profile: str
    language: str
    path: str = Field(unique=True)
    run_ids: str
    row_count: int
    sha256: str
    made_at: datetime = moment(optional=False)
    since: date | None = None
    until: date | None = None
    as_of: date | None = None
    zones: str = Field(default="", sa_column_kwargs={"server_default": ""})
    calendars: str = Field(default="", sa_column_kwargs={"server_default": ""})
    sums: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})
    connections: str = Field(default="", sa_column_kwargs={"server_default": ""})


class ReportOrder(SQLModel, table=True):
    """A large file that was ordered: made in the background, with its progress."""

    __tablename__ = "report_order"

    id: int | None = Field(default=None, primary_key=True)
    who: str
    asked: str
    state: str
    rows_done: int = 0
    rows_total: int = 0
    file_id: int | None = None
    error: str = ""
    ordered_at: datetime = moment(optional=False)
    seen_at: datetime = moment(optional=False)
    finished_at: datetime | None = moment()


class SeenMark(SQLModel, table=True):
    """The newest run that a person has marked as seen, and when: Today says what changed since."""

    __tablename__ = "seen_mark"

    person_id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    connection: str = Field(primary_key=True)
    run_number: int
    seen_at: datetime = moment(optional=False)


class TrailMark(SQLModel, table=True):
    """How far a part of the trail was handed on, and since when that fails."""

    __tablename__ = "trail_mark"

    part: str = Field(primary_key=True)
    last_id: int
    claimed_until: datetime | None = moment()
    failed_since: datetime | None = moment()


class AuditEntry(SQLModel, table=True):
    __tablename__ = "audit_entry"
    __table_args__ = (Index("audit_entry_at", "at"),)

    id: int | None = Field(default=None, primary_key=True)
    at: datetime = moment(optional=False)
    who: str
    action: str
    subject: str
    address: str = ""


class SearchRow(SQLModel, table=True):
    """Something people can find, by its words; on SQLite triggers keep them in the table `search_index` as well."""

    __tablename__ = "search_row"
    __table_args__ = (
        Index("search_row_key", "connection", "kind", "key", unique=True),
        Index("search_row_newest", "connection", "kind", "id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    kind: str
    key: str
    words: str = Field(default="", sa_type=SEARCH_WORDS, nullable=False)


class SavedView(SQLModel, table=True):
    """A list as a person asks it: filters, order and columns under a name; the one without a name is remembered.

    `asked` is the address after its question mark; `connections` are the names in it that a reader must see.
    """

    __tablename__ = "saved_view"
    __table_args__ = (UniqueConstraint("person_id", "list", "name"),)

    id: int | None = Field(default=None, primary_key=True)
    person_id: int
    list: str
    name: str
    asked: str
    is_shared: bool = False
    is_pinned: bool = False
    version: int = 1
    changed_at: datetime = moment(optional=False)
