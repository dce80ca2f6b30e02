"""The whole schema on one page. Times are milliseconds since 1970, UTC, in BIGINT.

Three families: the truth (`events`, `blobs`, `files`, `pieces`), what is derived from it and can
be rebuilt (`sessions turns effects waits artifacts artifact_versions artifact_links agents plugins
skills session_plugins usage_days usage_sessions usage_plugins policies keys secrets providers
default_models probes environment_manifests environments environment_labels disk_versions egress
operations views checkpoints`), and what is bookkeeping of its own (`positions wakes failing workers
receipts uploads sign_ins spent listings plugin_folders drafts key_uses sealed secret_uses
artifact_link_uses collector backfills`).
Beside them stands what others claim (`outside_traces outside_spans outside_payloads
outside_refusals`): traces of agents elsewhere, kept for a time.
"""

import sqlalchemy as sa

SCHEMA = "0007"  # the newest of migrations/versions
metadata = sa.MetaData()
# What a timeline of an environment shows; a query that says it so, to the letter, has an index.
MILESTONES = (
    "type IN ('environment.made', 'environment.stopped', 'environment.reset', "
    "'environment.lost', 'environment.forked', 'environment.deleted', 'setup.finished', "
    "'disk.kept', 'disk.restored')"
)


def _text(name: str, **options: object) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, **options)  # type: ignore[arg-type]


def _maybe(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=True)


def _time(name: str, **options: object) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, **options)  # type: ignore[arg-type]


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")


def _partial(name: str, *columns: str, where: str) -> sa.Index:
    """An index of some rows. SQLAlchemy is not told which: it would load what it knows of every
    database that is named, which costs a start 40 ms and 2 MB; the migrations say it themselves.
    """
    return sa.Index(name, *columns, info={"where": where})


# The truth ------------------------------------------------------------------------------------

events = sa.Table(
    "events",
    metadata,
    # INTEGER makes it SQLite's own row number: one index less to write
    sa.Column("position", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True,
              autoincrement=False),
    _text("session_id"),  # or `agents`, `plugins`, …: journals of the same shape
    sa.Column("seq", sa.BigInteger, nullable=False),
    _text("id"),
    _text("type"),
    _time("time", nullable=False),
    _maybe("turn_id"),
    _maybe("effect_id"),
    _text("actor"),
    _text("evidence"),
    sa.Column("line", sa.SmallInteger, nullable=False, server_default="0"),
    _text("payload"),  # canonical JSON of the event's fields
    sa.UniqueConstraint("session_id", "seq", name="events_session_seq"),
    _partial("events_lines", "session_id", "seq", where="line = 1"),
    sa.Index("events_turn", "turn_id", "seq"),
    sa.Index("events_effect", "effect_id"),
    _partial("events_milestones", "session_id", "time", where=MILESTONES),
)  # fmt: skip

blobs = sa.Table(
    "blobs",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    _text("media"),
    sa.Column("data", sa.LargeBinary, nullable=False),
    _time("time", nullable=False),
)

