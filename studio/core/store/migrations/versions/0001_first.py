"""The first schema: facts, what is derived from them, and the bookkeeping beside them."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make every table, then what SQLAlchemy has no words for."""
    _events()
    _blobs()
    _files()
    _positions()
    _sessions()
    _turns()
    _effects()
    _usage()
    _waits()
    _artifacts()
    _uploads()
    _agents()
    _plugins()
    _skills()
    _session_plugins()
    _policies()
    _keys()
    _checkpoints()
    _wakes()
    _workers()
    _receipts()
    _sign_ins()
    _spent()
    _listings()
    _servers()
    _plugin_folders()
    _drafts()
    _key_uses()
    _secrets()
    _sealed()
    _secret_uses()
    _providers()
    _probes()
    _environment_manifests()
    _environments()
    _disk_versions()
    _egress()
    _operations()
    _first_position()
    _facts_stay()
    _words_are_found()
    if op.get_bind().dialect.name == "postgresql":
        _room_for_updates()


def _events() -> None:
    op.create_table(
        "events",
        sa.Column(
            "position",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=True),
        sa.Column("effect_id", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("line", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.UniqueConstraint("session_id", "seq", name="events_session_seq"),
    )
    op.create_index("events_effect", "events", ["effect_id"])
    op.create_index(
        "events_lines",
        "events",
        ["session_id", "seq"],
        sqlite_where=sa.text("line = 1"),
        postgresql_where=sa.text("line = 1"),
    )
    op.create_index("events_turn", "events", ["turn_id", "seq"])


def _blobs() -> None:
    op.create_table(
        "blobs",
        sa.Column("hash", sa.Text(), primary_key=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("media", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )


def _files() -> None:
    op.create_table(
        "files",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("hash", sa.Text(), nullable=True, unique=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )
    op.create_index("files_time", "files", ["time"])
    op.create_table(
        "pieces",
        sa.Column("file_id", sa.Text(), primary_key=True),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
    )


def _artifacts() -> None:
    op.create_table(
        "artifacts",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("made", sa.BigInteger(), nullable=False),
        sa.Column("latest", sa.Integer(), nullable=False),
        sa.Column("media", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=True),
        sa.Column("effect_id", sa.Text(), nullable=True),
        sa.Column("saved", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
    )
    op.create_index("artifacts_session", "artifacts", ["session_id", "seq"])
    op.create_index("artifacts_name", "artifacts", ["session_id", "name"])
    op.create_table(
        "artifact_versions",
        sa.Column("artifact_id", sa.Text(), primary_key=True),
        sa.Column("version", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("media", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=True),
        sa.Column("effect_id", sa.Text(), nullable=True),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
    )
    op.create_index("artifact_versions_hash", "artifact_versions", ["hash"])


def _uploads() -> None:
    op.create_table(
        "uploads",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("media", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )
    op.create_index("uploads_hash", "uploads", ["hash"])


def _positions() -> None:
    op.create_table(
        "positions",
        sa.Column("id", sa.SmallInteger(), primary_key=True, autoincrement=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
    )


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("agent_version", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("private", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=True),
        sa.Column("turns", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("held", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("questions", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("uncertain", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("started", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("cost", sa.Float(), nullable=False, server_default="0"),
        sa.Column("cost_known", sa.SmallInteger(), nullable=False, server_default="1"),
        sa.Column("maybe_billed", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("active", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("model", sa.Text(), nullable=False, server_default=""),
        sa.Column("environment_id", sa.Text(), nullable=True),
        sa.Column("search", sa.Text(), nullable=False),
        sa.Column("first_position", sa.BigInteger(), nullable=False),
    )
    op.create_index("sessions_agent", "sessions", ["agent", "first_position"])
    op.create_index("sessions_agent_status", "sessions", ["agent", "status", "first_position"])
    op.create_index(
        "sessions_environment",
        "sessions",
        ["environment_id", "first_position"],
        sqlite_where=sa.text("environment_id IS NOT NULL"),
        postgresql_where=sa.text("environment_id IS NOT NULL"),
    )
    op.create_index(
        "sessions_needs",
        "sessions",
        ["first_position"],
        sqlite_where=sa.text("held + questions + uncertain > 0"),
        postgresql_where=sa.text("held + questions + uncertain > 0"),
    )
    op.create_index("sessions_status", "sessions", ["status", "first_position"])


def _turns() -> None:
    op.create_table(
        "turns",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("excerpt", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("opened", sa.BigInteger(), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=True),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("active", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("steps", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("calls", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("cost", sa.Float(), nullable=False, server_default="0"),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("private", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.Column("cost_known", sa.SmallInteger(), nullable=False, server_default="1"),
        sa.UniqueConstraint("session_id", "number", name="turns_session_number"),
    )
    op.create_index(
        "turns_ended",
        "turns",
        [
            "ended",
            "status",
            "private",
            "owner",
            "input_tokens",
            "output_tokens",
            "cost",
            "cost_known",
        ],
        sqlite_where=sa.text("ended IS NOT NULL"),
        postgresql_where=sa.text("ended IS NOT NULL"),
    )


def _effects() -> None:
    op.create_table(
        "effects",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=True),
        sa.Column("plugin", sa.Text(), nullable=True),
        sa.Column("plugin_version", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("asked", sa.BigInteger(), nullable=True),
        sa.Column("maybe_billed", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("decided", sa.Text(), nullable=False),
        sa.Column("sent", sa.Text(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("proposed", sa.Text(), nullable=False),
        sa.Column("peek", sa.Text(), nullable=False, server_default=""),
        sa.Column("size", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("ruling", sa.Text(), nullable=False),
        sa.Column("edited_by", sa.Text(), nullable=True),
        sa.Column("decided_by", sa.Text(), nullable=True),
        sa.Column("choice", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.Column("sends", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("proposed_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cached_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cache_write_tokens", sa.BigInteger(), nullable=True),
        sa.Column("reasoning_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.Column("settled", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.Column("masked", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("files", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("seq", sa.BigInteger(), nullable=False),
    )
    op.create_index(
        "effects_plugin",
        "effects",
        ["plugin", "proposed_at", "id", "state"],
        sqlite_where=sa.text("plugin IS NOT NULL"),
        postgresql_where=sa.text("plugin IS NOT NULL"),
    )
    op.create_index(
        "effects_lost",
        "effects",
        ["proposed_at"],
        sqlite_where=sa.text("kind = 'model' AND state IN ('failed', 'uncertain')"),
        postgresql_where=sa.text("kind = 'model' AND state IN ('failed', 'uncertain')"),
    )
    op.create_index("effects_proposed", "effects", ["proposed_at"])
    op.create_index("effects_session", "effects", ["session_id", "seq"])
    op.create_index("effects_tool", "effects", ["tool", "proposed_at"])
    op.create_index("effects_turn", "effects", ["turn_id"])
    op.create_index(
        "effects_uncertain",
        "effects",
        ["state"],
        sqlite_where=sa.text("state = 'uncertain'"),
        postgresql_where=sa.text("state = 'uncertain'"),
    )


def _usage() -> None:
    used = (
        "attempts", "untold", "unpriced", "input_tokens", "output_tokens", "cached_tokens",
        "cache_write_tokens", "reasoning_tokens", "nano", "lost", "lost_unpriced", "lost_nano",
    )  # fmt: skip
    op.create_table(
        "usage_days",
        sa.Column("day", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("agent", sa.Text(), primary_key=True),
        sa.Column("provider", sa.Text(), primary_key=True),
        sa.Column("model", sa.Text(), primary_key=True),
        sa.Column("owner", sa.Text(), primary_key=True),
        sa.Column("private", sa.SmallInteger(), primary_key=True, autoincrement=False),
        *_sums(*used),
    )
    op.create_table(
        "usage_sessions",
        sa.Column("day", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("session_id", sa.Text(), primary_key=True),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("private", sa.SmallInteger(), nullable=False),
        *_sums(*used),
        sqlite_with_rowid=False,
    )
    op.create_index("usage_sessions_dear", "usage_sessions", ["day", "nano", "input_tokens"])
    op.create_index(
        "usage_sessions_later",
        "usage_sessions",
        ["session_id", "day"],
        sqlite_where=sa.text("day > start"),
        postgresql_where=sa.text("day > start"),
    )
    op.create_table(
        "usage_plugins",
        sa.Column("day", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("plugin", sa.Text(), primary_key=True),
        sa.Column("owner", sa.Text(), primary_key=True),
        sa.Column("private", sa.SmallInteger(), primary_key=True, autoincrement=False),
        *_sums(
            "calls", "failed", "denied", "held", "untold", "unpriced", "input_tokens",
            "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens", "nano",
        ),
    )  # fmt: skip


def _sums(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False, server_default="0") for name in names]


def _waits() -> None:
    op.create_table(
        "waits",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("effect_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("opened", sa.BigInteger(), nullable=False),
        sa.Column("deadline", sa.BigInteger(), nullable=True),
        sa.Column("approvers", sa.Integer(), nullable=False, server_default="1"),
        sa.Column("not_own", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.Column("approved_by", sa.Text(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("schema", sa.Text(), nullable=True),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("choice", sa.Text(), nullable=True),
        sa.Column("closed_by", sa.Text(), nullable=True),
        sa.Column("closed", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=True),
        sa.Column("plugin", sa.Text(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("private", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("search", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
    )
    op.create_index("waits_closed", "waits", ["closed", "id"])
    op.create_index("waits_effect", "waits", ["effect_id"])
    op.create_index(
        "waits_open",
        "waits",
        ["opened", "id", "kind", "private", "owner"],
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index("waits_session", "waits", ["session_id", "opened"])


def _agents() -> None:
    op.create_table(
        "agents",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("version", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("manifest", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )


def _plugins() -> None:
    op.create_table(
        "plugins",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("revision", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("servers", sa.Text(), nullable=False),
        sa.Column("skills", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("changes", sa.Text(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("size", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("removed_by", sa.Text(), nullable=True),
        sa.Column("removed", sa.BigInteger(), nullable=True),
    )


def _skills() -> None:
    op.create_table(
        "skills",
        sa.Column("hash", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("requires", sa.Text(), nullable=False),
        sa.Column("license", sa.Text(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("size", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )


def _session_plugins() -> None:
    op.create_table(
        "session_plugins",
        sa.Column("plugin", sa.Text(), primary_key=True),
        sa.Column("first_position", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("session_id", sa.Text(), nullable=False),
    )


def _policies() -> None:
    op.create_table(
        "policies",
        sa.Column("version", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )


def _keys() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("made", sa.BigInteger(), nullable=False),
        sa.Column("revoked", sa.BigInteger(), nullable=True),
        sa.UniqueConstraint("hash"),
    )


def _checkpoints() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("session_id", sa.Text(), primary_key=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("fold", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
    )


def _wakes() -> None:
    op.create_table(
        "wakes",
        sa.Column("session_id", sa.Text(), primary_key=True),
        sa.Column("due", sa.BigInteger(), nullable=True),
        sa.Column("generation", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("expires", sa.BigInteger(), nullable=True),
    )
    op.create_index(
        "wakes_due",
        "wakes",
        ["due"],
        sqlite_where=sa.text("due IS NOT NULL AND owner IS NULL"),
        postgresql_where=sa.text("due IS NOT NULL AND owner IS NULL"),
    )
    op.create_index(
        "wakes_owner",
        "wakes",
        ["owner"],
        sqlite_where=sa.text("owner IS NOT NULL"),
        postgresql_where=sa.text("owner IS NOT NULL"),
    )


def _workers() -> None:
    op.create_table(
        "workers",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("lock_key", sa.BigInteger(), nullable=False),
        sa.Column("alive_until", sa.BigInteger(), nullable=False),
    )


def _receipts() -> None:
    op.create_table(
        "receipts",
        sa.Column("scope", sa.Text(), primary_key=True),
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )


def _sign_ins() -> None:
    op.create_table(
        "sign_ins",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("made", sa.BigInteger(), nullable=False),
        sa.Column("seen", sa.BigInteger(), nullable=False),
        sa.Column("ended", sa.BigInteger(), nullable=True),
    )


def _spent() -> None:
    op.create_table(
        "spent",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )


def _listings() -> None:
    op.create_table(
        "listings",
        sa.Column("agent", sa.Text(), primary_key=True),
        sa.Column("version", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("tools", sa.Text(), nullable=False),
        sa.Column("gaps", sa.Text(), nullable=False),
        sa.Column("skills", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )


def _servers() -> None:
    op.create_table(
        "servers",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("plugin", sa.Text()),
        sa.Column("plugin_version", sa.Text()),
        sa.Column("transport", sa.Text(), nullable=False),
        sa.Column("destination", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("latency", sa.BigInteger()),
        sa.Column("tools", sa.Text(), nullable=False),
        sa.Column("listed", sa.BigInteger()),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
    )


def _plugin_folders() -> None:
    op.create_table(
        "plugin_folders",
        sa.Column("machine", sa.Text(), primary_key=True),
        sa.Column("folder", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("servers", sa.Text(), nullable=False),
        sa.Column("skills", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("size", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )


def _drafts() -> None:
    op.create_table(
        "drafts",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )


def _key_uses() -> None:
    op.create_table(
        "key_uses",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("used", sa.BigInteger(), nullable=False),
    )


def _secrets() -> None:
    op.create_table(
        "secrets",
        sa.Column("owner", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("removed", sa.BigInteger(), nullable=True),
    )


def _sealed() -> None:
    op.create_table(
        "sealed",
        sa.Column("owner", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("wrapped", sa.LargeBinary(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
    )


def _secret_uses() -> None:
    op.create_table(
        "secret_uses",
        sa.Column("owner", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("used", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("effect_id", sa.Text(), nullable=True),
    )


def _providers() -> None:
    op.create_table(
        "providers",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("key_version", sa.BigInteger(), nullable=True),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "default_models",
        sa.Column("id", sa.SmallInteger(), primary_key=True, autoincrement=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )


def _probes() -> None:
    op.create_table(
        "probes",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=True),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("masked", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("code", sa.Text(), nullable=False, server_default=""),
        sa.Column("message", sa.Text(), nullable=False, server_default=""),
    )
    op.create_index(
        "probes_open",
        "probes",
        ["asked"],
        sqlite_where=sa.text("ended IS NULL"),
        postgresql_where=sa.text("ended IS NULL"),
    )
    op.create_index("probes_target", "probes", ["kind", "target", "id"])


def _environment_manifests() -> None:
    op.create_table(
        "environment_manifests",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("version", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("manifest", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("removed", sa.BigInteger(), nullable=True),
    )


def _environments() -> None:
    op.create_table(
        "environments",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("first_position", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("manifest", sa.Text(), nullable=True),
        sa.Column("manifest_version", sa.BigInteger(), nullable=True),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("made", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.BigInteger(), nullable=True),
        sa.Column("delete_after", sa.BigInteger(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
    )
    op.create_index("environments_first", "environments", ["first_position"])
    op.create_index("environments_name", "environments", ["name"])
    op.create_index("environments_manifest", "environments", ["manifest", "manifest_version"])
    op.create_index(
        "environments_unused",
        "environments",
        ["delete_after"],
        sqlite_where=sa.text("delete_after IS NOT NULL AND deleted IS NULL"),
        postgresql_where=sa.text("delete_after IS NOT NULL AND deleted IS NULL"),
    )
    op.create_table(
        "environment_labels",
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("value", sa.Text(), primary_key=True),
        sa.Column("environment_id", sa.Text(), primary_key=True),
    )
    op.create_index("environment_labels_of", "environment_labels", ["environment_id"])


def _disk_versions() -> None:
    op.create_table(
        "disk_versions",
        sa.Column("environment_id", sa.Text(), primary_key=True),
        sa.Column("version", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False),
        sa.Column("folders", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("added", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("turn_id", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.Column("moving", sa.Integer(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("removed", sa.BigInteger(), nullable=True),
    )
    op.create_index(
        "disk_versions_turn",
        "disk_versions",
        ["turn_id"],
        sqlite_where=sa.text("turn_id IS NOT NULL"),
        postgresql_where=sa.text("turn_id IS NOT NULL"),
    )


def _egress() -> None:
    op.create_table(
        "egress",
        sa.Column("environment_id", sa.Text(), primary_key=True),
        sa.Column("seq", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("up", sa.BigInteger(), nullable=False),
        sa.Column("down", sa.BigInteger(), nullable=False),
        sa.Column("milliseconds", sa.BigInteger(), nullable=False),
        sa.Column("turns", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
    )
    op.create_index("egress_outcome", "egress", ["environment_id", "outcome", "seq"])


def _operations() -> None:
    op.create_table(
        "operations",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("environment_id", sa.Text(), nullable=False),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("source", sa.BigInteger(), nullable=True),
        sa.Column("archive", sa.Text(), nullable=False),
        sa.Column("archive_name", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=True),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=True),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
    )
    op.create_index(
        "operations_open",
        "operations",
        ["asked"],
        sqlite_where=sa.text("ended IS NULL"),
        postgresql_where=sa.text("ended IS NULL"),
    )
    op.create_index("operations_of", "operations", ["environment_id", "id"])


def _first_position() -> None:
    op.execute("INSERT INTO positions (id, last) VALUES (1, 0)")


def _facts_stay() -> None:
    """Triggers refuse to change or remove a fact, whoever asks."""
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER events_no_{verb.lower()} BEFORE {verb} ON events "
                "BEGIN SELECT RAISE(ABORT, 'facts are never changed or removed'); END"
            )
    else:
        op.execute(
            "CREATE FUNCTION events_stay() RETURNS trigger LANGUAGE plpgsql AS $$ "
            "BEGIN RAISE EXCEPTION 'facts are never changed or removed'; END $$"
        )
        op.execute(
            "CREATE TRIGGER events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON events "
            "FOR EACH STATEMENT EXECUTE FUNCTION events_stay()"
        )


def _words_are_found() -> None:
    """What a search walks. Where the trigram extension is not to be had, PostgreSQL reads rows."""
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("sessions_search", "sessions", ["first_position", "search"])
    else:
        op.create_index("sessions_first", "sessions", ["first_position"], unique=True)
        op.execute(
            "DO $$ BEGIN CREATE EXTENSION IF NOT EXISTS pg_trgm; "
            "CREATE INDEX sessions_search ON sessions USING gin (search gin_trgm_ops); "
            "EXCEPTION WHEN OTHERS THEN "
            "RAISE NOTICE 'search goes without an index: %', SQLERRM; END $$"
        )


def _room_for_updates() -> None:
    """Rows that change often keep room in their page, so that no index has to follow."""
    op.execute(
        "ALTER TABLE wakes SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, "
        "autovacuum_vacuum_threshold = 200)"
    )
    for table in (
        "sessions", "turns", "effects", "positions", "usage_days", "usage_sessions", "usage_plugins"
    ):  # fmt: skip
        op.execute(f"ALTER TABLE {table} SET (fillfactor = 80)")
