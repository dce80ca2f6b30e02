"""What is recorded of an environment next, and what is refused."""

from dataclasses import replace

import pytest

from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments import manifest, records, slots
from studio.core.rules.environments.environment import Disk, Environment, apply
from studio.core.rules.environments.records import Busy, Kept
from studio.core.rules.errors import Denied, NotFound, Refused

ALICE, BOB = Person(id="alice", role="admin"), Person(id="bob", role="operator")
DEFINITION = manifest.parse({"name": "a", "setup": [{"run": "make"}]}).definition
DESK = Environment(id="env_1", name="desk", definition=DEFINITION, made=5, used=5)
KEPT = Kept(digest="a" * 64, files=3, folders=1, bytes=20)
HELD = Busy(session_id="ses_1", title="Work", turn_id="trn_1", number=2, status="held")
DELETED = replace(DESK, deleted=9, state="deleted")


def after(environment: Environment, *events: e.Event) -> Environment:
    """The environment once these are recorded, a second after each other."""
    for event in events:
        fact = e.Fact(
            session_id=environment.id, seq=environment.seq + 1, position=0, id="",
            time=environment.time + 1_000, actor="", evidence="observed", event=event,
        )  # fmt: skip
        environment = apply(environment, fact)
    return environment


def code(raised: pytest.ExceptionInfo[Refused]) -> str:
    return raised.value.code


RULES = {
    "label": lambda it: records.label(it, {}, ALICE),
    "give": lambda it: records.give(it, "", ALICE),
    "delete": lambda it: records.delete(it, None, ALICE),
    "remove": lambda it: records.remove_version(it, 1, there={1}, referred=(), by=ALICE),
    "started": lambda it: records.note_started(it, isolation="sandbox", worker="one"),
    "stopped": records.note_stopped,
    "reset": lambda it: records.note_reset(it, None, by="alice"),
    "lost": lambda it: records.note_lost(it, reason="gone"),
    "setup started": records.note_setup_started,
    "setup": lambda it: records.note_setup(it, []),
    "kept": lambda it: records.note_kept(it, KEPT, "hand"),
    "restored": lambda it: records.note_restored(it, 1, KEPT, by="alice"),
}


@pytest.mark.parametrize("name", RULES)
def test_nothing_becomes_of_what_was_deleted(name):
    with pytest.raises(Refused) as raised:
        RULES[name](DELETED)

    assert code(raised) == "environment.deleted"


def test_what_was_tried_is_recorded_to_the_end():
    tried = e.EgressTried(host="a.example", port=443, outcome="refused")

    assert records.note_egress([tried]) == [tried]


BLOCKED = {
    "delete": lambda: records.delete(DESK, HELD, ALICE),
    "reset": lambda: records.note_reset(DESK, HELD, by="alice"),
}


@pytest.mark.parametrize("name", BLOCKED)
def test_a_turn_in_hand_stands_in_the_way_and_is_named(name):
    with pytest.raises(Refused) as raised:
        BLOCKED[name]()

    assert code(raised) == "environment_busy"
    assert "turn 2 of the session “Work” is held" in raised.value.message
    assert raised.value.details == {"session_id": "ses_1", "turn_id": "trn_1", "status": "held"}


def test_only_an_admin_or_time_deletes():
    with pytest.raises(Denied):
        records.delete(DESK, None, BOB)

    assert records.delete(DESK, None, None) == [e.EnvironmentDeleted(by="")]


def test_an_owner_guard_lets_its_owner_and_admins_pass():
    owned = replace(DESK, owner="bob")

    assert records.label(owned, {"a": "b"}, BOB) == records.label(owned, {"a": "b"}, BOB)
    assert records.give(owned, "", ALICE)[0].owner == ""
    with pytest.raises(Refused) as raised:
        records.give(owned, "", Person(id="dora", role="operator"))
    assert code(raised) == "environment.owner_mismatch"


def test_the_same_again_is_no_fact():
    assert records.label(DESK, {}, BOB) == []
    assert records.give(DESK, "", BOB) == []
    assert records.note_stopped(DESK) == []
    assert records.note_lost(replace(DESK, state="lost"), reason="again") == []


def test_missing_secrets_are_counted_in_words():
    coverage = slots.Coverage(slots=4, filled=3, missing=("CRM",))

    with pytest.raises(Refused) as raised:
        records.usable(BOB, DESK, coverage)

    assert "3 of 4 set, 1 required missing: CRM" in raised.value.message
    records.usable(BOB, DESK, slots.coverage((), ()))
    with pytest.raises(NotFound):
        records.alive(None)


def test_unchanged_is_kept_once_but_a_fork_or_an_import_always():
    desk = after(DESK, *records.note_kept(DESK, KEPT, "setup"))

    assert records.note_kept(desk, KEPT, "turn") == []
    assert records.note_kept(desk, KEPT, "hand") == []
    assert records.note_kept(desk, KEPT, "import")[0].version == 2
    assert (desk.version, desk.versions) == (1, 1)


def test_long_lists_of_paths_are_cut():
    many = replace(KEPT, skipped=[f"s{n}" for n in range(200)], moving=["m"])

    (fact,) = records.note_kept(DESK, many, "hand", note="x" * 900)

    assert (len(fact.skipped), fact.moving, len(fact.note)) == (100, ("m",), 500)


def test_a_restore_is_a_version_and_says_of_which():
    desk = replace(DESK, disk=Disk(version=4, digest="b" * 64, files=1, folders=0, bytes=1))

    made, restored = records.note_restored(desk, 2, KEPT, by="bob")

    assert (made.version, made.reason) == (5, "restore")
    assert (restored.source, restored.version) == (2, 5)
    lost = after(desk, e.EnvironmentLost(reason="gone"))
    assert (lost.state, lost.lost) == ("lost", "gone")
    assert after(lost, made, restored).state == "stopped"


@pytest.mark.parametrize(
    "failed, problem, ok", [(None, "", True), (2, "", False), (None, "no", False)]
)
def test_a_setup_is_well_or_says_why(failed, problem, ok):
    desk = after(DESK, *records.note_setup_started(DESK))
    done = after(desk, *records.note_setup(desk, [], failed=failed, problem=problem))

    assert (desk.setup, desk.setup_seq) == ("started", 1)
    assert done.setup == ("ok" if ok else "failed")
    assert after(done, e.EnvironmentReset(by="bob")).setup == ""


def test_use_is_what_happens_in_it_and_not_what_is_said_of_it():
    labelled = after(DESK, *records.label(DESK, {"a": "b"}, BOB), *records.give(DESK, "bob", BOB))
    started = after(labelled, *records.note_started(DESK, isolation="reduced", worker="one"))
    stopped = after(started, *records.note_stopped(started, reason="idle"))

    assert (labelled.used, started.used, started.isolation) == (5, 3_000, "reduced")
    assert (started.state, stopped.state, stopped.used) == ("running", "stopped", 3_000)
