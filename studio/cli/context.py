"""What a command is handed: the arguments, the settings, the terminal and a client."""

import argparse
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.terminal import Terminal
from studio.core import serving
from studio.core.rules.errors import Denied, Unknown
from studio.settings import Settings

if TYPE_CHECKING:
    from api_client import Client


@dataclass(frozen=True, kw_only=True)
class Context:
    """One run of one command."""

    environ: Mapping[str, str]
    terminal: Terminal
    given: argparse.Namespace

    @cached_property
    def settings(self) -> Settings:
        """The settings, read when first needed; misspelt ones are told."""
        settings = Settings.from_env(self.environ)
        for warning in settings.warnings:
            self.terminal.warn(warning)
        return settings

    @property
    def as_json(self) -> bool:
        """The answer is for a program."""
        return bool(self.given.json)

    def client(self) -> "Client":
        """A client of the studio that is meant.

        With STUDIO_API_KEY it is the one at STUDIO_URL. Without, it is this machine's own, by the
        key that its server left; that key is sent nowhere else.
        """
        from api_client import Client  # a server starts without it

        settings = self.settings
        if settings.api_key:
            return Client(settings.url, key=settings.api_key)
        return Client(self._own_url(), key=_local_key(settings.cli_key_file))

    def _own_url(self) -> str:
        """Where this machine's own studio is: as the settings say, else as it says itself."""
        is_said = any(self.environ.get(name) for name in ("STUDIO_HOST", "STUDIO_PORT"))
        running = None if is_said else serving.found(self.settings.data)
        return running.own_url if running is not None else self.settings.own_url


def _local_key(path: Path) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            mode = os.fstat(file.fileno()).st_mode
            key = file.read().strip()
    except FileNotFoundError:
        raise Unknown(
            "There is no key to ask with: no studio was started with the data folder "
            f"{path.parent}. Start one with `studio up`, or set STUDIO_URL and STUDIO_API_KEY.",
            code="key.missing",
        ) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Denied(
            f"{path} can be read by others on this machine, so it is not used. Revoke that key, "
            f"then run: rm {path}, and start the studio again.",
            code="key.open",
        )
    return key
