"""How many bytes spans from outside have: each, of a trace, and of a sender.

Of spans that are here already it counts what lies in the store, packed: to unpack them all would
take too long.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Count what is here."""
    op.add_column("outside_traces", _count("bytes"))
    op.add_column("outside_spans", _count("bytes"))
    op.create_table(
        "outside_senders",
        sa.Column("sent_by", sa.Text(), primary_key=True),
        *(_count(name) for name in ("spans", "bytes", "moves")),
    )
    op.execute(
        "UPDATE outside_spans SET bytes = coalesce((SELECT length(data) FROM outside_payloads p "
        "WHERE p.trace_id = outside_spans.trace_id AND p.span_id = outside_spans.span_id), 0)"
    )
    op.execute(
        "UPDATE outside_traces SET bytes = coalesce((SELECT sum(bytes) FROM outside_spans s "
        "WHERE s.trace_id = outside_traces.id), 0)"
    )
    op.execute(
        "INSERT INTO outside_senders (sent_by, spans, bytes, moves) "
        "SELECT sent_by, count(*), sum(bytes), 1 FROM outside_spans GROUP BY sent_by"
    )


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")