files = sa.Table(  # bytes of any size; those of a file that is not whole have no hash yet
    "files",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("hash", sa.Text, nullable=True, unique=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    _time("time", nullable=False),  # when it was last sent
    sa.Index("files_time", "time"),
)

pieces = sa.Table(  # of 1 MiB each, the last one shorter
    "pieces",
    metadata,
    sa.Column("file_id", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

positions = sa.Table(  # one row; its lock orders every commit that appends facts
    "positions",
    metadata,
    sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("last", sa.BigInteger, nullable=False),
)

# Derived: can be thrown away and rebuilt from the journal ----------------------------------------

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),  # of its newest fact
    _text("agent"),
    sa.Column("agent_version", sa.BigInteger, nullable=False),
    _text("title"),
    _text("owner"),
    sa.Column("private", sa.SmallInteger, nullable=False, server_default="0"),
    _text("status"),  # idle queued running held waiting completed failed cancelled
    _maybe("turn_id"),
    _count("turns"),
    _count("held"),  # open approvals
    _count("questions"),  # open questions
    _count("uncertain"),  # uncertain calls nobody settled
    _time("started", nullable=False),
    _time("last", nullable=False),  # time of its newest fact
    _time("ended"),  # end of its last turn, when that is over
    _count("input_tokens"),
    _count("output_tokens"),
    sa.Column("cost", sa.Float, nullable=False, server_default="0"),
    sa.Column("cost_known", sa.SmallInteger, nullable=False, server_default="1"),
    _count("maybe_billed"),  # model attempts that ended without word of what they cost
    _count("active"),  # ms of active time over all turns that ended
    _text("model", server_default=""),  # provider/name when it is not the one its agent names
    _maybe("environment_id"),
    _text("search"),  # lower case: title, agent, owner, tools used, last failure
    # Lists go by `first_position`: it never changes, so a cursor neither skips nor repeats a
    # session. No index holds a column that moves with every fact.
    sa.Column("first_position", sa.BigInteger, nullable=False),  # of its first fact
    sa.Index("sessions_status", "status", "first_position"),
    sa.Index("sessions_agent", "agent", "first_position"),
    sa.Index("sessions_agent_status", "agent", "status", "first_position"),
    _partial("sessions_environment", "environment_id", "first_position",
             where="environment_id IS NOT NULL"),
    # SQLite looks for words along the one index that has the order; with two it would take the
    # narrow one and read every row. PostgreSQL has an index of trigrams when it may (0001).
    sa.Index("sessions_search", "first_position", "search").ddl_if(dialect="sqlite"),
    sa.Index("sessions_first", "first_position", unique=True).ddl_if(dialect="postgresql"),
    _partial("sessions_needs", "first_position", where="held + questions + uncertain > 0"),
)  # fmt: skip

turns = sa.Table(
    "turns",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("session_id"),
    sa.Column("number", sa.BigInteger, nullable=False),
    _text("status"),
    _text("excerpt"),  # first 200 characters of the message
    _text("by"),
    _time("opened", nullable=False),
    _time("started"),
    _time("ended"),
    _count("active"),  # ms
    _count("steps"),
    _count("calls"),
    _count("input_tokens"),
    _count("output_tokens"),
    sa.Column("cost", sa.Float, nullable=False, server_default="0"),
    _text("code"),
    _text("message"),
    sa.Column("seq", sa.BigInteger, nullable=False),  # of its first fact
    _text("owner"),  # of the session, as `private` is
    sa.Column("private", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("cost_known", sa.SmallInteger, nullable=False, server_default="1"),
    sa.UniqueConstraint("session_id", "number", name="turns_session_number"),
    _partial("turns_ended", "ended", "status", "private", "owner", "input_tokens",
             "output_tokens", "cost", "cost_known", where="ended IS NOT NULL"),
)  # fmt: skip

effects = sa.Table(  # one row for every model attempt and every call
    "effects",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("session_id"),
    _text("turn_id"),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("index", sa.Integer, nullable=False),  # of a call in its step; or the attempt
    _text("kind"),  # model mcp http sandbox platform agent
    _text("tool"),  # name of the tool, or of the model
    _maybe("server"),  # or the provider
    _maybe("plugin"),
    _maybe("plugin_version"),
    _text("state"),  # as rules.session.CallState; model: started succeeded failed uncertain
    _maybe("verdict"),
    sa.Column("asked", sa.BigInteger, nullable=True),  # calls that a model's reply asked for
    sa.Column("maybe_billed", sa.SmallInteger, nullable=False, server_default="0"),
    _text("digest"),
    _text("decided"),  # digest that may run
    _text("sent"),  # digest that was sent, "" while nothing was
    _text("arguments"),  # JSON of the Content that may run (large ones shortened)
    _text("proposed"),  # JSON of the Content the model proposed
    _text("peek", server_default=""),  # first 300 characters of `arguments`, for lists
    _count("size"),  # bytes of the arguments that may run
    _maybe("result"),  # JSON of the Content
    _text("message"),  # of a failure, denial, settlement, in words
    _text("code"),
    _text("ruling"),  # JSON
    _maybe("edited_by"),
    _maybe("decided_by"),
    _maybe("choice"),
    _time("decided_at"),
    _count("sends"),
    sa.Column("key", sa.Text, nullable=True),
    _time("proposed_at", nullable=False),
    _time("started_at"),  # of the first send
    _time("ended_at"),
    sa.Column("input_tokens", sa.BigInteger, nullable=True),
    sa.Column("output_tokens", sa.BigInteger, nullable=True),
    sa.Column("cached_tokens", sa.BigInteger, nullable=True),  # a part of the input tokens
    sa.Column("cache_write_tokens", sa.BigInteger, nullable=True),  # so is this
    sa.Column("reasoning_tokens", sa.BigInteger, nullable=True),  # a part of the output tokens
    sa.Column("cost", sa.Float, nullable=True),
    sa.Column("settled", sa.SmallInteger, nullable=False, server_default="0"),
    _count("masked"),  # secrets that were taken out of what came back
    _text("files", server_default="[]"),  # JSON list of FileRef: what it left behind
    sa.Column("seq", sa.BigInteger, nullable=False),  # of its first fact
    sa.Index("effects_session", "session_id", "seq"),
    sa.Index("effects_turn", "turn_id"),
    sa.Index("effects_tool", "tool", "proposed_at"),
    sa.Index("effects_proposed", "proposed_at"),
    _partial("effects_plugin", "plugin", "proposed_at", "id", "state", where="plugin IS NOT NULL"),
    _partial("effects_lost", "proposed_at",
             where="kind = 'model' AND state IN ('failed', 'uncertain')"),
    _partial("effects_uncertain", "state", where="state = 'uncertain'"),
)  # fmt: skip


def _sums(*names: str) -> list[sa.Column[int]]:
    return [_count(name) for name in names]


# Usage, see `usage_rows`: days since 1970 in UTC, money in billionths of a dollar. `owner` is ""
# where the sessions are not private.
USED = (
    "attempts", "untold", "unpriced", "input_tokens", "output_tokens", "cached_tokens",
    "cache_write_tokens", "reasoning_tokens", "nano", "lost", "lost_unpriced", "lost_nano",
)  # fmt: skip

usage_days = sa.Table(
    "usage_days",
    metadata,
    sa.Column("day", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("provider", sa.Text, primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("private", sa.SmallInteger, primary_key=True, autoincrement=False),
    *_sums(*USED),
)

usage_sessions = sa.Table(  # by day first: sessions are asked for by days
    "usage_sessions",
    metadata,
    sa.Column("day", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("session_id", sa.Text, primary_key=True),
    sa.Column("start", sa.BigInteger, nullable=False),  # the day it began
    _text("owner"),
    sa.Column("private", sa.SmallInteger, nullable=False),
    *_sums(*USED),
    sa.Index("usage_sessions_dear", "day", "nano", "input_tokens"),
    _partial("usage_sessions_later", "session_id", "day", where="day > start"),
    sqlite_with_rowid=False,
)  # fmt: skip

usage_plugins = sa.Table(  # calls of a plugin, and their shares of the replies that asked for them
    "usage_plugins",
    metadata,
    sa.Column("day", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("plugin", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("private", sa.SmallInteger, primary_key=True, autoincrement=False),
    *_sums(
        "calls", "failed", "denied", "held", "untold", "unpriced", "input_tokens", "output_tokens",
        "cached_tokens", "cache_write_tokens", "reasoning_tokens", "nano",
    ),
)  # fmt: skip

waits = sa.Table(
    "waits",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("session_id"),
    _text("turn_id"),
    _text("effect_id"),
    _text("kind"),  # approval question timer uncertain
    _text("state"),  # open closed
    _time("opened", nullable=False),
    _time("deadline"),
    sa.Column("approvers", sa.Integer, nullable=False, server_default="1"),
    sa.Column("not_own", sa.SmallInteger, nullable=False, server_default="0"),
    _text("approved_by"),  # JSON list of person ids
    _text("prompt"),
    _maybe("schema"),  # JSON
    _text("digest"),  # the digest on its card
    _maybe("choice"),
    _maybe("closed_by"),
    _time("closed"),
    _text("reason"),
    _text("agent"),
    _text("tool"),
    _maybe("server"),
    _maybe("plugin"),
    _text("owner"),
    sa.Column("private", sa.SmallInteger, nullable=False, server_default="0"),  # of the session
    _text("title"),  # of the session
    _text("search"),  # lower case: tool, agent, title, plugin, server, the arguments' text
    sa.Column("seq", sa.BigInteger, nullable=False),
    _partial("waits_open", "opened", "id", "kind", "private", "owner", where="state = 'open'"),
    sa.Index("waits_session", "session_id", "opened"),
    sa.Index("waits_effect", "effect_id"),
    sa.Index("waits_closed", "closed", "id"),
)  # fmt: skip

artifacts = sa.Table(  # files and folders that were kept, each as its newest version is
    "artifacts",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("session_id"),
    _text("name"),
    _text("source"),  # upload agent result
    _time("made", nullable=False),
    sa.Column("latest", sa.Integer, nullable=False),
    _text("media"),
    sa.Column("size", sa.BigInteger, nullable=False),
    _text("hash"),
    _text("by"),
    _maybe("turn_id"),
    _maybe("effect_id"),
    _time("saved", nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),  # of its first fact
    _count("files"),
    sa.Index("artifacts_session", "session_id", "seq"),
    sa.Index("artifacts_name", "session_id", "name"),
)

artifact_versions = sa.Table(
    "artifact_versions",
    metadata,
    sa.Column("artifact_id", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    _text("session_id"),
    _text("media"),
    sa.Column("size", sa.BigInteger, nullable=False),
    _text("hash"),
    _text("source"),
    _text("by"),
    _maybe("turn_id"),
    _maybe("effect_id"),
    sa.Column("width", sa.Integer, nullable=False),  # pixels, 0 when unknown
    sa.Column("height", sa.Integer, nullable=False),
    sa.Column("pages", sa.Integer, nullable=False),
    _time("time", nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    _count("files"),  # in a folder, and below how many of its names were not kept, or moved
    _count("skipped"),
    _count("moving"),
    sa.Index("artifact_versions_hash", "hash"),
)

artifact_links = sa.Table(  # links that give a version to whoever has them, for minutes
    "artifact_links",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("artifact_id"),
    sa.Column("version", sa.Integer, nullable=False),
    _text("session_id"),
    _time("made", nullable=False),
    _text("by"),
    _time("expires", nullable=False),
    _time("revoked"),
    _maybe("revoked_by"),
    sa.Index("artifact_links_artifact", "artifact_id", "made"),
)

artifact_link_uses = sa.Table(
    "artifact_link_uses",
    metadata,
    sa.Column("link_id", sa.Text, primary_key=True),
    sa.Column("uses", sa.Integer, nullable=False),
    _time("last", nullable=False),
)

agents = sa.Table(
    "agents",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True),
    _text("manifest"),  # JSON
    _text("digest"),
    _text("by"),
    _time("time", nullable=False),
)

plugins = sa.Table(  # one row an installed version; the newest that is not removed is in force
    "plugins",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("revision", sa.BigInteger, primary_key=True, autoincrement=False),
    _text("version"),
    _text("hash"),  # of its list of files, which lies in `blobs` under it
    _text("description"),
    _text("servers"),  # JSON
    _text("skills"),  # JSON, see rules/plugins.skill_data
    _text("about"),  # JSON: license, homepage, author
    _text("changes"),  # JSON list of {kind, words} that were shown, [] of the first
    _count("files"),
    _count("size"),  # bytes
    _text("by"),
    _time("time", nullable=False),
    _maybe("removed_by"),
    _time("removed"),
)

skills = sa.Table(  # saved by content, beside those that plugins bring
    "skills",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    _text("name"),
    _text("description"),
    _text("requires"),  # JSON
    _text("license"),
    _count("files"),
    _count("size"),
    _text("by"),
    _time("time", nullable=False),
)

session_plugins = sa.Table(  # which plugins' tools and skills a session called
    "session_plugins",
    metadata,
    sa.Column("plugin", sa.Text, primary_key=True),
    sa.Column("first_position", sa.BigInteger, primary_key=True, autoincrement=False),
    _text("session_id"),
)

policies = sa.Table(
    "policies",
    metadata,
    sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
    _text("rules"),  # JSON
    _text("by"),
    _text("note"),
    _time("time", nullable=False),
)

keys = sa.Table(
    "keys",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("name"),
    _text("role"),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    _text("by"),
    _time("made", nullable=False),
    _time("revoked"),
)

secrets = sa.Table(  # without values: those are in `sealed`
    "secrets",
    metadata,
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.BigInteger, nullable=False),
    _text("by"),
    _time("time", nullable=False),
    _time("removed"),
)

providers = sa.Table(  # of models, saved in the studio
    "providers",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    _text("data"),  # JSON, see rules/saved.py
    sa.Column("key_version", sa.BigInteger, nullable=True),
    _text("by"),
    _time("time", nullable=False),
)

default_models = sa.Table(  # at most one row: the model of agents that name none
    "default_models",
    metadata,
    sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
    _text("provider"),
    _text("model"),
    _text("by"),
    _time("time", nullable=False),
)

probes = sa.Table(  # looks at something outside that people asked for
    "probes",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("kind"),
    _text("target"),
    _text("subject"),  # JSON
    _text("by"),
    _text("state"),  # asked started answered failed lost
    _time("asked", nullable=False),
    _time("started"),
    _time("until"),
    _time("ended"),
    _maybe("worker"),
    _maybe("answer"),  # JSON
    _count("masked"),
    _text("code", server_default=""),
    _text("message", server_default=""),
    _partial("probes_open", "asked", where="ended IS NULL"),
    sa.Index("probes_target", "kind", "target", "id"),
)  # fmt: skip

environment_manifests = sa.Table(  # the newest that is not removed is in force
    "environment_manifests",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
    _text("manifest"),  # JSON as written
    _text("digest"),
    _text("by"),
    _time("time", nullable=False),
    _time("removed"),
)

environments = sa.Table(  # one row each, folded from its own journal
    "environments",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("first_position", sa.BigInteger, nullable=False),  # lists go by it
    _text("name"),
    _text("kind"),
    _text("state"),  # made running stopped lost deleted
    _maybe("manifest"),
    sa.Column("manifest_version", sa.BigInteger, nullable=True),
    _text("digest"),  # of the definition
    _text("owner"),
    _text("by"),
    _time("made", nullable=False),
    _time("last", nullable=False),  # time of its newest fact
    _time("used", nullable=False),
    _time("deleted"),
    sa.Column("delete_after", sa.BigInteger, nullable=True),  # ms without use
    sa.Column("version", sa.BigInteger, nullable=False),  # of the disk, 0 while there is none
    _count("bytes"),  # of that version
    _text("definition"),  # JSON; it never changes
    _text("folded"),  # JSON of its Environment; of the definition the slots alone
    sa.Index("environments_first", "first_position"),
    sa.Index("environments_name", "name"),
    sa.Index("environments_manifest", "manifest", "manifest_version"),
    _partial("environments_unused", "delete_after",
             where="delete_after IS NOT NULL AND deleted IS NULL"),
)  # fmt: skip

environment_labels = sa.Table(
    "environment_labels",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, primary_key=True),
    sa.Column("environment_id", sa.Text, primary_key=True),
    sa.Index("environment_labels_of", "environment_id"),
)

disk_versions = sa.Table(
    "disk_versions",
    metadata,
    sa.Column("environment_id", sa.Text, primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.BigInteger, nullable=False),  # of the fact that tells all of it
    _text("digest"),
    sa.Column("files", sa.BigInteger, nullable=False),
    sa.Column("folders", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("added", sa.BigInteger, nullable=False),
    _text("reason"),  # setup turn hand restore import fork
    _maybe("session_id"),
    _maybe("turn_id"),
    _text("note"),
    _text("by"),
    sa.Column("skipped", sa.Integer, nullable=False),
    sa.Column("moving", sa.Integer, nullable=False),
    _time("time", nullable=False),
    _time("removed"),
    _partial("disk_versions_turn", "turn_id", where="turn_id IS NOT NULL"),
)  # fmt: skip

egress = sa.Table(  # connections that were tried out of an environment
    "egress",
    metadata,
    sa.Column("environment_id", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    _text("host"),
    sa.Column("port", sa.Integer, nullable=False),
    _text("outcome"),  # allowed refused failed
    _text("reason"),
    sa.Column("up", sa.BigInteger, nullable=False),  # bytes
    sa.Column("down", sa.BigInteger, nullable=False),
    sa.Column("milliseconds", sa.BigInteger, nullable=False),
    _text("turns"),  # JSON list of {session_id, turn_id}
    _time("time", nullable=False),
    sa.Index("egress_outcome", "environment_id", "outcome", "seq"),
    sa.Index("egress_time", "environment_id", "time", "outcome"),
)

operations = sa.Table(  # what people asked to be done to disks
    "operations",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("environment_id"),
    _text("act"),  # keep restore reset stop import
    sa.Column("source", sa.BigInteger, nullable=True),  # the version to restore
    _text("archive"),  # hash of the bytes to import
    _text("archive_name"),
    _text("note"),
    _text("by"),
    _text("state"),  # asked started done failed
    _maybe("worker"),
    _time("asked", nullable=False),
    _time("started"),
    _time("ended"),
    sa.Column("version", sa.BigInteger, nullable=True),  # the one it made
    _text("code"),
    _text("message"),
    _partial("operations_open", "asked", where="ended IS NULL"),
    sa.Index("operations_of", "environment_id", "id"),
)  # fmt: skip

views = sa.Table(  # filters of a list under a name; those that were removed can come back
    "views",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("list"),  # traces or sessions
    _text("name"),
    _text("query"),  # of the list's URL
    _text("owner"),
    sa.Column("shared", sa.SmallInteger, nullable=False),
    _text("by"),  # who saved it last
    _time("made", nullable=False),
    _time("time", nullable=False),
    _time("removed"),
    _maybe("removed_by"),
    sa.Index("views_list", "list", "owner"),
)

checkpoints = sa.Table(
    "checkpoints",
    metadata,
    sa.Column("session_id", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    _text("fold"),  # version of the folding code that made it; another one is ignored
    _text("state"),
)

# Bookkeeping ----------------------------------------------------------------------------------

wakes = sa.Table(  # one row a session: may it move, when, and who holds it
    "wakes",
    metadata,
    sa.Column("session_id", sa.Text, primary_key=True),
    _time("due"),
    _count("generation"),
    _maybe("owner"),
    _count("fence"),
    _time("expires"),
    _partial("wakes_due", "due", where="due IS NOT NULL AND owner IS NULL"),
    _partial("wakes_owner", "owner", where="owner IS NOT NULL"),
)  # fmt: skip

failing = sa.Table(  # sessions that could not be moved for a fault of ours, see store/failing.py
    "failing",
    metadata,
    sa.Column("session_id", sa.Text, primary_key=True),
    sa.Column("tries", sa.BigInteger, nullable=False),  # in a row that nothing came of
    sa.Column("seq", sa.BigInteger, nullable=False),  # of the newest fact that is progress
    _text("fault"),  # the newest, as the log has it
    _time("again", nullable=False),  # when it is tried again
)

workers = sa.Table(
    "workers",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("lock_key", sa.BigInteger, nullable=False),
    _time("alive_until", nullable=False),
)

receipts = sa.Table(
    "receipts",
    metadata,
    sa.Column("scope", sa.Text, primary_key=True),  # whose key: `person verb`
    sa.Column("key", sa.Text, primary_key=True),
    _text("request"),  # SHA-256 of what was asked
    _text("answer"),  # JSON of what was answered
    _time("time", nullable=False),
)

uploads = sa.Table(  # what a person sent and no message carries yet
    "uploads",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("by"),  # the actor
    _text("name"),
    _text("media"),
    sa.Column("size", sa.BigInteger, nullable=False),
    _text("hash"),
    sa.Column("width", sa.Integer, nullable=False),
    sa.Column("height", sa.Integer, nullable=False),
    sa.Column("pages", sa.Integer, nullable=False),
    _time("time", nullable=False),
    sa.Index("uploads_hash", "hash"),
)

sign_ins = sa.Table(
    "sign_ins",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),  # SHA-256 of the cookie's secret
    _text("person"),
    _text("role"),
    _time("made", nullable=False),
    _time("seen", nullable=False),
    _time("ended"),
)

spent = sa.Table(  # single-use things that were used: sign-in links, decision tokens
    "spent",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),  # SHA-256 of the token
    _text("what"),
    _text("by"),
    _time("time", nullable=False),
)

listings = sa.Table(  # what the worker's catalog last found for an agent version
    "listings",
    metadata,
    sa.Column("agent", sa.Text, primary_key=True),
    sa.Column("version", sa.BigInteger, primary_key=True),
    _text("tools"),  # JSON list, see store/listings.py
    _text("gaps"),  # JSON list of {source, message}
    _text("skills", server_default="[]"),  # JSON list of {name, description, hash, plugin, …}
    _time("time", nullable=False),
)

servers = sa.Table(  # how each MCP server was found when a worker last asked it
    "servers",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("name"),
    sa.Column("plugin", sa.Text),
    sa.Column("plugin_version", sa.Text),
    _text("transport"),
    _text("destination"),
    _text("state"),  # up or down
    _text("error"),
    _text("said"),  # its last line on stderr
    sa.Column("latency", sa.BigInteger),  # ms of the last listing
    _text("tools"),  # JSON list of names
    _time("listed"),
    _time("asked", nullable=False),
    _time("changed", nullable=False),
    _text("worker"),
)

plugin_folders = sa.Table(  # plugins that a worker found in folders of its machine
    "plugin_folders",
    metadata,
    sa.Column("machine", sa.Text, primary_key=True),
    sa.Column("folder", sa.Text, primary_key=True),
    _text("name"),  # of the plugin, or of the folder when it is broken
    _text("version"),
    _text("hash"),
    _text("description"),
    _text("servers"),  # JSON
    _text("skills"),  # JSON
    _text("about"),  # JSON
    _count("files"),
    _count("size"),
    _text("problem"),  # why it is not used, in words; "" when it is
    _time("time", nullable=False),
)

drafts = sa.Table(  # what was sent for a plan, until it is confirmed or a day has passed
    "drafts",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("what"),
    _text("by"),
    sa.Column("data", sa.LargeBinary, nullable=False),
    _time("time", nullable=False),
)

sealed = sa.Table(  # the newest value of each secret, sealed; never in a journal
    "sealed",
    metadata,
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.BigInteger, nullable=False),
    _text("key"),  # id of the key that seals it
    sa.Column("wrapped", sa.LargeBinary, nullable=False),
    sa.Column("value", sa.LargeBinary, nullable=False),
)

secret_uses = sa.Table(
    "secret_uses",
    metadata,
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    _time("used", nullable=False),
    _text("by"),  # what used it, in words
    _maybe("effect_id"),
)

key_uses = sa.Table(
    "key_uses",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _time("used", nullable=False),
)

collector = sa.Table(  # at most one row: how far spans were exported, and by whom
    "collector",
    metadata,
    sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, nullable=False),  # all turns that ended up to here
    _count("part"),  # and so many spans of the next one
    _count("sent"),  # spans that were accepted
    _count("refused"),  # that it did not want
    _count("dropped"),  # that were given up, as it could not be reached for too long
    _text("endpoint", server_default=""),  # scheme, host and port
    _maybe("owner"),  # the worker that exports
    _time("expires"),
    _time("seen"),
    _time("last_sent"),
    _time("failing_since"),
    _time("retry_at"),
    _text("error", server_default=""),  # the newest, in words
    _time("error_at"),
)

backfills = sa.Table(  # past turns that somebody asked to be exported again
    "backfills",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("by"),
    _text("session_id", server_default=""),  # "" for all
    _time("since", nullable=False),
    _time("until", nullable=False),
    _time("asked", nullable=False),
    _time("ended"),
    _text("state", server_default="asked"),  # asked running done given_up
    _count("turns"),  # how many there are
    _count("done"),
    _count("sent"),
    _count("refused"),
    _count("dropped"),
    _count("place"),  # the end of the last turn that is done, and its id
    _text("place_id", server_default=""),
    _count("part"),
    _partial("backfills_open", "asked", where="ended IS NULL"),
)  # fmt: skip
# What others claim ----------------------------------------------------------------------------
# Times of spans are nanoseconds of the sender's clock; `taken` and `changed` are ms of ours.

outside_traces = sa.Table(
    "outside_traces",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("name"),  # of the root, or of the first span that came
    _text("agent"),
    _text("service"),
    _text("talk"),  # what the sender calls the conversation
    _text("sent_by"),  # the first sender
    _text("state"),  # completed, failed, or incomplete while no ended root came
    sa.Column("rooted", sa.SmallInteger, nullable=False, server_default="0"),
    _time("began", nullable=False),
    _time("ended", nullable=False),
    _time("taken", nullable=False),
    _time("changed", nullable=False),  # 0 while it is swept
    _count("spans"),
    _count("models"),
    _count("tools"),
    _count("errors"),
    _count("input_tokens"),
    _count("output_tokens"),
    sa.Column("cost", sa.Float, nullable=False, server_default="0"),
    _count("unpriced"),  # model calls that told no cost
    _count("bytes"),  # of its spans
    sa.Index("outside_traces_taken", "taken", "id"),
    sa.Index("outside_traces_changed", "changed", "id"),
)

outside_spans = sa.Table(  # thin, and together by trace, so that many are read at once
    "outside_spans",
    metadata,
    sa.Column("trace_id", sa.Text, primary_key=True),
    sa.Column("span_id", sa.Text, primary_key=True),
    _text("parent_id"),
    _text("name"),
    _text("kind"),
    _text("what"),
    _text("convention"),  # GenAI, OpenInference, or "" when none was recognised
    _text("state"),
    _time("began", nullable=False),
    _time("ended"),
    _maybe("server"),
    _text("agent"),
    _text("service"),
    _text("scope"),
    _text("code"),
    _text("words"),
    sa.Column("input_tokens", sa.BigInteger),
    sa.Column("output_tokens", sa.BigInteger),
    sa.Column("cached_tokens", sa.BigInteger),
    sa.Column("reasoning_tokens", sa.BigInteger),
    sa.Column("cost", sa.Float),
    _text("sent_by"),
    _count("bytes"),  # of its texts here and of what it says in full, unpacked
    sqlite_with_rowid=False,
)

outside_payloads = sa.Table(  # what one span says in full, read one at a time
    "outside_payloads",
    metadata,
    sa.Column("trace_id", sa.Text, primary_key=True),
    sa.Column("span_id", sa.Text, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),  # JSON, zstd when it is long
)

outside_senders = sa.Table(  # what of each sender is here
    "outside_senders",
    metadata,
    sa.Column("sent_by", sa.Text, primary_key=True),
    _count("spans"),
    _count("bytes"),
    _count("moves"),  # how often anything of it came, was refused or went: it only grows
)

outside_refusals = sa.Table(  # spans that were not kept, by sender and reason
    "outside_refusals",
    metadata,
    sa.Column("sent_by", sa.Text, primary_key=True),
    sa.Column("code", sa.Text, primary_key=True),
    _count("count"),
    _text("example"),
    _time("time", nullable=False),
)
