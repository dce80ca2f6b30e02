"""What a fork takes along, and what it may not."""

from dataclasses import replace
from typing import Any

import pytest

from studio.core.rules.environments import forks, manifest, names, records
from studio.core.rules.environments.environment import Disk, Environment
from studio.core.rules.environments.forks import Target
from studio.core.rules.errors import Invalid, NotFound, Refused
from tests.core.rules.environments.test_records import ALICE

CODE = "environment_immutable"
CRM = {"name": "CRM", "type": "bearer", "binding": "https://crm.example"}
PEM = {"name": "PEM", "type": "file", "binding": "deploy.pem"}
FIRST = manifest.parse({"name": "a", "secrets": [CRM, PEM]})
DESK = Environment(
    id="env_1", name="desk", kind="sandbox", manifest="a", manifest_version=1,
    definition=FIRST.definition, digest=FIRST.digest, labels={"team": "x"},
    disk=Disk(version=3, digest="a" * 64, files=1, folders=0, bytes=5),
)  # fmt: skip


def target(**manifest_fields: Any) -> Target:
    parsed = manifest.parse({"name": "b", **manifest_fields})
    return Target(
        kind=parsed.kind, manifest="b", manifest_version=1, definition=parsed.definition,
        digest=parsed.digest,
    )  # fmt: skip


def test_without_a_manifest_it_is_the_same():
    same = forks.same_as(DESK)

    assert same.digest == DESK.digest
    assert forks.changes(DESK, same) == ()
    assert forks.changes(DESK, target(keep="hand"))[0] == "secret CRM removed"


@pytest.mark.parametrize("asked, found", [(None, 3), (2, 2), (0, None)])
def test_a_disk_begins_with_the_newest_a_named_or_no_version(asked, found):
    assert forks.disk(DESK, forks.same_as(DESK), asked) == found


def test_what_has_no_disk_begins_with_none():
    bare = target(kind="none")

    assert forks.disk(DESK, bare, None) is None
    assert forks.disk(replace(DESK, disk=None), forks.same_as(DESK), None) is None
    with pytest.raises(Invalid):
        forks.disk(DESK, bare, 2)


def test_secrets_come_along_where_they_were_chosen():
    taken = forks.secrets(DESK, forks.same_as(DESK), ["CRM", "PEM"], ["PEM", "PEM"])

    assert (taken.copied, taken.left, taken.missing) == (("PEM",), ("CRM",), ("CRM",))


@pytest.mark.parametrize(
    "changed",
    [
        {**CRM, "binding": "https://elsewhere.example"},
        {**CRM, "binding": "https://crm.example/deeper"},
        {**CRM, "type": "headers"},
    ],
)
def test_a_secret_goes_to_the_very_same_place_or_nowhere(changed):
    with pytest.raises(Refused) as raised:
        forks.secrets(DESK, target(secrets=[changed]), ["CRM"], ["CRM"])

    assert raised.value.code == "secret.moved"


def test_a_secret_that_is_not_set_or_not_declared_cannot_be_chosen():
    with pytest.raises(Invalid):
        forks.secrets(DESK, forks.same_as(DESK), ["CRM"], ["PEM"])
    with pytest.raises(Refused) as raised:
        forks.secrets(DESK, target(), ["CRM"], ["CRM"])

    assert raised.value.code == "secret_not_in_manifest"


def test_its_first_version_has_the_same_bytes():
    made = forks.first_version(DESK, "a" * 64, 1, 0, 5, 3, "bob")

    assert (made.version, made.digest, made.added, made.reason) == (1, "a" * 64, 0, "fork")
    assert made.note == "From version 3 of desk."


# What is there already, and what goes -----------------------------------------------------------


def asked(**more: Any) -> list[str]:
    """The code of the refusal, and the fields in which what is asked for differs."""
    nothing = {"manifest": None, "version": None, "definition": None, "labels": None, "owner": None}
    try:
        records.same_again(DESK, **{**nothing, **more})
    except Refused as error:
        return [error.code, *error.details["fields"]]
    return []


def test_the_same_again_is_found_and_other_values_are_named():
    assert asked(manifest="a") == asked(manifest="a", version=1, labels={"team": "x"}) == []
    assert asked(manifest="b", version=1) == [CODE, "manifest"]
    assert asked(manifest="a", version=2, owner="bob") == [CODE, "manifest version", "owner"]
    assert asked(definition=target(keep="hand").definition) == [CODE, "secrets", "keep"]
    assert asked(labels={}) == [CODE, "labels"]


def test_a_version_goes_unless_it_is_the_newest_or_stood_upon():
    def remove(version: int) -> list[Any]:
        return records.remove_version(DESK, version, there={1, 2, 3}, referred={2}, by=ALICE)

    assert remove(1)[0].version == 1
    for version, code in ((3, "disk.newest"), (2, "disk.in_use")):
        with pytest.raises(Refused) as raised:
            remove(version)
        assert raised.value.code == code
    with pytest.raises(NotFound):
        remove(4)


@pytest.mark.parametrize("name", ["a", "team/desk-1", "A.b_c", "x" * 200])
def test_names_of_environments(name):
    names.check_name(name)


@pytest.mark.parametrize("name", ["", "/a", "a/", "a//b", "-a", "a/../b", "é", "env_1", "x" * 201])
def test_what_is_no_name(name):
    with pytest.raises(Invalid):
        names.check_name(name)
