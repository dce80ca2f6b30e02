"""A sealed value opens in its own place, under its own key, and nowhere else."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from studio.core.rules.errors import Invalid
from studio.core.sealing import CannotOpen, KeyFile, Place

PLACE = Place(owner="studio", name="TOKEN", version=3)
VALUE = b"an obvious fake token"


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys" / "secrets.key")


def test_what_was_sealed_opens(file: KeyFile):
    ring = file.make()

    sealed = ring.seal(PLACE, VALUE)

    assert ring.open(PLACE, sealed) == VALUE
    assert VALUE not in sealed.value + sealed.wrapped


def test_the_same_value_is_sealed_differently_each_time(file: KeyFile):
    ring = file.make()

    assert ring.seal(PLACE, VALUE) != ring.seal(PLACE, VALUE)


@pytest.mark.parametrize(
    "moved", [{"owner": "env_1"}, {"name": "OTHER"}, {"version": 2}, {"version": 4}]
)
def test_a_value_that_was_moved_does_not_open(file: KeyFile, moved):
    ring = file.make()
    sealed = ring.seal(PLACE, VALUE)

    with pytest.raises(CannotOpen):
        ring.open(replace(PLACE, **moved), sealed)


@pytest.mark.parametrize("part", ["wrapped", "value"])
@pytest.mark.parametrize("at", [0, 12, -1])
def test_a_value_that_was_changed_does_not_open(file: KeyFile, part, at):
    ring = file.make()
    sealed = ring.seal(PLACE, VALUE)
    data = bytearray(getattr(sealed, part))
    data[at] ^= 1

    with pytest.raises(CannotOpen):
        ring.open(PLACE, replace(sealed, **{part: bytes(data)}))


def test_the_wrapping_of_another_value_does_not_fit(file: KeyFile):
    ring = file.make()
    sealed, other = ring.seal(PLACE, VALUE), ring.seal(PLACE, b"another one")

    with pytest.raises(CannotOpen):
        ring.open(PLACE, replace(sealed, wrapped=other.wrapped))


def test_another_key_opens_nothing_and_is_named(file: KeyFile, tmp_path):
    sealed = file.make().seal(PLACE, VALUE)
    other = KeyFile(tmp_path / "other.key").make()

    with pytest.raises(CannotOpen, match=f"key {sealed.key} is missing in .*other.key"):
        other.open(PLACE, sealed)


def test_the_key_file_is_its_owners_alone_and_made_once(file: KeyFile):
    first = file.make()

    assert os.stat(file.path).st_mode & 0o777 == 0o600
    assert KeyFile(file.path).make().keys == first.keys
    assert os.listdir(file.path.parent) == ["secrets.key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o611])
def test_a_key_file_that_others_can_read_is_refused(file: KeyFile, mode):
    file.make()
    file.path.chmod(mode)

    with pytest.raises(Invalid, match="chmod 600"):
        file.ring()


@pytest.mark.parametrize("text", ["", "short\n", "g" * 64 + "\n", "a" * 64 + "\nb\n", "\xff\n"])
def test_a_file_that_is_no_key_file_is_refused(file: KeyFile, text):
    file.make()
    file.path.write_text(text, "latin-1")

    with pytest.raises(Invalid, match="not a key file"):
        file.ring()


def test_no_file_is_no_keys(file: KeyFile):
    assert file.ring() is None


def test_a_new_key_seals_and_the_old_one_still_opens(file: KeyFile):
    before = file.make()
    sealed = before.seal(PLACE, VALUE)

    after = file.turn()

    assert after.first != before.first
    assert after.open(PLACE, sealed) == VALUE
    assert os.stat(file.path).st_mode & 0o777 == 0o600


def test_sealed_anew_the_value_is_not_touched_and_needs_the_old_key_no_more(file: KeyFile):
    sealed = file.make().seal(PLACE, VALUE)
    turned = file.turn()

    again = turned.again(PLACE, sealed)
    file.path.write_text(file.path.read_text().splitlines()[0] + "\n")
    alone = KeyFile(file.path).ring()

    assert (again.value, again.key) == (sealed.value, turned.first)
    assert alone is not None
    assert alone.open(PLACE, again) == VALUE


def test_a_file_that_another_process_turned_is_read_again(file: KeyFile):
    first = file.make()

    KeyFile(file.path).turn()

    ring = file.ring()
    assert ring is not None
    assert ring.first != first.first
