"""Sweeping: what is kept for a time and then of no use to anybody. Facts are never swept."""

import sqlalchemy as sa

from studio.core.rules.outside.claims import Limits
from studio.core.store import failing, files, outside_sweeping, people, probes, raw, uploads
from studio.core.store.db import Db

DAY = 86_400_000
RECEIPTS, TOKENS, UPLOADS, DRAFTS, PROBES = 7 * DAY, 2 * DAY, DAY, DAY, 30 * DAY
BATCH = 1_000

SWEEPS = (
    ("DELETE FROM receipts WHERE (scope, key) IN "
     "(SELECT scope, key FROM receipts WHERE time < ? LIMIT ?)", RECEIPTS),
    ("DELETE FROM spent WHERE id IN (SELECT id FROM spent WHERE time < ? LIMIT ?)", TOKENS),
    (uploads.SWEEP, UPLOADS),
    ("DELETE FROM drafts WHERE id IN (SELECT id FROM drafts WHERE time < ? LIMIT ?)", DRAFTS),
    (probes.SWEEP, PROBES),
    (failing.SWEEP, DAY),
)  # fmt: skip
OLD_SIGN_INS = (
    "DELETE FROM sign_ins WHERE id IN (SELECT id FROM sign_ins WHERE seen < ? OR made < ? LIMIT ?)"
)


def sweep(conn: sa.Connection, now: int, ages: people.Ages) -> int:
    """Take away a batch of what is too old; how many rows went.

    Receipts answer a repeated command for seven days, used tokens are remembered until long after
    they would have run out, sign-ins for as long as they are good, uploads that no message
    carries, plugins that nobody confirmed and faults that did not come back for a day, a look at
    something outside for 30 days after its end, the newest at each target for ever. (A rebuild
    from the journal brings old looks back until the next sweep.)
    """
    gone = raw.put(conn, OLD_SIGN_INS, (now - ages.idle, now - ages.total, BATCH))
    return gone + sum(raw.put(conn, statement, (now - age, BATCH)) for statement, age in SWEEPS)


async def sweep_all(
    db: Db,
    now: int,
    ages: people.Ages = people.Ages(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> None:
    """Take away everything that is too old, a batch a transaction."""
    while await db.touch(lambda conn: sweep(conn, now, ages)):
        pass
    while await db.touch(lambda conn: outside_sweeping.sweep(conn, now, limits)):
        pass
    # in the one line of all writes, so that nobody refers to a file while it goes
    while await db.record(lambda conn: files.sweep(conn, now - UPLOADS)):
        pass
