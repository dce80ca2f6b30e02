"""Between calls and httpx: what to send, and what the answer means."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import httpx

from api_client import errors
from api_client.call import Absent, Call

T = TypeVar("T")
AGENT = "operator-studio-client"


def request(http: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> httpx.Request:
    """The request of a call."""
    headers = {"Accept": "application/json", **call.headers}
    content = call.content
    if content is not None:
        headers["Content-Type"] = call.media
    elif not isinstance(call.body, Absent):
        headers["Content-Type"] = "application/json"
        content = encoded(call.body)
    return http.build_request(
        call.method, call.path, params=dict(call.query) or None, headers=headers, content=content
    )


def streamed(call: Call[Any]) -> dict[str, Any]:
    """What httpx is told of a call whose answer is read as it comes."""
    return {
        "method": call.method, "url": call.path, "params": dict(call.query) or None,
        "headers": {"Accept": "*/*", **call.headers},
    }  # fmt: skip


def encoded(body: Any) -> bytes:
    """JSON of a body."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")


def answer(call: Call[T], response: httpx.Response) -> T:
    """The typed answer, or the typed error."""
    raise_for(response)
    return cast(T, None if response.status_code == 204 else json_of(response))


def raise_for(response: httpx.Response) -> None:
    """Raise the typed error of an answer that is not a success."""
    if not response.is_success:
        raise errors.of_answer(response.status_code, lower(response.headers), json_of(response))


def json_of(response: httpx.Response) -> Any:
    """The JSON of an answer; None when it is none."""
    try:
        return response.json()
    except ValueError:
        return None


def lower(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers with lower-case names."""
    return {name.lower(): value for name, value in headers.items()}


def not_reached(url: object, error: httpx.TransportError) -> errors.NotReached:
    """The error of an answer that never came."""
    why = str(error) or type(error).__name__
    return errors.NotReached(f"No answer from {url}: {why}.")


def options(url: str, key: str, timeout: float) -> dict[str, Any]:
    """How the httpx client is made: no redirects, nothing from the environment."""
    headers = {"User-Agent": AGENT, **({"Authorization": f"Bearer {key}"} if key else {})}
    return {
        "base_url": url, "headers": headers, "timeout": timeout, "follow_redirects": False,
        "trust_env": False,
    }  # fmt: skip
