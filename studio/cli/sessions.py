"""Sessions from the command line: list, show, start, send, cancel; follow a turn to its end."""

import itertools
import json
import sys

from api_client import Client
from api_client.shapes import CallRow, Event, SessionDetail
from studio.cli.command import Argument, Command, argument, limit
from studio.cli.context import Context

ENDS = ("turn.completed", "turn.failed", "turn.cancelled")
TURNS_SHOWN = 5


def index(context: Context) -> None:
    """List sessions."""
    given = context.given
    with context.client() as studio:
        found = studio.sessions.list(
            q=given.q, agent=given.agent, status=given.status, needs=given.needs,
            limit=min(given.limit, 200),
        )  # fmt: skip
        sessions = list(itertools.islice(found, given.limit))
    if context.as_json:
        context.terminal.json(sessions)
    else:
        context.terminal.table(
            ("ID", "STATUS", "AGENT", "TURNS", "HELD", "LAST", "OWNER", "TITLE"),
            [
                (s["id"], s["status"], f"{s['agent']} v{s['agent_version']}", s["turns"],
                 s["held"] + s["questions"] + s["uncertain"], s["last"], s["owner"], s["title"])
                for s in sessions
            ],
            none="No sessions. Start one with `studio sessions start <agent>`.",
        )  # fmt: skip


def show(context: Context) -> None:
    """Show one session."""
    with context.client() as studio:
        detail = studio.sessions.show(context.given.id)
        calls = studio.sessions.calls(context.given.id)["items"]
    if context.as_json:
        context.terminal.json({**detail, "calls": calls})
        return
    _show(context, detail)
    if calls:
        context.terminal.say("")
        context.terminal.table(
            ("CALL", "STATE", "TOOL", "FROM", "ARGUMENTS"),
            [(c["id"], c["state"], c["tool"], _origin(c), c["peek"]) for c in calls],
            none="",
        )  # fmt: skip


def start(context: Context) -> None:
    """Start a session."""
    given = context.given
    with context.client() as studio:
        started = studio.sessions.start(
            given.agent, title=given.title, private=given.private, environment=given.environment,
            message=None if given.message is None else _text(given.message),
        )  # fmt: skip
        if given.follow and started["turn_id"] is not None:
            _follow(context, studio, started["session_id"], started["turn_id"], after=0)
        elif context.as_json:
            context.terminal.json(started)
        else:
            context.terminal.say(started["session_id"])


def send(context: Context) -> None:
    """Send a message."""
    given, text = context.given, _text(context.given.text)
    with context.client() as studio:
        after = studio.sessions.show(given.id)["seq"] if given.follow else 0
        if given.deny is None:
            sent = studio.sessions.send(given.id, text)
        else:
            sent = studio.sessions.deny_and_send(given.id, text, reason=given.deny)
        if given.follow:
            _follow(context, studio, given.id, sent["turn_id"], after=after)
        elif context.as_json:
            context.terminal.json(sent)
        else:
            context.terminal.say(sent["turn_id"])


def preview(context: Context) -> None:
    """Say what a message would send to the model."""
    with context.client() as studio:
        found = studio.sessions.preview(context.given.id, _text(context.given.text))
    if context.as_json:
        context.terminal.json(found)
        return
    unknown = "unknown until a worker has listed the agent's tools"
    context.terminal.pairs(
        [
            ("digest", found["digest"] or unknown),
            ("model", f"{found['provider']} {found['model']}"),
            ("instructions", f"{len(found['instructions']):,} characters"),
            ("messages", str(len(found["messages"]))),
            ("tools", ", ".join(str(tool["name"]) for tool in found["tools"]) or "none"),
        ]
    )


def cancel(context: Context) -> None:
    """Stop the turn in hand."""
    with context.client() as studio:
        stopped = studio.sessions.cancel(context.given.id, reason=context.given.reason)
    if context.as_json:
        context.terminal.json(stopped)
        return
    context.terminal.say("Stopped.")
    if stopped["ran"]:
        context.terminal.say(f"These calls had run: {', '.join(stopped['ran'])}")
    if stopped["unknown"]:
        context.terminal.say(f"These were out, outcome unknown: {', '.join(stopped['unknown'])}")


def _cost(dollars: float, *, known: bool) -> str:
    """What it cost; a part that nobody told is said."""
    if not known and not dollars:
        return "cost unknown"
    return f"{'' if known else 'at least '}${dollars:.4f}"


