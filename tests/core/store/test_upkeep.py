"""What is swept, and what stays."""

from studio.core.rules.files import Found
from studio.core.store import failing, people, raw, upkeep, uploads
from tests.core.store.conftest import Store

NOW = 1_800_000_000_000


async def test_uploads_that_no_message_carries_go_after_a_day(store: Store) -> None:
    found = Found(media="text/plain", size=1, hash="0" * 64)
    for name, age in (("old", upkeep.DAY + 1), ("new", upkeep.DAY - 1)):
        upload = uploads.Upload(id=f"upl_{name}", name=name, found=found, time=NOW - age)
        await store.db.touch(lambda conn, it=upload: uploads.add(conn, "alice", it))

    await upkeep.sweep_all(store.db, NOW)

    assert await store.every("SELECT id FROM uploads") == [("upl_new",)]


async def test_plugins_that_nobody_confirmed_go_after_a_day(store: Store) -> None:
    for name, age in (("old", upkeep.DAY + 1), ("new", upkeep.DAY - 1)):
        row = (f"drf_{name}", "plugin", "alice", b"zip", NOW - age)
        put = 'INSERT INTO drafts (id, what, "by", data, time) VALUES (?, ?, ?, ?, ?)'
        await store.db.touch(lambda conn, put=put, row=row: raw.put(conn, put, row))

    await upkeep.sweep_all(store.db, NOW)

    assert await store.every("SELECT id FROM drafts") == [("drf_new",)]


async def test_faults_that_did_not_come_back_go_after_a_day(store: Store) -> None:
    for name, age in (("old", upkeep.DAY + 1), ("new", upkeep.DAY - 1)):
        row = failing.Failing(session_id=name, tries=1, seq=1, fault="flt_1", again=NOW - age)
        await store.db.touch(lambda conn, row=row: failing.keep(conn, row))

    await upkeep.sweep_all(store.db, NOW)

    assert await store.every("SELECT session_id FROM failing") == [("new",)]


async def test_of_old_looks_the_newest_at_each_target_stays(store: Store) -> None:
    looks = [
        ("prb_1", "a", 40), ("prb_2", "a", 35), ("prb_3", "a", None), ("prb_4", "b", 40),
        ("prb_5", "c", 29), ("prb_6", "c", 28),
    ]  # fmt: skip
    put = (
        'INSERT INTO probes (id, kind, target, subject, "by", state, asked, ended) '
        "VALUES (?, 'server', ?, '{}', 'ada', 'answered', 1, ?)"
    )
    for name, target, days in looks:
        ended = None if days is None else NOW - days * upkeep.DAY
        row = (name, target, ended)
        await store.db.touch(lambda conn, row=row: raw.put(conn, put, row))

    await upkeep.sweep_all(store.db, NOW)

    left = await store.every("SELECT id FROM probes ORDER BY id")
    assert left == [("prb_3",), ("prb_4",), ("prb_5",), ("prb_6",)]


async def test_old_receipts_tokens_and_sign_ins_go_and_fresh_ones_stay(store: Store) -> None:
    def put(conn, name, at):
        raw.put(
            conn, "INSERT INTO receipts (scope, key, request, answer, time) VALUES (?,?,'','',?)",
            (name, name, at),
        )  # fmt: skip
        people.spend(conn, name, "link", "ann", at)
        people.open(conn, name, "ann", "viewer", at)

    await store.db.touch(lambda conn: put(conn, "old", NOW - 40 * upkeep.DAY))
    await store.db.touch(lambda conn: put(conn, "new", NOW))

    gone = await store.db.touch(lambda conn: upkeep.sweep(conn, NOW, people.Ages()))

    assert gone == 3
    assert await store.db.touch(lambda conn: upkeep.sweep(conn, NOW, people.Ages())) == 0
    assert (
        await store.db.read(lambda conn: people.find(conn, "new", NOW, people.Ages())) is not None
    )
    assert await store.db.read(lambda conn: people.find(conn, "old", 0, people.Ages())) is None
