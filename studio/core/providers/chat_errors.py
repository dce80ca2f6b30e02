"""What went wrong with a chat completion, in neutral words: whose fault, and may it be tried again.

The provider's own words are quoted, short, and never with a key in them.
"""

import email.utils
import re
from collections.abc import Mapping
from typing import Any

from studio.core.providers.provider import ProviderError

QUOTED_CHARACTERS = 300
LONGEST_RETRY_AFTER = 3600.0

_CONTEXT = re.compile(
    r"context.?length|context.?window|maximum context|too many tokens|prompt is too long", re.I
)
_REFUSED = re.compile(r"content.?filter|content.?policy|content management policy|safety", re.I)
_KEYS = re.compile(r"\b(?:sk|pk|key)-[\w*.-]{6,}|(?<=Bearer )\S+", re.I)

_PLAIN: dict[int, tuple[str, str]] = {
    400: ("model.bad_request", "The model's server could not make sense of the request."),
    401: ("model.key", "The model's server does not accept the key."),
    402: ("model.quota", "The account at the model's provider has run out of money."),
    403: ("model.forbidden", "The key may not use this model."),
    404: (
        "model.not_found",
        "The model's server does not know this model, or its address is wrong.",
    ),
    413: ("model.context", "The talk is larger than the model's server takes."),
}
_TRIED_AGAIN = frozenset({408, 409, 425, 429})


def of_status(
    status: int, headers: Mapping[str, str], detail: Any, *, now: float, key: str
) -> ProviderError:
    """The error of an answer with this status; `detail` is its error object or its text."""
    words, code = _words(detail, key), _code(detail)
    if status == 429 and code == "insufficient_quota":
        return _error("model.quota", "The account at the model's provider has run out.", words)
    elif status == 429:
        return _again("model.rate_limited", "The model's server asks for patience (429).", words,
                      _retry_after(headers, now))  # fmt: skip
    elif status >= 500 or status in _TRIED_AGAIN:
        return _again("model.server", f"The model's server failed ({status}).", words,
                      _retry_after(headers, now))  # fmt: skip
    elif 300 <= status < 400:
        return _error("model.address", "The address of the model leads elsewhere.", words)
    return _of_words(code, words) or _error(*_PLAIN.get(status, _PLAIN[400]), words)


def of_event(detail: Any, *, key: str) -> ProviderError:
    """The error that a server sent in the middle of its answer."""
    words = _words(detail, key)
    return _of_words(_code(detail), words) or _again(
        "model.interrupted", "The model's server broke its answer off with an error.", words, None
    )


def unreachable(*, timed_out: bool) -> ProviderError:
    """No answer came, or it stopped coming."""
    if timed_out:
        return _again("model.timeout", "The model's server did not answer in time.", "", None)
    return _again(
        "model.unreachable",
        "The model's server could not be reached, or dropped the connection.", "", None,
    )  # fmt: skip


def garbage() -> ProviderError:
    """What came is not a chat completion."""
    return _again(
        "model.garbage", "The model's server sent something that is not an answer.", "", None
    )


def web_page(media: str) -> ProviderError:
    """A page came where a stream was asked for: the base URL is most likely wrong."""
    what = "a web page" if "html" in media else f"“{media[:80]}”" if media else "an untyped answer"
    return _error(
        "model.address",
        f"The model's address answered with {what} instead of a stream: check base_url.",
        "",
    )


def _of_words(code: str, words: str) -> ProviderError | None:
    if _CONTEXT.search(code) or _CONTEXT.search(words):
        return _error("model.context", "The talk is longer than the model can read.", words)
    elif _REFUSED.search(code) or _REFUSED.search(words):
        return _error("model.refused", "The model's provider refused this request.", words)
    return None


def _error(code: str, sentence: str, words: str) -> ProviderError:
    return ProviderError(code, _said(sentence, words), permanent=True)


def _again(code: str, sentence: str, words: str, after: float | None) -> ProviderError:
    return ProviderError(code, _said(sentence, words), permanent=False, retry_after=after)


def _said(sentence: str, words: str) -> str:
    return f"{sentence} It says: “{words}”" if words else sentence


def _words(detail: Any, key: str) -> str:
    """The provider's own words, short, on one line, without the key; a web page has none."""
    found = detail.get("message", "") if isinstance(detail, Mapping) else detail
    if not isinstance(found, str) or found.lstrip().startswith("<"):
        return ""
    found = found.replace(key, "•••") if key else found
    return " ".join(_KEYS.sub("•••", found).split())[:QUOTED_CHARACTERS]


def _code(detail: Any) -> str:
    if not isinstance(detail, Mapping):
        return ""
    return " ".join(str(detail.get(name) or "") for name in ("code", "type")).split(" ")[0]


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait by `retry-after-ms` or `retry-after` (seconds or a date), an hour at most."""
    seconds = _number(headers.get("retry-after-ms", ""))
    if seconds is not None:
        seconds /= 1000
    else:
        text = headers.get("retry-after", "")
        seconds = _number(text)
        if seconds is None and text:
            date = email.utils.parsedate_tz(text)
            seconds = email.utils.mktime_tz(date) - now if date else None
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_RETRY_AFTER)


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text.strip()) else None
