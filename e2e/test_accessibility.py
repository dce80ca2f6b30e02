"""Every page in every state: axe finds nothing, light and dark, wide and narrow; all of it fits."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from e2e import outside
from e2e.acts import (
    ASK,
    PRODUCTION,
    SLOWLY,
    STAGING,
    WITHDRAW,
    begin,
    card,
    ends,
    facts,
    fits,
    held,
    look,
    status,
    visit,
    waits,
)
from e2e.browser import axe_source
from e2e.conftest import Look, Open, SignIn
from e2e.studio import Studio, until

# Colours and widths are looked at in every look; what is the same in two of them, in the other two.
LOOKS = [("light", 1280, True), ("dark", 1280, False), ("dark", 390, True), ("light", 390, False)]
DRAWN = ["color-contrast", "scrollable-region-focusable", "target-size", "link-in-text-block"]
# What is scrolled under a bar that stays in sight is covered, and rightly: each look begins above.
TOP = """
async () => {
  const drawn = () => new Promise(requestAnimationFrame);
  await drawn(); await drawn();
  scrollTo(0, 0);
  await drawn();
}
"""
# Links in a line of prose are larger than the line; all else takes its room.
SMALL = """
() => [...document.querySelectorAll('a[href], button, summary, select, textarea, input')]
  .filter((node) => node.type !== 'hidden' && node.getClientRects().length)
  .filter((node) => !node.matches('.skip, .visually-hidden, [type=checkbox], [type=radio]'))
  .filter((node) => node.getBoundingClientRect().height < 23.5)
  .map((node) => node.outerHTML.slice(0, 160))
