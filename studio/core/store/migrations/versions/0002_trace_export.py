"""Spans that are exported: how far, how many, and what is to be exported again."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Two tables of bookkeeping."""
    op.create_table(
        "collector",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, primary_key=True, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        *_counts("part", "sent", "refused", "dropped"),
        _text("endpoint"),
        sa.Column("owner", sa.Text(), nullable=True),
        *_times("expires", "seen", "last_sent", "failing_since", "retry_at"),
        _text("error"),
        *_times("error_at"),
    )
    op.create_table(
        "backfills",
        sa.Column("id", sa.Text(), primary_key=True, nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        _text("session_id"),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("since", "until", "asked")),
        *_times("ended"),
        sa.Column("state", sa.Text(), server_default="asked", nullable=False),
        *_counts("turns", "done", "sent", "refused", "dropped", "place"),
        _text("place_id"),
        *_counts("part"),
    )
    op.create_index(
        "backfills_open", "backfills", ["asked"], sqlite_where=sa.text("ended IS NULL"),
        postgresql_where=sa.text("ended IS NULL"),
    )  # fmt: skip


def _counts(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), server_default="0", nullable=False) for name in names]


def _times(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=True) for name in names]


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), server_default="", nullable=False)
