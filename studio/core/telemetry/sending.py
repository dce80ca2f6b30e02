"""One request to the collector, and what its answer means by OTLP/HTTP.

429, 502, 503, 504 and a connection that fails ask for another try; every other answer is final.
"""

import email.utils
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from studio.core.telemetry import messages

if TYPE_CHECKING:
    import httpx2

AGAIN = frozenset({429, 502, 503, 504})
ANSWER_BYTES = 64 * 1024
MOST_WORDS = 300
LONGEST_REST = 3_600.0  # seconds, whatever Retry-After asks for


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where spans go. `headers` hold secrets; `seconds` are for one answer, whole."""

    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    seconds: float = 10.0

    @property
    def place(self) -> str:
        """Scheme, host and port: what may be shown."""
        found = urlsplit(self.url)
        return f"{found.scheme}://{found.netloc}"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back. `again`: the same may be sent once more, not before `rest` seconds if told.

    `refused` of the spans were not taken (None for all of them); `words` say what was wrong.
    """

    again: bool = False
    refused: int | None = 0
    words: str = ""
    rest: float | None = None


class Sender:
    """Posts bodies to one collector. Nothing of the environment is used, no redirect followed."""

    def __init__(
        self, target: Target, *, hide: Callable[[str], str], now: Callable[[], int]
    ) -> None:
        self._target, self._hide, self._now = target, hide, now
        self._client: httpx2.AsyncClient | None = None

    async def send(self, body: bytes) -> Answer:
        """Post one body; whatever happens is an answer."""
        import asyncio

        import httpx2

        if self._client is None:
            self._client = httpx2.AsyncClient(
                timeout=None, trust_env=False, follow_redirects=False,
                headers={"user-agent": "operator-studio", "accept": messages.MEDIA},
            )  # fmt: skip
        headers = {**dict(self._target.headers), "content-type": messages.MEDIA}
        try:
            async with (
                asyncio.timeout(self._target.seconds),
                self._client.stream(
                    "POST", self._target.url, content=body, headers=headers
                ) as response,
            ):
                return self._read(response.status_code, response.headers, await _body(response))
        except TimeoutError:
            words = f"It did not answer within {self._target.seconds:g} s."
            return Answer(again=True, words=words)
        except (httpx2.TransportError, httpx2.DecodingError, OSError) as error:
            return Answer(again=True, words=self._clean(f"{_why(error)}"))

    async def close(self) -> None:
        """Let the connection go."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _read(self, status: int, headers: Mapping[str, str], body: bytes) -> Answer:
        if 200 <= status < 300:
            return self._taken(body)
        said = _said(headers.get("content-type", ""), body)
        words = self._clean(f"It answered {status}{': ' + said if said else '.'}")
        if status in AGAIN:
            return Answer(again=True, words=words, rest=self._rest(headers.get("retry-after", "")))
        return Answer(refused=None, words=words)

    def _taken(self, body: bytes) -> Answer:
        try:
            refused, why = messages.refused(body)
        except ValueError:  # it took them and says so in words of its own
            return Answer()
        if not refused:  # words without refused spans are a warning
            return Answer(words=self._clean(f"It warns: {why}") if why else "")
        words = f"It refused {refused:,} of the spans{': ' + why if why else '.'}"
        return Answer(refused=refused, words=self._clean(words))

    def _rest(self, text: str) -> float | None:
        """Seconds that Retry-After asks for, told as a number or as a date."""
        if re.fullmatch(r"[0-9]{1,9}", text):
            return min(float(text), LONGEST_REST)
        try:
            due = email.utils.parsedate_to_datetime(text)
        except ValueError:
            return None
        return min(max(due.timestamp() - self._now() / 1000, 0.0), LONGEST_REST)

    def _clean(self, words: str) -> str:
        """In one line, without secrets and not long."""
        plain = "".join(char if char.isprintable() else " " for char in self._hide(words))
        return " ".join(plain.split())[:MOST_WORDS]


async def _body(response: "httpx2.Response") -> bytes:
    """The body as far as it is looked at."""
    found = b""
    async for piece in response.aiter_bytes():
        found += piece
        if len(found) > ANSWER_BYTES:
            break
    return found[:ANSWER_BYTES]


def _said(media: str, body: bytes) -> str:
    """What a refusal says, where that is text."""
    if media.startswith(("text/", "application/json")):
        return body.decode("utf-8", "replace")
    return ""


def _why(error: BaseException) -> str:
    """What broke, without the words of a library that may hold more than the host."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).lower()
    return f"It could not be reached ({name})."
