"""The pages of a disk: versions, folders and files, differences, what is asked of it."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from studio.core.rules import contents
from studio.core.rules import events as e
from studio.web.topics import SessionTopic
from studio.web.trees import LOCKED
from tests.web import html
from tests.web.conftest import BASE, Studio, Visitor
from tests.web.disk_cases import ODD, PNG, SECOND, Disk, at_work, disk, two_versions


@pytest.fixture
async def desk(studio: Studio, tmp_path: Path) -> Disk:
    """A disk with two versions."""
    return await two_versions(studio, tmp_path)


def rows(page: html.Element) -> list[str]:
    """What the rows of the first table say."""
    return [row.text for row in page.all("tbody")[0].all("tr")]


async def test_versions_are_listed_with_who_why_and_how_much(desk: Disk, alice: Visitor) -> None:
    page = await alice.open(desk.url)

    newest, first = rows(page)
    assert "Version 2" in newest
    assert "by <b>hand</b>" in newest
    assert "kept by hand" in newest
    assert "by alice" in newest
    assert "Version 1" in first
    assert "setup" in first
    assert [link.attrs["href"] for link in page.role("link", "with 1")] == [
        f"{desk.url}/diff?before=1&after=2"
    ]


async def test_who_may_only_look_is_offered_nothing_else(desk: Disk, charlie: Visitor) -> None:
    page = await charlie.open(desk.url)

    assert [form.attrs["action"] for form in page.all("form", method="post")] == ["/sign-out"]
    refused = await charlie.post(desk.url, {"note": "x"})
    assert refused.status_code == 403


async def test_a_folder_shows_odd_names_and_links_lead_to_them(desk: Disk, alice: Visitor) -> None:
    page = await alice.open(f"{desk.url}/2")

    names = [link for link in page.all("a") if link.attrs.get("class") == "table__link mono"]
    odd = next(link for link in names if link.text.startswith("odd"))
    assert odd.text == r"odd \udcff\u202e<b>&?#%2F\n.txt"
    assert odd.attrs["href"].endswith(f"path={quote(ODD)}")
    shown = await alice.open(odd.attrs["href"])
    assert rows_of(shown) == ["odd"]
    assert "l" * 250 in [link.text for link in names]
    content = await alice.get(f"{desk.url}/2/content?path={quote(ODD)}")
    assert content.content == b"odd"


def rows_of(page: html.Element) -> list[str]:
    """The lines of a file."""
    return [one.text for one in page.all("div", class_="rows__row")]


async def test_text_has_numbers_and_what_is_hidden_in_it_is_marked(
    desk: Disk, alice: Visitor
) -> None:
    page = await alice.open(f"{desk.url}/2?path=src/a.py")

    lines = page.all("div", class_="rows__row")
    assert [line.attrs["data-number"] for line in lines] == ["1", "2"]
    (mark,) = page.all("span", class_="mark-char")
    assert mark.attrs["data-code"] == "U+202E"
    assert [link.text for link in page.one("nav", aria_label="Folders").all("a")] == [
        "version 2", "src",
    ]  # fmt: skip


async def test_a_long_text_comes_in_parts_that_join(
    studio: Studio, alice: Visitor, tmp_path: Path
) -> None:
    long = "".join(f"line {number} ü\n" for number in range(9_000)).encode() + b"end"
    desk = await disk(studio, tmp_path)
    await desk.keep({b"long.txt": long})

    numbers, lines, path = list[str](), list[str](), f"{desk.url}/1?path=long.txt"
    for _ in range(5):
        page = await alice.open(path)
        found = page.all("div", class_="rows__row")
        numbers += [one.attrs["data-number"] for one in found]
        lines += [one.text for one in found]
        links = page.role("link", "Next part")
        if not links:
            break
        path = links[0].attrs["href"]

    assert numbers == [str(number) for number in range(1, 9_002)]
    assert lines == long.decode().split("\n")


@pytest.mark.parametrize("data", [b"x" * 120_000, "ü".encode() * 60_000, b"\r\n" * 30_000])
async def test_parts_join_where_no_line_ends(
    studio: Studio, alice: Visitor, tmp_path: Path, data: bytes
) -> None:
    desk = await disk(studio, tmp_path)
    await desk.keep({b"f": data})

    text, path = "", f"{desk.url}/1?path=f"
    while path:
        page = await alice.open(path)
        text += "".join(one.text for one in page.all("div", class_="rows__row"))
        path = next((link.attrs["href"] for link in page.role("link", "Next part")), "")

    assert text == "".join(data.decode().split())


async def test_bytes_are_shown_as_hex_in_parts(desk: Disk, alice: Visitor) -> None:
    page = await alice.open(f"{desk.url}/2?path=bytes.bin")

    lines = page.all("div", class_="rows__row")
    assert len(lines) == 256
    assert lines[4].attrs["data-number"] == "00000040"
    assert lines[4].text.startswith("40 41 42")
    assert "@ABCDEFGHIJKLMNO" in lines[4].text
    further = await alice.open(page.role("link", "Next part")[0].attrs["href"])
    assert further.all("div", class_="rows__row")[0].attrs["data-number"] == "00001000"


async def test_a_picture_is_shown_under_a_policy_of_its_own(desk: Disk, alice: Visitor) -> None:
    page = await alice.open(f"{desk.url}/2?path=pic.png")
    (picture,) = page.all("img")

    answer = await alice.get(picture.attrs["src"])

    assert answer.content == PNG
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-security-policy"] == LOCKED
    other = await alice.get(f"{desk.url}/2/picture?path=page.html")
    assert other.status_code == 404


@pytest.mark.parametrize("path", ["page.html", "pic.png", "src/a.py"])
async def test_a_download_never_opens_here(desk: Disk, alice: Visitor, path: str) -> None:
    answer = await alice.get(f"{desk.url}/2/content?path={path}")
    again = await alice.get(
        f"{desk.url}/2/content?path={path}", If_None_Match=answer.headers["etag"]
    )

    assert answer.content == SECOND[path.encode()]
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-security-policy"] == LOCKED
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert (again.status_code, again.content) == (304, b"")


async def test_markup_in_a_file_is_text(desk: Disk, alice: Visitor) -> None:
    answer = await alice.get(f"{desk.url}/2?path=page.html")

    assert "<script>alert(1)" not in answer.text
    assert "&lt;script&gt;alert(1)" in answer.text


@pytest.mark.parametrize("path", ["nothing", "src/a.py/x", "../etc/passwd", "%00", "src//a.py"])
async def test_a_path_that_is_not_there_is_not_found(desk: Disk, alice: Visitor, path: str) -> None:
    assert (await alice.get(f"{desk.url}/2?path={path}")).status_code == 404


@pytest.mark.parametrize("path", ["3", "x", "0", "1/content?path=src", "diff?before=1", "diff"])
async def test_a_version_that_is_not_there_is_not_found(
    desk: Disk, alice: Visitor, path: str
) -> None:
    assert (await alice.get(f"{desk.url}/{path}")).status_code == 404


async def test_two_versions_are_compared(desk: Disk, alice: Visitor) -> None:
    page = await alice.open(f"{desk.url}/diff?before=1&after=2")

    found = rows(page)
    assert any(row.startswith("gone.txt removed") for row in found)
    assert any(row.startswith("src/a.py changed") for row in found)
    assert sum(" added " in row for row in found) == 2
    text = await alice.open(page.role("link", "src/a.py")[0].attrs["href"])
    lines = [(one.attrs["data-change"], one.text) for one in text.all("div", class_="diff__line")]
    assert lines == [
        ("same", "1 a = 1"),
        ("removed", "2 \u2212 b = 2"),
        ("added", "2 + b = \u202e 3"),
    ]


async def test_what_has_no_lines_says_so(desk: Disk, alice: Visitor) -> None:
    for path, words in [("bytes.bin", "The same in both"), ("gone.txt", "")]:
        page = await alice.open(f"{desk.url}/diff?before=1&after=2&path={path}")
        assert words in page.one("main").text
    odd = await alice.open(f"{desk.url}/diff?before=1&after=2&path={quote(ODD)}")
    assert [one.attrs["data-change"] for one in odd.all("div", class_="diff__line")] == ["added"]


async def test_a_note_is_kept_with_a_version(desk: Disk, studio: Studio, alice: Visitor) -> None:
    form = (await alice.open(desk.url)).form("/disk")

    answer = await alice.press(form, note="before the upgrade")

    assert (answer.status_code, answer.headers["location"]) == (303, desk.url)
    page = await alice.open(desk.url)
    assert "Keep a version , asked by alice" in page.one("ul", aria_label="Asked of this disk").text
    assert "waits for a worker" in page.one("main").text
    (asked,) = await studio.reader.operations(alice.person, desk.id)
    assert asked.note == "before the upgrade"


async def test_a_second_wish_is_refused_in_words_and_keeps_the_note(
    desk: Disk, alice: Visitor
) -> None:
    await alice.post(desk.url, {"note": ""})

    answer = await alice.post(desk.url, {"note": "mine <i>"})

    page = html.read(answer.text)
    assert answer.status_code == 409
    assert "somebody asked to keep its disk" in page.one("main").text
    assert page.one("input", name="note").attrs["value"] == "mine <i>"


async def test_what_failed_is_said_until_something_else_is_asked(
    desk: Disk, studio: Studio, alice: Visitor
) -> None:
    await alice.post(desk.url, {"note": ""})
    (asked,) = await studio.reader.operations(alice.person, desk.id)
    await desk.operation(
        operation_id=asked.id, ok=False, code="x", message="The \u202edisk is full."
    )

    page = await alice.open(desk.url)

    assert r"failed Keep a version , asked by alice" in page.one("main").text
    assert r"The \u202edisk is full." in page.one("main").text


async def test_restoring_shows_first_what_would_be_lost(
    desk: Disk, studio: Studio, alice: Visitor
) -> None:
    preview = await alice.open(f"{desk.url}/1/restore")
    assert any(row.startswith("gone.txt added") for row in rows(preview))
    assert "becomes a version of its own" in preview.one("main").text

    answer = await alice.press(preview.form("/restore"))

    assert answer.headers["location"] == desk.url
    (asked,) = await studio.reader.operations(alice.person, desk.id)
    assert (asked.act, asked.source) == ("restore", 1)


async def test_restoring_something_else_than_was_shown_is_refused(
    desk: Disk, studio: Studio, alice: Visitor
) -> None:
    preview = await alice.open(f"{desk.url}/1/restore")
    await desk.keep({b"new": b"1"})

    answer = await alice.press(preview.form("/restore"))

    page = html.read(answer.text)
    assert answer.status_code == 422
    assert "version 3" in page.one("main").text
    assert page.form("/restore").fields()["newest"] == "3"
    assert await studio.reader.operations(alice.person, desk.id) == ()


async def send(visitor: Visitor, path: str, name: str, data: bytes) -> Any:
    headers = {"Sec-Fetch-Site": "same-origin", "Origin": BASE}
    return await visitor.http.post(path, files={"archive": (name, data)}, headers=headers)


async def test_an_archive_is_taken_in_and_one_that_is_missing_is_asked_for(
    desk: Disk, studio: Studio, alice: Visitor
) -> None:
    missing = await send(alice, f"{desk.url}/import", "", b"")
    sent = await send(alice, f"{desk.url}/import", "site.tar.gz", b"x" * 3_000_000)

    assert (missing.status_code, sent.status_code) == (422, 303)
    assert "Choose a tar" in html.read(missing.text).one("main").text
    (asked,) = await studio.reader.operations(alice.person, desk.id)
    assert (asked.act, asked.archive_name) == ("import", "site.tar.gz")


async def test_only_an_admin_removes_a_version(desk: Disk, alice: Visitor, ada: Visitor) -> None:
    assert (await alice.post(f"{desk.url}/1/removal")).status_code == 403

    answer = await ada.press((await ada.open(desk.url)).form("/1/removal"))

    assert answer.status_code == 303
    assert len(rows(await ada.open(desk.url))) == 1


async def test_an_archive_of_a_version_goes_out(desk: Disk, alice: Visitor) -> None:
    packed = await alice.get(f"{desk.url}/2/archive")
    odd = await alice.get(f"{desk.url}/2/archive?form=zip")
    plain = await alice.get(f"{desk.url}/1/archive?form=zip")

    assert packed.content.startswith(b"\x28\xb5\x2f\xfd")
    assert packed.headers["content-security-policy"] == LOCKED
    assert odd.status_code == 422
    assert plain.content.startswith(b"PK")


async def test_an_environment_without_a_disk_says_so(
    studio: Studio, alice: Visitor, tmp_path: Path
) -> None:
    bare = await disk(studio, tmp_path, "bare", kind="none")

    page = await alice.open(bare.url)

    assert "holds secrets alone" in page.one("main").text
    refused = await alice.post(bare.url, {"note": ""})
    assert refused.status_code == 409


async def test_the_region_is_the_same_as_the_page_has_it(desk: Disk, alice: Visitor) -> None:
    page = await alice.open(desk.url)
    region = html.read((await alice.get(f"{desk.url}?region=disk")).text)

    assert page.one(id="disk").text == region.text


# Sessions, calls and cards ------------------------------------------------------------------------


async def test_a_command_is_shown_with_its_exit_and_its_output(
    desk: Disk, studio: Studio, alice: Visitor
) -> None:
    calls: list[dict[str, Any]] = [
        {"arguments": {"command": "make <all>"}},
        {"arguments": {"command": "ls"}},
    ]
    session_id, (failed, fine) = await at_work(studio, desk, *calls)
    await studio.story.run(
        session_id, failed, {"exit": 2, "seconds": 1.25, "output": "no <rule>\n"}
    )
    await studio.story.run(session_id, fine, {"exit": 0, "seconds": 0.01, "output": ""})

    lines = (await alice.open(f"/sessions/{session_id}")).all("li", data_kind="call")
    page = await alice.open(f"/calls/{failed}")

    assert "exit 2" in lines[0].one("span", data_state="failed").text
    assert "make <all>" in lines[0].one("div", class_="code command__line").text
    assert "no <rule>" in lines[0].text
    assert "1.2 s" in lines[0].text
    assert "exit 0" in lines[1].text
    assert "It wrote nothing." in lines[1].text
    assert "exit 2" in page.one("main").text
    assert page.role("link", "environment")[0].attrs["href"] == f"/environments/{desk.id}"


async def test_a_command_that_was_ended_says_why(
    desk: Disk, studio: Studio, alice: Visitor
) -> None:
    session_id, (id,) = await at_work(studio, desk, {"arguments": {"command": "sleep 9"}})
    place = {"turn_id": studio.story.turns[session_id], "effect_id": id}
    result = contents.of({"exit": 137, "seconds": 0.3, "output": "begun\n"})
    await studio.story.record(
        session_id,
        e.CallStarted(**place, key="1" * 64, send=1, digest_sent="2" * 64),
        e.CallFailed(**place, code="command.timeout", message="It took too long.", result=result),
    )

    (line,) = (await alice.open(f"/sessions/{session_id}")).all("li", data_kind="call")

    assert "ended: timeout" in line.text
    assert "begun" in line.text


async def test_a_held_command_is_shown_whole_on_its_card(
    desk: Disk, studio: Studio, alice: Visitor
) -> None:
    arguments = {"command": "rm -rf build\u200b\necho done", "cwd": "src", "secrets": ["TOKEN"]}
    session_id, (id,) = await at_work(studio, desk, {"arguments": arguments})
    wait_id = await studio.story.hold(session_id, id)

    card = (await alice.open(f"/approvals/{wait_id}")).one("article")

    assert card.one("div", class_="code command__line").text.startswith("rm -rf build")
    assert card.one("span", class_="mark-char").attrs["data-code"] == "U+200B"
    assert "in src" in card.text
    assert "secret TOKEN" in card.text
    assert len(card.all("div", data_end="")) == 1


async def test_a_held_edit_is_shown_as_what_goes_and_comes(
    desk: Disk, studio: Studio, alice: Visitor
) -> None:
    call = {"tool": "edit", "arguments": {"path": "a.py", "old": "b = 2\n", "new": "b = 3\n"}}
    session_id, (id,) = await at_work(studio, desk, call)
    wait_id = await studio.story.hold(session_id, id)

    card = (await alice.open(f"/approvals/{wait_id}")).one("article")

    lines = [(one.attrs["data-change"], one.text) for one in card.all("div", class_="diff__line")]
    assert lines == [("removed", "1 \u2212 b = 2"), ("added", "1 + b = 3")]


async def test_a_turn_says_what_it_kept_of_the_disk(
    desk: Disk, studio: Studio, alice: Visitor
) -> None:
    session_id, _ = await at_work(studio, desk)
    turn_id = studio.story.turns[session_id]
    await studio.story.end(session_id)
    assert "Disk:" not in (await alice.open(f"/sessions/{session_id}")).one("main").text
    await desk.keep({b"new": b"1"}, "turn", turn=e.TurnRef(session_id=session_id, turn_id=turn_id))

    for path in (f"/sessions/{session_id}", f"/sessions/{session_id}/turns/1"):
        (link,) = (await alice.open(path)).role("link", "version 2 \u2192 3")
        assert link.attrs["href"] == f"{desk.url}/diff?before=2&after=3"
    newest = rows(await alice.open(desk.url))[0]
    assert "turn 1" in newest


async def test_an_open_session_is_told_when_its_disk_is_kept(desk: Disk, studio: Studio) -> None:
    session_id, _ = await at_work(studio, desk)
    turn_id = studio.story.turns[session_id]
    await studio.story.end(session_id)
    topic = SessionTopic(studio.reader, session_id)
    await topic.open()
    assert topic.also == {desk.id}

    await desk.keep({b"new": b"1"}, "turn", turn=e.TurnRef(session_id=session_id, turn_id=turn_id))
    (told,) = await topic.news()

    assert "version 2 \u2192 3" in told.data.decode()
    assert await topic.news() == []
    assert "version 2 \u2192 3" in (await topic.catch_up(str(topic.seq))).data.decode()
