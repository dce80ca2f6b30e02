"""Slots, names and labels."""

import json

import pytest

from studio.core.rules.environments import names, slots
from studio.core.rules.environments.slots import Slot
from studio.core.rules.errors import Invalid, Refused, TooLarge

BEARER = Slot(name="A", type="bearer", binding="https://a.example/x")
FILE = Slot(name="F", type="file", binding="key.pem", required=False)
HEADERS = Slot(name="H", type="headers", binding="https://h.example")
VARIABLE = Slot(name="V", type="variable", binding="TOKEN")
FAKE = "fake-token-0123456789"


def test_coverage_counts_declared_slots_alone():
    found = slots.coverage((BEARER, FILE, VARIABLE), {"A", "OTHER"})

    assert (found.slots, found.filled, found.missing) == (3, 1, ("V",))
    assert found.words == "1 of 3 set, 1 required missing"
    assert slots.coverage((), {"OTHER"}).words == "no secrets declared"


def test_a_slot_that_is_not_declared_is_refused_with_those_that_are():
    with pytest.raises(Refused) as raised:
        slots.slot_named((BEARER, FILE), "X")

    assert raised.value.code == "secret_not_in_manifest"
    assert raised.value.details == {"declared": ["A", "F"]}
    assert slots.slot_named((BEARER, FILE), "F") is FILE


@pytest.mark.parametrize(
    "slot, value",
    [
        (BEARER, FAKE),
        (VARIABLE, "two words and é"),
        (FILE, "-----BEGIN-----\nfake-0123\n-----END-----\n"),
        (HEADERS, json.dumps({"X-Key": FAKE, "Authorization": f"Basic {FAKE}"})),
    ],
)
def test_values_that_fit_their_slot(slot, value):
    slots.check_value(slot, value)

    assert all(text in value or value for text in slots.texts(slot.type, value))


@pytest.mark.parametrize(
    "slot, value, error",
    [
        (BEARER, "short", Invalid),
        (BEARER, f"{FAKE} é", Invalid),
        (VARIABLE, f" {FAKE}", Invalid),
        (VARIABLE, FAKE * 1_000, TooLarge),
        (FILE, "x" * 100, Invalid),
        (FILE, FAKE * 5_000, TooLarge),
        (HEADERS, "[]", Invalid),
        (HEADERS, "{}", Invalid),
        (HEADERS, json.dumps({"X-Key": 5}), Invalid),
        (HEADERS, json.dumps({"X Key": FAKE}), Invalid),
        (HEADERS, json.dumps({"X-Key": FAKE, "x-key": FAKE}), Invalid),
        (HEADERS, json.dumps({"X-Key": f"{FAKE}\r\nHost: b"}), Invalid),
        (HEADERS, json.dumps({"X-Key": FAKE * 1_000}), TooLarge),
    ],
)
def test_values_that_do_not(slot, value, error):
    with pytest.raises(error):
        slots.check_value(slot, value)


@pytest.mark.parametrize(
    "one,other",
    [
        ("https://crm.test/a", "https://crm.test/b"),
        ("https://crm.test", "https://CRM.test:443/b"),
        ("https://crm.test.", "https://crm.test"),
        ("https://*.crm.test", "https://api.crm.test"),  # of before a * was refused
        ("https://a.b.crm.test", "https://*.crm.test"),
    ],
)
def test_a_second_secret_for_a_host_is_refused_by_its_name(one, other):
    both = [
        Slot(name="A", type="bearer", binding=one),
        Slot(name="B", type="headers", binding=other),
    ]

    with pytest.raises(Refused) as refused:
        slots.one_for_a_host(both, "A", ["A", "B"])

    assert refused.value.code == "secret_host_taken"
    assert refused.value.details == {"slot": "B"}
    assert "Remove B first" in refused.value.message
    slots.one_for_a_host(both, "A", ["A"])


@pytest.mark.parametrize(
    "one,other",
    [
        ("https://crm.test", "https://crm.test:8443"),
        ("https://crm.test", "https://api.crm.test"),
        ("https://*.crm.test", "https://crm.test"),
        ("https://*.crm.test", "https://evilcrm.test"),
    ],
)
def test_other_hosts_have_secrets_of_their_own(one, other):
    both = [
        Slot(name="A", type="bearer", binding=one),
        Slot(name="B", type="bearer", binding=other),
    ]

    slots.one_for_a_host(both, "A", ["A", "B"])


def test_every_part_of_a_value_is_masked():
    assert slots.texts("headers", json.dumps({"A": "one", "B": "two"})) == ("one", "two")
    assert slots.texts("file", "key\n") == ("key\n", "key")
    assert slots.texts("bearer", "token") == ("token",)


@pytest.mark.parametrize("text", ["python", "python@3", "a-b-1@12"])
def test_references_to_manifests(text):
    name, version = names.reference(text)

    assert text == (name if version is None else f"{name}@{version}")


@pytest.mark.parametrize("text", ["", "Python", "python@", "python@0", "python@1@2", "a/b"])
def test_what_is_no_reference_is_refused(text):
    with pytest.raises(Invalid):
        names.reference(text)


@pytest.mark.parametrize(
    "labels, fields",
    [
        ({"a b": "x"}, ["labels.a b"]),
        ({"a": 1}, ["labels.a"]),
        ({"a": "x,y"}, ["labels.a"]),
        ({"a": "x\ny"}, ["labels.a"]),
        ({"a": "x" * 201}, ["labels.a"]),
        ({f"k{n}": "v" for n in range(65)}, ["labels"]),
    ],
)
def test_labels_that_cannot_be_kept(labels, fields):
    with pytest.raises(Invalid) as raised:
        names.check_labels(labels)

    assert list(raised.value.fields) == fields


def test_a_filter_is_labels_with_commas_between_them():
    assert names.label_filter("") == ()
    assert names.label_filter("team=x,stage=") == (("team", "x"), ("stage", ""))
    with pytest.raises(Invalid):
        names.label_filter("team")