def _show(context: Context, detail: SessionDetail) -> None:
    session, turn = detail["session"], detail["turn"]
    newest = f" (newest: v{detail['agent_latest']})"
    behind = newest if detail["agent_latest"] > session["agent_version"] else ""
    cost = _cost(session["cost"], known=session["cost_known"])
    context.terminal.pairs(
        [
            ("session", session["id"]),
            ("title", session["title"]),
            ("agent", f"{session['agent']} v{session['agent_version']}{behind}"),
            ("status", session["status"]),
            ("waits", f"{session['held']} held, {session['questions']} questions, "
                      f"{session['uncertain']} uncertain"),
            ("owner", session["owner"] + (" (private)" if session["private"] else "")),
            ("started", session["started"]),
            ("tokens", f"{session['input_tokens']:,} in, {session['output_tokens']:,} out, {cost}"),
            ("reason", turn["message"] if turn else ""),
        ]
    )  # fmt: skip
    if detail["turns"]:
        context.terminal.say("")
        context.terminal.table(
            ("TURN", "STATUS", "OPENED", "BY", "MESSAGE"),
            [(t["number"], t["status"], t["opened"], t["by"], t["excerpt"])
             for t in reversed(detail["turns"][:TURNS_SHOWN])],
            none="",
        )  # fmt: skip


def _follow(context: Context, studio: Client, session_id: str, turn_id: str, *, after: int) -> None:
    """Show facts as they come, until the turn ends."""
    if not context.as_json:
        context.terminal.say(f"session {session_id}")
    for event in studio.sessions.follow(session_id, after=after):
        _say(context, event)
        if event["type"] in ENDS and event["turn_id"] == turn_id:
            return


def _say(context: Context, event: Event) -> None:
    if context.as_json:
        context.terminal.line(event)
    else:
        words = json.dumps(event["payload"], ensure_ascii=False)
        context.terminal.row((event["time"][11:19], event["type"].ljust(18), words))


def _origin(call: CallRow) -> str:
    return " / ".join(part for part in (call["plugin"], call["server"]) if part) or call["kind"]


def _text(given: str) -> str:
    """The text, or what standard input holds for `-`."""
    return sys.stdin.read() if given == "-" else given


SESSION = argument("id", metavar="SESSION", help="the session's id")
FOLLOW: tuple[Argument, ...] = (
    argument("--follow", action="store_true", help="show every fact until the turn ends"),
)
LIST: tuple[Argument, ...] = (
    argument("--q", help="text to look for"),
    argument("--agent", help="only of this agent"),
    argument("--status", help="only with this status (running, held, failed…)"),
    argument("--needs", choices=("held", "questions", "uncertain", "any"),
             help="only those that wait for a person"),
    limit(),
)  # fmt: skip

COMMANDS: tuple[Command, ...] = (
    Command(
        group="sessions", name="list", says="list sessions, the one started last first",
        example="studio sessions list --needs any", run=index, arguments=LIST,
    ),
    Command(
        group="sessions", name="show", says="show a session, its turns and its calls",
        example="studio sessions show ses_01…", run=show, arguments=(SESSION,),
    ),
    Command(
        group="sessions", name="start", says="start a session of an agent",
        example='studio sessions start release-assistant --message "Publish 1.2" --follow',
        run=start,
        arguments=(
            argument("agent", metavar="AGENT", help="the agent's name"),
            argument("--message", help="the first message; - reads standard input"),
            argument("--title", default="", help="what the session is called"),
            argument("--private", action="store_true", help="only you and admins may see it"),
            argument("--environment", metavar="ENVIRONMENT", help="its name or id"),
            *FOLLOW,
        ),
    ),
    Command(
        group="sessions", name="send", says="send a message to a session",
        example='studio sessions send ses_01… "Now the notes" --follow', run=send,
        arguments=(
            SESSION,
            argument("text", metavar="TEXT", help="the message; - reads standard input"),
            argument("--deny", metavar="REASON",
                     help="deny what is held and stop the turn first, all or nothing"),
            *FOLLOW,
        ),
    ),
    Command(
        group="sessions", name="preview",
        says="say what a message would send to the model; nothing is recorded",
        example='studio sessions preview ses_01… "Now the notes" --json', run=preview,
        arguments=(
            SESSION, argument("text", metavar="TEXT", help="the message; - reads standard input"),
        ),
    ),
    Command(
        group="sessions", name="cancel", says="stop the turn in hand",
        example='studio sessions cancel ses_01… --reason "wrong release"', run=cancel,
        arguments=(SESSION, argument("--reason", default="", help="why")),
    ),
)  # fmt: skip
