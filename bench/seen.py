"""From the commit of a fact until an open page in a real browser shows it."""

from playwright.async_api import async_playwright

from bench.figures import Figure, spread
from e2e.browser import launch_options
from e2e.studio import Studio, until

MESSAGES = 60
WATCH = """
() => {
  window.seen = [];
  new MutationObserver((changes) => {
    for (const change of changes) for (const node of change.addedNodes) {
      if (node.nodeType !== 1 || !(node.id || '').startsWith('line-')) continue;
      const time = node.querySelector('time[datetime]');
      if (time) window.seen.push(Date.now() - Date.parse(time.getAttribute('datetime')));
    }
  }).observe(document.querySelector('#timeline'), {childList: true, subtree: true});
}
"""


async def run() -> list[Figure]:
    """Each message makes lines; each line says when its fact was committed."""
    with Studio.new() as studio:
        api = studio.api
        session_id = api.sessions.start("release-assistant", message="say hello")["session_id"]
        until(
            lambda: api.sessions.show(session_id)["session"]["status"] == "completed", what="an end"
        )
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(**launch_options())
            page = await browser.new_page()
            await page.goto(studio.link())
            await page.get_by_role("button", name="Sign in").click()
            await page.goto(f"{studio.url}/sessions/{session_id}")
            await page.locator("#live[data-state=live]").wait_for()
            await page.evaluate(WATCH)
            for number in range(MESSAGES):
                api.sessions.send(session_id, f"say hello {number}")
                await page.wait_for_timeout(150)
            await page.wait_for_timeout(500)
            times: list[float] = await page.evaluate("window.seen")
            await browser.close()
    return spread("fact → seen in an open page", times, "ms", p50=20, p99=100)
