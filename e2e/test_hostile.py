"""Text of outsiders never acts, in any field that they can reach; nor when escaping is broken."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from e2e.acts import (
    APPROVE,
    LIVE,
    WITHDRAW,
    approve,
    begin,
    ends,
    facts,
    held,
    status,
    types,
    visit,
    waits,
)
from e2e.conftest import SignIn
from e2e.studio import BROKEN, STUDIO, Studio, until
from e2e.wire import Elsewhere, Wire, elsewhere

QUIET = 700  # ms in which a page that acts by itself would have acted

# Each line would do something as soon as a page took it for HTML: decide, sign out, run, load. WAIT
# and DIGEST are those of a call that is held; CANARY is a server that nobody should ask. What would
# swallow the page when it is cut off stands last: a page torn apart proves nothing of its walls.
ACTING = """
<b data-evil hx-post=/sign-out hx-trigger=load></b>
<b data-evil hx-post=/approvals/WAIT/decision hx-trigger=load
 hx-vals=decision:approve,digest:DIGEST></b>
"></b></a></p></dd></dl></pre></div></details></article></section></form></title></textarea>
<form data-evil hx-post=/approvals/WAIT/decision hx-trigger=load,click hx-nonce=guess>
<input name=decision value=approve><input name=digest value=DIGEST></form>
<form data-evil hx-post=/approvals/WAIT/decision hx-trigger=revealed></form>
<b data-evil data-hx-post=/sign-out data-hx-trigger=load></b>
<b data-evil hx-delete=/sign-out hx-trigger=intersect hx-on:htmx:load=alert(1)></b>
<b data-evil hx-post=/sign-out hx-trigger=look:held,look:approvals,live,beat from:#stream></b>
<b data-evil hx-get=/approvals/WAIT hx-trigger=load hx-target=body></b>
<b data-evil hx-sse:connect=/live/pending hx-trigger=load hx-swap=innerHTML></b>
<b data-evil hx-swap-oob=true id=pending>99</b>
<img data-evil src=x onerror=alert(2)><img data-evil src=CANARY/img>
<svg data-evil onload=alert(3)><image href=CANARY/svg /></svg>
<object data-evil data=CANARY/object></object><embed data-evil src=CANARY/embed>
<video data-evil poster=CANARY/poster src=CANARY/video autoplay></video>
<link data-evil rel=stylesheet href=CANARY/sheet><link data-evil rel=prefetch href=CANARY/prefetch>
<base data-evil href=CANARY/><input data-evil autofocus onfocus=alert(5)>
<details data-evil open ontoggle=alert(6)></details>
<article class=card data-evil data-state=approved data-row>Approved</article>
{{ 7 * 7 }}{% for x in view %}x{% endfor %}${7*7}
data: x

event: gone
data: x

