"""Keys of programs: shown once, revoked at once, made by admins alone."""

import re

from tests.web import html
from tests.web.conftest import Studio, Visitor


async def test_a_key_is_shown_once(studio: Studio, ada: Visitor) -> None:
    form = (await ada.open("/keys")).form("/keys")

    made = await ada.press(form, name="exporter", role="viewer")
    again = await ada.get("/keys")

    (key,) = set(re.findall(r"stk_[\w-]+", made.text))
    assert key not in again.text
    assert "exporter" in again.text
    person = await studio.runtime.person_of_key(key)
    assert person is not None
    assert person.role == "viewer"


async def test_a_revoked_key_opens_nothing(studio: Studio, ada: Visitor) -> None:
    key_id, plain = await studio.runtime.make_key(ada.person, "exporter", "viewer")
    form = (await ada.open("/keys")).form("/revocation")

    await ada.press(form)

    assert await studio.runtime.person_of_key(plain) is None
    assert "revoked" in (await ada.open("/keys")).text
    assert key_id in form.attrs["action"]


async def test_a_key_needs_a_name(studio: Studio, ada: Visitor) -> None:
    answer = await ada.post("/keys", {"name": " ", "role": "viewer"})

    assert answer.status_code == 422
    assert "1 to 80 characters" in html.read(answer.text).one(id="main").text


async def test_operators_make_no_keys(studio: Studio, alice: Visitor, ada: Visitor) -> None:
    answer = await alice.post("/keys", {"name": "mine", "role": "admin"})

    assert answer.status_code == 403
    assert await studio.reader.keys(ada.person) == []
