"""What operators do and look at, in words that tests share."""

import json
import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from e2e.studio import Studio, until

AGENT = "release-assistant"
STAGING = "Publish 4.2.0 to staging and tell the team."
PRODUCTION = "Publish 4.2.0 to production for everybody at once."
WITHDRAW = "Withdraw 4.1.0 from production."
ASK = "Prepare a release, but ask me first."
SLOWLY = "Explain slowly how approvals work here."

APPROVE = re.compile("^Approve")
LIVE = "#live[data-state=live]"

# What a page shows, without what may differ between two looks at the same: nonces and tokens, which
# are made anew for each; ages, which tick; what the library notes on elements for itself; and what
# belongs to this window alone (how far it was read, how many lines are new to it). White space at
# the edges of an element is not drawn, so it counts for nothing; between two elements it counts.
# What is pushed never acts, so a pushed link to earlier lines is a link and no more.
SHOWN = """
() => {
  const copy = document.querySelector('main').cloneNode(true);
  const all = (selector) => copy.querySelectorAll(selector);
  for (const time of all('time[data-age], time[data-deadline]')) time.textContent = 'ticks';
  for (const field of all('input[name=token], input[name=key]')) field.removeAttribute('value');
  for (const button of all('[data-needs-read]')) button.removeAttribute('disabled');
  for (const press of all('[data-tick], #bulk button')) press.removeAttribute('disabled');
  for (const tick of all('[data-tick]')) tick.removeAttribute('value');
  for (const mine of all('[data-count], [data-why]')) mine.textContent = 'mine';
  for (const mine of all('[data-left]')) mine.removeAttribute('hidden');
  for (const hint of all('[data-unread]')) hint.removeAttribute('hidden');
  for (const jump of all('[data-jump], template')) jump.remove();
  for (const link of all('#line-older a'))
    for (const name of ['hx-get', 'hx-target', 'hx-swap']) link.removeAttribute(name);
  for (const node of all('*')) {
    node.removeAttribute('hx-nonce');
    node.removeAttribute('data-htmx-powered');
    node.classList.remove('htmx-request', 'htmx-swapping', 'htmx-settling', 'htmx-added');
    if (node.getAttribute('class') === '') node.removeAttribute('class');
    for (const edge of [node.firstChild, node.lastChild])
      if (edge?.nodeType === Node.TEXT_NODE && !edge.data.trim()) edge.remove();
  }
  return copy.innerHTML.replace(/\\s+/g, ' ').replace(/>(?= ?<)/g, '>\\n').trim()
    + '\\n' + document.querySelector('#banner')?.textContent
    + '\\n' + document.querySelector('#pending')?.textContent + '\\n' + document.title;
}
"""

# Headless pages count as seen, always; this is how one is put behind another window.
HIDING = """
let hidden = %s;
Object.defineProperty(Document.prototype, 'hidden', { get: () => hidden });
Object.defineProperty(Document.prototype, 'visibilityState', {
  get: () => hidden ? 'hidden' : 'visible' });
window.putAway = (now) => { hidden = now; document.dispatchEvent(new Event('visibilitychange')); };
"""


def begin(studio: Studio, message: str, agent: str = AGENT, **more: Any) -> str:
    """A session that begins with this message; its id."""
    return str(studio.api.sessions.start(agent, message=message, **more)["session_id"])


def visit(page: Page, studio: Studio, session_id: str, query: str = "") -> None:
    """Open a session and wait until it is live."""
    page.goto(f"{studio.url}/sessions/{session_id}{query}")
    expect(page.locator(LIVE)).to_be_visible()


def look(page: Page, studio: Studio, path: str) -> None:
    """Open a page and wait until it is live."""
    page.goto(studio.url + path)
    expect(page.locator(LIVE)).to_be_visible()


def card(page: Page, tool: str) -> Locator:
    """The cards of calls of this tool."""
    return page.locator("article.card").filter(
        has=page.get_by_role("heading", name=tool, exact=True)
    )


