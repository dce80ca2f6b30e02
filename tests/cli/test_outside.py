"""Traces from outside on the command line."""

import json
import time

import httpx

from tests.live import Live

TRACE = "ab" * 16


def send(studio: Live) -> None:
    now = time.time_ns()
    spans = [
        {"traceId": TRACE, "spanId": f"{n:016x}", "name": name, "startTimeUnixNano": str(now),
         "endTimeUnixNano": str(now + 2_500_000), "parentSpanId": parent}
        for n, name, parent in ((1, "answer", ""), (2, "look", f"{1:016x}"))
    ]  # fmt: skip
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    body = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}
    headers = {"Authorization": f"Bearer {studio.key}"}
    httpx.post(f"{studio.url}/v1/otlp/v1/traces", json=body, headers=headers).raise_for_status()


def test_traces_from_outside_are_listed_and_shown(studio: Live) -> None:
    send(studio)

    listed = studio.run("outside", "list", "--service", "shop")
    shown = studio.run("outside", "show", TRACE)
    whole = json.loads(studio.run("outside", "show", TRACE, "--json").stdout)
    none = studio.run("outside", "list", "--service", "zebra")

    assert TRACE in listed.stdout
    assert [line.split()[-3:] for line in shown.stdout.splitlines()[1:]] == [
        ["2.5", "ok", "answer"], ["2.5", "ok", "look"],
    ]  # fmt: skip
    assert len(whole["resourceSpans"][0]["scopeSpans"][0]["spans"]) == 2
    assert "Nothing came from outside" in none.stdout


def test_a_trace_that_is_not_there_is_told(studio: Live) -> None:
    done = studio.run("outside", "show", "cd" * 16)

    assert done.returncode != 0
    assert "no such trace from outside" in done.stderr


def test_a_trace_is_forgotten(studio: Live) -> None:
    send(studio)

    done = studio.run("outside", "forget", TRACE)
    gone = studio.run("outside", "show", TRACE)
    again = studio.run("outside", "forget", TRACE, "--json")

    assert (done.returncode, done.stdout.strip()) == (
        0, f"{TRACE} is forgotten, with all its spans.",
    )  # fmt: skip
    assert (gone.returncode, again.returncode) == (1, 1)
    assert "was forgotten by key:local command line at " in again.stderr


def test_the_traces_of_a_sender_are_forgotten(studio: Live) -> None:
    send(studio)
    (trace,) = json.loads(studio.run("outside", "list", "--json").stdout)
    sender = ("outside", "forget", "--sender", trace["sent_by"])

    older = studio.run(*sender, "--before", "1h")
    done = studio.run(*sender)
    none = json.loads(studio.run(*sender, "--json").stdout)

    assert older.stdout.endswith("0 traces with 0 spans, 0 bytes.\n")
    assert f"Forgotten of {trace['sent_by']}: 1 traces with 2 spans, " in done.stdout
    assert none == {"traces": 0, "spans": 0, "bytes": 0}


def test_it_must_be_plain_what_is_forgotten(studio: Live) -> None:
    send(studio)

    unclear = [
        studio.run("outside", "forget", *words)
        for words in ((), (TRACE, "--sender", "x"), (TRACE, "--before", "1h"), ("--before", "1h"))
    ]

    assert [done.returncode for done in unclear] == [1] * 4
    assert all("--before goes with --sender" in done.stderr for done in unclear)
    assert studio.run("outside", "show", TRACE).returncode == 0
