"""The first page with a cold cache: bytes on the wire, requests, and other hosts asked."""

from urllib.parse import urlsplit

from playwright.async_api import async_playwright

from bench.figures import Figure
from e2e.browser import launch_options
from e2e.studio import Studio


async def run() -> list[Figure]:
    """What Chromium's network log says of Home, everything counted."""
    with Studio.new() as studio:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(**launch_options())
            page = await browser.new_page()
            await page.goto(studio.link())
            await page.get_by_role("button", name="Sign in").click()
            await page.wait_for_url(f"{studio.url}/")
            state = await page.context.storage_state()
            fresh = await (await browser.new_context(storage_state=state)).new_page()
            network = await fresh.context.new_cdp_session(fresh)
            sizes: list[int] = []
            urls: list[str] = []
            network.on("Network.loadingFinished", lambda e: sizes.append(e["encodedDataLength"]))
            network.on("Network.requestWillBeSent", lambda e: urls.append(e["request"]["url"]))
            await network.send("Network.enable")
            await fresh.goto(studio.url)
            await fresh.get_by_role("heading", name="Home").wait_for()
            await fresh.wait_for_timeout(1000)
            await browser.close()
        here = urlsplit(studio.url).netloc
    others = [url for url in urls if urlsplit(url).netloc not in (here, "")]
    return [
        Figure(name="first page on the wire", value=sum(sizes) / 1e3, unit="kB", most=120),
        Figure(name="first page, requests", value=len(urls), unit="", most=8,
               note=", ".join(urlsplit(url).path.rpartition("/")[2] or "/" for url in urls)),
        Figure(name="first page, requests to other hosts", value=len(others), unit="", most=0),
    ]  # fmt: skip