def card_in(page: Page, tool: str, session_id: str) -> Locator:
    """The card of a call of this tool in this session, on a page with cards of many."""
    return card(page, tool).filter(has=page.locator(f'a[href="/sessions/{session_id}"]'))


def approve(held: Locator) -> None:
    """Press Approve on a card."""
    held.get_by_role("button", name=APPROVE).click()


def deny(held: Locator, reason: str) -> None:
    """Deny with a reason."""
    held.get_by_text("Deny…").click()
    held.get_by_label("Why not?").fill(reason)
    held.get_by_role("button", name="Deny", exact=True).click()


def waits(studio: Studio, session_id: str, state: str = "open") -> list[Any]:
    """The waits of a session, by the API."""
    return list(studio.api.approvals.list(session=session_id, state=state))


def held(studio: Studio, session_id: str) -> Any:
    """The one open wait of a session, once it is there."""
    what = f"what waits for a person in {session_id}"
    return until(lambda: waits(studio, session_id), what=what)[0]


def nothing_waits(studio: Studio) -> None:
    """Stop whatever waits for a person, so that a list of cards begins empty."""
    for wait in list(studio.api.approvals.list(state="open")):
        if waits(studio, wait["session_id"]):
            studio.api.sessions.cancel(wait["session_id"])


def status(studio: Studio, session_id: str) -> str:
    """The session's word, by the API."""
    return str(studio.api.sessions.show(session_id)["session"]["status"])


def ends(studio: Studio, session_id: str, word: str = "completed") -> None:
    """Wait until the turn has ended like this."""
    until(lambda: status(studio, session_id) == word, seconds=40, what=f"a {word} turn")


def facts(studio: Studio, session_id: str) -> list[Any]:
    """Every fact of a session, by the API."""
    found: list[Any] = []
    while True:
        after = found[-1]["seq"] if found else 0
        batch = studio.api.sessions.events(session_id, after=after)["items"]
        if not batch:
            return found
        found += batch


def types(studio: Studio, session_id: str) -> list[str]:
    """The types of every fact of a session."""
    return [fact["type"] for fact in facts(studio, session_id)]


def shown(page: Page) -> str:
    """The page's main part, without what may differ between two looks."""
    return str(page.evaluate(SHOWN))


def same_as_reloaded(page: Page, seconds: float = 15.0) -> None:
    """What the live page shows is what a page shows that was loaded just now.

    The live page is left alone; another is loaded beside it, and again while something that was
    recorded is still on its way.
    """
    expect(page.locator(LIVE)).to_be_visible()
    beside = page.context.new_page()
    differences: list[str] = []

    def are_same() -> bool:
        beside.goto(page.url)
        expect(beside.locator(LIVE)).to_be_visible()
        page.wait_for_function("() => !document.querySelector('.htmx-request')")
        live, loaded = shown(page).split("\n"), shown(beside).split("\n")
        differences[:] = [
            f"live   {a}\nloaded {b}" for a, b in zip(live, loaded, strict=False) if a != b
        ][:3] or ([f"{len(live)} and {len(loaded)} elements"] if live != loaded else [])
        return not differences

    try:
        until(are_same, seconds=seconds, what="the same")
    except AssertionError:
        raise AssertionError("\n".join(differences)) from None
    finally:
        beside.close()


def fits(page: Page) -> None:
    """Nothing is wider than the window: there is no scrolling sideways."""
    wide = page.evaluate(
        """() => {
          const most = document.documentElement.clientWidth;
          if (document.documentElement.scrollWidth <= most) return [];
          return [...document.querySelectorAll('body *')]
            .filter((node) => node.getBoundingClientRect().right > most + 1)
            .map((node) => node.outerHTML.slice(0, 120)).slice(-5);
        }"""
    )
    assert wide == [], f"{page.url} at {page.viewport_size}: {json.dumps(wide, indent=1)}"
