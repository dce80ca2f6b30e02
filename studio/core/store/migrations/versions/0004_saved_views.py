"""Saved views of lists, and what a timeline of an environment looks up by time."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

MILESTONES = sa.text(
    "type IN ('environment.made', 'environment.stopped', 'environment.reset', "
    "'environment.lost', 'environment.forked', 'environment.deleted', 'setup.finished', "
    "'disk.kept', 'disk.restored')"
)


def upgrade() -> None:
    """Make the table and the indexes."""
    op.create_table(
        "views",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("list", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("shared", sa.SmallInteger, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("made", sa.BigInteger, nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("removed", sa.BigInteger, nullable=True),
        sa.Column("removed_by", sa.Text, nullable=True),
    )
    op.create_index("views_list", "views", ["list", "owner"])
    op.create_index("egress_time", "egress", ["environment_id", "time", "outcome"])
    op.create_index(
        "events_milestones", "events", ["session_id", "time"], sqlite_where=MILESTONES,
        postgresql_where=MILESTONES,
    )  # fmt: skip
