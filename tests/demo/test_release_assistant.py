"""The demo's messages, played with the real plugin: what is said is what happened."""

import json
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from studio.core import schemas
from studio.core.providers.provider import Message, ProposedCall, Reply, Request
from studio.core.providers.scripted import Scripted
from studio.core.rules import agent, policy
from studio.core.tools.catalog import LiveCatalog
from studio.core.tools.plugins import Plugins
from studio.core.tools.tool import Kit, Offered, ToolError
from tests.standins.receiver import Receiver, receiver

DEMO = Path(__file__).parents[2] / "studio" / "demo"
MESSAGES = json.loads((DEMO / "messages.json").read_text())
RULES = json.loads((DEMO / "policy.json").read_text())
EDITED = "[A person changed the arguments before this ran. It ran with: {}]\n"
pytestmark = pytest.mark.slow
shared = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def notices(tmp_path_factory) -> Iterator[Receiver]:
    with receiver(tmp_path_factory.mktemp("notices")) as found:
        yield found


@pytest.fixture(scope="module")
def manifest(notices) -> dict[str, Any]:
    return json.loads((DEMO / "agent.json").read_text().replace("${demo}", notices.url))


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def offered(notices, manifest, data) -> AsyncIterator[Offered]:
    place = notices.url.removeprefix("http://")
    catalog = LiveCatalog(
        Plugins([DEMO / "plugin"]), {"DEMO_TOKEN": "token-1"}, frozenset({place}), data
    )
    found = await catalog.offered(manifest)
    assert found.gaps == ()
    yield found
    await catalog.close()


def applied(data: Path) -> list[str]:
    """Every effect that the plugin's server counted."""
    if not (data / "demo" / "ledger.db").exists():
        return []
    with sqlite3.connect(data / "demo" / "ledger.db") as conn:
        return [tool for (tool,) in conn.execute("SELECT tool FROM applied ORDER BY id")]


class Play:
    """One turn: the model proposes, the policy speaks, `decide` decides, the tools run."""

    def __init__(self, manifest: dict[str, Any], offered: Offered) -> None:
        self._manifest, self._offered = manifest, offered
        self._rules = policy.Policy(version=1, rules=policy.parse(RULES)[0])
        self.said = list[str]()
        self.proposed = list[tuple[str, str]]()

    async def turn(self, text: str, decide: Any = "approve") -> str:
        """What the agent says last."""
        talk = [Message(role="user", text=text)]
        for _ in range(10):
            reply = await self._reply(talk)
            self.said.append(reply.text)
            if not reply.calls:
                return reply.text
            talk.append(Message(role="assistant", text=reply.text, calls=reply.calls))
            talk += [await self._result(call, decide) for call in reply.calls]
        raise AssertionError("the turn does not end")

    async def _reply(self, talk: list[Message]) -> Reply:
        model = self._manifest["model"]
        script = [
            {**entry, "steps": [{**step, "slow": 0} for step in entry["steps"]]}
            for entry in model["script"]
        ]
        request = Request(
            model="scripted", instructions="", messages=tuple(talk),
            options={**model, "script": script},
        )  # fmt: skip
        *_, last = [item async for item in Scripted().stream(request)]
        assert isinstance(last, Reply)
        return last

    async def _result(self, call: ProposedCall, decide: Any) -> Message:
        spec = self._offered.tools[call.name].spec
        assert call.broken is None
        assert schemas.errors(spec.schema, call.arguments) == {}
        verdict = policy.ruling(self._rules, self._subject(spec, call.arguments)).verdict
        self.proposed.append((call.name, verdict))
        text, failed = await self._outcome(call, verdict, decide)
        return Message(role="tool", text=text, call_id=call.id, name=call.name, failed=failed)

    async def _outcome(self, call: ProposedCall, verdict: str, decide: Any) -> tuple[str, bool]:
        arguments, note = call.arguments, ""
        if call.name == "ask_person":
            return json.dumps({"channel": "staging", "percent": 10}), False
        elif verdict == "deny":
            return "Denied by the policy; it did not run. Nothing that deletes runs here.", True
        elif verdict == "ask" and decide == "deny":
            return "Denied by a person; it did not run. Not on a Friday.", True
        elif verdict == "ask" and isinstance(decide, dict):
            arguments = {**arguments, **decide}
            note = EDITED.format(json.dumps(arguments))
        kit = Kit(
            key=f"{call.id:0<64}"[:64], deadline=time.monotonic() + 30, session_id="s",
            effect_id="e",
        )  # fmt: skip
        try:
            result = await self._offered.tools[call.name].call(arguments, kit)
        except ToolError as error:
            return f"Failed ({error.code}): {error.message}", True
        return note + (result.text or json.dumps(result.value)), False

    def _subject(self, spec: Any, arguments: Any) -> policy.Subject:
        origin = spec.origin
        return policy.Subject(
            tool=spec.name, server=origin.server, plugin=origin.plugin, kind=origin.kind,
            agent="release-assistant", labels=(), read_only=spec.read_only, arguments=arguments,
        )  # fmt: skip


