"""Every setting: its variable, default, type and one sentence; read once, all faults told at once.

Nothing else reads the environment. A secret may also come from a file named by `…_FILE`. An empty
variable counts as unset. `{data}`, `{host}` and `{port}` in a default stand for those settings.
"""

import difflib
import os
import re
import secrets
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from urllib.parse import unquote, urlsplit

from studio.core.rules.errors import Invalid

PREFIX = "STUDIO_"
TOOL_PREFIX = "STUDIO_SETTING_"
OTEL = "OTEL_"  # names that OpenTelemetry gave
ELSEWHERE = frozenset({"STUDIO_PYTHON"})  # read by scripts/setup, not by the studio
KEY_BYTES = 32
CONTENT = ("messages", "arguments", "results", "reasons")
LEVELS = ("debug", "info", "warning", "error")

Parse = Callable[[str, Mapping[str, str]], Any]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One variable, as the README lists it and `from_env` reads it."""

    name: str
    default: str
    kind: str
    words: str
    secret: bool = False
    parse: Parse


# How a text becomes a value; a ValueError says in words what is wrong ---------------------------


def _text(text: str, _: Mapping[str, str]) -> str:
    return text


def _whole(low: int, high: int) -> Parse:
    def parse(text: str, _: Mapping[str, str]) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}, not {_shown(text)}")
        return int(text)

    return parse


def _one_of(*words: str) -> Parse:
    def parse(text: str, _: Mapping[str, str]) -> str:
        if text.lower() not in words:
            raise ValueError(f"must be {_either(words)}, not {_shown(text)}")
        return text.lower()

    return parse


def _path(text: str, environ: Mapping[str, str]) -> Path:
    if text == "~" or text.startswith("~/"):
        return _home(environ) / text[2:]
    return Path(text).absolute()


def _folders(text: str, environ: Mapping[str, str]) -> tuple[Path, ...]:
    paths = tuple(_path(item.strip(), environ) for item in text.split(os.pathsep) if item.strip())
    missing = [str(path) for path in paths if not path.is_dir()]
    if missing:
        raise ValueError(f"names what is not a folder: {', '.join(missing)}")
    return paths


def _names(text: str, _: Mapping[str, str]) -> tuple[str, ...]:
    names = tuple(item.strip().lower() for item in text.split(",") if item.strip())
    bad = [name for name in names if not _host_and_port(name)]
    if bad:
        raise ValueError(f"has what is not a host name: {_shown(', '.join(bad))}")
    return names


def _addresses(text: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    names: tuple[str, ...] = _names(text, environ)
    bare = [name for name in names if not _port(name)]
    if bare:
        raise ValueError(f"needs host:port for each, and {', '.join(bare)} has no port")
    return names


def _base_url(text: str, _: Mapping[str, str]) -> str:
    scheme, _mark, rest = text.rstrip("/").partition("://")
    if scheme.lower() not in ("http", "https") or not _host_and_port(rest.lower()):
        raise ValueError("must be http://host or https://host, with a port or not, and no path")
    return f"{scheme}://{rest}".lower()


def _database(text: str, _: Mapping[str, str]) -> str:
    scheme, mark, rest = text.partition("://")
    if not mark or scheme.partition("+")[0] not in ("sqlite", "postgresql", "postgres") or not rest:
        raise ValueError("must begin with sqlite:/// or postgresql://")
    if scheme == "postgres":
        return f"postgresql://{rest}"
    return text


def _collector(text: str, _: Mapping[str, str]) -> str:
    if not text:
        return ""
    wrong = "must be http://host or https://host, with a port and a path or not"
    try:
        found = urlsplit(text)
        sound = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        raise ValueError(wrong) from None
    if not sound or re.search(r"[^\x21-\x7e]", text):
        raise ValueError(wrong)
    if "@" in found.netloc or found.fragment:
        raise ValueError(
            "must hold no user, password or fragment; OTEL_EXPORTER_OTLP_HEADERS is for secrets"
        )
    return text


def _headers(text: str, _: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Pairs `name=value` with commas between, values percent-encoded; faults show no value."""
    found = []
    for number, item in enumerate(filter(None, (part.strip() for part in text.split(","))), 1):
        name, mark, value = (part.strip() for part in item.partition("="))
        value = unquote(value)
        if not mark or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
            raise ValueError(f"must be name=value, comma between; number {number} is not")
        if re.search(r"[^\x20-\x7e]", value):
            raise ValueError(f"has a value that no header can hold, number {number}")
        found.append((name.lower(), value))
    return tuple(found)


