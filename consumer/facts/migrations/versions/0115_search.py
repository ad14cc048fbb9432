"""What people can find, by its words."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR

revision = "0115"
down_revision = "0114"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "search_row",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("words", sa.Text().with_variant(TSVECTOR(), "postgresql"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("search_row_key", "search_row", ["connection", "kind", "key"], unique=True)
    if op.get_bind().dialect.name != "sqlite":
        op.create_index("search_index_words", "search_row", ["words"], postgresql_using="gin")
        return
    # Beginnings of three and four letters are kept ready.
    op.execute(
        "CREATE VIRTUAL TABLE search_index USING fts5("
        "words, content='search_row', content_rowid='id', detail=none, prefix='3 4', tokenize='unicode61')"
    )
    op.execute(
        "CREATE TRIGGER search_row_new AFTER INSERT ON search_row "
        "BEGIN INSERT INTO search_index (rowid, words) VALUES (new.id, new.words); END"
    )
    op.execute(
        "CREATE TRIGGER search_row_gone AFTER DELETE ON search_row "
        "BEGIN INSERT INTO search_index (search_index, rowid, words) VALUES ('delete', old.id, old.words); END"
    )
