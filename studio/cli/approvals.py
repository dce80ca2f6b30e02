"""Approvals from the command line: what was shown is what is approved.

`approve` shows the exact call and needs a person's yes, or the digest that somebody has seen.
"""

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import api_client
from api_client import ABSENT
from api_client.shapes import ApprovalDetail, Decided
from studio.cli.command import Argument, Command, argument, limit
from studio.cli.context import Context
from studio.core.rules.errors import Invalid, Refused, StudioError


def index(context: Context) -> None:
    """List what waits."""
    given = context.given
    with context.client() as studio:
        found = studio.approvals.list(
            state=given.state, kind=given.kind, agent=given.agent, tool=given.tool,
            plugin=given.plugin, session=given.session, limit=min(given.limit, 200),
        )  # fmt: skip
        waits = list(itertools.islice(found, given.limit))
    if context.as_json:
        context.terminal.json(waits)
    else:
        context.terminal.table(
            ("ID", "KIND", "STATE", "TOOL", "FROM", "AGENT", "OPENED", "DEADLINE", "WHAT"),
            [
                (w["id"], w["kind"], w["choice"] or w["state"], w["tool"],
                 w["plugin"] or w["server"] or w["call"]["kind"], w["agent"], w["opened"],
                 w["deadline"] or "-", w["prompt"] or w["call"]["peek"])
                for w in waits
            ],
            none="Nothing waits for a person.",
        )  # fmt: skip


def show(context: Context) -> None:
    """Show one wait."""
    with context.client() as studio:
        detail = studio.approvals.show(context.given.id)
    if context.as_json:
        context.terminal.json(detail)
    else:
        _card(context, detail)


def approve(context: Context) -> int:
    """Show each exact call, then approve it."""
    return _each(context, _approve)


def _approve(context: Context, wait_id: str) -> None:
    given = context.given
    edited = ABSENT if given.arguments is None else _json(given.arguments)
    with context.client() as studio:
        detail = studio.approvals.show(wait_id)
        if not context.as_json:
            _card(context, detail)
        digest = _agreed(context, detail, edited)
        decided = studio.approvals.decide(wait_id, "approve", digest=digest, arguments=edited)
    _decided(context, decided)


def deny(context: Context) -> int:
    """Deny calls, with a reason the agents read."""
    return _each(context, lambda context, wait_id: _decide(context, wait_id, "deny"))


def answer(context: Context) -> None:
    """Answer a question."""
    _decide(context, context.given.id, "answer")


def settle(context: Context) -> None:
    """Say what became of an uncertain call."""
    _decide(context, context.given.id, context.given.outcome)


def _each(context: Context, decide: Callable[[Context, str], None]) -> int:
    """Decide one call after the other; a refusal is told and stops none of the rest."""
    given = context.given
    if len(given.ids) == 1:
        decide(context, given.ids[0])
        return 0
    if given.digest is not None or getattr(given, "arguments", None) is not None:
        raise Invalid("--digest and --arguments are those of one call. Name one approval.")
    code = 0
    for wait_id in dict.fromkeys(given.ids):
        try:
            decide(context, wait_id)
        except (StudioError, api_client.StudioError) as refusal:
            context.terminal.fail(f"{wait_id}: {getattr(refusal, 'message', refusal)}")
            code = 1
    return code


def _decide(context: Context, wait_id: str, choice: str) -> None:
    given = context.given
    with context.client() as studio:
        detail = studio.approvals.show(wait_id)
        digest = given.digest or detail["approval"]["digest"]
        decided = studio.approvals.decide(
            wait_id, choice, digest=digest, reason=getattr(given, "reason", ""),
            answer=_answer(given.answer, detail["schema"]) if choice == "answer" else ABSENT,
        )  # fmt: skip
    _decided(context, decided)


def _agreed(context: Context, detail: ApprovalDetail, edited: Any) -> str:
    """The digest of what was shown, once a person has said yes to it."""
    shown, digest = detail["approval"]["digest"], context.given.digest
    if digest is not None:
        if not re.fullmatch(r"[0-9a-f]{12,64}", digest):
            raise Invalid("--digest takes the digest that was shown: 12 to 64 hex characters.")
        if not shown.startswith(digest):
            raise Refused(
                "This call is not the one with that digest: it changed since it was shown. Nothing "
                f"was decided. Its digest is now {shown}."
            )
        return shown
    if not context.terminal.can_ask:
        raise Invalid(
            "Nobody is there to say yes. Look at the call with `studio approvals show`, then pass "
            "its digest with --digest, so that what was shown is what is approved."
        )
    if edited is not ABSENT:
        context.terminal.note("It would run with these arguments instead:")
        context.terminal.block(json.dumps(edited, indent=2, ensure_ascii=False))
    if context.terminal.ask("Run exactly this? Type yes: ").lower() != "yes":
        raise Refused("Not approved. Nothing was decided; the call is still held.")
    return shown


