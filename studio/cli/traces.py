"""Traces from the command line: how their export stands, and past turns sent once more."""

import time

from api_client.shapes import Backfill
from studio.cli.command import Command, argument
from studio.cli.context import Context
from studio.cli.moments import moment
from studio.core.rules.errors import Unavailable

PAUSE = 0.3
PATIENCE = 120.0  # seconds without any progress


def collector(context: Context) -> int:
    """Say how the export stands."""
    with context.client() as studio:
        found = studio.collector.show()
    if context.as_json:
        context.terminal.json(found)
    elif found["state"] == "off":
        context.terminal.say(
            "Spans are not exported. Set OTEL_EXPORTER_OTLP_ENDPOINT for a worker."
        )
        if found["unsent_since"]:
            context.terminal.say(f"Turns that ended after {found['unsent_since']} were not sent.")
    else:
        context.terminal.table(
            ("COLLECTOR", "STATE", "SENT", "REFUSED", "GIVEN UP", "TURNS BEHIND"),
            [(found["endpoint"], found["state"], found["sent"], found["refused"],
              found["dropped"], found["behind"])],
            none="",
        )  # fmt: skip
        if found["error"]:
            context.terminal.warn(f"The newest error, {found['error_at']}: {found['error']}")
    return 0 if found["state"] in ("off", "well") else 1


def backfill(context: Context) -> int:
    """Send past turns once more, and tell how far it is."""
    given, terminal = context.given, context.terminal
    since, until = moment(given.since, "--since"), moment(given.until, "--until")
    with context.client() as studio:
        asked = studio.collector.backfill(since=since, until=until, session=given.session)
        found, heard = studio.collector.show_backfill(asked["id"]), time.monotonic()
        terminal.note(f"{found['turns']:,} turns; it goes on when you stop this command.")
        while found["ended"] is None:
            if time.monotonic() - heard > PATIENCE:
                raise Unavailable(
                    f"Nothing moved for {PATIENCE:.0f} s, with {_counts(found)}. It goes on by "
                    "itself when the collector answers; `studio traces collector` says how it is.",
                    code="backfill.slow",
                )
            time.sleep(PAUSE)
            newer = studio.collector.show_backfill(asked["id"])
            if newer["done"] != found["done"] or newer["sent"] != found["sent"]:
                heard = time.monotonic()
                terminal.note(_counts(newer))
            found = newer
    if context.as_json:
        terminal.json(found)
    else:
        terminal.say(f"{found['state'].replace('_', ' ').capitalize()}: {_counts(found)}.")
    return 0 if found["state"] == "done" and not found["refused"] else 1


def _counts(found: Backfill) -> str:
    words = f"{found['done']:,} of {found['turns']:,} turns, {found['sent']:,} spans sent"
    words += f", {found['refused']:,} refused" if found["refused"] else ""
    return words + (f", {found['dropped']:,} given up" if found["dropped"] else "")


COMMANDS: tuple[Command, ...] = (
    Command(
        group="traces", name="collector", says="say how the export of spans stands",
        example="studio traces collector", run=collector,
    ),
    Command(
        group="traces", name="backfill", says="send past turns to the collector once more",
        example="studio traces backfill --since 3d", run=backfill,
        arguments=(
            argument("--since", default="", metavar="TIME", help="2026-11-30, or 3d, 12h ago"),
            argument("--until", default="", metavar="TIME", help="the same; without it now"),
            argument("--session", default="", metavar="ID", help="only this session's turns"),
        ),
    ),
)  # fmt: skip
