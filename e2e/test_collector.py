"""The panel of the export: it follows what a worker writes down, though no fact tells of it."""

from playwright.sync_api import expect

from e2e.acts import LIVE, begin, ends, fits, same_as_reloaded
from e2e.conftest import SignIn
from e2e.studio import Studio
from e2e.test_accessibility import is_accessible

NOBODY = "http://127.0.0.1:9"  # nothing listens there


def test_a_collector_that_is_away_is_told_on_an_open_page(sign_in: SignIn) -> None:
    with Studio.new(OTEL_EXPORTER_OTLP_ENDPOINT=NOBODY) as studio:
        page = sign_in(studio)
        page.goto(f"{studio.url}/traces")
        expect(page.locator(LIVE)).to_be_visible()
        panel = page.locator("#collector")
        expect(panel).to_contain_text(NOBODY)

        ends(studio, begin(studio, "Compare 4.1.0 and 4.2.0."))

        expect(panel).to_contain_text("Failing since", timeout=20_000)
        expect(panel.locator("dl")).to_contain_text("the oldest ended")
        same_as_reloaded(page)
        is_accessible(page)
        page.set_viewport_size({"width": 390, "height": 800})
        fits(page)
        page.close()  # before its studio goes
