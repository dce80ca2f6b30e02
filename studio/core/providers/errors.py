"""What went wrong with a model call, in neutral words: whose fault, and may it be tried again.

Only a full house (429), a failing server (5xx, 529) and a connection that is lost before the first
byte of an answer may pass; everything else fails once. The provider's own words are quoted, short,
and never with a key in them.
"""

import email.utils
import re
import ssl
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from studio.core.providers.provider import ProviderError

LARGEST_ANSWER = 8 * 1024 * 1024
QUOTED_CHARACTERS = 300
TELLING = 8  # so many characters of a key say too much
LONGEST_RETRY_AFTER = 3600.0

_CONTEXT = re.compile(
    r"context.?(length|window|size)|maximum context|prompt is too long|input is too long"
    r"|token count.{0,40}exceeds|request_too_large|too many (input )?tokens in",
    re.I,
)
_REFUSED = re.compile(
    r"content.?(filter|policy|management policy)|policy_violation|bio_policy"
    r"|safety (system|filter|policy|setting)|prohibited.?content|usage polic",
    re.I,
)
_QUOTA = re.compile(r"insufficient.?quota|credit balance|current quota|billing", re.I)
_KEY = re.compile(
    r"(api[ -]?key|x-api-key).{0,40}(invalid|not valid|incorrect|expired|revoked|not found)"
    r"|(invalid|incorrect|expired|revoked).{0,20}(api[ -]?key|x-api-key)|authentication_error",
    re.I,
)
_UNKNOWN = re.compile(
    r"model_not_found|(model|deployment)\b.{0,120}(not found|does not exist|not exist|is not valid"
    r"|not supported)|(invalid|unknown|no such) model",
    re.I | re.S,
)
_KEYS = re.compile(r"\b(?:sk|pk|key)-[\w*.-]{6,}|\bAIza[\w-]{20,}|(?<=Bearer )\S+", re.I)

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


def of_status(
    status: int, headers: Mapping[str, str], body: Any, *, now: float, key: str
) -> ProviderError:
    """The error of an answer with this status; `body` is its JSON, or its text."""
    detail = _detail(body)
    words, code = _words(detail, key), _code(detail)
    if status == 429 and code == "insufficient_quota":
        return _error("model.quota", "The account at the model's provider has run out.", words)
    elif status == 429:
        return _again("model.rate_limited", "The model's server asks for patience (429).", words,
                      _retry_after(headers, now))  # fmt: skip
    elif status >= 500:
        return _again("model.server", f"The model's server failed ({status}).", words,
                      _retry_after(headers, now))  # fmt: skip
    elif 300 <= status < 400:
        return _error(
            "model.address", "The address of the model leads elsewhere: check base_url.", words
        )
    known = _of_words(code, words)
    return known or _error(*_PLAIN.get(status, _PLAIN[400]), words)


_NOT_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError"})


_BUSY = re.compile(r"rate.?limit|resource_exhausted|too_many_requests", re.I)
_FAILING = re.compile(r"overloaded|api_error|server_error|internal|unavailable", re.I)


def of_event(body: Any, *, key: str) -> ProviderError:
    """The error that a server sent as its answer, or in the middle of it."""
    detail = _detail(body)
    words, code = _words(detail, key), _code(detail)
    if known := _of_words(code, words):
        return known
    elif _BUSY.search(code):
        return _again("model.rate_limited", "The model's server asks for patience.", words, None)
    elif _FAILING.search(code):
        return _again("model.server", "The model's server failed while it answered.", words, None)
    return _again(
        "model.interrupted", "The model's server broke its answer off with an error.", words, None
    )


def may_pass(error: ProviderError) -> bool:
    """The server said so in an event: what a status of 429, 5xx or 529 says before an answer."""
    return error.code in ("model.rate_limited", "model.server")


def of_connection(error: BaseException, *, timed_out: bool, begun: bool) -> ProviderError:
    """No answer came, or it stopped coming."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _error(
                "model.certificate", "The certificate of the model's server is not trusted.",
                str(getattr(cause, "verify_message", "") or cause),
            )  # fmt: skip
        elif isinstance(cause, ssl.SSLError):
            return _error(
                "model.address",
                "The model's server does not speak TLS at this address: check base_url.",
                getattr(cause, "reason", None) or "",
            )
    if any(type(cause).__name__ in _NOT_SENT for cause in _causes(error)):
        return _again("model.unreachable", "The model's server could not be reached.", "", None)
    elif timed_out:
        return _again("model.timeout", "The model's server did not answer in time.", "", None)
    where = "in the middle of its answer" if begun else "before it answered"
    return _again(
        "model.interrupted", f"The model's server dropped the connection {where}.", "", None
    )


def garbage() -> ProviderError:
    """What came is not an answer of this protocol."""
    return _error(
        "model.garbage",
        "The model's server sent something that is not an answer. Check base_url and provider.",
        "",
    )


def broke_off() -> ProviderError:
    """The answer ended without saying why."""
    return _again("model.interrupted", "The answer broke off before its end.", "", None)


def refused(words: str = "") -> ProviderError:
    """The model, or its provider's filter, would not answer; `words` are its own."""
    return _error("model.refused", "The model refused this request.", words.strip()[:300])


def too_large() -> ProviderError:
    """The answer is over what is kept."""
    return _error(
        "model.too_large",
        f"The model's answer is larger than {LARGEST_ANSWER // 1024 // 1024} MiB and was cut off.",
        "",
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
    """What a code or the provider's words say more exactly than a status."""
    said = f"{code}\n{words}"
    if _CONTEXT.search(said):
        return _error("model.context", "The talk is longer than the model can read.", words)
    elif _REFUSED.search(said):
        return _error("model.refused", "The model's provider refused this request.", words)
    elif _QUOTA.search(said):
        return _error("model.quota", "The account at the model's provider has run out.", words)
    elif _KEY.search(said):
        return _error(*_PLAIN[401], words)
    elif _UNKNOWN.search(said):
        return _error("model.not_found", "The model's server does not know this model.", words)
    return None


def _error(code: str, sentence: str, words: str) -> ProviderError:
    return ProviderError(code, sentence, permanent=True, words=words)


def _again(code: str, sentence: str, words: str, after: float | None) -> ProviderError:
    return ProviderError(code, sentence, permanent=False, retry_after=after, words=words)


def _detail(body: Any) -> Any:
    """The error object inside, however a provider wraps it."""
    if isinstance(body, list) and body:
        body = body[0]
    inner = body.get("error") if isinstance(body, Mapping) else None
    return inner if inner else body


def _words(detail: Any, key: str) -> str:
    """The provider's own words, short, on one line, without the key; a web page has none."""
    found = detail.get("message", "") if isinstance(detail, Mapping) else detail
    if not isinstance(found, str) or found.lstrip().startswith("<"):
        return ""
    return " ".join(hidden(found, key).split())[:QUOTED_CHARACTERS]


def hidden(text: str, key: str) -> str:
    """The text without this key, however it is written, and without what looks like any key."""
    for written in {key, quote(key, safe=""), key.replace("/", "\\/")} if key else ():
        text = text.replace(written, "•••")
    if len(key) >= 2 * TELLING:  # some providers quote the beginning
        text = re.sub(re.escape(key[:TELLING]) + r"\S*", "•••", text)
    return _KEYS.sub("•••", text)


def _code(detail: Any) -> str:
    if not isinstance(detail, Mapping):
        return ""
    words = [str(detail.get(name) or "") for name in ("code", "type", "status")]
    return next((word for word in words if word and not word.isdecimal()), "")


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(10):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__


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
