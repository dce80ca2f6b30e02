"""Lists, filters and searches over 1,000,000 sessions: from the question to the rows, no page.

The rows are as the journal would leave them, made straight into the derived tables (nobody waits
for 12,000,000 facts); the questions are the reader's own. On SQLite, and on the empty PostgreSQL
database of BENCH_DATABASE_URL where one is given. BENCH_SESSIONS makes it smaller.
"""

import os
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg

from bench.figures import Figure, quantile
from studio.core.clock import Clock
from studio.core.projections import pages
from studio.core.reader import Page, Reader
from studio.core.rules import ids
from studio.core.rules.access import Person
from studio.core.store import raw
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.journal import Journal
from studio.core.store.migrate import migrate

SESSIONS = int(os.environ.get("BENCH_SESSIONS", "1000000"))
WITH_TURNS = min(SESSIONS, 100_000)  # the newest; about three and a half days of them
HELD_EVERY = 100  # of the sessions with turns
FACTS = 12  # of one session
APART = 3_000  # ms between two starts
BEGAN = 1_700_000_000_000
ROUNDS = 15
BATCH = 20_000
LIST_MS, SEARCH_MS = 100, 300

ADMIN = Person(id="ada", role="admin")
ALICE = Person(id="person7@example.test", role="operator")
WORDS = (
    "release deploy invoice customer refund ledger report weekly staging production rollback "
    "database backup alert incident triage summary meeting notes draft email outreach contract "
    "review security audit token usage billing support ticket escalate onboarding migrate schema "
    "index cluster latency metric dashboard export import archive cleanup"
).split()
TOOLS = (
    "notify_team publish_release read_ledger send_mail query_db open_ticket refund_payment "
    "fetch_page"
).split()
AGENTS = [f"{word}-assistant" for word in WORDS[:20]]
OWNERS = [f"person{number}@example.test" for number in range(200)]
FAILURE = "model.failed the provider answered 529 overloaded three times"
CONTENT = (
    '{"hash":"0","head":"","media":"application/json","size":2,"stored":false,"tail":"","value":{}}'
)
RULING = (
    '{"approvers":1,"expires_seconds":null,"not_own":false,"policy_version":1,"rules":[],'
    '"verdict":"ask"}'
)

Row = dict[str, Any]
Question = Callable[[Reader], Awaitable[Any]]


