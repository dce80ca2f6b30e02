"""Traces from outside on the command line: list them, read one, forget one or a sender's."""

import itertools
from typing import Any

from studio.cli.command import Command, argument, limit
from studio.cli.context import Context
from studio.cli.moments import moment
from studio.core.rules.errors import Invalid

MS = 1_000_000  # ns


def index(context: Context) -> None:
    """List traces from outside."""
    given = context.given
    with context.client() as studio:
        found = studio.outside_traces.list(
            service=given.service, agent=given.agent, state=given.state, limit=min(given.limit, 200)
        )
        traces = list(itertools.islice(found, given.limit))
    if context.as_json:
        context.terminal.json(traces)
    else:
        context.terminal.table(
            ("ID", "STATE", "SERVICE", "AGENT", "SPANS", "ERRORS", "TOOK", "CAME", "SENT BY"),
            [
                (t["id"], t["state"], t["service"] or "-", t["agent"] or t["name"], t["spans"],
                 t["errors"], f"{t['began']} – {t['ended']}", t["taken"], t["sent_by"])
                for t in traces
            ],
            none="Nothing came from outside. Point an OpenTelemetry exporter at /v1/otlp.",
        )  # fmt: skip


def show(context: Context) -> None:
    """Show one trace from outside: its spans by their beginning, or with --json all of it."""
    with context.client() as studio:
        document = studio.outside_traces.spans(context.given.id)
    if context.as_json:
        context.terminal.json(document)
        return
    spans: list[dict[str, Any]] = [
        span
        for group in document["resourceSpans"]
        for scope in group["scopeSpans"]
        for span in scope["spans"]
    ]
    spans.sort(key=lambda span: int(span["startTimeUnixNano"]))
    context.terminal.table(
        ("SPAN", "PARENT", "MS", "STATE", "NAME"),
        [
            (s["spanId"], s.get("parentSpanId", "-"), _took(s),
             "failed" if s.get("status") else "ok", s["name"])
            for s in spans
        ],
        none="It has no spans.",
    )  # fmt: skip


def forget(context: Context) -> None:
    """Take one away, or those of a sender."""
    given = context.given
    if bool(given.id) == bool(given.sender) or (given.before and not given.sender):
        words = "Name one trace, or with --sender whose traces; --before goes with --sender."
        raise Invalid(words, code="outside.unclear", fields={"TRACE": words})
    if given.sender:
        _forget_sender(context)
        return
    with context.client() as studio:
        studio.outside_traces.forget(given.id)
    if context.as_json:
        context.terminal.json({"forgotten": given.id})
    else:
        context.terminal.say(f"{given.id} is forgotten, with all its spans.")


def _forget_sender(context: Context) -> None:
    given = context.given
    before = moment(given.before, "--before")
    with context.client() as studio:
        done = studio.outside_traces.forget_sender(given.sender, before=before)
    if context.as_json:
        context.terminal.json(done)
    else:
        context.terminal.say(
            f"Forgotten of {given.sender}: {done['traces']:,} traces with {done['spans']:,} spans, "
            f"{done['bytes']:,} bytes."
        )


def _took(span: dict[str, Any]) -> str:
    end = int(span["endTimeUnixNano"])
    return f"{max(end - int(span['startTimeUnixNano']), 0) / MS:,.1f}" if end else "open"


COMMANDS: tuple[Command, ...] = (
    Command(
        group="outside", name="list", says="list traces from outside, the one that came last first",
        example="studio outside list --service shop", run=index,
        arguments=(
            argument("--service", default="", help="only of this service"),
            argument("--agent", default="", help="only of this agent"),
            argument("--state", default="", choices=("", "completed", "failed", "incomplete"),
                     help="only in this state"),
            limit(),
        ),
    ),
    Command(
        group="outside", name="show", says="show the spans of a trace from outside",
        example="studio outside show 4bf92f3577b34da6a3ce929d0e0e4736 --json", run=show,
        arguments=(argument("id", metavar="TRACE", help="the trace's id, 32 hex characters"),),
    ),
    Command(
        group="outside", name="forget",
        says="take a trace from outside, or those of a sender, away for good (admins)",
        example="studio outside forget --sender application:weather-bot --before 7d", run=forget,
        arguments=(
            argument("id", metavar="TRACE", nargs="?", default="",
                     help="the trace's id, 32 hex characters"),
            argument("--sender", default="", help="all that this sender began, as SENT BY says"),
            argument("--before", default="", metavar="TIME",
                     help="of these the ones without a new span since: 2026-11-30, or 3d, 12h ago"),
        ),
    ),
)  # fmt: skip
