"""Traces from outside on the command line: list them, read one, forget one."""

import itertools
from typing import Any

from studio.cli.command import Command, argument, limit
from studio.cli.context import Context

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
            ("ID", "STATE", "SERVICE", "AGENT", "SPANS", "ERRORS", "TOOK", "CAME"),
            [
                (t["id"], t["state"], t["service"] or "-", t["agent"] or t["name"], t["spans"],
                 t["errors"], f"{t['began']} – {t['ended']}", t["taken"])
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
    """Take one away."""
    with context.client() as studio:
        studio.outside_traces.forget(context.given.id)
    if context.as_json:
        context.terminal.json({"forgotten": context.given.id})
    else:
        context.terminal.say(f"{context.given.id} is forgotten, with all its spans.")


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
        group="outside", name="forget", says="take a trace from outside away for good (admins)",
        example="studio outside forget 4bf92f3577b34da6a3ce929d0e0e4736", run=forget,
        arguments=(argument("id", metavar="TRACE", help="the trace's id, 32 hex characters"),),
    ),
)  # fmt: skip
