"""Secrets from the command line: the value on standard input alone."""

import json

from tests.live import Live

VALUE = "fake-token-0123456789"


def test_a_value_is_piped_in_and_never_printed(studio: Live):
    done = studio.run("secrets", "set", "PIPED", given=f"{VALUE}\n")
    listed = studio.run("secrets", "list", "--json")

    assert (done.returncode, done.stdout) == (0, "PIPED is set, version 1.\n")
    (secret,) = [s for s in json.loads(listed.stdout) if s["name"] == "PIPED"]
    assert secret["version"] == 1
    assert VALUE not in done.stdout + done.stderr + listed.stdout


def test_a_value_is_no_argument(studio: Live):
    done = studio.run("secrets", "set", "ARGUED", VALUE)

    assert done.returncode == 2


def test_what_cannot_be_masked_is_refused_in_words(studio: Live):
    done = studio.run("secrets", "set", "SHORT", given="short")

    assert done.returncode == 1
    assert "value" in done.stderr


def test_a_secret_is_sealed_anew_and_removed(studio: Live):
    studio.run("secrets", "set", "GOING", given=VALUE)

    rotated = studio.run("secrets", "rotate", "--json")
    removed = studio.run("secrets", "remove", "GOING")
    again = studio.run("secrets", "remove", "GOING")

    assert json.loads(rotated.stdout)["count"] >= 1
    assert (removed.returncode, again.returncode) == (0, 1)
    assert "no such secret" in again.stderr
