"""Who is asking: one good key in one header, or nobody."""

import pytest

from studio.api.auth import Rates
from studio.core import keys
from tests.api.conftest import Studio

PATH = "/v1/agents"


@pytest.mark.parametrize(
    "header",
    [
        None, "", "Bearer", "Bearer ", "Bearer stk_", "Bearer x", "Basic {0}", "{0}", "bearer{0}",
        "Bearer {0}x", "Bearer {0} {0}", "Bearer Bearer {0}", "Bearer é",
    ],
)  # fmt: skip
async def test_what_is_not_exactly_a_good_key_is_refused(studio: Studio, header):
    headers = (
        {} if header is None else {"Authorization": header.format(studio.keys["bob"]).encode()}
    )

    response = await studio.raw("GET", PATH, person="", headers=headers)

    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert response.json()["error"]["code"] in ("key.missing", "key.invalid")


async def test_a_well_formed_key_of_nobody_is_refused(studio: Studio):
    response = await studio.raw(
        "GET", PATH, person="", headers={"Authorization": f"Bearer {keys.make()}"}
    )

    assert response.status_code == 401


async def test_the_word_bearer_may_be_written_either_way(studio: Studio):
    headers = {"Authorization": f"bearer {studio.keys['bob']}"}

    assert (await studio.raw("GET", PATH, person="", headers=headers)).status_code == 200


async def test_nothing_is_tried_instead_of_a_bad_key(studio: Studio):
    headers = {"Authorization": "Bearer stk_bad", "Cookie": f"studio={studio.keys['bob']}"}

    assert (await studio.raw("GET", PATH, person="", headers=headers)).status_code == 401


async def test_two_keys_are_none(studio: Studio):
    headers = {"Authorization": f"Bearer {studio.keys['dora']}"}

    response = await studio.raw("GET", PATH, person="bob", headers=headers)

    assert response.status_code == 401


@pytest.mark.parametrize("path", ["/v1/agents?key={0}", "/v1/agents/{0}", "/v1/nothing?x={0}"])
async def test_a_key_in_the_url_is_refused_even_beside_a_good_one(studio: Studio, path):
    response = await studio.raw("GET", path.format(studio.keys["bob"]))

    if "nothing" in path:
        assert response.status_code == 404
    else:
        assert response.status_code == 400
        assert response.json()["error"]["code"] == "key.in_url"
    assert studio.keys["bob"] not in response.text


@pytest.mark.parametrize(
    "path",
    [
        "/v1/health",
        "/v1/ready",
        "/v1/openapi.json",
        "/v1/schemas/agent.json",
        "/v1/schemas/plugin.json",
    ],
)
async def test_what_is_public_needs_no_key(studio: Studio, path):
    assert (await studio.raw("GET", path, person="")).status_code == 200


async def test_health_and_readiness_say_nothing_else(studio: Studio):
    assert (await studio.raw("GET", "/v1/health", person="")).json() == {"status": "ok"}
    assert (await studio.raw("GET", "/v1/ready", person="")).json() == {"ready": True}


class TestRates:
    """With three requests at once and one more every second."""

    @pytest.fixture
    def rates(self) -> Rates:
        return Rates(at_once=3, a_second=1.0)

    async def test_who_asks_too_often_is_told_how_long_to_wait(self, studio: Studio):
        codes = [(await studio.raw("GET", PATH)).status_code for _ in range(3)]

        response = await studio.raw("GET", PATH)

        assert codes == [200, 200, 200]
        assert response.status_code == 429
        assert int(response.headers["retry-after"]) >= 1
        assert response.json()["error"]["code"] == "rate.limited"

    async def test_time_gives_it_back(self, studio: Studio):
        for _ in range(4):
            await studio.raw("GET", PATH)
        studio.core.clock.pass_time(1_500)

        assert (await studio.raw("GET", PATH)).status_code == 200

    async def test_one_persons_haste_is_not_anothers(self, studio: Studio):
        for _ in range(4):
            await studio.raw("GET", PATH)

        assert (await studio.raw("GET", PATH, person="dora")).status_code == 200