def _some_of(*words: str) -> Parse:
    def parse(text: str, _: Mapping[str, str]) -> frozenset[str]:
        found = frozenset(item.strip().lower() for item in text.split(",") if item.strip())
        if wrong := sorted(found - set(words)):
            raise ValueError(f"may name {_either(words)}, and not {_shown(', '.join(wrong))}")
        return found

    return parse


def _faults(text: str, _: Mapping[str, str]) -> str:
    action = r"(kill|stop|raise|delay=[0-9.]+)"
    for item in filter(None, text.split(",")):
        if not re.fullmatch(rf"[\w.-]+:{action}:[1-9][0-9]*", item.strip()):
            raise ValueError(f"must be name:action:hit, not {_shown(item)}")
    return text


# The settings -----------------------------------------------------------------------------------


def _setting(
    name: str, default: str, kind: str, parse: Parse, words: str, *, secret: bool = False,
    prefix: str = PREFIX,
) -> Any:  # fmt: skip
    declared = Setting(
        name=prefix + name, default=default, kind=kind, words=words, secret=secret, parse=parse
    )
    return field(repr=not secret, metadata={"setting": declared})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All settings, parsed. `warnings` are sentences for whoever started the program."""

    SETTINGS: ClassVar[tuple[Setting, ...]]

    # fmt: off
    host: str = _setting(
        "HOST", "127.0.0.1", "address", _text,
        "The address to listen on; the default serves this machine alone.")
    port: int = _setting(
        "PORT", "8321", "0-65535", _whole(0, 65_535),
        "The port to listen on; 0 lets the system choose.")
    data: Path = _setting(  # noqa: RUF009
        "DATA", "{share}", "folder", _path,
        "The folder for the database, keys and blobs; a checkout keeps it in .studio.")
    database_url: str = _setting(
        "DATABASE_URL", "sqlite:///{data}/studio.db", "URL", _database,
        "The database: one SQLite file, or postgresql://… for many processes.", secret=True)
    hosts: tuple[str, ...] = _setting(
        "HOSTS", "localhost:{port},127.0.0.1:{port},[::1]:{port}", "names, comma between", _names,
        "The Host names that are answered; without a port a name is answered on any.")
    url: str = _setting(
        "URL", "http://{address}:{port}", "URL", _base_url,
        "The address that people and programs use to reach the studio.")
    key_file: Path = _setting(  # noqa: RUF009
        "KEY_FILE", "{data}/studio.key", "file", _path,
        "The key that signs links and tokens; made at the first start, its owner's alone to read.")
    secrets_key: Path = _setting(  # noqa: RUF009
        "SECRETS_KEY", "{data}/secrets.key", "file", _path,
        "The keys that seal secrets; made with the first secret, its owner's alone to read.")
    plugins: tuple[Path, ...] = _setting(
        "PLUGINS", "", f"folders, {os.pathsep} between", _folders,
        "Folders of plugins beside the studio's own.")
    http_allow: tuple[str, ...] = _setting(
        "HTTP_ALLOW", "", "host:port, comma between", _addresses,
        "Private addresses that HTTP tools may reach all the same.")
    demo: Literal["on", "off", "auto"] = _setting(
        "DEMO", "auto", "on, off or auto", _one_of("on", "off", "auto"),
        "Whether the demonstration agents are kept; auto adds them to an empty studio.")
    log: Literal["debug", "info", "warning", "error"] = _setting(
        "LOG", "info", "debug, info, warning or error", _one_of(*LEVELS),
        "How much is written to standard error.")
    concurrency: int = _setting(
        "CONCURRENCY", "100", "1-10000", _whole(1, 10_000),
        "How many sessions one worker moves at once.")
    sign_in_days: int = _setting(
        "SIGN_IN_DAYS", "90", "1-3650", _whole(1, 3_650),
        "How many days a sign-in is good in all; then a person signs in anew.")
    sign_in_idle_days: int = _setting(
        "SIGN_IN_IDLE_DAYS", "30", "1-3650", _whole(1, 3_650),
        "How many days after it was last used a sign-in is still good.")
    upload_mib: int = _setting(
        "UPLOAD_MIB", "100", "1-250", _whole(1, 250),
        "How many MiB one file may have that is sent to the studio.")
    pdf_pages: int = _setting(
        "PDF_PAGES", "100", "1-10000", _whole(1, 10_000),
        "How many pages a PDF may have that is given to a model.")
    outside_days: int = _setting(
        "OUTSIDE_DAYS", "30", "1-3650", _whole(1, 3_650),
        "How many days a trace from outside is kept after its last span came.")
    outside_traces: int = _setting(
        "OUTSIDE_TRACES", "100000", "1-10000000", _whole(1, 10_000_000),
        "How many traces from outside are kept; beyond, those longest without a new span go.")
    outside_spans: int = _setting(
        "OUTSIDE_SPANS", "50000", "1-50000", _whole(1, 50_000),
        "How many spans are kept of one trace from outside.")
    outside_trace_mib: int = _setting(
        "OUTSIDE_TRACE_MIB", "256", "1-1000000", _whole(1, 1_000_000),
        "How many MiB are kept of one trace from outside, all its spans unpacked.")
    outside_sender_mib: int = _setting(
        "OUTSIDE_SENDER_MIB", "16384", "1-1000000000", _whole(1, 1_000_000_000),
        "How many MiB are kept of one sender of spans, unpacked; beyond, new ones are refused.")
    outside_request_spans: int = _setting(
        "OUTSIDE_REQUEST_SPANS", "20000", "1-1000000", _whole(1, 1_000_000),
        "How many spans are taken of one OTLP request; the rest of it is refused.")
    outside_mib: int = _setting(
        "OUTSIDE_MIB", "32", "1-250", _whole(1, 250),
        "How many MiB one OTLP request may have, as it is sent and unpacked.")
    api_key: str = _setting(
        "API_KEY", "", "application key", _text,
        "The application key that the commands use; unset, they use {data}/cli.key.", secret=True)
    otel_endpoint: str = _setting(
        "EXPORTER_OTLP_ENDPOINT", "", "URL", _collector,
        "The collector of OpenTelemetry that every ended turn's spans go to; /v1/traces is added.",
        prefix=OTEL)
    otel_traces_endpoint: str = _setting(
        "EXPORTER_OTLP_TRACES_ENDPOINT", "", "URL", _collector,
        "The same for traces alone, taken as it is and before the other.", prefix=OTEL)
    otel_protocol: str = _setting(
        "EXPORTER_OTLP_PROTOCOL", "http/protobuf", "http/protobuf", _one_of("http/protobuf"),
        "How the collector is spoken to; nothing else is known.", prefix=OTEL)
    otel_headers: tuple[tuple[str, str], ...] = _setting(
        "EXPORTER_OTLP_HEADERS", "", "name=value, comma between", _headers,
        "Headers for the collector, values percent-encoded; never logged.",
        secret=True, prefix=OTEL)
    otel_timeout: int = _setting(
        "EXPORTER_OTLP_TIMEOUT", "10000", "1-600000", _whole(1, 600_000),
        "How many milliseconds the collector has for one answer.", prefix=OTEL)
    otel_service: str = _setting(
        "SERVICE_NAME", "operator-studio", "text", _text,
        "The name that exported spans give this studio.", prefix=OTEL)
    export_content: frozenset[str] = _setting(
        "EXPORT_CONTENT", "", "messages, arguments, results, reasons", _some_of(*CONTENT),
        "The content that exported spans carry, each cut at 8 KiB; none unless named.")
    export_hours: int = _setting(
        "EXPORT_HOURS", "24", "1-8760", _whole(1, 8_760),
        "How many hours a span waits for its collector before it is given up.")
    fault: str = _setting(
        "FAULT", "", "name:action:hit", _faults,
        "Arms crash points; only tests set it.")
    # fmt: on
    tool_settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()

    @classmethod
    def from_env(cls, environ: Mapping[str, str], *, checkout: Path | None = None) -> Self:
        """Read every setting, or raise one Invalid that lists every fault.

        `checkout` is the folder of the source; by default it is found from this file.
        """
        wrong: dict[str, str] = {}
        values: dict[str, Any] = {}
        known = {"share": str(_share(environ, checkout))}
        for item in fields(cls):
            declared: Setting | None = item.metadata.get("setting")
            if declared is not None:
                _read(item.name, declared, environ, known, values, wrong)
        tools = _tool_settings(environ, wrong)
        if wrong:
            raise _invalid(wrong)
        return cls(**values, tool_settings=tools, warnings=_unknown(environ))

    @property
    def secure(self) -> bool:
        """People reach the studio by HTTPS, so cookies may say Secure."""
        return self.url.startswith("https://")

    @property
    def collector(self) -> str:
        """The URL that spans are posted to; "" when nothing is exported."""
        if self.otel_traces_endpoint or not self.otel_endpoint:
            return self.otel_traces_endpoint
        base, mark, query = self.otel_endpoint.partition("?")
        return f"{base.rstrip('/')}/v1/traces{mark}{query}"

    @property
    def own_url(self) -> str:
        """The address by which this machine itself reaches the studio."""
        return f"http://{_joined(_reachable(self.host), self.port)}"

    @property
    def cli_key_file(self) -> Path:
        """Where the server leaves the key of this machine's commands."""
        return self.data / "cli.key"

    def allows_host(self, header: str) -> bool:
        """Whether a Host header names this studio; the rest is another site's page asking."""
        header = header.lower()
        name, port = _split(header)
        near = [_joined(host, self.port) for host in (self.host, _reachable(self.host))]
        own = (*self.hosts, urlsplit(self.url).netloc, *near)
        for allowed in own:
            allowed_name, allowed_port = _split(allowed)
            if name == allowed_name and allowed_port in ("", "0", port or self._usual_port):
                return True
        return False

    @property
    def _usual_port(self) -> str:
        return "443" if self.secure else "80"


