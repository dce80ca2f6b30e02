"""The page of servers, and the look at what one would bring."""

from itertools import pairwise
from typing import Any

from studio.core.rules import events as e
from studio.core.rules import servers as rule
from studio.core.store import probes
from studio.core.store import servers as kept
from studio.core.store.servers import ServerState
from studio.web.server_topic import ServersTopic
from tests.web.conftest import Studio, Visitor

STDIO = {"name": "notes", "transport": "stdio", "command": ["notes-server", "--root", "/x"]}
HTTP = {"name": "crm", "transport": "http", "url": "https://crm.example/mcp"}


async def save(studio: Studio, ada: Visitor, *servers: dict[str, Any]) -> None:
    agent = await studio.reader.agent(ada.person, "helper")
    await studio.runtime.save_agent(ada.person, {**agent.manifest, "servers": [*servers]})


def state(entry: dict[str, Any], **more: Any) -> ServerState:
    told = {"name": entry["name"], "transport": entry["transport"], "state": "up", "asked": 1_000,
            "changed": 1_000, "destination": rule.destination(entry)}  # fmt: skip
    return ServerState(id=rule.identity(entry), **{**told, **more})


async def test_every_server_is_listed_with_how_it_is(studio: Studio, ada: Visitor) -> None:
    await save(studio, ada, STDIO, HTTP)
    up = state(STDIO, tools=("read_note",), latency=12, listed=1_000)
    gone = state({**HTTP, "url": "https://old.example/"}, state="down", error="gone")
    await studio.db.touch(lambda conn: kept.save(conn, [up, gone], 2_000))

    page = (await ada.open("/servers")).one(id="servers").text

    assert "notes-server --root /x" in page
    assert "up" in page
    assert "read_note" in page
    assert "12 ms" in page
    assert "never asked" in page
    assert "helper" in page
    assert "old.example" not in page  # no newest agent names it any more


async def test_a_server_that_is_down_says_why(studio: Studio, charlie: Visitor, ada: Visitor):
    await save(studio, ada, HTTP)
    down = state(HTTP, state="down", error="crm: it could not be started (no answer in time).")
    await studio.db.touch(lambda conn: kept.save(conn, [down], 2_000))

    page = await charlie.open("/servers")

    assert "no answer in time" in page.text
    assert "What would a server bring?" not in page.text


async def test_what_a_server_said_is_shown_to_admins_only(
    studio: Studio, charlie: Visitor, ada: Visitor
) -> None:
    await save(studio, ada, STDIO, HTTP)
    up = state(STDIO, said="It said: “private words”")
    given = "crm: it ended. The reason given: “private header”"
    down = state(HTTP, state="down", error=f"{given} It said: “private cause”")
    await studio.db.touch(lambda conn: kept.save(conn, [up, down], 2_000))

    seen, whole = [(await who.open("/servers")).text for who in (charlie, ada)]

    assert "crm: it ended." in seen
    assert "private" not in seen
    assert "private words" in whole
    assert "private header" in whole
    assert "private cause" in whole


async def test_open_pages_look_again_when_anything_shown_differs(
    studio: Studio, ada: Visitor
) -> None:
    await save(studio, ada, STDIO)
    topic = ServersTopic(studio.reader, "")
    signs = list[object]()
    for more in ({}, {"said": "Hello."}, {"latency": 7}, {"asked": 5_000}):
        await studio.db.touch(
            lambda conn, more=more: kept.save(conn, [state(STDIO, **more)], 2_000)
        )
        signs.append(await topic._sign())
    await studio.runtime.save_policy(ada.person, [{"effect": "ask", "tool": "*"}], expect=1)
    signs.append(await topic._sign())

    assert all(before != after for before, after in pairwise(signs))


async def test_an_older_preview_of_a_target_moves_on_in_its_open_page(
    studio: Studio, ada: Visitor
) -> None:
    for _ in range(2):
        await ada.post("/servers/previews", {"target": "https://crm.example/mcp"})
    older = (await studio.db.read(probes.open_ones))[0].id
    topic = ServersTopic(studio.reader, "")
    signs = [await topic._sign()]
    for event in (
        e.ProbeStarted(probe_id=older, worker="w", until=9_000),
        e.ProbeFailed(probe_id=older, code="server.down", message="gone"),
    ):
        await studio.runtime.journal.commit_other(
            "probes", lambda _, e=event: [e], at=2, actor=None
        )
        signs.append(await topic._sign())

    assert all(before != after for before, after in pairwise(signs))


async def test_a_command_is_shown_part_by_part_before_it_is_started(
    studio: Studio, ada: Visitor
) -> None:
    form = (await ada.open("/servers")).form("/servers/previews")

    first = await ada.press(form, target="notes-server 'a b' --x", secret="TOKEN")

    assert first.status_code == 200
    assert "Nothing was started yet" in first.text
    assert ">a b</li>" in first.text
    assert await studio.reader.probes(ada.person, "server") == {}


async def test_what_is_confirmed_is_asked_for(studio: Studio, ada: Visitor) -> None:
    given = {"target": "notes-server 'a b'", "secret": "TOKEN", "confirm": "yes"}

    done = await ada.post("/servers/previews", given)

    (probe,) = (await studio.reader.probes(ada.person, "server")).values()
    assert done.headers["location"] == f"/servers/previews/{probe.id}"
    assert probe.subject["command"] == ["notes-server", "a b"]
    assert probe.subject["env"] == {"TOKEN": {"secret": "TOKEN"}}
    page = await ada.open(f"/servers/previews/{probe.id}")
    assert "No worker has taken it yet" in page.text


async def test_an_address_needs_no_confirmation(studio: Studio, ada: Visitor) -> None:
    await ada.post("/servers/previews", {"target": "https://crm.example/mcp", "secret": "KEY"})

    (probe,) = (await studio.reader.probes(ada.person, "server")).values()
    assert probe.subject["headers"] == {"Authorization": {"secret": "KEY"}}


async def test_what_makes_no_sense_is_kept_and_said(studio: Studio, ada: Visitor) -> None:
    for target, secret, words in (
        ("", "", "a command, or an address"),
        ("notes 'open", "", "cannot be read as a command"),
        ("http://a@b/", "", "name or password"),
        ("https://x.example/", "no good", "must name a secret"),
    ):
        answer = await ada.post("/servers/previews", {"target": target, "secret": secret})

        assert answer.status_code == 422
        assert words in answer.text
        assert f'value="{target}"' in answer.text.replace("&#39;", "'") or not target


async def test_only_an_admin_may_have_a_server_looked_at(studio: Studio, alice: Visitor) -> None:
    answer = await alice.post("/servers/previews", {"target": "https://x.example/"})

    assert answer.status_code == 403
