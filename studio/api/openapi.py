"""The OpenAPI 3.1 document, written from the endpoints and shapes that do the work."""

import re
from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any

from studio import __version__
from studio.api import answers, shapes
from studio.api.bodies import NoQuery
from studio.api.endpoint import JSON_KIND, PATH_PART, STREAM_KIND, Endpoint

ABOUT = """The verbs of Operator Studio for programs. Send an application key as
`Authorization: Bearer stk_…`. Every answer that is not a success has the same body: a stable
`code`, a `message` for a person, and `details`. Lists come in pages; give the `next` of one page as
`cursor` for the following one, with the same filter. A verb with `Idempotency-Key` may be repeated:
the first answer comes again."""
WHY = {
    400: "The request cannot be read: bad JSON, or a cursor that does not fit.",
    401: "No application key, or one that is not known.",
    403: "The key's role does not reach this.",
    404: "It does not exist, or you may not know that it does.",
    406: "Accept asks for what this does not answer as.",
    408: "The body did not arrive in time.",
    409: "The rules say no, and `code` says which one.",
    410: "It was there and is over.",
    411: "A body is needed, with its length.",
    412: "It was changed since the version that If-Match names.",
    413: "It is over a limit that is written down.",
    415: "The body is not of the kind that is asked for, or is encoded.",
    416: "The range lies behind the end.",
    421: "The Host header names another studio.",
    422: "What was sent does not make sense; `details.fields` has a sentence for each field.",
    428: "If-Match is needed.",
    429: "Too many requests; wait as Retry-After says.",
    503: "The store cannot answer now; try again as Retry-After says.",
}
FILE_KIND = "application/octet-stream"
BYTES = {"type": "string", "format": "binary"}
ALWAYS = (400, 401, 403, 406, 421, 422, 429, 503)
WITH_BODY = (408, 411, 413, 415)


def document(endpoints: Sequence[Endpoint[Any, Any]]) -> dict[str, Any]:
    """The whole document."""
    parts: dict[str, Any] = {}
    shapes.schema(answers.Error, parts)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        operation = _operation(endpoint, parts)
        paths.setdefault(f"/v1{endpoint.path}", {})[endpoint.method.lower()] = operation
    paths.update(_public(parts))
    return {
        "openapi": "3.1.0",
        "info": {"title": "Operator Studio", "version": __version__, "description": ABOUT},
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(parts.items())),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint[Any, Any], parts: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.says,
        "tags": [endpoint.path.split("/")[1]],
        "parameters": [*_path(endpoint), *_query(endpoint, parts), *_headers(endpoint)],
        "responses": _responses(endpoint, parts),
    }
    if endpoint.raw:
        content = {endpoint.raw: {"schema": {"type": "string", "format": "binary"}}}
        found["requestBody"] = {"required": True, "content": content}
    elif endpoint.body is not None:
        schema = {"type": "object"} if endpoint.free_body else shapes.schema(endpoint.body, parts)
        found["requestBody"] = {
            "required": endpoint.body_required, "content": {JSON_KIND: {"schema": schema}},
        }  # fmt: skip
    if endpoint.takes_file:
        kinds = endpoint.kinds or (FILE_KIND,)
        content = {
            kind: {"schema": {"type": "object"} if kind == JSON_KIND else BYTES} for kind in kinds
        }
        found["requestBody"] = {"required": True, "content": content}
    return found


def _path(endpoint: Endpoint[Any, Any]) -> list[dict[str, Any]]:
    schema = {"type": "string", "pattern": PATH_PART}
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name in re.findall(r"\{(\w+)\}", endpoint.path)
    ]


