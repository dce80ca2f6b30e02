"""Sessions from the command line."""

import json

from api_client.shapes import Approval
from tests.live import Live


def test_a_session_is_started_and_followed_to_its_end(studio: Live):
    done = studio.run("sessions", "start", "helper", "--message", "say hi", "--follow", "--json")

    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert events[0]["type"] == "session.started"
    assert events[-1]["type"] == "turn.completed"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def test_a_message_may_come_from_standard_input(studio: Live):
    session_id = studio.run("sessions", "start", "helper").stdout.strip()

    done = studio.run("sessions", "send", session_id, "-", "--follow", given="say hello there")

    assert done.returncode == 0
    assert "hello there" in done.stdout
    assert "turn.completed" in done.stdout


def test_a_session_is_shown_with_its_calls(studio: Live, held: Approval):
    done = studio.run("sessions", "show", held["session_id"])

    assert "held" in done.stdout
    assert "notify" in done.stdout
    assert '{"text": "hello"}' in done.stdout


def test_sessions_that_wait_are_listed(studio: Live, held: Approval):
    found = json.loads(studio.run("sessions", "list", "--needs", "held", "--json").stdout)

    assert held["session_id"] in [session["id"] for session in found]


def test_a_limit_is_kept_to(studio: Live, held: Approval):
    assert len(json.loads(studio.run("sessions", "list", "--limit", "1", "--json").stdout)) == 1


def test_a_turn_is_stopped(studio: Live, held: Approval):
    done = studio.run("sessions", "cancel", held["session_id"], "--reason", "wrong one")

    assert (done.returncode, done.stdout) == (0, "Stopped.\n")


def test_a_message_while_a_call_is_held_is_refused_and_may_deny_it(studio: Live, held: Approval):
    refused = studio.run("sessions", "send", held["session_id"], "say ok")
    done = studio.run("sessions", "send", held["session_id"], "say ok", "--deny", "not now")

    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
    assert done.returncode == 0


def test_an_unknown_session_is_one_paragraph(studio: Live):
    done = studio.run("sessions", "show", "ses_none")

    assert done.returncode == 1
    assert done.stderr.startswith("studio: ")
    assert len(done.stderr.splitlines()) == 1
