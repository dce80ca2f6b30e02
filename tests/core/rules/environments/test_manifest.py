"""Environment manifests: what they may say, every fault at once, and how two differ."""

from typing import Any

import pytest

from studio.core.rules.environments import manifest as rule_of
from studio.core.rules.environments import network
from studio.core.rules.errors import Invalid

HASH = "sha256:" + "a" * 64
FULL: dict[str, Any] = {
    "$schema": "environment.schema.json",
    "name": "python",
    "description": "Python and git.",
    "kind": "sandbox",
    "setup": [{"run": "python3 -m venv .venv", "cwd": "src/app", "timeout": 900}, {"run": "true"}],
    "files": [
        {"path": "notes.md", "text": "Hello."},
        {"path": "data/in.csv", "artifact": "art_" + "0" * 26, "version": 2},
        {"path": "lib", "files": {"a/b.py": HASH, "c.py": HASH}},
    ],
    "variables": {"STAGE": "test", "_x": ""},
    "secrets": [
        {"name": "CRM", "type": "bearer", "binding": "https://crm.example/api"},
        {"name": "LOGS", "type": "headers", "binding": "https://logs.example", "required": False},
        {"name": "NPM", "type": "variable", "binding": "NPM_TOKEN", "description": "For npm."},
        {"name": "KEY", "type": "file", "binding": "deploy.pem"},
    ],
    "network": {"allow": [{"host": "pypi.org"}, {"host": "*.example.com", "ports": [443, 8443]}]},
    "limits": {"memory_mib": 512, "processes": 64, "disk_mib": 1_024, "command_seconds": 60},
    "keep": "hand",
    "delete_after": 86_400,
    "refuse_on_gaps": True,
    "isolation": "reduced",
}
CONTAINER = {"name": "box", "kind": "container", "image": "python:3.12-slim"}
REMOTE = {
    "name": "far", "kind": "remote", "url": "https://boxes.example", "token": {"secret": "BOXES"},
}  # fmt: skip
NONE = {"name": "vault", "kind": "none", "secrets": FULL["secrets"][:2]}


def faults(**changes: Any) -> dict[str, str]:
    """What is wrong with a small manifest that has these fields."""
    try:
        rule_of.parse({"name": "plain", **changes})
    except Invalid as error:
        return error.fields
    return {}


def fault(**changes: Any) -> str:
    """The one thing that is wrong."""
    ((path, words),) = faults(**changes).items()
    return f"{path} {words}"


@pytest.mark.parametrize("good", [FULL, CONTAINER, REMOTE, NONE, {"name": "least"}])
def test_good_manifests_are_read_and_read_again_from_their_data(good):
    parsed = rule_of.parse(good)

    assert rule_of.parse(parsed.data).digest == parsed.digest
    assert parsed.definition["kind"] == good.get("kind", "sandbox")


def test_a_definition_has_every_default_written_out():
    definition = rule_of.parse({"name": "least"}).definition

    assert definition == {
        "kind": "sandbox", "secrets": [], "refuse_on_gaps": False, "isolation": "sandbox",
        "setup": [], "files": [], "variables": {}, "network": {"allow": []}, "keep": "turn",
        "limits": {"memory_mib": 1_024, "processes": 128, "disk_mib": 2_048, "command_seconds": 30},
    }  # fmt: skip


def test_the_digest_is_of_what_makes_another_environment():
    plain = rule_of.parse({"name": "a"})
    spelled = rule_of.parse({"name": "b", "description": "x", "limits": {"processes": 128}})
    other = rule_of.parse({"name": "a", "limits": {"processes": 129}})

    assert plain.digest == spelled.digest != other.digest


def test_an_inline_definition_has_no_name():
    with pytest.raises(Invalid) as raised:
        rule_of.parse({"name": "x"}, is_named=False)

    assert list(raised.value.fields) == ["name"]
    assert rule_of.parse({}, is_named=False).kind == "sandbox"


def test_all_faults_are_told_at_once():
    found = faults(kind="box", keep="never", setup=[{}], limits={"memory_mib": True}, more=1)

    assert set(found) == {"kind", "keep", "setup[0].run", "limits.memory_mib", "more"}


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"image": "x"}, "image is for environments of kind container"),
        ({"kind": "container"}, "image is needed"),
        ({"kind": "container", "image": "--privileged x"}, "image must be the name of an image"),
        ({"kind": "remote", "url": "https://a.example", "token": "t"}, "token"),
        ({"kind": "remote"}, "url is needed"),
        ({"kind": "none", "setup": [{"run": "x"}]}, "setup needs a disk"),
        ({"kind": "none", "secrets": FULL["secrets"][2:3]}, "secrets[0].type needs commands"),
        ({"kind": "container", "image": "x", "isolation": "none"}, "isolation is for"),
        ({"setup": [{"run": " \n"}]}, "setup[0].run is blank"),
        ({"setup": [{"run": "x", "timeout": 1_801}]}, "setup[0].timeout must be a whole number"),
        ({"setup": [{"run": "x", "cwd": "../up"}]}, "setup[0].cwd must not have empty parts"),
        ({"setup": [{"run": "x"}] * 17}, "setup may have at most 16 entries"),
        ({"limits": {"command_seconds": 601}}, "limits.command_seconds must be"),
        ({"delete_after": 59}, "delete_after must be"),
    ],
)
def test_fields_are_held_to_their_kind_and_bounds(changes, words):
    assert fault(**changes).startswith(words)


