"""Secrets of environments, and forks that take them along, on both stores."""

import json

import pytest

from studio.core.rules import events as e
from studio.core.rules.errors import Denied, Invalid, NotFound, Refused, TooLarge
from studio.core.sealing import Place, Sealed
from studio.core.store import raw, secrets
from tests.core.conftest import ALICE, BOB, Core
from tests.core.environments import PLAIN, PYTHON, TOKEN, folded, kept, made, saved

MOVED = [{"name": "CRM_TOKEN", "type": "bearer", "binding": "https://elsewhere.example/"}]


@pytest.fixture
async def desk(core: Core) -> str:
    """An environment with secret slots, one of them required and filled."""
    await saved(core)
    id = await made(core, "desk", "python", labels={"team": "x"})
    await core.runtime.set_environment_secret(ALICE, "desk", "CRM_TOKEN", TOKEN)
    return id


async def opened(core: Core, owner: str, name: str) -> str:
    """The value that lies sealed for an owner."""
    row = await core.parts.db.read(lambda conn: secrets.sealed(conn, owner, name))
    place = Place(owner=owner, name=name, version=row.version)
    ring = core.runtime.seals.ring()
    return ring.open(place, Sealed(key=row.key, wrapped=row.wrapped, value=row.value)).decode()


# Secrets ------------------------------------------------------------------------------------------


async def test_a_secret_goes_in_and_is_shown_nowhere(core: Core, desk: str):
    slots = await core.parts.reader.environment_secrets(BOB, "desk")
    facts = await core.facts(desk)
    view = await core.parts.reader.environment(BOB, "desk")

    assert [(slot.name, slot.version, slot.by) for slot in slots] == [
        ("CRM_TOKEN", 1, "alice"), ("DEPLOY_KEY", 0, ""),
    ]  # fmt: skip
    assert TOKEN not in repr((slots, facts, view))
    assert view.row.coverage.words == "1 of 2 set"
    assert await opened(core, desk, "CRM_TOKEN") == TOKEN


async def test_only_declared_slots_take_a_value(core: Core, desk: str):
    with pytest.raises(Refused) as raised:
        await core.runtime.set_environment_secret(ALICE, "desk", "OTHER", TOKEN)
    with pytest.raises(Denied):
        await core.runtime.set_environment_secret(BOB, "desk", "CRM_TOKEN", TOKEN)

    assert raised.value.code == "secret_not_in_manifest"
    assert raised.value.details["declared"] == ["CRM_TOKEN", "DEPLOY_KEY"]


async def test_a_session_waits_for_required_secrets(core: Core, desk: str):
    await core.runtime.remove_environment_secret(ALICE, "desk", "CRM_TOKEN")

    with pytest.raises(Refused) as raised:
        await core.start(environment="desk")

    assert raised.value.code == "environment.secrets_missing"
    assert "0 of 2 set, 1 required missing: CRM_TOKEN" in raised.value.message
    with pytest.raises(NotFound):
        await core.runtime.remove_environment_secret(ALICE, "desk", "CRM_TOKEN")


async def test_deleting_drops_what_was_sealed(core: Core, desk: str):
    await core.runtime.delete_environment(ALICE, "desk")

    left = await core.parts.db.read(lambda conn: raw.every(conn, "SELECT owner FROM sealed"))

    assert left == []
    assert (await core.types(desk))[-2:] == ["secret.removed", "environment.deleted"]


async def test_rotation_reaches_them_too(core: Core, desk: str):
    assert await core.runtime.rotate_secrets(ALICE) == 1

    assert await opened(core, desk, "CRM_TOKEN") == TOKEN


async def test_values_are_held_against_their_slot(core: Core):
    slots = [
        {"name": "H", "type": "headers", "binding": "https://a.example"},
        {"name": "F", "type": "file", "binding": "key.pem"},
        {"name": "B", "type": "bearer", "binding": "https://b.example"},
    ]
    await saved(core, PLAIN, secrets=slots)
    await made(core)
    put = core.runtime.set_environment_secret

    for name, value, error in (
        ("H", "not json", Invalid),
        ("H", json.dumps({"Host": "fake-0123456789"}), Invalid),
        ("H", json.dumps({"X-Key": "short"}), Invalid),
        ("H", json.dumps({"X-Key": "fake-0123" * 1_000}), TooLarge),
        ("F", "0123456789abcdef" * 5_000, TooLarge),
        ("B", "two words here", Invalid),
    ):
        with pytest.raises(error):
            await put(ALICE, "desk", name, value)
    assert await put(ALICE, "desk", "H", json.dumps({"X-Key": "fake-0123456789"})) == 1
    assert await put(ALICE, "desk", "F", "-----BEGIN KEY-----\nfake\n-----END KEY-----\n") == 1