"""
RUN = """
async (rules) => {
  const only = rules ? { runOnly: { type: 'rule', values: rules } } : {};
  const found = await axe.run(document, { resultTypes: ['violations'], ...only });
  return found.violations.map((one) => ({
    rule: one.id, help: one.help,
    where: one.nodes.slice(0, 4).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`),
  }));
}
"""


def is_accessible(page: Page) -> None:
    """No rule of axe is broken, in any look, and nothing is wider than the window."""
    page.evaluate(axe_source())
    for scheme, width, whole in LOOKS:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(TOP)
        small = page.evaluate(SMALL)
        assert small == [], f"{page.url} {scheme} {width}: {json.dumps(small, indent=1)}"
        broken = page.evaluate(RUN, None if whole else DRAWN)
        assert broken == [], f"{page.url} {scheme} {width}: {json.dumps(broken, indent=1)}"
        fits(page)
    page.set_viewport_size({"width": 360, "height": 740})
    fits(page)
    page.set_viewport_size({"width": 1280, "height": 800})


@dataclass
class Full:
    """A studio in which everything has happened once, and what is where."""

    studio: Studio
    sessions: dict[str, str] = field(default_factory=dict)
    waits: dict[str, Any] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def full() -> Iterator[Full]:
    """Held, asked, uncertain, denied, failed, edited, expired, stopped, long, and a lot of it."""
    with Studio.new() as studio:
        found = Full(studio=studio)
        doubt = begin(studio, "Withdraw 4.2.0 from staging, slowly.")
        one = held(studio, doubt)
        studio.kill()
        studio.start(fault="call.after_intent:kill:1")
        studio.api.approvals.decide(one["id"], "approve", digest=one["digest"])
        studio.dies()
        studio.start()
        found.sessions["uncertain"] = doubt
        happen(found)
        yield found


def happen(found: Full) -> None:
    """Everything else."""
    studio, sessions = found.studio, found.sessions
    policy = studio.api.policy.show()
    rules = [rule["rule"] for rule in policy["rules"]]
    brief = {"effect": "ask", "tool": "upload_artifact", "expires_seconds": 1}
    studio.api.policy.save([*rules, brief], version=policy["version"], note="Uploads expire")
    for name, message in {
        "held": STAGING, "two": f"call publish_release {ARGUMENTS}\ncall withdraw_release {OLD}",
        "question": ASK, "denied": WITHDRAW, "approved": PRODUCTION, "stopped": "wait 600",
        "expired": "Upload the artifact of 4.2.0 to the mirror.", "refused": "fail refused",
        "calls": "Compare 4.1.0 and 4.2.0.", "ruled": "Clean up: delete everything.",
        "failed": 'call read_changelog {"version": "0.0.1"}\nthen\nfail refused',
        "written": f"say {MARKDOWN}", "rated": "fail rate 1\nsay after a pause",
        "long": f"call publish_release {LONG}", "hidden": f"call publish_release {HIDDEN}",
    }.items():  # fmt: skip
        sessions[name] = begin(studio, message, title="" if name != "written" else "Markdown")
    for name in ("held", "two", "question", "long", "hidden", "uncertain"):
        found.waits[name] = held(studio, sessions[name])
    for name, choice, reason in (("denied", "deny", "Not today."), ("approved", "approve", "")):
        one = held(studio, sessions[name])
        studio.api.approvals.decide(one["id"], choice, digest=one["digest"], reason=reason)
        found.waits[name] = one
    until(lambda: status(studio, sessions["stopped"]) == "waiting", what="the wait")
    studio.api.sessions.cancel(sessions["stopped"], reason="No longer needed")
    for name in ("denied", "approved", "calls", "ruled", "written", "rated"):
        ends(studio, sessions[name])
    until(lambda: waits(studio, sessions["expired"], "closed"), what="the deadline")
    found.waits["expired"] = waits(studio, sessions["expired"], "closed")[0]
    sessions["compacted"] = compacted(studio)
    studio.api.keys.make(name="ci", role="operator")
    studio.api.secrets.set("CRM_TOKEN", "a value that is never shown")
    studio.api.models.save(
        "house", kind="chat", models=["tiny"], base_url="http://127.0.0.1:9/v1", reads=["text"],
        context_window=8_000, prices={"input": 0.5, "output": 1.5},
    )  # fmt: skip
    studio.api.models.test("house", "tiny")
    found.calls = [
        fact["effect_id"]
        for name in ("approved", "denied", "failed", "ruled", "uncertain", "long", "expired")
        for fact in facts(studio, sessions[name])
        if fact["type"] == "call.proposed"
    ]


def compacted(studio: Studio) -> str:
    """A session whose older part was summarised before its small model was full."""
    model = {"provider": "scripted", "name": "scripted", "context_window": 1_000}
    studio.api.agents.save(
        "small", {"name": "small", "description": "", "instructions": "Help.", "model": model}
    )
    session_id = begin(studio, f"say {'word ' * 60}", agent="small")
    ends(studio, session_id)
    for _ in range(7):
        studio.api.sessions.send(session_id, f"say {'word ' * 60}")
        ends(studio, session_id)
    assert "context.compacted" in {fact["type"] for fact in facts(studio, session_id)}
    return session_id


OLD = json.dumps({"version": "4.1.0", "channel": "staging"})
BIG = {"version": "4.2.0", "channel": "staging", "notify": ["a@example.org"] * 12}
ARGUMENTS = json.dumps({**BIG, "notes": "Short."})
HIDDEN = json.dumps({**BIG, "notes": "a\u202eb\u200bc from p\u0430ypal.com"})
MANY = [f"person-{number}@example.org" for number in range(800)]
LONG = json.dumps({**BIG, "notes": "Long.", "notify": MANY})
MARKDOWN = "# Title **bold** `code` [a link](https://example.org/) > quote"


# The studio before anything has happened ----------------------------------------------------------


@pytest.fixture(scope="module")
def empty() -> Iterator[Studio]:
    """A studio without the demo, in which nothing has happened."""
    with Studio.new(STUDIO_DEMO="off") as found:
        yield found


@pytest.mark.parametrize(
    "path",
    ["/", "/approvals", "/approvals?state=closed", "/approvals?tool=none", "/sessions", "/traces",
     "/views", "/sessions?q=none", "/sessions/new", "/agents", "/agents/new", "/policy",
     "/policy/edit", "/usage", "/models", "/secrets", "/plugins", "/servers", "/keys", "/demo",
     "/nothing", "/sign-in", "/environments", "/environments/new", "/environments/manifests",
     "/traces/outside"],
)  # fmt: skip
def test_an_empty_page(empty: Studio, window: Look, path: str) -> None:
    page = window(empty)
    page.goto(empty.url + path)

    is_accessible(page)


def test_traces_from_outside(empty: Studio, sign_in: SignIn) -> None:
    trace, long = outside.send(empty), outside.send(empty, trace="cd" * 16, more=300)
    page = sign_in(empty)

    for path in (f"/traces/{trace}?q=weather", f"/traces/{trace}?span={3:016x}", f"/traces/{long}",
                 "/traces/outside"):  # fmt: skip
        page.goto(empty.url + path)
        is_accessible(page)


def test_the_sign_in_pages(empty: Studio, context: Open) -> None:
    page = context(empty).new_page()
    page.goto(empty.url)
    is_accessible(page)

    page.goto(empty.link("new", "viewer"))
    is_accessible(page)

    page.goto(f"{empty.url}/sign-in/garbage")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    is_accessible(page)


# The studio in which everything has happened ------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/", "/approvals", "/approvals?kind=question", "/approvals?state=closed", "/sessions",
     "/traces", "/traces?error=refused&seconds=0", "/views",
     "/sessions?needs=any", "/sessions/new", "/agents", "/agents/release-assistant",
     "/agents/release-assistant/edit", "/agents/release-assistant/versions",
     "/agents/release-assistant/diff", "/usage", "/usage?by=plugin", "/usage?by=session", "/policy",
     "/policy?version=1", "/policy/edit", "/keys", "/demo", "/servers", "/plugins", "/models",
     "/models?edit=house", "/secrets",
     "/plugins/release-kit",
     "/plugins/release-kit/calls?state=held", "/plugins/release-kit/skills/release-notes"],
)  # fmt: skip
def test_a_full_page(full: Full, window: Look, path: str) -> None:
    page = window(full.studio)
    page.goto(full.studio.url + path)

    is_accessible(page)


@pytest.mark.parametrize(
    "name",
    ["held", "two", "question", "uncertain", "denied", "approved", "stopped", "expired", "refused",
     "compacted",
     "calls", "ruled", "failed", "written", "rated", "long", "hidden"],
)  # fmt: skip
def test_a_session(full: Full, window: Look, name: str) -> None:
    page = window(full.studio)
    visit(page, full.studio, full.sessions[name])
    for one in page.locator("#timeline details.call").all():
        one.locator("summary").click()

    is_accessible(page)


@pytest.mark.parametrize("side", ["events", "agent"])
def test_a_side_of_a_session(full: Full, sign_in: SignIn, side: str) -> None:
    page = sign_in(full.studio)
    visit(page, full.studio, full.sessions["approved"], f"?panel={side}")
    if side == "events":
        page.locator("#panel details summary").nth(3).click()

    is_accessible(page)


@pytest.mark.parametrize(
    "name", ["held", "question", "uncertain", "denied", "approved", "expired", "long", "hidden"]
)
def test_a_card(full: Full, window: Look, name: str) -> None:
    page = window(full.studio)
    wait = full.waits[name]["id"]
    page.goto(f"{full.studio.url}/approvals/{wait}")
    for more in page.locator("details.card__more summary").all():
        more.click()
    is_accessible(page)

    if name == "long":
        page.goto(f"{full.studio.url}/approvals/{wait}/whole")
        is_accessible(page)


def test_calls(full: Full, sign_in: SignIn) -> None:
    page = sign_in(full.studio)
    assert len(full.calls) >= 6

    for effect_id in full.calls:
        page.goto(f"{full.studio.url}/calls/{effect_id}")
        page.locator("main details summary").first.click()
        is_accessible(page)


@pytest.mark.parametrize("name", ["denied", "rated", "two", "refused"])
def test_traces(full: Full, sign_in: SignIn, name: str) -> None:
    page = sign_in(full.studio)
    look(page, full.studio, f"/sessions/{full.sessions[name]}/turns/1")
    is_accessible(page)

    page.locator(".wf__link").nth(1).click()
    expect(page.locator("#span-title")).to_be_visible()
    is_accessible(page)

    look(page, full.studio, f"/sessions/{full.sessions[name]}/trace")
    is_accessible(page)


def test_forms_with_what_is_wrong_in_them(full: Full, sign_in: SignIn) -> None:
    page = sign_in(full.studio)
    studio = full.studio

    page.goto(f"{studio.url}/approvals/{full.waits['held']['id']}/edit")
    is_accessible(page)
    page.get_by_label("percent").fill("1000")
    press(page.get_by_role("button", name="Approve edited"))
    expect(page.get_by_role("alert")).to_be_visible()
    is_accessible(page)
    page.get_by_label("percent").fill("10")
    press(page.get_by_role("button", name="Show the difference").last)
    expect(page.get_by_text("1 difference")).to_be_visible()
    is_accessible(page)

    visit(page, studio, full.sessions["question"])
    page.get_by_label("channel").select_option("production")
    page.get_by_label("percent").fill("1000")
    press(page.get_by_role("button", name="Answer", exact=True))
    expect(page.get_by_label("percent")).to_have_attribute("aria-invalid", "true")
    is_accessible(page)

    page.goto(f"{studio.url}/policy/edit")
    page.get_by_label("Rules, as JSON").fill("[{")
    press(page.get_by_role("button", name="Try on recorded calls"))
    expect(page.get_by_role("alert")).to_be_visible()
    is_accessible(page)
    page.get_by_label("Rules, as JSON").fill('[{"effect": "deny", "tool": "*"}]')
    press(page.get_by_role("button", name="Try on recorded calls"))
    expect(page.get_by_text("Tried on recorded calls")).to_be_visible()
    is_accessible(page)

    page.goto(f"{studio.url}/keys")
    press(page.get_by_role("button", name="Make the key"))
    expect(page.get_by_role("alert")).to_be_visible()
    is_accessible(page)
    page.get_by_label("Name of the program").fill("another")
    press(page.get_by_role("button", name="Make the key"))
    expect(page.get_by_text("It will not be shown again")).to_be_visible()
    page.get_by_text("Revoke…").first.click()
    is_accessible(page)


def press(button: Locator) -> None:
    """Press it by the keyboard, wherever it stands."""
    button.focus()
    button.press("Enter")


def test_refusals_and_notices(full: Full, sign_in: SignIn) -> None:
    page = sign_in(full.studio)
    visit(page, full.studio, full.sessions["calls"])
    press(page.get_by_role("button", name="Send"))
    expect(page.locator("#composer [role=status]")).to_be_visible()
    is_accessible(page)

    page.get_by_label("Message to").fill("wait 600")
    press(page.get_by_role("button", name="Send"))
    press(page.get_by_role("button", name="Stop this turn"))
    expect(page.locator("#notices")).to_contain_text("Stopped.")
    is_accessible(page)

    vera = sign_in(full.studio, "vera", "viewer")
    for path in ("/", "/approvals", f"/sessions/{full.sessions['held']}", "/policy/edit",
                 f"/approvals/{full.waits['held']['id']}"):  # fmt: skip
        vera.goto(full.studio.url + path)
        is_accessible(vera)


def test_what_opens_over_a_page(full: Full, sign_in: SignIn) -> None:
    page = sign_in(full.studio, viewport={"width": 390, "height": 844})
    page.goto(full.studio.url)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    is_accessible(page)
    page.keyboard.press("Escape")

    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".rail__menu summary").click()
    expect(page.get_by_role("link", name="Sessions", exact=True)).to_be_visible()
    is_accessible(page)


def test_while_an_agent_writes(full: Full, sign_in: SignIn) -> None:
    page = sign_in(full.studio)
    session_id = begin(full.studio, SLOWLY)
    visit(page, full.studio, session_id)
    expect(page.locator("#draft")).to_contain_text("When I propose")

    is_accessible(page)
    full.studio.api.sessions.cancel(session_id)


def test_many_cards_are_folded(full: Full, sign_in: SignIn) -> None:
    made = [begin(full.studio, WITHDRAW) for _ in range(9)]
    for session_id in made:
        held(full.studio, session_id)
    page = sign_in(full.studio)
    page.goto(f"{full.studio.url}/approvals?tool=withdraw_release")
    expect(card(page, "withdraw_release").first).to_be_visible()
    is_accessible(page)
    page.locator("details.card__fold summary").first.click()
    is_accessible(page)
    for session_id in made:
        full.studio.api.sessions.cancel(session_id)
