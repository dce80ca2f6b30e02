"""Environments on both stores: manifests in versions, made for life, labelled, worked in."""

import asyncio

import pytest

from studio.core.rules import events as e
from studio.core.rules.environments import environment as fold
from studio.core.rules.environments import records
from studio.core.rules.environments.environment import Environment
from studio.core.rules.errors import Changed, Denied, Invalid, NotFound, Refused
from studio.core.store import environment_rows, environments
from tests.core.conftest import ALICE, BOB, CHARLIE, Core
from tests.core.environments import PLAIN, PYTHON, disk, folded, kept, made, note, saved
from tests.fakes import tool

FILE = b"print('hello')\n"


# Manifests ----------------------------------------------------------------------------------------


async def test_a_manifest_is_saved_in_versions_and_unchanged_is_none(core: Core):
    first = await core.runtime.save_environment_manifest(ALICE, PYTHON)
    again = await core.runtime.save_environment_manifest(ALICE, {**PYTHON, "kind": "sandbox"})
    other = await core.runtime.save_environment_manifest(ALICE, {**PYTHON, "keep": "hand"})

    assert [(p.version, p.creates) for p in (first, again, other)] == [
        (1, True), (1, False), (2, True),
    ]  # fmt: skip
    assert first.changes == ("new manifest",)
    assert other.changes == ("keep added",)


async def test_a_plan_names_what_is_left_behind_and_saves_nothing(core: Core):
    await saved(core)
    await made(core, "desk", "python")

    plan = await core.runtime.save_environment_manifest(
        ALICE, {**PYTHON, "isolation": "none"}, dry_run=True, expect=1
    )

    assert (plan.version, plan.behind, plan.behind_count) == (2, ("desk",), 1)
    assert "no isolation" in plan.warnings[0]
    assert (await core.parts.reader.environment_manifest(BOB, "python")).version == 1


async def test_a_manifest_that_was_saved_meanwhile_says_who_saved_it(core: Core):
    await saved(core, PLAIN)

    with pytest.raises(Changed) as raised:
        await core.runtime.save_environment_manifest(ALICE, {**PLAIN, "keep": "hand"}, expect=0)

    assert raised.value.code == "manifest_changed"
    assert raised.value.details["by"] == "alice"


async def test_every_fault_is_told_at_once(core: Core):
    with pytest.raises(Invalid) as raised:
        await core.runtime.save_environment_manifest(
            ALICE, {"name": "X", "kind": "box", "limits": {"memory_mib": 1}, "odd": 1}
        )

    assert set(raised.value.fields) == {"name", "kind", "limits.memory_mib", "odd"}


async def test_files_by_hash_are_sent_before_they_are_named(core: Core):
    hash, is_new = await core.runtime.keep_environment_file(ALICE, FILE)
    known = {"path": "src", "files": {"hello.py": f"sha256:{hash}"}}
    strange = {"path": "lib", "files": {"a/b.py": f"sha256:{'0' * 64}"}}

    await saved(core, PLAIN, files=[known])
    with pytest.raises(Invalid) as raised:
        await saved(core, PLAIN, files=[known, strange])

    assert is_new
    assert (await core.runtime.keep_environment_file(ALICE, FILE)) == (hash, False)
    assert list(raised.value.fields) == ["files[1].files.a/b.py"]


async def test_an_artifact_that_nobody_knows_is_a_fault(core: Core):
    entry = {"path": "a.txt", "artifact": "art_" + "0" * 26, "version": 1}

    with pytest.raises(Invalid) as raised:
        await saved(core, PLAIN, files=[entry])

    assert list(raised.value.fields) == ["files[0].artifact"]


