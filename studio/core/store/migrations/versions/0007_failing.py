"""Sessions that cannot be moved for a fault of the studio's own."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """None are known yet."""
    op.create_table(
        "failing",
        sa.Column("session_id", sa.Text(), primary_key=True),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=False),
        sa.Column("again", sa.BigInteger(), nullable=False),
    )
