"""Which secret of an environment goes where."""

import pytest

from studio.core.rules.environments.environment import Environment
from studio.core.tools.tool import ToolError
from studio.core.work.environments import secrets

SLOTS = [
    {"name": "CRM", "type": "bearer", "binding": "https://crm.test/api"},
    {"name": "CRM_ADMIN", "type": "headers", "binding": "https://admin.test:8443"},
    {"name": "EXACT", "type": "bearer", "binding": "https://exact.test:443/"},
    {"name": "TOKEN", "type": "variable", "binding": "API_TOKEN"},
    {"name": "KEY", "type": "file", "binding": "deploy.pem"},
]
LAB = Environment(id="env_a", definition={"secrets": SLOTS})


@pytest.mark.parametrize(
    "url,name",
    [
        ("https://crm.test/api", "CRM"),
        ("https://crm.test/api/customers/{id}", "CRM"),
        ("https://CRM.test/api/", "CRM"),
        ("https://crm.test/apis", None),
        ("https://crm.test/{path}", None),
        ("https://crm.test/api{path}", None),
        ("https://crm.test/api?id={id}", "CRM"),
        ("https://crm.test.evil/api", None),
        ("https://crm.test:444/api", None),
        ("https://crm.test:443/api", "CRM"),
        ("https://crm.test./api", "CRM"),
        ("https://crm.test:0/api", None),
        ("https://crm.test:x/api", None),
        ("https://user@crm.test/api", None),
        ("https://crm.test/api/../admin", None),
        ("https://crm.test/api/%2e%2e/admin", None),
        ("https://exact.test/x", "EXACT"),
        ("http://crm.test/api", None),
        ("https://admin.test:8443/anything", "CRM_ADMIN"),
        ("https://admin.test/anything", None),
        ("https://other.test/?next=https://crm.test/api", None),
    ],
)
def test_only_what_lies_below_a_binding_gets_its_secret(url: str, name: str | None) -> None:
    found = secrets.for_url(LAB, url)

    assert (found.name if found else None) == name


def test_a_value_becomes_headers() -> None:
    bearer, many, *_ = LAB.slots

    assert secrets.headers(bearer, "abc") == {"authorization": "Bearer abc"}
    assert secrets.headers(many, '{"X-Key": "k", "X-User": "u"}') == {"x-key": "k", "x-user": "u"}


def test_a_command_gets_what_it_names_and_nothing_else() -> None:
    values = {"CRM": "crm-value", "TOKEN": "token-value", "KEY": "key-value"}

    opened = secrets.for_command(LAB, values, ["TOKEN"])

    assert opened.variables == {"API_TOKEN": "token-value"}
    assert opened.files == {}
    assert secrets.for_command(LAB, values, ["KEY"]).files == {"deploy.pem": b"key-value"}


@pytest.mark.parametrize("name,words", [("CRM", "no secret CRM"), ("OTHER", "no secret OTHER")])
def test_a_secret_for_an_address_is_none_for_commands(name: str, words: str) -> None:
    with pytest.raises(ToolError) as refused:
        secrets.for_command(LAB, {"CRM": "crm-value"}, [name])

    assert words in refused.value.message
    assert refused.value.settled


def test_a_secret_without_a_value_is_said_to_be_missing() -> None:
    with pytest.raises(ToolError) as refused:
        secrets.for_command(LAB, {}, ["TOKEN"])

    assert "is not set" in refused.value.message
