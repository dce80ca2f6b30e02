"""Traces from outside: their spans, what each says in full, and what was refused."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables of what others claim."""
    _traces()
    _spans()
    op.create_table(
        "outside_payloads",
        sa.Column("trace_id", sa.Text, primary_key=True),
        sa.Column("span_id", sa.Text, primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "outside_refusals",
        sa.Column("sent_by", sa.Text, primary_key=True),
        sa.Column("code", sa.Text, primary_key=True),
        _count("count"),
        _text("example"),
        sa.Column("time", sa.BigInteger, nullable=False),
    )


def _traces() -> None:
    op.create_table(
        "outside_traces",
        sa.Column("id", sa.Text, primary_key=True),
        *(_text(name) for name in ("name", "agent", "service", "talk", "sent_by", "state")),
        sa.Column("rooted", sa.SmallInteger, nullable=False, server_default="0"),
        *(
            sa.Column(name, sa.BigInteger, nullable=False)
            for name in ("began", "ended", "taken", "changed")
        ),
        *(
            _count(name)
            for name in ("spans", "models", "tools", "errors", "input_tokens", "output_tokens")
        ),
        sa.Column("cost", sa.Float, nullable=False, server_default="0"),
        _count("unpriced"),
    )
    op.create_index("outside_traces_taken", "outside_traces", ["taken", "id"])
    op.create_index("outside_traces_changed", "outside_traces", ["changed", "id"])


def _spans() -> None:
    op.create_table(
        "outside_spans",
        sa.Column("trace_id", sa.Text, primary_key=True),
        sa.Column("span_id", sa.Text, primary_key=True),
        *(
            _text(name)
            for name in ("parent_id", "name", "kind", "what", "convention", "state")
        ),
        sa.Column("began", sa.BigInteger, nullable=False),
        sa.Column("ended", sa.BigInteger),
        sa.Column("server", sa.Text),
        *(_text(name) for name in ("agent", "service", "scope", "code", "words")),
        *(
            sa.Column(name, sa.BigInteger)
            for name in ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
        ),
        sa.Column("cost", sa.Float),
        _text("sent_by"),
        sqlite_with_rowid=False,
    )  # fmt: skip


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")
