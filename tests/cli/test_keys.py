"""Application keys from the command line."""

import json

from tests.live import Live


def test_a_key_is_printed_alone_on_standard_output(studio: Live):
    done = studio.run("keys", "make", "deploy", "--role", "viewer")

    assert done.returncode == 0
    assert done.stdout.startswith("stk_")
    assert len(done.stdout.splitlines()) == 1


def test_a_made_key_opens_and_a_revoked_one_does_not(studio: Live):
    made = json.loads(studio.run("keys", "make", "opener", "--json").stdout)
    environ = {"STUDIO_API_KEY": made["key"], "STUDIO_URL": studio.url}

    before = studio.run("agents", "list", **environ)
    revoked = studio.run("keys", "revoke", made["id"])
    after = studio.run("agents", "list", **environ)

    assert (before.returncode, revoked.returncode, after.returncode) == (0, 0, 1)


def test_keys_are_listed_without_the_keys(studio: Live):
    made = json.loads(studio.run("keys", "make", "listed", "--json").stdout)

    listed = studio.run("keys", "list").stdout

    assert made["id"] in listed
    assert made["key"] not in listed


def test_a_viewers_key_may_not_make_keys(studio: Live):
    made = json.loads(studio.run("keys", "make", "small", "--role", "viewer", "--json").stdout)

    done = studio.run("keys", "make", "x", STUDIO_API_KEY=made["key"], STUDIO_URL=studio.url)

    assert done.returncode == 1
    assert "admin" in done.stderr