async def test_a_second_value_for_a_host_is_refused(core: Core):
    """Of a manifest that was saved before two slots for one host were a fault."""
    await saved(core, PLAIN)
    id = await made(core, "old")
    twins = [
        {"name": "ONE", "type": "bearer", "binding": "https://crm.example/a"},
        {"name": "TWO", "type": "headers", "binding": "https://CRM.example:443/b"},
    ]
    before = await folded(core, id)
    old = e.EnvironmentMade(
        name="twins", kind="sandbox", manifest=None, manifest_version=None,
        definition={"secrets": twins}, digest=before.digest, labels={}, owner="", by="alice",
    )  # fmt: skip
    await core.parts.journal.commit_others(
        lambda conn: [("env_twins", [old])], at=core.clock.now(), actor=ALICE.actor
    )
    put = core.runtime.set_environment_secret
    await put(ALICE, "twins", "ONE", TOKEN)

    with pytest.raises(Refused) as raised:
        await put(ALICE, "twins", "TWO", json.dumps({"X-Key": "fake-0123456789"}))

    assert (raised.value.code, raised.value.details) == ("secret_host_taken", {"slot": "ONE"})
    assert await put(ALICE, "twins", "ONE", TOKEN) == 2
    await core.runtime.remove_environment_secret(ALICE, "twins", "ONE")
    assert await put(ALICE, "twins", "TWO", json.dumps({"X-Key": "fake-0123456789"})) == 1


# Labels that the policy asks about ----------------------------------------------------------------


async def test_only_an_admin_changes_a_label_that_the_policy_asks_about(core: Core, desk: str):
    rules = [
        {"effect": "allow"},
        {"effect": "deny", "tool": "shell", "environment": ["stage=prod*", "trusted=*"]},
    ]
    runtime = core.runtime
    await runtime.save_policy(ALICE, rules, expect=None)
    await runtime.label_environment(BOB, "desk", {"team": "y"})
    await runtime.label_environment(ALICE, "desk", {"team": "y", "stage": "prod"})

    for labels in ({"team": "y"}, {"stage": "test"}, {"stage": "prod", "trusted": "yes"}):
        with pytest.raises(Denied) as denied:
            await runtime.label_environment(BOB, "desk", labels)
        assert denied.value.code == "denied.label_of_policy"
        assert denied.value.details["rules"] == [2]
        assert "(rule 2)" in denied.value.message
        with pytest.raises(Denied):
            await runtime.fork_environment(BOB, "desk", "copy", labels=labels)
    with pytest.raises(Denied):
        await runtime.make_environment(BOB, "mine", manifest="python", labels={"trusted": "yes"})

    await runtime.label_environment(BOB, "desk", {"stage": "prod", "team": "z"})
    kept_label = await runtime.fork_environment(BOB, "desk", "copy")
    view = await core.parts.reader.environment(BOB, "desk")
    assert kept_label.labels["stage"] == "prod"
    assert view.guarded == {"stage=prod": 2}
    await runtime.label_environment(ALICE, "desk", {})
    assert (await core.parts.reader.environment(BOB, "desk")).guarded == {}


# Forks --------------------------------------------------------------------------------------------


async def test_a_fork_is_planned_first_and_makes_nothing(core: Core, desk: str):
    await kept(core, desk)

    plan = await core.runtime.fork_environment(BOB, "desk", "copy", dry_run=True)

    assert (plan.id, plan.version, plan.bytes) == (None, 1, 2_000)
    assert (plan.copied, plan.left, plan.missing) == ((), ("CRM_TOKEN",), ("CRM_TOKEN",))
    assert plan.labels == {"team": "x"}
    assert [row.name for row in (await core.parts.reader.environments(BOB)).items] == ["desk"]


