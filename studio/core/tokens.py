"""Signed tokens: sign-in links and the token inside each decision form. Made from one key file.

Signing is itsdangerous' (HMAC-SHA-512 here). What is single-use is remembered by the store, by the
chance inside: base 64 can be written in several ways, so the token's text is no name for it.
"""

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Any

from itsdangerous import BadSignature, SignatureExpired, URLSafeTimedSerializer

from studio.core.rules.access import RANK, Role
from studio.core.rules.errors import Denied, Unknown

LINK_SECONDS = 120
FORM_SECONDS = 12 * 3600
COOKIE_SECONDS = 14 * 86_400


@dataclass(frozen=True, kw_only=True)
class DecisionToken:
    """The token of one decision form with the browser's secret it was made for."""

    value: str
    secret: str


class Tokens:
    """Makes and reads signed tokens. `key` is at least 32 random bytes.

    `trace_key` is derived from it, for the ids of traces.
    """

    def __init__(self, key: bytes) -> None:
        self._links = _signer(key, "sign-in link")
        self._forms = _signer(key, "decision form")
        self._cookies = _signer(key, "cookie")
        self.trace_key = hashlib.sha256(b"ids of traces" + key).digest()
        self._artifact_key = hashlib.sha256(b"links to artifacts" + key).digest()

    def link(self, person: str, role: Role) -> str:
        """A sign-in token: 256 bits of chance, good for two minutes, once."""
        return str(self._links.dumps([person, role, secrets.token_urlsafe(32)]))

    def read_link(self, token: str) -> tuple[str, Role, str]:
        """Who a sign-in link lets in, and the chance that makes it one of its kind; or Unknown."""
        try:
            person, role, chance = self._links.loads(token, max_age=LINK_SECONDS)
        except SignatureExpired as error:
            raise Unknown(
                "This sign-in link is older than two minutes. Run `studio login` for a new one.",
                code="link.expired",
            ) from error
        except (BadSignature, ValueError) as error:
            raise Unknown(
                "This sign-in link is not one of this studio's. Run `studio login` for a new one.",
                code="link.invalid",
            ) from error
        if role not in RANK:
            raise Unknown("This sign-in link names no role.", code="link.invalid")
        return str(person), role, str(chance)

    def form(self, *, person: str, wait_id: str, digest: str, secret: str) -> str:
        """The token of one decision form: bound to person, browser, wait and digest."""
        bound = [person, wait_id, digest, hashed(secret)[:32], secrets.token_urlsafe(12)]
        return str(self._forms.dumps(bound))

    def check_form(self, token: DecisionToken, *, person: str, wait_id: str, digest: str) -> str:
        """The chance in a token that was made for exactly this form; raises Denied."""
        try:
            bound: list[Any] = self._forms.loads(token.value, max_age=FORM_SECONDS)
        except (BadSignature, ValueError) as error:
            raise _no_token() from error
        if bound[:4] != [person, wait_id, digest, hashed(token.secret)[:32]]:
            raise _no_token()
        return str(bound[4])

    def artifact_link(self, link_id: str, artifact_id: str, version: int, expires: int) -> str:
        """The token of a link to one version of an artifact until `expires` (ms)."""
        bound = "\n".join((link_id, artifact_id, str(version), str(expires)))
        seal = hmac.digest(self._artifact_key, bound.encode(), "sha256")
        return f"{link_id}.{base64.urlsafe_b64encode(seal).decode().rstrip('=')}"

    def cookie(self, secret: str) -> str:
        """The signed value of the sign-in cookie."""
        return str(self._cookies.dumps(secret))

    def read_cookie(self, value: str) -> str | None:
        """The secret in a cookie, or None when it is not ours or too old."""
        try:
            return str(self._cookies.loads(value, max_age=COOKIE_SECONDS))
        except (BadSignature, ValueError):
            return None


def hashed(text: str) -> str:
    """SHA-256 in hex: all that is kept of a secret that only needs recognising."""
    return hashlib.sha256(text.encode()).hexdigest()


def _signer(key: bytes, salt: str) -> URLSafeTimedSerializer:
    options = {"digest_method": hashlib.sha512}
    return URLSafeTimedSerializer(key, salt=f"studio {salt}", signer_kwargs=options)


def _no_token() -> Denied:
    return Denied(
        "This decision did not come from the card's own form, or the form is too old. Nothing was "
        "decided. Open the card again and decide there.",
        code="decision.token",
    )