async def test_a_manifest_in_use_stays_and_one_that_was_removed_counts_on(core: Core):
    await saved(core, PLAIN)
    id = await made(core)
    with pytest.raises(Refused) as raised:
        await core.runtime.remove_environment_manifest(ALICE, "plain")
    await core.runtime.delete_environment(ALICE, id)

    await core.runtime.remove_environment_manifest(ALICE, "plain", expect=1)

    assert raised.value.code == "manifest_in_use"
    assert raised.value.details["environments"] == ["desk"]
    with pytest.raises(NotFound):
        await core.parts.reader.environment_manifest(BOB, "plain")
    assert (await core.runtime.save_environment_manifest(ALICE, PLAIN)).version == 2


async def test_only_admins_save_manifests(core: Core):
    with pytest.raises(Denied):
        await core.runtime.save_environment_manifest(BOB, PLAIN)


# Making -------------------------------------------------------------------------------------------


async def test_an_environment_is_made_once_and_found_again(core: Core):
    await saved(core, PLAIN)

    found = await asyncio.gather(
        *(core.runtime.make_environment(BOB, "team/desk", manifest="plain") for _ in range(5))
    )

    assert len({one.id for one in found}) == 1
    assert sum(one.made for one in found) == 1


async def test_one_that_is_there_stays_on_its_version(core: Core):
    await saved(core, PLAIN)
    id = await made(core)
    await saved(core, PLAIN, keep="hand")

    again = await core.runtime.make_environment(BOB, "desk", manifest="plain")
    with pytest.raises(Refused) as raised:
        await core.runtime.make_environment(
            BOB, "desk", manifest="plain@2", labels={"team": "a"}, owner="bob"
        )

    assert (again.id, again.manifest_version) == (id, 1)
    assert raised.value.code == "environment_immutable"
    assert raised.value.details["fields"] == ["manifest version", "labels", "owner"]


async def test_an_inline_definition_is_an_admins_and_may_spell_defaults_out(core: Core):
    with pytest.raises(Denied):
        await core.runtime.make_environment(BOB, "own", definition={})
    first = await core.runtime.make_environment(ALICE, "own", definition={})

    again = await core.runtime.make_environment(
        ALICE, "own", definition={"kind": "sandbox", "limits": {"processes": 128}}
    )
    with pytest.raises(Refused) as raised:
        await core.runtime.make_environment(ALICE, "own", definition={"keep": "hand"})

    assert (again.id, again.made) == (first.id, False)
    assert raised.value.details["fields"] == ["keep"]


@pytest.mark.parametrize("name", ["", "a b", "../x", "a//b", "env_x", "a" * 201, "a/.b"])
async def test_odd_names_are_refused(core: Core, name):
    await saved(core, PLAIN)

    with pytest.raises(Invalid):
        await made(core, name)


async def test_a_name_is_free_again_after_deletion(core: Core):
    await saved(core, PLAIN)
    first = await made(core)
    await core.runtime.delete_environment(ALICE, "desk")

    second = await made(core)

    assert first != second
    page = await core.parts.reader.environments(BOB)
    assert [row.id for row in page.items] == [second]
    assert [r.id for r in (await core.parts.reader.environments(BOB, state="deleted")).items] == [
        first
    ]


# Labels and owner ---------------------------------------------------------------------------------


async def test_environments_are_found_by_all_of_their_labels(core: Core):
    await saved(core, PLAIN)
    for name, labels in (("a", {"team": "x"}), ("b", {"team": "x", "stage": "prod"}), ("c", {})):
        await made(core, name, labels=labels)
    reader = core.parts.reader

    both = await reader.environments(BOB, labels=[("team", "x"), ("stage", "prod")])
    one = await reader.environments(BOB, labels=[("team", "x")], limit=1)
    rest = await reader.environments(BOB, labels=[("team", "x")], limit=1, cursor=one.next)

    assert [row.name for row in both.items] == ["b"]
    assert [row.name for row in (*one.items, *rest.items)] == ["b", "a"]
    assert rest.next is None


