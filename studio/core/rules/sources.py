"""Where an agent's tools come from: HTTP tools described in its manifest, and MCP servers."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from studio.core.rules import secrets, ways
from studio.core.rules.reading import Reader

TOOL = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
SERVER = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
SETTING = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
PLACE = re.compile(r"\{([^{}]*)\}")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
RESERVED = frozenset({
    "ask_person", "wait_until", "read_artifact", "save_artifact", "load_skill",
    "read_skill_resource", "shell", "read", "write", "edit", "glob", "grep",
})  # fmt: skip
RESERVED_SERVERS = frozenset({"studio", "platform", "sandbox"}) | RESERVED
# What the runtime or the connection itself writes.
OUR_HEADERS = frozenset({
    "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer",
    "idempotency-key", "traceparent", "tracestate", "mcp-session-id",
})  # fmt: skip
MOST_TOOLS = 200
MOST_SERVERS = 50

SchemaProblem = Callable[[Any], str | None]


def tools(reader: Reader, schema_problem: SchemaProblem) -> tuple[Mapping[str, Any], ...]:
    """The described HTTP tools; faults are kept by the reader."""
    seen: set[str] = set()
    found = []
    for tool in reader.objects("tools", most=MOST_TOOLS):
        _tool(tool, schema_problem)
        name = tool.value.get("name")
        if isinstance(name, str):
            if name in seen:
                tool.fault("name", "is the name of another tool of this agent too.")
            seen.add(name)
        found.append(tool.value)
    return tuple(found)


def servers(reader: Reader) -> tuple[Mapping[str, Any], ...]:
    """The MCP servers; faults are kept by the reader."""
    seen: set[str] = set()
    found = []
    for server in reader.objects("servers", most=MOST_SERVERS):
        _server(server)
        name = server.value.get("name")
        if isinstance(name, str):
            if name in seen:
                server.fault("name", "is the name of another server of this agent too.")
            seen.add(name)
        found.append(server.value)
    return tuple(found)


def url_fault(url: str) -> str | None:
    """What is wrong with an address that is called, as a sentence without its subject."""
    if any(ord(letter) <= 32 or ord(letter) == 127 for letter in url):
        return "must not hold spaces or control characters."
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "is not an address."
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must be an http or https address."
    if "@" in parts.netloc:
        return "must not hold a name or password; give a header from a setting."
    if parts.fragment or "#" in url:
        return "must not have a part behind #."
    return None


def name_fault(name: str) -> str | None:
    """Why a tool may not bear this name, as a sentence without its subject; None when it may."""
    if "__" in name:
        return "holds “__”, which the studio keeps for itself; choose another."
    if name in RESERVED:
        return "is the name of a tool that every agent has; choose another."
    return None


def setting(reader: Reader, name: str, *, literal: bool = True) -> None:
    """A value that is text, or the name of a setting or secret that holds it."""
    value = reader.value.get(name)
    if isinstance(value, str) and literal:
        if any(letter in value for letter in "\r\n\0") or len(value) > 8_000:
            reader.fault(name, "must be one line of at most 8,000 characters.")
    elif isinstance(value, Mapping) and list(value) == ["setting"]:
        if not isinstance(value["setting"], str) or not SETTING.fullmatch(value["setting"]):
            reader.fault(name, "must name a setting in capital letters, digits and _.")
    elif isinstance(value, Mapping) and list(value) == ["secret"]:
        if fault := secrets.name_fault(value["secret"]):
            reader.fault(name, fault)
    else:
        text = "text or " if literal else ""
        reader.fault(name, f'must be {text}{{"setting": "NAME"}} or {{"secret": "NAME"}}.')


def _tool(tool: Reader, schema_problem: SchemaProblem) -> None:
    tool.known(
        "name", "kind", "description", "method", "url", "input", "output", "headers", "timeout",
        "repeatable", "read_only", "terminal", "parallel", "on_uncertain", "in", "query", "body",
        "body_as", "select",
    )  # fmt: skip
    _tool_name(tool)
    tool.one_of("kind", ("http",), needed=True)
    tool.text("description", most=8_000, least=0)
    tool.one_of("method", METHODS, needed=True)
    _claims(tool)
    for name in ("input", "output"):
        schema = tool.object(name, needed=name == "input")
        if schema and (problem := schema_problem(schema.value)):
            tool.fault(name, problem)
    properties = _properties(tool)
    if url := tool.text("url", most=2_000, needed=True):
        _template(tool, url, properties)
    _headers(tool)
    _query(tool)
    ways.check(tool, headers=OUR_HEADERS, header_name=HEADER)


def _tool_name(tool: Reader) -> None:
    name = tool.text("name", most=64, needed=True)
    if name is None:
        return
    if not TOOL.fullmatch(name):
        tool.fault("name", "must begin with a letter and hold only letters, digits, _ and -.")
    elif fault := name_fault(name):
        tool.fault("name", fault)


def _claims(reader: Reader) -> None:
    """What a tool says of itself."""
    for name in ("repeatable", "read_only", "terminal", "parallel"):
        reader.flag(name)
    reader.one_of("on_uncertain", ("ask", "tell"))
    reader.number("timeout", 0.1, 3_600)


def _properties(tool: Reader) -> Mapping[str, Any]:
    schema = tool.value.get("input")
    if not isinstance(schema, Mapping):
        return {}
    if schema.get("type") != "object":
        tool.fault("input", 'must be a schema of an object: "type": "object".')
    properties = schema.get("properties", {})
    return properties if isinstance(properties, Mapping) else {}


def _template(tool: Reader, url: str, properties: Mapping[str, Any]) -> None:
    """An address with places such as {release}, none of them before its path."""
    names = PLACE.findall(url)
    filled = PLACE.sub("x", url)
    if "{" in filled or "}" in filled:
        tool.fault("url", "has a brace without its other half.")
        return
    if fault := url_fault(filled):
        tool.fault("url", fault)
        return
    scheme, _, rest = url.partition("://")
    if PLACE.search(scheme) or PLACE.search(re.split(r"[/?]", rest, maxsplit=1)[0]):
        tool.fault("url", "must not have a place in its host; only behind it.")
    for name in names:
        if name not in properties:
            tool.fault("url", f"has the place {{{name}}}, and the input schema has no such field.")


def _headers(reader: Reader) -> None:
    headers = reader.object("headers")
    if headers is None:
        return
    seen: set[str] = set()
    for name in headers.value:
        if not HEADER.fullmatch(name):
            headers.fault(name, "is not the name of a header.")
        elif name.lower() in OUR_HEADERS:
            headers.fault(name, "is written by the studio itself.")
        elif name.lower() in seen:
            headers.fault(name, "is given twice.")
        else:
            setting(headers, name)
            _latin(headers, name)
        seen.add(name.lower())


def _query(tool: Reader) -> None:
    query = tool.object("query")
    for name in query.value if query else ():
        assert query is not None, "it has fields"
        setting(query, name)


def _latin(headers: Reader, name: str) -> None:
    value = headers.value[name]
    if isinstance(value, str) and not all(
        32 <= ord(letter) < 127 or letter == "\t" for letter in value
    ):
        headers.fault(name, "must hold plain ASCII characters only.")


def _server(server: Reader) -> None:
    name = server.text("name", most=63, needed=True)
    if name and not SERVER.fullmatch(name):
        server.fault("name", "must begin with a letter and hold only letters, digits, _ and -.")
    elif name and "__" in name:
        server.fault("name", "holds “__”, which the studio keeps for itself; choose another.")
    elif name and "__" in name:
        server.fault("name", "must not hold two underscores: they part a server from its tool.")
    elif name and name.lower() in RESERVED_SERVERS:
        server.fault("name", "is a name that the studio keeps for itself; choose another.")
    transport = server.one_of("transport", ("stdio", "http"), needed=True)
    server.number("timeout", 0.1, 3_600)
    server.words("only", most=500)
    _overrides(server)
    shared = ("name", "transport", "timeout", "only", "tools")
    if transport == "stdio":
        server.known(*shared, "command", "env")
        _command(server)
    elif transport == "http":
        server.known(*shared, "url", "headers")
        url = server.text("url", most=2_000, needed=True)
        if url and (fault := url_fault(url)):
            server.fault("url", fault)
        _headers(server)


def _command(server: Reader) -> None:
    if not server.value.get("command"):
        server.fault("command", "is needed: the program and its arguments, one text each.")
    server.words("command", most=200, longest=8_000)
    env = server.object("env")
    for name in env.value if env else ():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", name):
            env.fault(name, "is not the name of a variable.")  # type: ignore[union-attr]
        else:
            setting(env, name)  # type: ignore[arg-type]


def _overrides(server: Reader) -> None:
    """What the operator says of a server's tools, over what the server says of them."""
    overrides = server.object("tools")
    for name in overrides.value if overrides else ():
        tool = overrides.object(name)  # type: ignore[union-attr]
        if tool:
            tool.known(
                "enabled", "repeatable", "read_only", "terminal", "parallel", "on_uncertain",
                "timeout",
            )  # fmt: skip
            tool.flag("enabled")
            _claims(tool)