@pytest.mark.parametrize(
    "entry, path",
    [
        ({"path": "/etc/passwd", "text": ""}, "files[0].path"),
        ({"path": "a/../../b", "text": ""}, "files[0].path"),
        ({"path": "a//b", "text": ""}, "files[0].path"),
        ({"path": "x" * 256, "text": ""}, "files[0].path"),
        ({"path": "a"}, "files[0].path"),
        ({"path": "a", "text": "", "files": {"b": HASH}}, "files[0].path"),
        ({"path": "a", "text": "é" * 140_000}, "files[0].text"),
        ({"path": "a", "artifact": "art_1", "version": 1}, "files[0].artifact"),
        ({"path": "a", "artifact": "art_" + "0" * 26}, "files[0].version"),
        ({"path": "a", "text": "", "version": 1}, "files[0].version"),
        ({"path": "a", "files": {}}, "files[0].files"),
        ({"path": "a", "files": {"../b": HASH}}, 'files[0].files["../b"]'),
        ({"path": "a", "files": {"b": "sha256:1"}}, "files[0].files.b"),
        ({"path": "a", "files": {"b": HASH, "b/c": HASH}}, 'files[0].files["b/c"]'),
        ({"path": "a", "files": {str(n): HASH for n in range(1_001)}}, "files[0].files"),
    ],
)
def test_files_stay_on_the_disk_and_come_from_one_place(entry, path):
    assert list(faults(files=[entry])) == [path]


def test_two_entries_for_one_path_are_a_fault():
    entries = [{"path": "a", "text": "1"}, {"path": "a", "text": "2"}]

    assert fault(files=entries).startswith("files[1].path is the path of another")


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "http_proxy", "ALL_PROXY", "STUDIO_X", "SSL_CERT_FILE", "1X", "A-B"]
)
def test_variables_that_are_the_studios_are_refused(name):
    assert len(faults(variables={name: "x"})) == 1


def test_a_variable_and_a_secret_do_not_share_a_name():
    slot = {"name": "A", "type": "variable", "binding": "TOKEN"}

    assert fault(variables={"TOKEN": "x"}, secrets=[slot]).startswith("variables.TOKEN is the")


@pytest.mark.parametrize(
    "slot, path",
    [
        ({"type": "bearer", "binding": "https://a.example"}, "secrets[0].name"),
        ({"name": "lower", "type": "bearer", "binding": "https://a.example"}, "secrets[0].name"),
        ({"name": "A", "type": "cookie", "binding": "x"}, "secrets[0].type"),
        ({"name": "A", "type": "bearer", "binding": "http://a.example"}, "secrets[0].binding"),
        ({"name": "A", "type": "bearer", "binding": "https://u:p@a.example"},
         "secrets[0].binding"),
        ({"name": "A", "type": "bearer", "binding": "https://a.example/?q=1"},
         "secrets[0].binding"),
        ({"name": "A", "type": "variable", "binding": "PATH"}, "secrets[0].binding"),
        ({"name": "A", "type": "file", "binding": "../x"}, "secrets[0].binding"),
    ],
)  # fmt: skip
def test_slots_are_bound_to_a_place(slot, path):
    assert list(faults(secrets=[slot])) == [path]


@pytest.mark.parametrize(
    "two",
    [
        [("bearer", "https://a.example/x"), ("headers", "https://A.example:443/y")],
        [("variable", "TOKEN"), ("variable", "TOKEN")],
        [("file", "key"), ("file", "key")],
    ],
)
def test_two_secrets_for_one_place_are_a_fault(two):
    slots = [{"name": f"S{n}", "type": of, "binding": at} for n, (of, at) in enumerate(two)]

    assert "and so is S0" in fault(secrets=slots)


@pytest.mark.parametrize(
    "host",
    [
        "*", "*.", "*.com", "localhost", "intranet", "10.0.0.1", "127.0.0.1", "169.254.169.254",
        "[::1]", "::ffff:10.0.0.1", "2130706433", "0x7f.1", "a b.example", "https://a.example",
        "a.example:443", "a.example/x", "a..example", "*.*.example.com", "a.*.com", "224.0.0.1",
    ],
)  # fmt: skip
def test_hosts_that_open_too_much_or_lead_inside_are_refused(host):
    assert list(faults(network={"allow": [{"host": host}]})) == ["network.allow[0].host"]


@pytest.mark.parametrize("host", ["pypi.org", "*.example.com", "a-b.c_d.example", "1.1.1.1"])
def test_hosts_that_may_be_reached(host):
    parsed = rule_of.parse({"name": "a", "network": {"allow": [{"host": host.upper()}]}})

    assert parsed.definition["network"]["allow"] == [{"host": host, "ports": [443]}]


@pytest.mark.parametrize("ports", [[], [0], [65_536], [True], ["443"], [443] * 17])
def test_ports_are_numbers_of_ports(ports):
    assert len(faults(network={"allow": [{"host": "a.example", "ports": ports}]})) == 1


def test_a_difference_names_entries_by_what_they_are():
    new = {
        **FULL,
        "files": FULL["files"][:2],
        "secrets": [{**FULL["secrets"][0], "required": False}, *FULL["secrets"][1:]],
        "network": {"allow": [*FULL["network"]["allow"], {"host": "crates.io"}]},
        "keep": "turn",
    }

    assert rule_of.diff(FULL, new) == [
        "file lib removed",
        "secret CRM: required changed",
        "network crates.io added",
        'keep changed from "hand" to "turn"',
    ]


def test_a_refused_try_proposes_the_manifest_that_would_allow_it():
    first = network.allowing({"name": "a"}, "PyPI.org", 443)
    second = network.allowing(first, "pypi.org", 8443)

    assert first == {"name": "a", "network": {"allow": [{"host": "pypi.org", "ports": [443]}]}}
    assert second["network"]["allow"] == [{"host": "pypi.org", "ports": [443, 8443]}]
    assert rule_of.diff(first, second) == ["network pypi.org: ports changed"]
    assert rule_of.parse(second)
