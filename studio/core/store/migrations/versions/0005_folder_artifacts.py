"""Folders among the artifacts, and links that give one version for minutes."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Count what folders hold; make the tables of links."""
    op.add_column("artifacts", _count("files"))
    for name in ("files", "skipped", "moving"):
        op.add_column("artifact_versions", _count(name))
    op.create_table(
        "artifact_links",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("artifact_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("made", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("revoked", sa.BigInteger(), nullable=True),
        sa.Column("revoked_by", sa.Text(), nullable=True),
    )
    op.create_index("artifact_links_artifact", "artifact_links", ["artifact_id", "made"])
    op.create_table(
        "artifact_link_uses",
        sa.Column("link_id", sa.Text(), primary_key=True),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
    )


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")