async def test_labels_change_and_the_same_again_is_no_fact(core: Core):
    await saved(core, PLAIN)
    id = await made(core, labels={"team": "x"})

    await core.runtime.label_environment(BOB, "desk", {"team": "y"})
    await core.runtime.label_environment(BOB, id, {"team": "y"})

    assert await core.types(id) == ["environment.made", "environment.labelled"]
    assert (await core.parts.reader.environments(BOB, labels=[("team", "x")])).items == ()


async def test_what_is_somebodys_alone_is_theirs_to_use(core: Core):
    await saved(core, PLAIN)
    await made(core, owner="bob")
    await core.runtime.give_environment(ALICE, "desk", "dora")

    with pytest.raises(Refused) as raised:
        await core.start(environment="desk")

    assert raised.value.code == "environment.owner_mismatch"
    with pytest.raises(Refused):
        await core.runtime.label_environment(BOB, "desk", {"a": "b"})
    await core.start(environment="desk", person=ALICE)


# Sessions -----------------------------------------------------------------------------------------


async def test_a_session_stands_on_an_environment_and_is_told_on_its_page(core: Core):
    await saved(core, PLAIN)
    id = await made(core)

    session_id = await core.start("Hello", environment="desk")

    assert (await core.session(session_id)).environment_id == id
    view = await core.parts.reader.environment(BOB, "desk")
    assert [row.id for row in view.sessions] == [session_id]
    assert view.row.turn is not None
    assert (view.row.turn.session_id, view.row.sessions) == (session_id, 1)


async def test_busy_names_the_session_and_its_turn(core: Core):
    await saved(core, PLAIN)
    await made(core)
    session_id = await core.start("Hello", environment="desk", title="Work")
    turn = (await core.session(session_id)).turn

    with pytest.raises(Refused) as raised:
        await core.runtime.delete_environment(ALICE, "desk")

    assert raised.value.code == "environment_busy"
    assert "turn 1 of the session “Work” is queued" in raised.value.message
    assert raised.value.details["turn_id"] == turn.id
    await core.runtime.cancel_turn(BOB, session_id)
    await core.runtime.delete_environment(ALICE, "desk")


async def test_a_private_session_is_busy_without_its_name(core: Core):
    await saved(core, PLAIN)
    id = await made(core)
    await core.start("Hello", environment="desk", title="Secret", private=True, person=ALICE)

    busy = await core.parts.db.read(lambda conn: environments.busy(conn, id, BOB))
    row = (await core.parts.reader.environments(BOB)).items[0]

    assert (busy.session_id, busy.title, busy.turn_id) == ("", "", "")
    assert (row.turn.session_id, row.sessions) == ("", 0)


async def test_no_session_starts_on_what_is_deleted_and_none_goes_on(core: Core):
    await saved(core, PLAIN)
    id = await made(core)
    session_id = await core.start(environment=id)
    await core.runtime.delete_environment(ALICE, id)

    with pytest.raises(Refused) as starting:
        await core.start(environment=id)
    with pytest.raises(Refused) as going_on:
        await core.runtime.send_message(BOB, session_id, "Hello")

    assert starting.value.code == going_on.value.code == "environment.deleted"
    with pytest.raises(NotFound):
        await core.start(environment="desk")


# What happens in it -------------------------------------------------------------------------------


async def test_a_life_is_told_by_facts_and_seen_in_the_row(core: Core):
    await saved(core)
    id = await made(core, "desk", "python")
    run = e.SetupRun(run="make", exit=2, seconds=0.5, output=environment_rows.output("x" * 9_000))
    tried = e.EgressTried(
        host="pypi.org", port=443, outcome="allowed", up=10, down=20, milliseconds=5
    )

    await note(core, id, lambda it: records.note_started(it, isolation="sandbox", worker="one"))
    await note(core, id, records.note_setup_started)
    await note(core, id, lambda it: records.note_setup(it, [run], failed=1))
    await note(core, id, lambda it: records.note_egress([tried]))
    await note(core, id, lambda it: records.note_lost(it, reason="The machine is gone."))
    view = await core.parts.reader.environment(CHARLIE, "desk")

    assert (view.row.state, view.row.setup, view.lost) == ("lost", "failed", "The machine is gone.")
    assert view.setup.failed == 1
    output = view.setup.runs[0].output
    assert (output.stored, output.size, len(output.head)) == (True, 9_000, 4_096)
    assert await core.parts.reader.environment_blob(BOB, output.hash, id) == b"x" * 9_000
    (row,) = (await core.parts.reader.egress(BOB, "desk")).items
    assert (row.host, row.outcome, row.down) == ("pypi.org", "allowed", 20)