Settings.SETTINGS = tuple(
    item.metadata["setting"] for item in fields(Settings) if "setting" in item.metadata
)

NAMES = frozenset(
    name
    for setting in Settings.SETTINGS
    for name in (setting.name, *([f"{setting.name}_FILE"] if setting.secret else []))
)


def signing_key(path: Path) -> bytes:
    """The key in this file, 32 bytes; made when there is none. Refused when others may read it."""
    if not path.exists():
        _make_key(path)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Invalid(
            f"{path} can be read by others on this machine, so it is not used. "
            f"Run: chmod 600 {path}",
            code="settings.key_open",
        )
    text = path.read_text("ascii", "replace").strip()
    if not re.fullmatch(rf"[0-9a-f]{{{2 * KEY_BYTES}}}", text):
        raise Invalid(
            f"{path} is not a key of ours ({2 * KEY_BYTES} hex characters). "
            "Put the right file back, or move it away to have a new one made.",
            code="settings.key_broken",
        )
    return bytes.fromhex(text)


def _make_key(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(KEY_BYTES) + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # never over one that another process made meanwhile
    except FileExistsError:
        pass
    finally:
        draft.unlink()


# Reading ----------------------------------------------------------------------------------------


def _read(
    attribute: str, declared: Setting, environ: Mapping[str, str], known: dict[str, str],
    values: dict[str, Any], wrong: dict[str, str],
) -> None:  # fmt: skip
    try:
        text = _given(declared.name, environ) if declared.secret else environ.get(declared.name)
        if not text and "{" in declared.default:
            text = declared.default.format_map(known)
        values[attribute] = declared.parse(text or declared.default, environ)
    except KeyError:
        return  # the default stands on a setting that is already at fault
    except ValueError as error:
        wrong[declared.name] = str(error)
        return
    known[attribute] = str(values[attribute])
    if attribute == "host":
        known["address"] = _bracketed(_reachable(known["host"]))


def _given(name: str, environ: Mapping[str, str]) -> str | None:
    """A secret: the variable, or the text of the file that `…_FILE` names."""
    text, file = environ.get(name), environ.get(f"{name}_FILE")
    if not file:
        return text
    if text:
        raise ValueError(f"is given twice, also by {name}_FILE; keep one")
    try:
        return _path(file, environ).read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ValueError(f"cannot be read from {file}: {why}") from None


def _tool_settings(environ: Mapping[str, str], wrong: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for variable in sorted(environ):
        name = variable.removeprefix(TOOL_PREFIX).removesuffix("_FILE")
        if not variable.startswith(TOOL_PREFIX) or name in found:
            continue
        try:
            value = _given(TOOL_PREFIX + name, environ)
        except ValueError as error:
            wrong[TOOL_PREFIX + name] = str(error)
        else:
            found[name] = value or ""
    return found


def _unknown(environ: Mapping[str, str]) -> tuple[str, ...]:
    warnings = []
    for name in sorted(environ):
        ours = name.startswith(PREFIX) and not name.startswith(TOOL_PREFIX)
        if ours and name not in NAMES | ELSEWHERE:
            own = [known for known in sorted(NAMES) if known.startswith(PREFIX)]
            short = [known.removeprefix(PREFIX) for known in own]
            near = difflib.get_close_matches(name.removeprefix(PREFIX), short, n=1)
            hint = f" Did you mean {PREFIX}{near[0]}?" if near else ""
            warnings.append(f"{name} is not a setting, so it changes nothing.{hint}")
    return tuple(warnings)


def _invalid(wrong: Mapping[str, str]) -> Invalid:
    lines = [f"  {name} {words}." for name, words in wrong.items()]
    count = "One setting is" if len(lines) == 1 else f"{len(lines)} settings are"
    return Invalid("\n".join([f"{count} wrong:", *lines]), fields=wrong, code="settings.invalid")


def _share(environ: Mapping[str, str], checkout: Path | None) -> Path:
    """Where the data goes: beside the source in a checkout, else in the home folder."""
    root = checkout or Path(__file__).resolve().parent.parent
    if (root / "pyproject.toml").is_file() and (root / "Makefile").is_file():
        return root / ".studio"
    base = environ.get("XDG_DATA_HOME")
    return (Path(base) if base else _home(environ) / ".local" / "share") / "operator-studio"


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


# Host names -------------------------------------------------------------------------------------


def _host_and_port(text: str) -> re.Match[str] | None:
    return re.fullmatch(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?", text)


def _split(text: str) -> tuple[str, str]:
    found = _host_and_port(text)
    return (found[1], found[2] or "") if found else ("", "")


def _port(text: str) -> str:
    return _split(text)[1]


def _joined(host: str, port: int) -> str:
    return f"{_bracketed(host)}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _reachable(host: str) -> str:
    """An address that can be dialled when we listen on all of them."""
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")


def _either(words: tuple[str, ...]) -> str:
    return ", ".join(words[:-1]) + f" or {words[-1]}"