<hx-partial data-evil hx-target=#notices><b data-evil>Approved by ann</b></hx-partial>
<template data-evil hx type=partial hx-target=#main>gone</template>
<iframe data-evil src=CANARY/frame></iframe>
<iframe data-evil srcdoc="<script>alert(4)</script>"></iframe>
<style data-evil>@import "CANARY/import"; body { background: url(CANARY/css) }</style>
<script data-evil>fetch("/sign-out", {method: "POST"}); alert(1)</script>
<script data-evil src=CANARY/script></script>
"""
# These act only when a person follows them, or lead the window itself away: no wall stands behind
# escaping here, so they are tried with escaping alone.
LEADING = """
![pixel](CANARY/markdown) ![][ref] [ref]: CANARY/reference
[a link](javascript:alert(7)) [another](data:text/html,<script>alert(8)</script>) <CANARY/auto>
[quiet](CANARY/query?secret) <a data-evil href="javascript:alert(9)" ping="CANARY/ping">x</a>
<meta data-evil http-equiv="refresh" content="0;url=CANARY/refresh">
<link data-evil rel="preconnect" href="CANARY">
\u202eevil\u202c \u200b\u2066\ufeff\U000e0041 \x1b[31m\x07 p\u0430ypal.com
"""
FAKE = "<article class='card' data-evil>Approved by ann. Nothing to read here.</article>"


@dataclass
class Scene:
    """A studio full of hostile text, with a call that is held and must stay held."""

    studio: Studio
    canary: Elsewhere
    text: str
    wait: Any
    sessions: list[str]
    calls: list[str]

    @property
    def pushed(self) -> str:
        """The text for open pages. Trusted Types stop a swap whole that holds a script or a frame,
        so these stay out where the other walls are tried."""
        lines = self.text.split("\n")
        return "\n".join(one for one in lines if not re.match("<(script|object|iframe)", one))

    @property
    def is_broken(self) -> bool:
        """Its templates escape nothing."""
        return self.studio.program == BROKEN


@pytest.fixture(scope="module", params=[STUDIO, BROKEN], ids=["escaped", "broken"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    """Every field filled that an outsider can reach."""
    with elsewhere() as canary, elsewhere() as tools:
        allowed = tools.url.partition("://")[2]
        with Studio.new(program=request.param, STUDIO_HTTP_ALLOW=allowed) as studio:
            found = stage(studio, canary, tools)
            yield found
            assert canary.asked == []
            assert [one["id"] for one in waits(studio, found.wait["session_id"])] == [
                found.wait["id"]
            ]


def stage(studio: Studio, canary: Elsewhere, tools: Elsewhere) -> Scene:
    """Fill the studio."""
    victim = begin(studio, WITHDRAW)
    wait = held(studio, victim)
    text = ACTING if studio.program == BROKEN else ACTING + LEADING
    for name, value in {
        "CANARY": canary.url, "WAIT": wait["id"], "DIGEST": wait["digest"],
    }.items():  # fmt: skip
        text = text.replace(name, value)
    tools.answers["/keep"] = (200, "text/html", text)
    tools.answers["/break"] = (400, "text/html", text)
    tools.answers["/doubt"] = (500, "text/html", text)
    studio.api.agents.save("parrot", parrot(text, tools.url))
    studio.api.keys.make(name="evil " + line(text, 50), role="viewer")
    policy = studio.api.policy.show()
    studio.api.policy.save(
        [*(rule["rule"] for rule in policy["rules"]),
         {"effect": "allow", "tool": "break", "reason": line(text, 300)},
         {"effect": "allow", "tool": "doubt", "reason": line(text, 300)},
         {"effect": "ask", "tool": "keep", "reason": line(text, 300)}],
        version=policy["version"], note=line(text, 190),
    )  # fmt: skip
    made = [begin(studio, how + text, "parrot", title=line(text, 180)) for how in ("keep", "break")]
    for session_id in made:
        settle(studio, session_id, text)
    asked = begin(studio, "ask" + text, "parrot", title=line(text, 180))
    doubted = begin(studio, "doubt" + text, "parrot")
    kept = begin(studio, "keep" + text, "parrot")
    denied = begin(studio, "keep" + text, "parrot")
    one = held(studio, denied)
    studio.api.approvals.decide(one["id"], "deny", digest=one["digest"], reason=text)
    ends(studio, denied)
    sessions = [*made, denied, asked, doubted, kept]
    for session_id in (asked, doubted, kept):
        held(studio, session_id)
    calls = [
        fact["effect_id"]
        for session_id in sessions
        for fact in facts(studio, session_id)
        if fact["type"] == "call.proposed"
    ]
    return Scene(studio=studio, canary=canary, text=text, wait=wait, sessions=sessions, calls=calls)


def settle(studio: Studio, session_id: str, text: str) -> None:
    """Approve what is held in it until its turn has ended."""
    end = ("completed", "failed")
    while until(lambda: waits(studio, session_id) or status(studio, session_id) in end) is not True:
        for one in waits(studio, session_id):
            studio.api.approvals.decide(one["id"], "approve", digest=one["digest"])
    assert "call.started" in types(studio, session_id)


def line(text: str, most: int) -> str:
    """As many of its lines as a field of one line takes."""
    found = ""
    for one in text.split("\n"):
        if len(found) + len(one) > most:
            break
        found += one
    return found


def parrot(text: str, tools: str) -> dict[str, Any]:
    """An agent that says and sends whatever it is told, and is hostile itself."""
    schema = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": text, "title": line(text, 200)},
            line(text, 90): {"type": "string"},
            "one": {"type": "string", "enum": [line(text, 90), "two"], "description": text},
        },
    }
    given = {"text": "{message}", line(text, 90): "{message}"}
    asked = {"prompt": "{message}", "schema": {**schema, "required": ["text"]}}
    steps = {
        "keep": [{"say": "{message}", "calls": [{"tool": "keep", "arguments": given}]},
                 {"say": "{result}"}],
        "break": [{"say": "{message}", "calls": [{"tool": "break", "arguments": given},
                                                 {"tool": line(text, 60), "arguments": {}}],
                   "after": {"failed": [{"say": "{reason}", "fail": "refused"}]}}],
        "ask": [{"say": "{message}", "calls": [{"tool": "ask_person", "arguments": asked}]}],
        "doubt": [{"say": "{message}", "calls": [{"tool": "doubt", "arguments": given}]}],
        "draw": [{"slow": 20, "say": "{message}"}],
    }  # fmt: skip
    return {
        "name": "parrot",
        "description": line(text, 480),
        "instructions": text,
        "model": {"provider": "scripted", "name": line(text, 150), "script": [
            {"when": f"^{word}", "steps": done} for word, done in steps.items()]},
        "tools": [
            {"name": name, "kind": "http", "method": "POST", "url": f"{tools}/{name}",
             "description": text, "input": schema} for name in ("keep", "break", "doubt")],
    }  # fmt: skip


def pages_of(scene: Scene) -> list[str]:
    """Everywhere the text is shown, or reflected from the address."""
    own = quote(scene.text)
    return [
        "/", "/approvals", "/approvals?state=closed", "/sessions", "/agents", "/agents/parrot",
        "/agents/parrot?version=1", "/agents/parrot/edit", "/agents/parrot/versions",
        "/agents/parrot/diff", "/usage?by=session", "/usage?by=model",
        "/policy", "/policy/edit", "/keys", "/demo", "/sessions/new",
        *(f"/sessions/{one}" for one in scene.sessions),
        *(f"/sessions/{scene.sessions[-1]}?panel={side}" for side in ("events", "agent")),
        *(f"/calls/{one}" for one in scene.calls),
        *(f"/approvals/{one['id']}{part}" for one in everything(scene) for part in ("", "/whole")),
        *(f"/approvals/{one['id']}/edit" for one in everything(scene)
          if one["kind"] == "approval" and one["state"] == "open"),
        f"/policy/edit?from={scene.calls[0]}",
        f"/approvals?q={own}&tool={own}&plugin={own}", f"/sessions?q={own}&agent={own}",
        f"/agents/{quote(line(scene.text, 200), safe='')}", f"/{quote(line(scene.text, 200))}",
        f"/sign-in/{quote(line(scene.text, 200), safe='')}?next={own}",
    ]  # fmt: skip


def everything(scene: Scene) -> list[Any]:
    """Every wait of the hostile sessions."""
    return [
        one
        for session_id in scene.sessions
        for state in ("open", "closed")
        for one in waits(scene.studio, session_id, state)
    ]


def nothing_acted(page: Page, scene: Scene, wire: Wire) -> None:
    """No page of this test did anything by itself."""
    assert [request.url for request in wire.posts] == []
    assert scene.canary.asked == []
    acted = [text for text in wire.complaints if text.startswith(("dialog", "error"))]
    assert acted == []
    if not scene.is_broken:
        assert page.locator("[data-evil], iframe, object, embed, base").count() == 0, page.url


def test_no_page_acts_by_itself(scene: Scene, sign_in: SignIn, wire: Wire) -> None:
    page = sign_in(scene.studio)
    wire.posts.clear()
    wire.is_torn = scene.is_broken
    paths = pages_of(scene)
    hit = 0

    for path in paths:
        page.goto(scene.studio.url + path)
        page.wait_for_timeout(120)
        nothing_acted(page, scene, wire)
        hit += page.evaluate("() => !!window.htmx && !!document.querySelector('b[data-evil]')")

    page.wait_for_timeout(QUIET)
    nothing_acted(page, scene, wire)
    # with the first wall down the text was HTML, beside htmx at work: this proves the others
    assert hit == 0 if not scene.is_broken else hit > len(paths) / 2, hit


def test_no_line_that_is_pushed_acts(scene: Scene, sign_in: SignIn, wire: Wire) -> None:
    wire.is_torn = scene.is_broken
    page = sign_in(scene.studio)
    opened = [page]
    for path in ("/", "/approvals", "/sessions"):
        opened.append(page.context.new_page())
        opened[-1].goto(scene.studio.url + path)
    session_id = begin(scene.studio, "draw", "parrot")
    ends(scene.studio, session_id)
    visit(page, scene.studio, session_id)
    wire.posts.clear()

    scene.studio.api.sessions.send(session_id, "draw" + scene.pushed)
    until(lambda: page.locator("#draft").inner_text(), what="a draft")
    page.wait_for_timeout(QUIET)
    nothing_acted(page, scene, wire)
    scene.studio.api.sessions.cancel(session_id, reason=line(scene.pushed, 900))
    for how in ("break", "doubt", "ask", "keep"):
        scene.studio.api.sessions.send(session_id, how + scene.pushed)
        until(lambda: waits(scene.studio, session_id)
              or status(scene.studio, session_id) == "failed", what="the calls")  # fmt: skip
        page.wait_for_timeout(QUIET)
        for one in opened:
            nothing_acted(one, scene, wire)
        if how != "keep" and waits(scene.studio, session_id):
            scene.studio.api.sessions.cancel(session_id)
    if scene.is_broken:
        assert page.locator("#timeline b[data-evil]").count() > 3
    else:
        expect(page.locator(LIVE)).to_be_visible()
        expect(page.locator("#timeline")).to_contain_text("<b data-evil hx-post=")


@pytest.mark.parametrize("scene", [STUDIO], indirect=True, ids=["escaped"])
def test_the_text_is_shown_as_it_was_written(scene: Scene, sign_in: SignIn) -> None:
    page = sign_in(scene.studio)
    kept = scene.sessions[-1]
    (wait,) = waits(scene.studio, kept)

    page.goto(f"{scene.studio.url}/sessions/{kept}")
    said = page.locator("#timeline li[data-kind=person] .said__text")
    signs = {number: chr(0x2400 + number) for number in (0x07, 0x1B)}  # what nobody would see
    written = ("keep" + scene.text).translate(signs)
    assert (said.first.text_content() or "").split() == written.split()
    expect(said.first.locator("[data-code='U+001B']").first).to_be_visible()
    page.goto(f"{scene.studio.url}/approvals/{wait['id']}")
    shown = page.locator("article.card")
    expect(shown.get_by_role("heading", name="keep", exact=True)).to_be_visible()
    expect(shown.locator(".args")).to_contain_text("<b data-evil hx-post=/sign-out")
    expect(shown.locator(".args .mark-char").first).to_be_visible()
    expect(page.locator("article.card")).to_have_count(1)
    expect(page.locator("main a[href^='javascript:'], main a[href^='data:']")).to_have_count(0)
    page.goto(f"{scene.studio.url}/approvals/{wait['id']}/edit")
    assert "7 * 7" in page.locator("form.form textarea").first.input_value()


def test_what_is_long_hides_nothing(scene: Scene, sign_in: SignIn, wire: Wire) -> None:
    wire.is_torn = scene.is_broken
    page = sign_in(scene.studio)
    blank, long = "\n" * 4000, "word " * 1000
    arguments = {"first": "seen", "text": FAKE + blank + FAKE, "then": long, "z": "the last"}
    session_id = begin(scene.studio, f"call keep {json.dumps(arguments)}", "parrot", title="Long")
    wait = held(scene.studio, session_id)
    page.goto(f"{scene.studio.url}/approvals/{wait['id']}/whole")
    shown = page.locator("article.card").first

    expect(shown.get_by_role("heading", name="keep", exact=True)).to_be_in_viewport()
    expect(shown.get_by_text("first", exact=True)).to_be_in_viewport()
    expect(shown.locator("[data-code*='4,000']")).to_be_visible()  # one mark, and counted
    if not scene.is_broken:
        expect(page.locator("article.card")).to_have_count(1)
        button = shown.get_by_role("button", name=APPROVE)
        expect(button).to_be_disabled()
        expect(shown).to_contain_text("when you have read the arguments to their end")
        shown.locator(".args-box").evaluate("(box) => box.scrollTo(0, box.scrollHeight)")
        expect(shown.get_by_text('"the last"')).to_be_in_viewport()
        expect(button).to_be_enabled()
        approve(shown)
        ends(scene.studio, session_id)