async def test_unchanged_makes_no_version_and_restore_makes_one(core: Core):
    await saved(core, PLAIN)
    id = await made(core)
    turn = e.TurnRef(session_id="ses_x", turn_id="trn_x")
    await kept(core, id, "a")
    await kept(core, id, "a", "turn", turn=turn)
    await kept(core, id, "b", "turn", turn=turn)

    await note(core, id, lambda it: records.note_restored(it, 1, disk("a"), by="bob"))
    rows = (await core.parts.reader.disk_versions(BOB, "desk")).items

    assert [(row.version, row.digest[0], row.reason) for row in rows] == [
        (3, "a", "restore"), (2, "b", "turn"), (1, "a", "hand"),
    ]  # fmt: skip
    assert rows[0].is_latest
    assert rows[1].session_id is None  # nobody knows that session


async def test_a_version_is_removed_unless_something_stands_on_it(core: Core):
    await saved(core, PLAIN)
    id = await made(core)
    for letter in "abc":
        await kept(core, id, letter)
    session_id = await core.start("Hello", environment=id)
    await kept(core, id, "d", "turn")

    await core.runtime.remove_disk_version(ALICE, id, 1)
    for number, code in ((4, "disk.newest"), (3, "disk.in_use")):
        with pytest.raises(Refused) as raised:
            await core.runtime.remove_disk_version(ALICE, id, number)
        assert raised.value.code == code
    with pytest.raises(NotFound):
        await core.runtime.remove_disk_version(ALICE, id, 1)
    await core.runtime.cancel_turn(BOB, session_id)
    await core.runtime.remove_disk_version(ALICE, id, 3)

    rows = (await core.parts.reader.disk_versions(BOB, id)).items
    assert [row.version for row in rows] == [4, 2]
    digests = await core.parts.db.read(environments.digests)
    assert digests == {"b" * 64, "d" * 64}


async def test_what_is_long_unused_is_named_for_deletion(core: Core):
    await saved(core, PLAIN, delete_after=60)
    id = await made(core)
    used = await made(core, "used")
    core.clock.pass_time(59_000)
    await kept(core, used)
    core.clock.pass_time(2_000)

    now = core.clock.now()
    found = await core.parts.db.read(lambda conn: environments.unused(conn, now))
    await core.parts.journal.commit_environment(
        id, lambda conn, it: environments.ended(conn, it, None), at=now, actor=None
    )

    assert found == (id,)
    assert (await core.types(id))[-1] == "environment.deleted"


async def test_the_row_is_the_fold_of_the_journal(core: Core):
    core.offer(tool("pay"))
    await saved(core)
    id = await made(core, "desk", "python", labels={"a": "b"})
    await note(core, id, lambda it: records.note_started(it, isolation="sandbox", worker="one"))
    await kept(core, id)

    environment = Environment(id=id)
    for fact in await core.facts(id):
        environment = fold.apply(environment, fact)

    assert await folded(core, id) == environment


async def test_facts_are_read_from_both_ends(core: Core):
    await saved(core, PLAIN)
    id = await made(core)
    for letter in "ab":
        await kept(core, id, letter)
    reader = core.parts.reader

    after = await reader.environment_events(BOB, id, after=1)
    before = await reader.environment_events_before(BOB, id, before=3)

    assert [row.type for row in after] == ["disk.kept", "disk.kept"]
    assert [row.seq for row in before] == [1, 2]
