"""Agents: what they are told, what they may call, and what the policy would say."""

from studio.web.pages.agents import schema_rows
from tests.web.conftest import Studio, Visitor


async def test_an_agent_shows_its_tools_and_the_gate_in_words(
    studio: Studio, alice: Visitor
) -> None:
    page = await alice.open("/agents/helper")

    tool = page.one(id="tool-notify_team").text
    assert "http" in tool
    assert "held (default policy)" in tool


async def test_an_older_version_stays_readable(studio: Studio, ada: Visitor) -> None:
    manifest = (await studio.reader.agent(ada.person, "helper")).manifest
    await studio.runtime.save_agent(ada.person, manifest | {"instructions": "Help more."})

    old = (await ada.open("/agents/helper?version=1")).one(id="main").text
    new = (await ada.open("/agents/helper")).one(id="main").text

    assert "Help more." not in old
    assert "1 newer" in old
    assert "Help more." in new


async def test_an_agent_that_is_not_there(alice: Visitor) -> None:
    page = await alice.open("/agents/nobody", status=404)

    assert page.role("heading", "Not found")


async def test_the_list_leads_to_each(alice: Visitor) -> None:
    page = await alice.open("/agents")

    assert [link.attrs["href"] for link in page.one("tbody").role("link")] == ["/agents/helper"]


def test_a_schema_becomes_rows() -> None:
    schema = {
        "type": "object",
        "required": ["to"],
        "properties": {
            "to": {"type": "array", "items": {"$ref": "#/$defs/one"}, "minItems": 1},
            "level": {"enum": ["low", "high"], "default": "low"},
        },
        "$defs": {"one": {"type": "object", "properties": {"mail": {"type": "string"}}}},
    }

    rows = [(row.path, row.kind, row.needed, row.limits) for row in schema_rows(schema)]

    assert rows == [
        ("to", "list of anything", True, "at least 1 entry"),
        ("to[*].mail", "string", False, ""),
        ("level", "one of", False, "low, high; default low"),
    ]


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"properties": {"next": {"$ref": "#"}}}

    assert len(list(schema_rows({"properties": {"a": {"$ref": "#/properties/a"}}}))) == 1
    assert len(list(schema_rows(schema))) < 10
