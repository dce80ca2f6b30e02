"""Connections, opened to addresses that were judged and to no others.

It stands below HTTP, where a connection is opened: no URL, header or redirect above it can lead
around it. The name in the request, and the name that TLS asks for, stay those of the URL.
"""

from collections.abc import Iterable
from typing import Any

import httpcore2

from studio.core.network.resolver import Rules

CONNECT_SECONDS = 10.0


class Wire(httpcore2.AsyncNetworkBackend):
    """Opens TCP connections by the rules; `inner` opens them in fact."""

    def __init__(self, rules: Rules, inner: httpcore2.AsyncNetworkBackend | None = None) -> None:
        self._rules, self._inner = rules, inner or httpcore2.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:  # fmt: skip
        """Connect to the first address that answers; Refused or Unresolved when none may be."""
        *first, last = await self._rules.vetted(host, port)
        for address in first:
            try:
                return await self._open(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._open(last, port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """There is no way to a socket of this machine."""
        raise httpcore2.ConnectError("there is no way to a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        """Wait, as the library above asks."""
        await self._inner.sleep(seconds)

    async def _open(
        self, address: str, port: int, timeout: float | None, local: str | None,
        options: Iterable[Any] | None,
    ) -> httpcore2.AsyncNetworkStream:  # fmt: skip
        limit = CONNECT_SECONDS if timeout is None else min(timeout, CONNECT_SECONDS)
        return await self._inner.connect_tcp(
            address, port, timeout=limit, local_address=local, socket_options=options
        )