def _card(context: Context, detail: ApprovalDetail) -> None:
    wait, terminal = detail["approval"], context.terminal
    origin = [wait["call"]["kind"], wait["server"], _versioned(wait)]
    terminal.pairs(
        [
            ("approval", wait["id"]),
            ("kind", wait["kind"]),
            ("state", wait["choice"] or wait["state"]),
            ("agent", f"{wait['agent']} v{detail['agent_version']}"),
            ("session", f"{wait['session_id']} {wait['title']}"),
            ("tool", wait["tool"]),
            ("origin", " / ".join(part for part in origin if part)),
            ("question", wait["prompt"]),
            ("rule", "; ".join(detail["rules"])),
            ("opened", wait["opened"]),
            ("expires", wait["deadline"] and f"{wait['deadline']}, and is then denied"),
            ("approvals", f"{detail['approvals']} of {detail['needed']}"),
            ("digest", wait["digest"]),
            ("you may", detail["why_not"] if not detail["may_decide"] else "decide"),
        ]
    )  # fmt: skip
    if detail["readable"]:
        terminal.say("arguments")
        terminal.block(json.dumps(detail["arguments"], indent=2, ensure_ascii=False))
    else:
        terminal.say("The arguments are too large to be read, so this can only be denied.")


def _versioned(wait: Any) -> str | None:
    if wait["plugin"] is None:
        return None
    version = wait["call"]["plugin_version"]
    return f"plugin {wait['plugin']}" + (f" {version}" if version else "")


def _decided(context: Context, decided: Decided) -> None:
    if context.as_json:
        context.terminal.json(decided)
    elif decided["closed"]:
        context.terminal.say(f"Recorded: {decided['choice'].replace('_', ' ')}.")
    else:
        context.terminal.say(
            f"Recorded: {decided['approvals']} of {decided['needed']} approvals; it waits for "
            "another person."
        )


def _json(given: str) -> Any:
    """JSON from the command line, or from a file after `@`."""
    text = Path(given[1:]).read_text("utf-8") if given.startswith("@") else given
    try:
        return json.loads(text)
    except ValueError as error:
        raise Invalid(f"--arguments is not JSON: {error}.") from None


def _answer(text: str, schema: Any) -> Any:
    """An answer that fits the question: a text, or JSON where something else is asked for.

    A question for one thing (`{"answer": text}`, the usual one) may be answered by that alone.
    """
    known = schema if isinstance(schema, dict) else {}
    if known.get("type", "string") == "string":
        return text
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    asked = known.get("required")
    if known.get("type") != "object" or isinstance(value, dict) or not isinstance(asked, list):
        return value  # the studio says whether it fits
    kind = known.get("properties", {}).get(asked[0], {}).get("type") if len(asked) == 1 else None
    return {asked[0]: text if kind == "string" else value} if len(asked) == 1 else value


WAIT = argument("id", metavar="APPROVAL", help="the approval's id")
WAITS = argument("ids", metavar="APPROVAL", nargs="+", help="the approvals' ids, one or more")
DIGEST = argument("--digest", help="the digest that was shown, or its first 12 characters")
REASON = argument("--reason", default="", help="why; the agent reads it")
LIST: tuple[Argument, ...] = (
    argument("--state", choices=("open", "closed"), default="open", help="default: open"),
    argument("--kind", choices=("approval", "question", "uncertain", "timer"), help="only these"),
    argument("--agent", help="only of this agent"),
    argument("--tool", help="only of this tool"),
    argument("--plugin", help="only of this plugin"),
    argument("--session", help="only of this session"),
    limit(),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        group="approvals", name="list", says="list what waits for a person, the oldest first",
        example="studio approvals list --kind approval", run=index, arguments=LIST,
    ),
    Command(
        group="approvals", name="show", says="show exactly what would run, and why it is held",
        example="studio approvals show wai_01…", run=show, arguments=(WAIT,),
    ),
    Command(
        group="approvals", name="approve",
        says="show exactly what would run, and approve it on a typed yes or by its digest",
        example="studio approvals approve wai_01… --digest 3f1c0a9be27d", run=approve,
        arguments=(
            WAITS, DIGEST,
            argument("--arguments", metavar="JSON",
                     help="run with these arguments instead; @FILE reads a file"),
        ),
    ),
    Command(
        group="approvals", name="deny", says="deny held calls, each by itself",
        example='studio approvals deny wai_01… --reason "use the staging ledger"', run=deny,
        arguments=(WAITS, REASON, DIGEST),
    ),
    Command(
        group="approvals", name="answer", says="answer a question of an agent",
        example='studio approvals answer wai_01… "the second one"', run=answer,
        arguments=(WAIT, argument("answer", metavar="ANSWER", help="text, or JSON"), DIGEST),
    ),
    Command(
        group="approvals", name="settle", says="say what became of an uncertain call",
        example="studio approvals settle wai_01… ran", run=settle,
        arguments=(
            WAIT,
            argument("outcome", choices=("ran", "did_not_run", "send_again"),
                     help="it ran, it did not, or send it again under the same key"),
            REASON, DIGEST,
        ),
    ),
)  # fmt: skip
