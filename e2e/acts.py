"""What operators do, in words that tests share."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from e2e.studio import Studio

AGENT = "release-assistant"
STAGING = "Publish 4.2.0 to staging and tell the team."
PRODUCTION = "Publish 4.2.0 to production for everybody at once."
WITHDRAW = "Withdraw 4.1.0 from production."
SLOWLY = "Explain slowly how approvals work here."

# What differs between two looks at the same page and means nothing: ages that tick, tokens and
# nonces that are made anew, marks of the library and of this browser.
SAME = """
() => {
  const copy = document.querySelector('main').cloneNode(true);
  for (const node of copy.querySelectorAll('time')) node.textContent = node.dateTime;
  for (const node of copy.querySelectorAll('input[type=hidden]')) node.value = '', node.removeAttribute('value');
  for (const node of copy.querySelectorAll('[data-notice], [data-jump], [data-fresh]')) node.remove();
  for (const node of [copy, ...copy.querySelectorAll('*')]) {
    for (const attribute of [...node.attributes]) {
      const name = attribute.name;
      if (/^(hx-nonce|data-htmx-powered|title|aria-label|class|disabled|open|style)$/.test(name) || name.startsWith('data-local') || name.startsWith('data-seen')) {
        if (name !== 'class' && name !== 'aria-label') node.removeAttribute(name);
        else if (name === 'class') node.setAttribute('class', [...node.classList].filter((one) => !one.startsWith('htmx-')).sort().join(' '));
      }
    }
  }
  return copy.innerHTML.replace(/\\s+/g, ' ').replace(/> </g, '><').trim();
}
"""  # noqa: E501


def begin(studio: Studio, message: str, agent: str = AGENT) -> str:
    """A session that begins with this message; its id."""
    return str(studio.api.sessions.start(agent, message=message)["session_id"])


def visit(page: Page, studio: Studio, session_id: str) -> None:
    """Open a session and wait until it is live."""
    page.goto(f"{studio.url}/sessions/{session_id}")
    expect(page.locator("#live[data-state=live]")).to_be_visible()


def card(page: Page, tool: str) -> Locator:
    """The open card of a call of this tool."""
    return page.locator("article.card[data-state=held], article.card").filter(
        has=page.get_by_role("heading", name=tool, exact=True)
    )


def approve(held: Locator) -> None:
    """Press Approve on a card."""
    held.get_by_role("button", name=re.compile("^Approve")).click()


def deny(held: Locator, reason: str) -> None:
    """Deny with a reason."""
    held.get_by_text("Deny…").click()
    held.get_by_label("Why not?").fill(reason)
    held.get_by_role("button", name="Deny", exact=True).click()


def waits(studio: Studio, session_id: str, **more: Any) -> list[Any]:
    """The open waits of a session, by the API."""
    return list(studio.api.approvals.list(session=session_id, state="open", **more))


def status(studio: Studio, session_id: str) -> str:
    """The session's word, by the API."""
    return str(studio.api.sessions.show(session_id)["session"]["status"])


def facts(studio: Studio, session_id: str) -> list[Any]:
    """Every fact of a session, by the API."""
    found: list[Any] = []
    while True:
        after = found[-1]["seq"] if found else 0
        batch = studio.api.sessions.events(session_id, after=after)["items"]
        if not batch:
            return found
        found += batch


def main_text(page: Page) -> str:
    """The page's main part, without what may differ between two looks."""
    return str(page.evaluate(SAME))
