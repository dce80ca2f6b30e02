"""Servers as manifests and plugins describe them, with settings opened and places put in."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studio.core.network import hosts
from studio.core.rules.events import Origin
from studio.core.tools import http, strict
from studio.core.tools.mcp.connection import Server
from studio.core.tools.mcp.stdio import Launch

DEFAULT_TIMEOUT, LONGEST_TIMEOUT = 30.0, 3600.0


class BadServer(Exception):
    """The description of a server makes no sense, or lacks a setting; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A server's description and who brought it; its command is started in `folder`."""

    entry: Mapping[str, Any]
    folder: Path
    plugin: str | None = None
    version: str | None = None

    @property
    def name(self) -> str:
        """The server's name."""
        return str(self.entry.get("name", "a server"))

    @property
    def origin(self) -> Origin:
        """Where its tools come from."""
        return Origin(kind="mcp", server=self.name, plugin=self.plugin, plugin_version=self.version)

    def secrets(self, settings: Mapping[str, str]) -> list[str]:
        """The values of the settings it names."""
        given = [*_mapping(self.entry.get("env")).values()]
        given += _mapping(self.entry.get("headers")).values()
        names = [str(item.get("setting", "")) for item in given if isinstance(item, Mapping)]
        return [settings.get(name, "") for name in names]


def server(source: Source, settings: Mapping[str, str], data: Path) -> Server:
    """The server of a description; BadServer says what is wrong with it."""
    entry, name = source.entry, source.name
    transport = entry.get("transport", "stdio")
    mask = strict.Mask(_parts(source.secrets(settings)))
    try:
        timeout = _timeout(entry.get("timeout", DEFAULT_TIMEOUT))
        if transport == "stdio":
            launch = _launch(source, settings, data)
            destination = _command_words(source)
            return Server(
                name=name, destination=destination, timeout=timeout, launch=launch, mask=mask
            )
        elif transport == "http":
            url = str(entry.get("url", ""))
            headers = _headers(entry, url, settings)
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
    return command.replace("${python}", "python").replace("${plugin}", source.folder.name)


def _launch(source: Source, settings: Mapping[str, str], data: Path) -> Launch:
    command = source.entry.get("command")
    if not isinstance(command, list) or not command or not all(map(_is_text, command)):
        raise BadServer(f"{source.name}: its “command” is a list of texts.")
    places = {"${plugin}": str(source.folder), "${python}": sys.executable, "${data}": str(data)}
    env = {
        name: http.opened(value, settings) if isinstance(value, Mapping) else _put(value, places)
        for name, value in _mapping(source.entry.get("env")).items()
    }
    if any("\0" in value or "=" in name or not name for name, value in env.items()):
        raise BadServer(f"{source.name}: its “env” has a name or value that cannot be given.")
    return Launch(command=[_put(part, places) for part in command], folder=source.folder, env=env)


def _headers(entry: Mapping[str, Any], url: str, settings: Mapping[str, str]) -> dict[str, str]:
    if wrong := hosts.url_problem(url):
        raise BadServer(f"{entry.get('name')}: its “url” {wrong}")
    return http.headers(entry.get("headers", {}), settings)[0]


def _put(value: Any, places: Mapping[str, str]) -> str:
    text = str(value)
    for place, path in places.items():
        text = text.replace(place, path)
    return text


def _timeout(value: Any) -> float:
    if not isinstance(value, int | float) or not 0 < value <= LONGEST_TIMEOUT:
        raise http.BadTool("its “timeout” is a number of seconds, 3600 at most.")
    return float(value)


def _parts(secrets: Iterable[str]) -> list[str]:
    """Secrets, and the part behind a word like Bearer."""
    return [part for secret in secrets for part in (secret, secret.rpartition(" ")[2])]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value
