"""Secret slots: the places that a manifest declares for sealed values, and what may go into each.

A slot is {name, type, binding, required, description}. `bearer` and `headers` are bound to an https
address and everything below it, `variable` to a variable of the shell, `file` to a name below
/run/secrets.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from studio.core.rules import secrets, sources
from studio.core.rules.errors import Invalid, Refused, TooLarge
from studio.core.rules.reading import Reader

TYPES = ("bearer", "headers", "variable", "file")
MOST = 100
HTTP, HTTPS = 80, 443
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")  # POSIX, Base Definitions 8.1
FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
FILE_BYTES = 64 * 1024
RESERVED = frozenset({
    "PATH", "HOME", "PWD", "SHELL", "USER", "LANG",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO", "PIP_CERT", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "DENO_CERT",
})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A place for a sealed value, as a manifest declares it."""

    name: str
    type: str
    binding: str
    required: bool = True
    description: str = ""

    @property
    def place(self) -> str:
        """What no two slots of a manifest may share: a host, a variable or a file."""
        if self.type in ("bearer", "headers"):
            host, port = origin(self.binding)
            return f"host {host}" if port == HTTPS else f"host {host}:{port}"
        return f"{self.type} {self.binding}"


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Which slots have a value. `missing` are the required ones that have none."""

    slots: int
    filled: int
    missing: tuple[str, ...]

    @property
    def words(self) -> str:
        """Such as `3 of 4 set, 1 required missing`."""
        if not self.slots:
            return "no secrets declared"
        tail = f", {len(self.missing)} required missing" if self.missing else ""
        return f"{self.filled} of {self.slots} set{tail}"


def read(reader: Reader) -> tuple[Slot, ...]:
    """The slots; faults are kept by the reader."""
    found: list[Slot] = []
    names, places = set[str](), dict[str, str]()
    for entry in reader.objects("secrets", most=MOST):
        slot = _slot(entry)
        if slot is None:
            continue
        if slot.name in names:
            entry.fault("name", "is the name of another slot too.")
        elif slot.place in places:
            words = f"is bound to the {slot.place}, and so is {places[slot.place]}."
            entry.fault("binding", words)
        names.add(slot.name)
        places.setdefault(slot.place, slot.name)
        found.append(slot)
    return tuple(found)


def variable_fault(name: str) -> str | None:
    """Why a variable may not be set here, as a sentence without its subject."""
    if not VARIABLE.fullmatch(name):
        return "is no name of a variable: letters, digits and _, not a digit first."
    if name in RESERVED or name.upper().endswith("_PROXY") or name.startswith("STUDIO_"):
        return "is set by the studio itself; choose another name."
    return None


def of_definition(definition: Mapping[str, Any]) -> tuple[Slot, ...]:
    """The slots of a definition that was checked."""
    return tuple(Slot(**one) for one in definition.get("secrets", ()))


def origin(url: str) -> tuple[str, int]:
    """(host, port) of an address, however they are written; ValueError when it has no such port."""
    parts = urlsplit(url)
    usual = HTTPS if parts.scheme == "https" else HTTP
    return (parts.hostname or "").rstrip("."), usual if parts.port is None else parts.port


def one_for_a_host(slots: Sequence[Slot], name: str, filled: Collection[str]) -> None:
    """Refuse a value for a slot whose host another secret that is set is bound to already.

    A manifest that is saved has no two slots for one host; this holds for those that were saved
    before that was asked, and whatever names a host in two ways.
    """
    asked = next(slot for slot in slots if slot.name == name)
    for other in slots:
        if other.name == name or other.name not in filled or not _meet(asked, other):
            continue
        raise Refused(
            f"{name} is bound to {asked.binding}, and so is {other.name}, which is set: its "
            f"binding is {other.binding}. One host gets one secret. Remove {other.name} first, or "
            "bind both headers in one slot.",
            code="secret_host_taken", details={"slot": other.name},
        )  # fmt: skip


def _meet(one: Slot, other: Slot) -> bool:
    """Both would go to one host and port."""
    if not {one.type, other.type} <= {"bearer", "headers"}:
        return False
    (host, port), (another, other_port) = origin(one.binding), origin(other.binding)
    return port == other_port and (
        host == another or _covers(host, another) or _covers(another, host)
    )


def _covers(pattern: str, host: str) -> bool:
    return pattern.startswith("*.") and host.endswith(pattern[1:])


def slot_named(slots: Sequence[Slot], name: str) -> Slot:
    """The slot of this name; Refused when the manifest declares none."""
    for slot in slots:
        if slot.name == name:
            return slot
    declared = ", ".join(slot.name for slot in slots) or "none"
    raise Refused(
        f"The manifest of this environment declares no secret {name}. Declared: {declared}.",
        code="secret_not_in_manifest", details={"declared": [slot.name for slot in slots]},
    )  # fmt: skip


def coverage(slots: Sequence[Slot], filled: Collection[str]) -> Coverage:
    """What of the slots is filled."""
    missing = tuple(slot.name for slot in slots if slot.required and slot.name not in filled)
    there = sum(slot.name in filled for slot in slots)
    return Coverage(slots=len(slots), filled=there, missing=missing)


def check_value(slot: Slot, value: str) -> None:
    """Raise Invalid or TooLarge unless this may be sealed for the slot, and masked.

    `headers` is a JSON map of header to value; a `file` may have several lines.
    """
    if slot.type == "file":
        _check_file(slot.name, value)
    elif slot.type == "headers":
        _check_headers(slot.name, value)
    else:
        secrets.check(slot.name, value)
        if slot.type == "bearer" and not all(33 <= ord(letter) < 127 for letter in value):
            raise _wrong("has characters that no bearer token has: spaces, or beyond ASCII.")


def texts(type: str, value: str) -> tuple[str, ...]:
    """What of an opened value is to be masked wherever it turns up."""
    if type == "headers":
        return tuple(json.loads(value).values())
    return (value, value.strip()) if type == "file" else (value,)


def _slot(entry: Reader) -> Slot | None:
    entry.known("name", "type", "binding", "required", "description")
    name = entry.text("name", most=64, needed=True)
    if name is not None and (fault := secrets.name_fault(name)):
        entry.fault("name", fault)
    kind = entry.one_of("type", TYPES, needed=True)
    binding = entry.text("binding", most=2_000, needed=True)
    required, words = entry.flag("required"), entry.text("description", most=500, least=0)
    if name is None or kind is None or binding is None:
        return None
    if fault := _binding_fault(kind, binding):
        entry.fault("binding", fault)
        return None
    return Slot(
        name=name, type=kind, binding=binding, required=required is not False,
        description=words or "",
    )  # fmt: skip


def _binding_fault(kind: str, binding: str) -> str | None:
    if kind == "variable":
        return variable_fault(binding)
    if kind == "file":
        return None if FILE.fullmatch(binding) else "must be the plain name of a file."
    if fault := sources.url_fault(binding):
        return fault
    parts = urlsplit(binding)
    if parts.scheme != "https" or parts.query:
        return "must be an https address without a query; it holds for all that begins with it."
    if "*" in parts.netloc:
        return "must name one host; a * stands for none here."
    return None


def _check_file(name: str, value: str) -> None:
    size = len(value.encode("utf-8", "replace"))
    if size > FILE_BYTES:
        raise TooLarge(
            f"The file has {size:,} bytes; {FILE_BYTES:,} are allowed.", code="secret.too_large"
        )
    secrets.check(name, value.strip()[: secrets.LONGEST])


def _check_headers(name: str, value: str) -> None:
    if len(value.encode("utf-8", "replace")) > secrets.LONGEST:
        raise TooLarge(
            f"The headers have over {secrets.LONGEST:,} bytes together.", code="secret.too_large"
        )
    try:
        given = json.loads(value)
    except ValueError:
        given = None
    if not isinstance(given, dict) or not given:
        raise _wrong('must be JSON, a map of header to value such as {"X-Key": "…"}.')
    seen = set[str]()
    for header, text in given.items():
        if not sources.HEADER.fullmatch(header) or header.lower() in sources.OUR_HEADERS | seen:
            raise _wrong(f"names the header {header[:60]}, which cannot be set, or not twice.")
        if not isinstance(text, str) or not all(32 <= ord(letter) < 127 for letter in text):
            raise _wrong(f"has for {header} something else than plain ASCII text.")
        secrets.check(name, text)
        seen.add(header.lower())


def _wrong(words: str) -> Invalid:
    return Invalid(f"The value {words}", fields={"value": words}, code="secret.value")
