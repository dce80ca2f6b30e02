"""Servers as manifests and plugins describe them, with settings opened and places put in."""

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studio.core.network import hosts
from studio.core.rules.events import Origin
from studio.core.rules.servers import identity
from studio.core.tools import http
from studio.core.tools.intact import Unpacked
from studio.core.tools.mcp.connection import Server
from studio.core.tools.mcp.stdio import Launch
from studio.core.tools.tool import Lent
from studio.core.tools.values import NotSet, Values, named

DEFAULT_TIMEOUT, LONGEST_TIMEOUT = 30.0, 3600.0


class BadServer(Exception):
    """The description of a server makes no sense, or lacks a setting; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A server's description and who brought it; its command is started in `folder`.

    `hash` is that of the plugin's files, `unpacked` those files where they are held to it. `lent`
    goes along with everything that is sent to it over HTTP.
    """

    entry: Mapping[str, Any]
    folder: Path
    plugin: str | None = None
    version: str | None = None
    hash: str = ""
    unpacked: Unpacked | None = None
    lent: Lent | None = None

    @property
    def name(self) -> str:
        """The server's name."""
        return str(self.entry.get("name", "a server"))

    @property
    def id(self) -> str:
        """The same wherever this description is used."""
        return identity(self.entry, self.plugin, self.version)

    @property
    def origin(self) -> Origin:
        """Where its tools come from."""
        return Origin(kind="mcp", server=self.name, plugin=self.plugin, plugin_version=self.version)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the secrets it is given."""
        return named(self._given())

    def opened(self, values: Values) -> list[str]:
        """The values of the settings and secrets it names, as far as they are set."""
        found = []
        for item in self._given():
            if isinstance(item, Mapping):
                with contextlib.suppress(NotSet):
                    found.append(values.opened(item))
        return found

    def _given(self) -> list[Any]:
        given = [*_mapping(self.entry.get("env")).values()]
        return [*given, *_mapping(self.entry.get("headers")).values()]


def server(source: Source, settings: Mapping[str, str], data: Path) -> Server:
    """The server of a description; BadServer says what is wrong with it."""
    entry, name = source.entry, source.name
    transport = entry.get("transport", "stdio")
    values = Values.of(settings)
    mask = values.mask
    try:
        timeout = _timeout(entry.get("timeout", DEFAULT_TIMEOUT))
        if transport == "stdio":
            launch = _launch(source, values, data)
            destination = _command_words(source)
            return Server(
                name=name, destination=destination, timeout=timeout, launch=launch, mask=mask
            )
        elif transport == "http":
            url = str(entry.get("url", ""))
            headers = _headers(entry, url, values)
            if source.lent is not None:
                own = {name.lower(): value for name, value in headers.items()}
                headers = {**own, **source.lent.headers}
            return Server(
                name=name,
                destination=hosts.shown(url),
                timeout=timeout,
                url=url,
                headers=headers,
                mask=mask,
            )
    except http.BadTool as wrong:
        raise BadServer(f"{name}: {wrong}") from None
    raise BadServer(f"{name}: there is no transport {transport}; it is stdio or http.")


def _command_words(source: Source) -> str:
    """The command as a person can check it; the same on every machine, as a digest must be."""
    command = " ".join(str(part) for part in source.entry["command"])
    return command.replace("${python}", "python").replace(
        "${plugin}", source.plugin or source.folder.name
    )


def _launch(source: Source, values: Values, data: Path) -> Launch:
    command = source.entry.get("command")
    if not isinstance(command, list) or not command or not all(map(_is_text, command)):
        raise BadServer(f"{source.name}: its “command” is a list of texts.")
    places = {"${plugin}": str(source.folder), "${python}": sys.executable, "${data}": str(data)}
    env = {
        name: http.opened(value, values) if isinstance(value, Mapping) else _put(value, places)
        for name, value in _mapping(source.entry.get("env")).items()
    }
    if any("\0" in value or "=" in name or not name for name, value in env.items()):
        raise BadServer(f"{source.name}: its “env” has a name or value that cannot be given.")
    if source.hash:  # what Python keeps of its modules would lie among a plugin's files
        env.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    return Launch(
        command=[_put(part, places) for part in command], folder=source.folder, env=env,
        unpacked=source.unpacked,
    )  # fmt: skip


def _headers(entry: Mapping[str, Any], url: str, values: Values) -> dict[str, str]:
    if wrong := hosts.url_problem(url):
        raise BadServer(f"{entry.get('name')}: its “url” {wrong}")
    return http.headers(entry.get("headers", {}), values)


def _put(value: Any, places: Mapping[str, str]) -> str:
    text = str(value)
    for place, path in places.items():
        text = text.replace(place, path)
    return text


def _timeout(value: Any) -> float:
    if not isinstance(value, int | float) or not 0 < value <= LONGEST_TIMEOUT:
        raise http.BadTool("its “timeout” is a number of seconds, 3600 at most.")
    return float(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value
