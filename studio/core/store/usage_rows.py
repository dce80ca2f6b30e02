"""Usage by day, by session and by plugin, added up as facts are appended.

Whole numbers alone, so that a sum does not depend on its order: money is in billionths of a dollar.
Days are UTC. A row of a session that is not private has no owner, so few rows hold many sessions.

An attempt is added when its outcome is recorded. `lost` are those that failed, or whose outcome
nobody recorded, and that were or may have been billed: their tokens and cost are in the sums, too.
A plugin's share of a model's reply is one part of as many as it asked for calls, for each call of
the plugin: the shares of all calls add up to the reply.
"""

from collections.abc import Sequence

from studio.core.rules import events as e
from studio.core.rules import ids
from studio.core.rules.events import Fact
from studio.core.rules.session import Session
from studio.core.store.changes import Changes

DAY = 86_400_000
SUMS = (
    "attempts", "untold", "unpriced", "input_tokens", "output_tokens", "cached_tokens",
    "cache_write_tokens", "reasoning_tokens", "nano", "lost", "lost_unpriced", "lost_nano",
)  # fmt: skip

_NANO = "CAST(round(coalesce(cost, 0) * 1000000000) AS BIGINT)"
_TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens",
           "reasoning_tokens")  # fmt: skip
# One attempt as a row of ones and zeros. A failed one that used nothing was not billed.
_ATTEMPT = (
    f"(SELECT ended_at / {DAY} AS day, coalesce(server, '') AS provider, tool AS model, "  # noqa: S608
    "1 AS attempts, "
    "CASE WHEN billed = 1 AND (input_tokens IS NULL OR output_tokens IS NULL) THEN 1 ELSE 0 END "
    "AS untold, CASE WHEN billed = 1 AND cost IS NULL THEN 1 ELSE 0 END AS unpriced, "
    f"{', '.join(f'coalesce({name}, 0) AS {name}' for name in _TOKENS)}, {_NANO} AS nano, "
    "CASE WHEN state = 'succeeded' THEN 0 ELSE billed END AS lost, "
    "CASE WHEN state <> 'succeeded' AND billed = 1 AND cost IS NULL THEN 1 ELSE 0 END "
    "AS lost_unpriced, "
    f"CASE WHEN state = 'succeeded' THEN 0 ELSE {_NANO} END AS lost_nano "
    "FROM (SELECT *, CASE WHEN state = 'failed' AND cost IS NULL AND input_tokens IS NULL "
    "AND output_tokens IS NULL AND maybe_billed = 0 THEN 0 ELSE 1 END AS billed "
    "FROM effects WHERE id = ?) AS one) AS x"
)


def _added(table: str, names: Sequence[str]) -> str:
    return ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in names)


ADD_TO_DAY = (
    f"INSERT INTO usage_days (agent, owner, private, day, provider, model, {', '.join(SUMS)}) "  # noqa: S608
    "SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS SMALLINT), day, provider, model, "
    f"{', '.join(SUMS)} FROM {_ATTEMPT} WHERE true "
    "ON CONFLICT (day, agent, provider, model, owner, private) DO UPDATE SET "
    f"{_added('usage_days', SUMS)}"
)
ADD_TO_SESSION = (
    f"INSERT INTO usage_sessions (session_id, start, owner, private, day, {', '.join(SUMS)}) "  # noqa: S608
    "SELECT CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS SMALLINT), day, "
    f"{', '.join(SUMS)} FROM {_ATTEMPT} WHERE true "
    f"ON CONFLICT (day, session_id) DO UPDATE SET {_added('usage_sessions', SUMS)}"
)
_PLUGIN = (
    "INSERT INTO usage_plugins (plugin, owner, private, day, {names}) "
    "SELECT {plugin}, CAST(? AS TEXT), CAST(? AS SMALLINT), {values} WHERE {where} "
    "ON CONFLICT (day, plugin, owner, private) DO UPDATE SET {added}"
)
_SHARES = ", ".join(
    f"({sum_} * ?) / asked - ({sum_} * (? - 1)) / asked"
    for sum_ in (*(f"coalesce({name}, 0)" for name in _TOKENS), _NANO)
)
SHARE = _PLUGIN.format(
    names="calls, untold, unpriced, " + ", ".join((*_TOKENS, "nano")),
    plugin="CAST(? AS TEXT)",
    values=f"ended_at / {DAY}, 1, "
    "CASE WHEN input_tokens IS NULL OR output_tokens IS NULL THEN 1 ELSE 0 END, "
    f"CASE WHEN cost IS NULL THEN 1 ELSE 0 END, {_SHARES} FROM effects",
    where="id > ? AND id < ? AND state = 'succeeded' AND asked > 0",
    added=_added("usage_plugins", ("calls", "untold", "unpriced", *_TOKENS, "nano")),
)
COUNT = {
    name: _PLUGIN.format(
        names=name, plugin="plugin", values=f"proposed_at / {DAY}, 1 FROM effects",
        where="id = ? AND plugin IS NOT NULL", added=_added("usage_plugins", (name,)),
    )
    for name in ("failed", "denied", "held")
}  # fmt: skip


def follow(changes: Changes, after: Session, facts: Sequence[Fact]) -> None:
    """What these facts add; the rows of their effects are changed before."""
    whose = (after.owner if after.private else "", int(after.private))
    begun = (after.started or 0) // DAY
    for fact in facts:
        match fact.event:
            case (
                e.ModelReplied() | e.ModelFailed() | e.ModelUncertain()
                | e.ContextCompacted() | e.SummaryFailed()
            ) as f:  # fmt: skip
                changes.update(ADD_TO_DAY, (after.agent, *whose, f.effect_id))
                changes.update(ADD_TO_SESSION, (after.id, begun, *whose, f.effect_id))
            case e.CallProposed() as f if f.origin.plugin is not None:
                places = (f.index,) * 2 * (len(_TOKENS) + 1)
                attempts = ids.model_effects(f.turn_id, f.step)
                changes.update(SHARE, (f.origin.plugin, *whose, *places, *attempts))
            case e.CallFailed() as f:
                changes.update(COUNT["failed"], (*whose, f.effect_id))
            case e.CallDenied() as f:
                changes.update(COUNT["denied"], (*whose, f.effect_id))
            case e.WaitOpened(kind="approval") as f:
                changes.update(COUNT["held"], (*whose, f.effect_id))
            case _:
                pass
