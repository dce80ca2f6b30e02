"""Approvals from the command line: what was shown is what is approved."""

import json
import os
import pty
import subprocess
import sys

import pytest

from api_client.shapes import Approval
from tests.cli.conftest import hold
from tests.live import ROOT, Live, plain_environ


def state(studio: Live, wait: Approval) -> tuple[str, str | None]:
    with studio.client() as client:
        found = client.approvals.show(wait["id"])["approval"]
    return found["state"], found["choice"]


def test_what_waits_is_listed(studio: Live, held: Approval):
    done = studio.run("approvals", "list", "--session", held["session_id"])

    assert held["id"] in done.stdout
    assert '{"text": "hello"}' in done.stdout


def test_nothing_that_waits_is_a_sentence(studio: Live):
    assert studio.run("approvals", "list", "--tool", "none").stdout == (
        "Nothing waits for a person.\n"
    )


def test_a_wait_shows_exactly_what_would_run(studio: Live, held: Approval):
    shown = studio.run("approvals", "show", held["id"]).stdout

    for part in (held["digest"], "notify", "http", '"text": "hello"', "rule"):
        assert part in shown


def test_what_hides_is_made_visible(studio: Live):
    wait = hold(studio, 'call notify {"text": "safe\\u202e\\u001b[31mevil"}')

    shown = studio.run("approvals", "show", wait["id"]).stdout

    assert "\u202e" not in shown
    assert "\\u202e" in shown
    assert "\x1b" not in shown


def test_nobody_there_and_no_digest_approves_nothing(studio: Live, held: Approval):
    done = studio.run("approvals", "approve", held["id"], given="yes\n")

    assert done.returncode == 1
    assert "--digest" in done.stderr
    assert state(studio, held) == ("open", None)


def test_another_digest_approves_nothing(studio: Live, held: Approval):
    done = studio.run("approvals", "approve", held["id"], "--digest", "0" * 64)

    assert done.returncode == 1
    assert held["digest"] in done.stderr
    assert state(studio, held) == ("open", None)


@pytest.mark.parametrize("length", [12, 64])
def test_the_digest_that_was_shown_approves(studio: Live, held: Approval, length: int):
    done = studio.run("approvals", "approve", held["id"], "--digest", held["digest"][:length])

    assert done.returncode == 0
    assert done.stdout.endswith("Recorded: approve.\n")
    assert state(studio, held) == ("closed", "approve")


@pytest.mark.parametrize("digest", ["0" * 11, "xyz" * 10, ""])
def test_a_digest_too_short_to_mean_anything_is_refused(studio: Live, held: Approval, digest: str):
    done = studio.run("approvals", "approve", held["id"], "--digest", digest)

    assert done.returncode == 1
    assert state(studio, held) == ("open", None)


@pytest.mark.parametrize(
    "typed, code, after", [("yes\n", 0, ("closed", "approve")), ("y\n", 1, ("open", None))]
)
def test_a_person_at_a_terminal_must_type_yes(studio: Live, held: Approval, typed, code, after):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "studio", "approvals", "approve", held["id"]]
    os.write(ours, typed.encode())
    done = subprocess.run(
        command, stdin=theirs, capture_output=True, text=True, cwd=ROOT, timeout=60,
        env=plain_environ(**studio.environ), check=False,
    )  # fmt: skip
    os.close(ours)
    os.close(theirs)

    assert done.returncode == code
    assert held["digest"] in done.stdout
    assert state(studio, held) == after


def test_edited_arguments_are_approved(studio: Live, held: Approval):
    done = studio.run(
        "approvals", "approve", held["id"], "--digest", held["digest"],
        "--arguments", '{"text": "other"}', "--json",
    )  # fmt: skip

    assert json.loads(done.stdout)["closed"] is True
    with studio.client() as client:
        assert client.approvals.show(held["id"])["arguments"] == {"text": "other"}


def test_a_call_is_denied_with_a_reason(studio: Live, held: Approval):
    done = studio.run("approvals", "deny", held["id"], "--reason", "not today")

    assert done.returncode == 0
    assert state(studio, held) == ("closed", "deny")


def test_several_calls_are_denied_and_a_refusal_stops_none_of_the_rest(
    studio: Live, held: Approval
):
    done = studio.run("approvals", "deny", "wai_nothing", held["id"], "--reason", "not today")

    assert done.returncode == 1
    assert "wai_nothing: " in done.stderr
    assert state(studio, held) == ("closed", "deny")


def test_several_calls_have_no_digest_in_common(studio: Live, held: Approval):
    done = studio.run("approvals", "approve", held["id"], "wai_other", "--digest", held["digest"])

    assert done.returncode == 1
    assert "Name one approval" in done.stderr
    assert state(studio, held)[0] == "open"


def test_the_second_decision_is_told_who_was_first(studio: Live, held: Approval):
    studio.run("approvals", "deny", held["id"])

    done = studio.run("approvals", "deny", held["id"])

    assert done.returncode == 1
    assert "Already denied by key:local command line" in done.stderr


def test_a_question_is_answered_by_a_text(studio: Live):
    wait = hold(studio, 'call ask_person {"prompt": "Which one?"}')

    done = studio.run("approvals", "answer", wait["id"], "the second")

    assert done.returncode == 0
    assert "Which one?" in studio.run("approvals", "show", wait["id"]).stdout
    assert state(studio, wait) == ("closed", "answer")