@pytest.fixture
def play(manifest, offered) -> Play:
    return Play(manifest, offered)


def text_of(title: str) -> str:
    return next(item["text"] for item in MESSAGES if item["title"] == title)


def test_the_manifest_is_one(manifest):
    parsed = agent.parse(manifest, schema_problem=lambda schema: schemas.problem(schema))

    assert parsed.name == "release-assistant"
    assert parsed.warnings == ()


def test_the_policy_is_one():
    rules, doubts = policy.parse(RULES)

    assert len(rules) == len(RULES)
    assert doubts == ()


def test_the_rule_that_a_message_names_is_the_one_that_denies():
    (named,) = re.findall(r"Rule (\d+) denies", json.dumps(MESSAGES))

    assert RULES[int(named) - 1]["tool"] == "delete_*"


def test_the_plugin_is_one():
    plugins = Plugins([DEMO / "plugin"])

    assert plugins.problems == {}
    assert [skill.name for skill in plugins.all()[0].described.skills] == ["release-notes"]


WITHOUT_A_DISK = [message for message in MESSAGES if "environment" not in message]


@pytest.mark.parametrize("message", WITHOUT_A_DISK, ids=lambda message: message["title"])
@shared
async def test_every_message_leads_to_an_end(play, message):
    last = await play.turn(message["text"])

    assert last
    assert "(nothing)" not in " ".join(play.said)
    assert "I am the scripted model" not in last


@shared
async def test_an_approved_release_is_published_and_told_of_once(play, data, notices):
    before, told = applied(data), len(notices.lines())

    last = await play.turn(text_of("Publish, and approve it"))

    assert last == "Done: 4.2.0 is on staging and the team was told."
    assert play.proposed == [
        ("read_changelog", "allow"),
        ("run_checks", "allow"),
        ("publish_release", "ask"),
        ("notify_team", "ask"),
    ]
    assert len(notices.lines()) == told + 1
    assert notices.lines()[-1]["headers"]["x-demo-token"] == "token-1"
    assert set(applied(data)) - set(before) <= {"publish_release"}


@shared
async def test_a_denied_release_is_not_published(play, data):
    before = applied(data)

    last = await play.turn(text_of("Publish, and approve it"), "deny")

    assert last == "Understood, 4.2.0 was not published. You said: Not on a Friday."
    assert applied(data) == before


@shared
async def test_an_edited_release_runs_as_it_was_edited(play):
    last = await play.turn(
        text_of("Edit before it runs"), {"rollout": {"percent": 10, "canary": True}}
    )

    assert last.startswith("Published as you changed it:")
    assert '"percent": 10' in last


@shared
async def test_nothing_is_deleted(play, data):
    before = applied(data)

    last = await play.turn(text_of("A call the policy denies"))

    assert last == "I may not do that here: Nothing that deletes runs here."
    assert applied(data) == before


@shared
async def test_a_failure_is_told(play):
    last = await play.turn(text_of("A call that fails"))

    assert last.startswith("The upload failed:")
    assert last.endswith(
        "refused the upload of 4.2.0: 503 Service Unavailable. I did not try again."
    )


@shared
async def test_the_same_key_is_applied_once(offered, data):
    kit = Kit(key="f" * 64, deadline=time.monotonic() + 30, session_id="s", effect_id="e")
    arguments = {"version": "9.9.9", "channel": "staging", "notes": "x"}

    answers = [await offered.tools["publish_release"].call(arguments, kit) for _ in range(3)]

    with sqlite3.connect(data / "demo" / "ledger.db") as conn:
        counted = conn.execute("SELECT count(*) FROM applied WHERE key = ?", ("f" * 64,)).fetchone()
    assert counted == (1,)
    assert answers[0] == answers[1] == answers[2]


@shared
async def test_what_the_tools_claim_is_what_they_are(offered):
    claims = {
        name: (tool.spec.read_only, tool.spec.repeatable) for name, tool in offered.tools.items()
    }

    assert claims["read_changelog"] == (True, False)
    assert claims["publish_release"] == (False, True)
    assert claims["withdraw_release"] == (False, False)
    assert claims["notify_team"] == (False, True)


@shared
async def test_checks_tell_how_far_they_are(offered):
    seen = list[float]()
    kit = Kit(
        key="c" * 64, deadline=time.monotonic() + 30, session_id="s", effect_id="e",
        progress=lambda done, total, words: seen.append(done),
    )  # fmt: skip

    await offered.tools["run_checks"].call({"version": "4.2.0"}, kit)

    assert sorted(seen) == [0.0, 1.0, 2.0, 3.0]