@pytest.mark.parametrize(
    "changes,places",
    [
        ({"network": {"allow": [{"host": "pypi.org"}, {"host": "evil.example.org"}]}},
         ("evil.example.org:443",)),
        ({"network": {"allow": [{"host": "pypi.org", "ports": [22, 443]}]}}, ("pypi.org:22",)),
        ({"network": {"allow": [{"host": "a.b.example.com"}, {"host": "*.x.example.com"}]}}, ()),
        ({"network": {"allow": [{"host": "example.com"}]}}, ("example.com:443",)),
        ({"network": None}, ()),
        ({"isolation": "none"}, ("anything, on a machine that does not keep its network closed",)),
        ({"kind": "container", "image": "other:1"}, ("programs of the image other:1",)),
        ({"kind": "remote", "url": "https://boxes.example", "token": {"setting": "T"}},
         ("the sandbox service https://boxes.example",)),
    ],
)  # fmt: skip
async def test_a_fork_in_which_a_secret_reaches_more_must_be_meant(
    core: Core, desk: str, changes: dict[str, object], places: tuple[str, ...]
):
    runtime, key = core.runtime, "-----BEGIN KEY-----\nfake\n-----END KEY-----\n"
    await runtime.set_environment_secret(ALICE, "desk", "DEPLOY_KEY", key)
    await saved(core, PYTHON, **{"name": "wider", **changes})
    asked = {"manifest": "wider", "secrets": ["CRM_TOKEN", "DEPLOY_KEY"]}

    plan = await runtime.fork_environment(BOB, "desk", "copy", dry_run=True, **asked)

    assert dict(plan.widened) == ({"DEPLOY_KEY": places} if places else {})
    if places:  # an admin must say it too
        with pytest.raises(Refused) as refused:
            await runtime.fork_environment(ALICE, "desk", "copy", **asked)
        assert refused.value.code == "fork.wider"
        assert f"DEPLOY_KEY could now reach {places[0]}" in refused.value.message
    less = await runtime.fork_environment(BOB, "desk", "less", manifest="wider")
    assert dict(less.widened) == {}
    assert (await runtime.fork_environment(BOB, "desk", "copy", wider=True, **asked)).id


async def test_a_fork_has_its_own_disk_and_the_secrets_that_were_chosen(core: Core, desk: str):
    for letter in "ab":
        await kept(core, desk, letter)

    plan = await core.runtime.fork_environment(
        BOB, "desk", "copy", version=1, secrets=["CRM_TOKEN"], labels={}
    )
    view = await core.parts.reader.environment(BOB, "copy")
    (first,) = (await core.parts.reader.disk_versions(BOB, "copy")).items

    assert (view.row.id, view.row.labels, view.row.coverage.filled) == (plan.id, {}, 1)
    assert (view.forked_from.name, view.forked_from.version) == ("desk", 1)
    assert (first.version, first.digest[0], first.reason, first.added) == (1, "a", "fork", 0)
    assert await opened(core, plan.id, "CRM_TOKEN") == TOKEN
    assert (await core.types(desk))[-1] == "environment.forked"


async def test_a_fork_onto_another_manifest_says_what_changes(core: Core, desk: str):
    await saved(core, PYTHON, keep="hand", setup=[])

    plan = await core.runtime.fork_environment(BOB, "desk", "next", manifest="python", version=0)

    assert (plan.manifest_version, plan.version) == (2, None)
    assert plan.changes == ("setup changed", 'keep changed from "turn" to "hand"')
    assert (await core.parts.reader.environment(BOB, "next")).row.version == 0


async def test_a_secret_never_goes_where_it_was_not_set_for(core: Core, desk: str):
    await saved(core, PLAIN)
    await saved(core, {**PLAIN, "name": "elsewhere"}, secrets=MOVED)

    for manifest, code in (("plain", "secret_not_in_manifest"), ("elsewhere", "secret.moved")):
        with pytest.raises(Refused) as raised:
            await core.runtime.fork_environment(
                BOB, "desk", "copy", manifest=manifest, secrets=["CRM_TOKEN"]
            )
        assert raised.value.code == code
    with pytest.raises(Invalid) as unset:
        await core.runtime.fork_environment(BOB, "desk", "copy", secrets=["DEPLOY_KEY"])
    assert unset.value.code == "secret.not_set"


async def test_forking_what_is_busy_or_not_there_is_refused(core: Core, desk: str):
    with pytest.raises(NotFound):
        await core.runtime.fork_environment(BOB, "desk", "copy", version=7)
    with pytest.raises(Refused) as taken:
        await core.runtime.fork_environment(BOB, "desk", "desk")
    await core.start("Hello", environment="desk")
    with pytest.raises(Refused) as busy:
        await core.runtime.fork_environment(BOB, "desk", "copy")

    assert taken.value.code == "environment.exists"
    assert busy.value.code == "environment_busy"
    await core.runtime.fork_environment(BOB, "desk", "copy", dry_run=True)