def _query(endpoint: Endpoint[Any, Any], parts: dict[str, Any]) -> list[dict[str, Any]]:
    if endpoint.query is NoQuery:
        return []
    kinds, found = shapes.hints(endpoint.query), []
    for item in fields(endpoint.query):
        schema = _not_null(shapes.schema(kinds[item.name], parts))
        words = schema.pop("description", "")
        needed = item.default is MISSING and item.default_factory is MISSING
        parameter = {"name": item.name, "in": "query", "required": needed, "schema": schema}
        found.append({**parameter, **({"description": words} if words else {})})
    return found


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query holds texts, so what may be null may only be left out."""
    kind = schema.get("type")
    return {**schema, "type": kind[0]} if isinstance(kind, list) else schema


def _headers(endpoint: Endpoint[Any, Any]) -> list[dict[str, Any]]:
    found = []
    if endpoint.keyed:
        words = "Repeat a request with the same key and body: it is done once, answered twice."
        found.append(_header("Idempotency-Key", words, r"^[\x21-\x7e]{1,200}$"))
    if endpoint.traced:
        words = "The span that sends this (W3C Trace Context): the turn joins its trace."
        ignored = "One that is unsound is as if it were not there."
        found.append(_header("traceparent", f"{words} {ignored}"))
        found.append(_header("tracestate", f"What goes with it. {ignored}"))
    if endpoint.match:
        words = f"In double quotes: {endpoint.match}."
        pattern = r'^"[0-9a-f]{64}"$' if "digest" in endpoint.match else r'^"[0-9]{1,15}"$'
        found.append({**_header("If-Match", words, pattern), "required": endpoint.match_required})
    if endpoint.streams:
        words = "With Accept: text/event-stream, go on behind the event with this id."
        found.append(_header("Last-Event-ID", words, r"^[0-9]{1,15}$"))
    return found


def _header(name: str, words: str, pattern: str = "") -> dict[str, Any]:
    schema = {"type": "string", **({"pattern": pattern} if pattern else {})}
    return {
        "name": name, "in": "header", "required": False, "description": words, "schema": schema,
    }  # fmt: skip


def _responses(endpoint: Endpoint[Any, Any], parts: dict[str, Any]) -> dict[str, Any]:
    found = {str(endpoint.status): _success(endpoint, parts)}
    statuses = {*ALWAYS, *endpoint.errors}
    if "{" in endpoint.path:
        statuses.add(404)
    if endpoint.body is not None or endpoint.takes_file:
        statuses.update(WITH_BODY)
    if endpoint.keyed or endpoint.match:
        statuses.add(409)
    if endpoint.match_required:
        statuses.add(428)
    for status in sorted(statuses):
        if status < 400:
            found[str(status)] = _success(endpoint, parts)
        else:
            found[str(status)] = error_response(status)
            if endpoint.refuse is not None:  # the protocol says how refusals look
                found[str(status)] = {"description": WHY[status]}
    return dict(sorted(found.items()))


def _success(endpoint: Endpoint[Any, Any], parts: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"description": "Done.", "headers": _answer_headers(endpoint)}
    if endpoint.gives is not None:
        found["content"] = {JSON_KIND: {"schema": shapes.schema(endpoint.gives, parts)}}
    if endpoint.streams:
        found["content"][STREAM_KIND] = {"schema": {"type": "string"}}
    if endpoint.links:
        found["links"] = {
            link.to: {"operationId": link.to, "parameters": {link.part: link.value}}
            for link in endpoint.links
        }
    return found


def _answer_headers(endpoint: Endpoint[Any, Any]) -> dict[str, Any]:
    text = {"schema": {"type": "string"}, "required": True}
    found = {"Request-Id": text}
    if endpoint.tagged:
        found["ETag"] = text
    if endpoint.status == 201:
        found["Location"] = text
    return found


def error_response(status: int) -> dict[str, Any]:
    """The answer for one status that is not a success."""
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": WHY[status], "content": {JSON_KIND: {"schema": schema}}}


def _public(parts: dict[str, Any]) -> dict[str, Any]:
    up = _public_get("health", "Whether the process answers.", answers.Health, parts)
    able = _public_get("ready", "Whether requests can be served now.", answers.Ready, parts)
    able["responses"]["503"] = {**able["responses"]["200"], "description": "Not now."}
    return {"/v1/health": {"get": up}, "/v1/ready": {"get": able}}


def _public_get(name: str, says: str, gives: type, parts: dict[str, Any]) -> dict[str, Any]:
    content = {JSON_KIND: {"schema": shapes.schema(gives, parts)}}
    return {
        "operationId": name, "summary": says, "tags": ["health"], "security": [],
        "parameters": [], "responses": {"200": {"description": "Done.", "content": content}},
    }  # fmt: skip
