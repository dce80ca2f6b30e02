"""The page of the demo: what its outside world has received."""

from types import SimpleNamespace

from tests.web.conftest import Studio, Visitor

MESSAGE = SimpleNamespace(
    title="Publish", text="Publish 4.2.0.", watch="It is held.", environment=""
)


class FakeDemo:
    """A demo in which one notice came, twice."""

    async def seen(self) -> SimpleNamespace:
        notice = SimpleNamespace(channel="ops", text="Released", at=1_700_000_000_000, times=2)
        return SimpleNamespace(
            agent="helper", messages=(MESSAGE,), releases=(), notices=(notice,), applied=()
        )


async def test_without_a_demo_there_is_no_page(alice: Visitor) -> None:
    page = await alice.open("/demo", status=404)

    assert "There is no demo in this studio" in page.text


async def test_the_way_to_the_demo_is_shown_where_there_is_one(
    studio: Studio, alice: Visitor
) -> None:
    without = await alice.open("/sessions")
    studio.app.state.demo = FakeDemo()
    with_one = await alice.open("/sessions")

    assert [len(page.all("a", href="/demo")) for page in (without, with_one)] == [0, 1]
    assert ["Go to Demo" in page.text for page in (without, with_one)] == [False, True]


async def test_what_arrived_is_shown_once(studio: Studio, alice: Visitor) -> None:
    studio.app.state.demo = FakeDemo()

    text = (await alice.open("/demo")).one(id="world").text

    assert "Released" in text
    assert "came 2 times under one key, put up once" in text


async def test_its_messages_start_sessions(studio: Studio, alice: Visitor) -> None:
    studio.app.state.demo = FakeDemo()
    form = (await alice.open("/demo")).form("/sessions")

    answer = await alice.press(form)

    assert answer.status_code == 303
    assert "Publish 4.2.0." in (await alice.open(answer.headers["location"])).text
