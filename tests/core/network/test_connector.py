"""Redirects: within one origin alone, and only such as repeat the same request."""

from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from studio.core.network.connector import MOST_REDIRECTS, Connector, Sent
from studio.core.network.resolver import Rules
from tests.core.network.canary import canary
from tests.standins.receiver import Receiver, receiver


@pytest.fixture
def server(tmp_path) -> Iterator[Receiver]:
    with receiver(tmp_path) as found:
        yield found


@pytest.fixture
def other(tmp_path) -> Iterator[Receiver]:
    folder = tmp_path / "other"
    folder.mkdir()
    with receiver(folder) as found:
        yield found


@pytest.fixture
async def connector(server, other) -> AsyncIterator[Connector]:
    found = Connector(Rules.of(one.url.removeprefix("http://") for one in (server, other)))
    yield found
    await found.aclose()


async def status(connector: Connector, method: str, url: str) -> int:
    """The status that a request with a credential and a body ends with."""
    request = httpx2.Request(
        method, url, headers={"authorization": "secret", "idempotency-key": "k1"},
        content=b'{"a": 1}' if method == "POST" else None,
    )  # fmt: skip
    async with connector.send(request, Sent()) as response:
        await response.aread()
        return response.status_code


@pytest.mark.parametrize("code", [307, 308])
async def test_the_same_request_goes_on_within_its_origin(connector, server, code):
    assert await status(connector, "POST", f"{server.url}/away/{code}") == 200

    first, second = server.lines()
    assert (second["path"], second["method"]) == ("/elsewhere", "POST")
    assert (second["body"], second["key"]) == (first["body"], first["key"])


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_read_goes_on_within_its_origin(connector, server, code):
    assert await status(connector, "GET", f"{server.url}/away/{code}") == 200
    assert server.lines()[-1]["path"] == "/elsewhere"


@pytest.mark.parametrize("code", [301, 302, 303])
async def test_a_post_is_never_turned_into_a_read(connector, server, code):
    assert await status(connector, "POST", f"{server.url}/away/{code}") == code
    assert len(server.lines()) == 1


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_another_host_gets_nothing_though_it_is_allowed(
    connector, server, other, code, method
):
    assert await status(connector, method, f"{server.url}/away/{code}?to={other.url}/x") == code
    assert other.lines() == []


async def test_a_circle_ends(connector, server):
    assert await status(connector, "POST", f"{server.url}/round") == 307
    assert len(server.lines()) == 1 + MOST_REDIRECTS


TRICKS = """
http://127.0.0.1:{p}/ //127.0.0.1:{p}/ http://localhost:{p}/ http://0x7f000001:{p}/
http://[::1]:{p}/ http://[::ffff:127.0.0.1]:{p}/ http://127.1:{p}/ https://127.0.0.1:{p}/
http://{h}@127.0.0.1:{p}/ http://{h}#@127.0.0.1:{p}/ http://169.254.169.254/latest ///127.0.0.1:{p}
""".split()


@pytest.mark.parametrize("trick", TRICKS)
async def test_no_redirect_reaches_the_canary(connector, server, trick):
    host = server.url.removeprefix("http://")
    async with canary() as bird:
        to = trick.replace("{p}", str(bird.port)).replace("{h}", host).replace("#", "%23")

        assert await status(connector, "GET", f"{server.url}/away/302?to={to}") in {200, 302}

    assert bird.reached == 0
