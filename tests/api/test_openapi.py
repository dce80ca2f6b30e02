"""The document says what happens, and the client's types say the same."""

import re
from typing import Any, get_type_hints

import jsonschema
import pytest

from api_client import shapes as theirs
from studio.api import openapi, routes
from studio.core import manifests
from tests.api.conftest import Studio

DOCUMENT = openapi.document(routes.ENDPOINTS)
SCHEMAS = DOCUMENT["components"]["schemas"]
PROMISED = {"Call": "CallRow"}  # a Call of the client is a request
INSIDE = {
    "Sessions",
    "Approvals",
    "OutsideTraces",
    "Fault",
    "Error",
}  # pages and errors have types of their own


def test_every_endpoint_is_described():
    found = {
        (method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods
    }

    assert {(one.method, f"/v1{one.path}") for one in routes.ENDPOINTS} <= found


def test_every_operation_has_a_name_of_its_own():
    names = [op["operationId"] for path in DOCUMENT["paths"].values() for op in path.values()]

    assert len(set(names)) == len(names)


def test_every_schema_is_sound():
    for schema in SCHEMAS.values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_reference_leads_somewhere():
    found = set(re.findall(r"#/components/schemas/(\w+)", str(DOCUMENT)))

    assert found <= set(SCHEMAS)


ASKED = re.compile("New|Part$|DenyAndSend|Stop$|DryRun|NoBody")
ANSWERS = sorted(name for name in SCHEMAS if name not in INSIDE and not ASKED.match(name))


@pytest.mark.parametrize("name", ANSWERS)
def test_the_client_promises_what_the_server_gives(name):
    shape = getattr(theirs, PROMISED.get(name, name))

    assert set(get_type_hints(shape)) == set(SCHEMAS[name]["properties"])


def validated(answer: Any, name: str) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": SCHEMAS}}
    jsonschema.Draft202012Validator(schema).validate(answer)


async def test_answers_fit_their_schemas(studio: Studio):
    wait = await studio.held()
    alice = studio.client("alice")
    session_id = wait["session_id"]

    validated(await alice.sessions.show(session_id), "SessionDetail")
    validated(await alice.sessions.events(session_id), "Events")
    validated(await alice.sessions.calls(session_id), "Calls")
    validated(await alice.sessions.call(session_id, wait["effect_id"]), "Call")
    validated(await alice.approvals.show(wait["id"]), "ApprovalDetail")
    validated(await alice.agents.show("helper"), "AgentDetail")
    validated(await alice.agents.list(), "Agents")
    validated(await alice.policy.dry_run([{"effect": "deny"}]), "Tried")
    validated(await alice.policy.show(), "Policy")
    validated(await alice.keys.list(), "Keys")


async def test_the_served_document_is_this_one(studio: Studio):
    assert (await studio.raw("GET", "/v1/openapi.json", person="")).json() == DOCUMENT


async def test_the_schemas_of_manifests_are_served(studio: Studio):
    agent = await studio.raw("GET", "/v1/schemas/agent.json", person="")
    environment = await studio.raw("GET", "/v1/schemas/environment.json", person="")

    assert agent.headers["content-type"] == "application/schema+json"
    assert agent.json() == manifests.agent_schema()
    assert environment.json() == manifests.environment_schema()