def lists() -> dict[str, Question]:
    """Questions that find by an index."""
    newest = BEGAN + SESSIONS * APART
    middle = pages.cursor(
        pages.filter_digest(
            list="sessions", q="", agent="", status="", needs="", plugin="", environment=""
        ),
        (SESSIONS * FACTS // 2,),
    )
    return {
        "first page": lambda r: r.sessions(ADMIN),
        "first page, of an operator": lambda r: r.sessions(ALICE),
        "page in the middle": lambda r: r.sessions(ADMIN, cursor=middle),
        "filter: status": lambda r: r.sessions(ALICE, status="failed"),
        "filter: agent": lambda r: r.sessions(ALICE, agent=AGENTS[3]),
        "filter: agent and status": lambda r: r.sessions(
            ALICE, agent=AGENTS[3], status="cancelled"
        ),
        "filter: needs a person": lambda r: r.sessions(ALICE, needs="any"),
        "filter that finds nothing": lambda r: r.sessions(ALICE, agent=AGENTS[3], status="idle"),
        "approvals": lambda r: r.waits(ALICE),
        "home": lambda r: r.home(ALICE, since=newest - 86_400_000),
        "pending, in the frame of every page": lambda r: r.pending(ALICE),
    }


def searches() -> dict[str, Question]:
    """Questions by words, from those that find at once to those that look through everything."""
    return {
        "two common words": lambda r: r.sessions(ALICE, q="ledger publish_release"),
        "an owner's failed ones": lambda r: r.sessions(ALICE, q="person77@", status="failed"),
        "the oldest session of all": lambda r: r.sessions(ALICE, q="#0000001"),
        "a word nobody wrote": lambda r: r.sessions(ALICE, q="zzyzx"),
        "a word many almost wrote": lambda r: r.sessions(ALICE, q="release-candidate"),
        "an id": lambda r: r.sessions(ALICE, q=session_id(SESSIONS // 2)),
        "approvals by a word": lambda r: r.waits(ALICE, q="release"),
    }


async def run() -> list[Figure]:
    """Every list and search, on one or both stores."""
    with tempfile.TemporaryDirectory(prefix="studio-bench-") as folder:
        figures = await _measured("SQLite", f"sqlite:///{folder}/studio.db", Path(folder))
        server = os.environ.get("BENCH_DATABASE_URL")
        if server:
            figures += await _measured("PostgreSQL", server, Path(folder))
    return figures


async def _measured(store: str, url: str, folder: Path) -> list[Figure]:
    migrate(url)
    async with _opened(url, folder) as reader:
        found = [
            await _figure(f"{store}, {name}", ask, reader, LIST_MS) for name, ask in lists().items()
        ]
        found += [
            await _figure(f"{store}, search: {name}", ask, reader, SEARCH_MS)
            for name, ask in searches().items()
        ]
        return [*found, await _to_the_end(store, reader)]


async def _figure(name: str, ask: Question, reader: Reader, most: float) -> Figure:
    """The median; the note has the slowest, and whether a search looked through everything."""
    taken, answer = [], None
    for _ in range(ROUNDS):
        began = time.perf_counter()
        answer = await ask(reader)
        taken.append((time.perf_counter() - began) * 1000)
    note = f"n = {ROUNDS}, slowest {max(taken):,.0f} ms"
    if isinstance(answer, Page):
        note += f", {len(answer.items)} rows" + ("" if answer.complete else ", looked at a part")
    return Figure(name=name, value=quantile(taken, 0.5), unit="ms", most=most, note=note)


async def _to_the_end(store: str, reader: Reader) -> Figure:
    """The oldest session, with "search older" as often as it takes."""
    began, answers, cursor = time.perf_counter(), 0, None
    while answers == 0 or cursor is not None:
        page = await reader.sessions(ALICE, q="#0000001", cursor=cursor)
        answers, cursor = answers + 1, page.next
    assert page.items, "the oldest session is there"
    name = f"{store}, search: the oldest session, until found"
    taken = (time.perf_counter() - began) * 1000
    return Figure(name=name, value=taken, unit="ms", note=f"{answers} answers")


# The store ----------------------------------------------------------------------------------------


@asynccontextmanager
async def _opened(url: str, folder: Path) -> AsyncIterator[Reader]:
    """A reader of a store that is full."""
    db = Db.open(url)
    await db.start()
    feed = Feed(db)
    try:
        await _fill(db, url)
        await feed.start()
        yield Reader(db=db, journal=Journal(db, feed), feed=feed, clock=Clock(), data=folder)
    finally:
        await feed.close()
        await db.close()


async def _fill(db: Db, url: str) -> None:
    began = time.perf_counter()
    for table, rows in (
        ("sessions", _sessions()), ("turns", _turns()), ("effects", _effects()),
        ("waits", _waits()),
    ):  # fmt: skip
        while batch := list(islice(rows, BATCH)):
            await db.record(lambda conn, table=table, batch=batch: _put(conn, table, batch))
    last = SESSIONS * FACTS
    await db.record(lambda conn: raw.put(conn, "UPDATE positions SET last = ?", (last,)))
    if db.kind == "postgresql":  # as its own housekeeping would have done by then
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("VACUUM ANALYZE")
    print(f"     {SESSIONS:,} sessions made in {time.perf_counter() - began:,.0f} s", flush=True)


def _put(conn: Any, table: str, rows: Sequence[Row]) -> None:
    names = ", ".join(f'"{name}"' for name in rows[0])
    values = [tuple(row.values()) for row in rows]
    if conn.dialect.name == "sqlite":
        marks = ", ".join("?" for _ in rows[0])
        raw.put_many(conn, f"INSERT INTO {table} ({names}) VALUES ({marks})", values)
        return
    with raw.driver(conn).cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copy:
        for row in values:
            copy.write_row(row)


def session_id(number: int) -> str:
    """The id of the n-th session."""
    return ids.make("ses", BEGAN + number * APART, number.to_bytes(10, "big"))


def _turn_id(number: int) -> str:
    return f"trn_{ids.core(session_id(number))}"


def _status(number: int) -> str:
    if number > SESSIONS - WITH_TURNS and number % HELD_EVERY == 0:
        return "held"
    if number > SESSIONS - 50:
        return "running"
    return "failed" if number % 20 == 0 else "cancelled" if number % 33 == 0 else "completed"


def _sessions() -> Iterator[Row]:
    dice = random.Random(1)
    for number in range(1, SESSIONS + 1):
        title = f"{' '.join(dice.choices(WORDS, k=5))} #{number:07d}"
        agent, owner, status = dice.choice(AGENTS), dice.choice(OWNERS), _status(number)
        tools, failure = dice.sample(TOOLS, 3), FAILURE if status == "failed" else ""
        started, place = BEGAN + number * APART, number * FACTS
        yield {
            "id": session_id(number), "seq": FACTS, "position": place + FACTS - 1, "agent": agent,
            "agent_version": 1, "title": title, "owner": owner, "private": int(number % 100 == 7),
            "status": status, "turn_id": _turn_id(number), "turns": 1,
            "held": int(status == "held"), "questions": 0, "uncertain": 0, "started": started,
            "last": started + 5_000, "ended": None if status in ("held", "running") else started,
            "input_tokens": 1_000, "output_tokens": 200, "cost": 0.01, "cost_known": 1,
            "active": 3_000, "first_position": place,
            "search": f"{title}\n{agent} {owner}\n{' '.join(tools)}\n{failure}",
        }  # fmt: skip


def _turns() -> Iterator[Row]:
    for number in range(SESSIONS - WITH_TURNS + 1, SESSIONS + 1):
        status, opened = _status(number), BEGAN + number * APART
        yield {
            "id": _turn_id(number), "session_id": session_id(number), "number": 1,
            "status": status, "excerpt": "Please go on.", "by": OWNERS[0], "opened": opened,
            "started": opened, "ended": None if status in ("held", "running") else opened + 5_000,
            "active": 3_000, "steps": 2, "calls": 3, "input_tokens": 1_000, "output_tokens": 200,
            "cost": 0.01, "code": "", "message": "", "seq": 2, "owner": OWNERS[number % 200],
            "private": int(number % 100 == 7), "cost_known": 1,
        }  # fmt: skip


def _held() -> Iterator[int]:
    first = SESSIONS - WITH_TURNS + 1
    return (number for number in range(first, SESSIONS + 1) if number % HELD_EVERY == 0)


def _effects() -> Iterator[Row]:
    for number in _held():
        yield {
            "id": ids.call_effect(_turn_id(number), 1, 0), "session_id": session_id(number),
            "turn_id": _turn_id(number), "step": 1, "index": 0, "kind": "mcp",
            "tool": "publish_release", "server": "ledger", "state": "held", "verdict": "ask",
            "digest": "0", "decided": "0", "sent": "", "arguments": CONTENT, "proposed": CONTENT,
            "peek": "{}", "size": 2, "message": "", "code": "", "ruling": RULING,
            "proposed_at": BEGAN + number * APART, "seq": 6,
        }  # fmt: skip


def _waits() -> Iterator[Row]:
    for number in _held():
        effect_id = ids.call_effect(_turn_id(number), 1, 0)
        yield {
            "id": ids.wait(effect_id, 1), "session_id": session_id(number),
            "turn_id": _turn_id(number), "effect_id": effect_id, "kind": "approval",
            "state": "open", "opened": BEGAN + number * APART, "approvers": 1, "not_own": 0,
            "approved_by": "[]", "prompt": "", "digest": "0", "reason": "", "agent": AGENTS[0],
            "tool": "publish_release", "server": "ledger", "owner": OWNERS[number % 200],
            "private": 0, "title": "a title", "search": "publish_release ledger a title {}",
            "seq": 7,
        }  # fmt: skip
