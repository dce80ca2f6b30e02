"""Pages of versions: what is alone has nothing to be compared with."""

from studio.core.rules.access import Person
from tests.web import environments as env
from tests.web.conftest import Studio, Visitor

ADA = Person(id="ada", role="admin", via="key")


async def test_one_version_offers_no_comparison(studio: Studio, ada: Visitor) -> None:
    await env.save(studio)
    paths = ("/agents/helper/versions", "/environments/manifests/python/versions")
    for path in paths:
        page = await ada.open(path)
        assert page.all("input", type="radio") == page.role("button", "Compare") == []
        assert "Tick two" not in page.text

    manifest = (await studio.reader.agent(ADA, "helper")).manifest
    await studio.runtime.save_agent(ADA, {**manifest, "description": "Changed."})
    await env.save(studio, description="Newer.")

    for path in paths:
        page = await ada.open(path)
        assert len(page.all("input", type="radio")) == 4
        assert len(page.role("button", "Compare")) == 1
