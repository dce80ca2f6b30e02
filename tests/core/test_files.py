"""Files of messages and of calls, on real stores: kept, judged, given to the model, read again."""

import base64
import hashlib
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfWriter

from studio import app
from studio.core import faults
from studio.core.providers.provider import FilePart, Message, Request
from studio.core.rules import context, files
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.calls import STEP_BYTES
from studio.core.rules.errors import Denied, Invalid, NotFound, TooLarge
from studio.core.rules.files import Part
from studio.core.store import files as kept
from studio.core.tools.tool import Kit, Result, ResultFile
from studio.settings import Settings
from tests.core.conftest import ALICE, BOB, CHARLIE, Core
from tests.core.rules.test_pictures import png
from tests.fakes import tool

PNG = png(640, 480) + b"\0" * 100
TEXT = "# Notes\nGrüße\n".encode()
READ = {"read_only": True}
TEXT_ONLY = {"provider": "scripted", "name": "scripted", "reads": ["text"]}


def pdf(pages: int, password: str = "") -> bytes:
    writer = PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(72, 72)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), 50_000):
        yield data[at : at + 50_000]


async def upload(
    core: Core, name: str, media: str, data: bytes, person: Person = BOB
) -> Part:  # fmt: skip
    done = await core.runtime.upload(person, name=name, media=media, chunks=chunks(data))
    return Part(upload_id=done.id)


async def save(core: Core, session_id: str, name: str, data: bytes, **more: Any) -> Any:
    return await core.runtime.save_artifact(
        BOB, session_id, name=name, media="", chunks=chunks(data), **more
    )


class Listening:
    """A provider that remembers what it was asked, and answers as the scripted one does."""

    def __init__(self, core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
        from studio.core.providers import scripted

        self.requests: list[Request] = []
        real = scripted.Scripted.stream
        asked = self.requests

        async def stream(it: Any, request: Request) -> AsyncIterator[Any]:
            asked.append(request)
            async for item in real(it, request):
                yield item

        monkeypatch.setattr(scripted.Scripted, "stream", stream)

    def said(self, number: int = -1) -> list[Message]:
        return list(self.requests[number].messages)


@pytest.fixture
def model(core: Core, monkeypatch: pytest.MonkeyPatch) -> Listening:
    return Listening(core, monkeypatch)


# Uploads ------------------------------------------------------------------------------------------


async def test_an_upload_is_known_by_its_bytes(core: Core) -> None:
    done = await core.runtime.upload(
        BOB, name="C:\\fakepath\\a.png", media="image/png", chunks=chunks(PNG)
    )

    found = done.found
    assert (done.name, found.media, found.size) == ("a.png", "image/png", len(PNG))
    assert (found.width, found.height, found.hash) == (640, 480, hashlib.sha256(PNG).hexdigest())


@pytest.mark.parametrize(
    "name,media,data,words",
    [
        ("a.png", "image/png", pdf(1), "image/png, but its bytes are application/pdf"),
        ("a.pdf", "application/pdf", PNG, "application/pdf, but its bytes are image/png"),
        ("a.txt", "text/plain", PNG, "text/plain, but its bytes are image/png"),
        ("a.pdf", "application/pdf", pdf(200), "200 pages; 100 are allowed"),
        ("a.pdf", "application/pdf", pdf(1, "secret"), "locked with a password"),
        ("a.pdf", "application/pdf", b"%PDF-1.7\nnothing", "cannot be read as a PDF"),
        ("a.png", "image/png", png(9_000, 10), "9,000 × 10 pixels"),
        ("a.txt", "text/plain", b"", "It is empty"),
    ],
)
async def test_an_upload_that_cannot_be_sent_is_refused(core, name, media, data, words) -> None:
    with pytest.raises(Invalid) as refused:
        await upload(core, name, media, data)

    assert words in refused.value.message
    assert refused.value.fields["file"]
    assert (
        await core.parts.db.read(lambda conn: kept.raw.one(conn, "SELECT 1 FROM uploads")) is None
    )


async def test_an_upload_over_the_limit_leaves_nothing(core: Core) -> None:
    core.runtime.limits = files.FileLimits(upload_bytes=1_000)

    with pytest.raises(TooLarge, match="1,000 bytes"):
        await upload(core, "a.txt", "text/plain", b"x" * 1_001)

    assert await core.parts.db.read(lambda conn: kept.raw.one(conn, "SELECT 1 FROM files")) is None


async def test_a_viewer_sends_no_file(core: Core) -> None:
    with pytest.raises(Denied):
        await upload(core, "a.txt", "text/plain", TEXT, CHARLIE)


async def test_an_upload_belongs_to_whoever_sent_it(core: Core) -> None:
    part = await upload(core, "a.txt", "text/plain", TEXT)
    session_id = await core.start()

    with pytest.raises(Invalid, match="no longer here"):
        await core.runtime.send_message(ALICE, session_id, "say hi", files=[part])
    assert await core.runtime.uploads(ALICE, [part.upload_id]) == []
    assert len(await core.runtime.uploads(BOB, [part.upload_id])) == 1


async def test_a_removed_upload_is_gone(core: Core) -> None:
    part = await upload(core, "a.txt", "text/plain", TEXT)

    await core.runtime.drop_upload(BOB, part.upload_id)

    assert await core.runtime.uploads(BOB, [part.upload_id]) == []


# Messages -----------------------------------------------------------------------------------------


async def test_a_message_keeps_references_and_its_turn_gives_the_bytes(core, model) -> None:
    picture = await upload(core, "a.png", "image/png", PNG)
    notes = await upload(core, "notes.md", "", TEXT)

    async with core.working():
        session_id = await core.start("say seen", files=[picture, notes])
        await core.over(session_id)

    (asked,) = model.said()
    assert asked.files == (FilePart(name="a.png", media="image/png", data=PNG),)
    assert TEXT.decode().strip() in asked.text
    facts = [fact.event for fact in await core.facts(session_id)]
    saved = [event for event in facts if isinstance(event, e.ArtifactSaved)]
    (message,) = [event for event in facts if isinstance(event, e.MessageAccepted)]
    assert [(s.name, s.version, s.source, s.by) for s in saved] == [
        ("a.png", 1, "upload", "bob"), ("notes.md", 1, "upload", "bob"),
    ]  # fmt: skip
    assert [ref.artifact_id for ref in message.files] == [s.artifact_id for s in saved]
    assert await kept.whole(core.parts.db, saved[0].hash, len(PNG)) == PNG


async def test_a_later_turn_carries_a_line_and_no_bytes(core, model) -> None:
    picture = await upload(core, "a.png", "image/png", PNG)

    async with core.working():
        session_id = await core.start("say one", files=[picture])
        first = await core.over(session_id)
        await core.runtime.send_message(BOB, session_id, "say two")
        await core.until(session_id, lambda s: s.turns == 2 and s.turn.is_over)

    (ref,) = first.turn.files
    asked = model.said()[0]
    assert asked.files == ()
    assert (
        f'[Uploaded artifact "a.png" · {ref.artifact_id} v1 · read_artifact to view]' in asked.text
    )


async def test_every_step_of_the_turn_gives_the_bytes(core, model) -> None:
    core.offer(tool("look", **READ))
    picture = await upload(core, "a.png", "image/png", PNG)

    async with core.working():
        await core.over(await core.start("call look {}\nthen\nsay done", files=[picture]))

    assert [len(request.messages[0].files) for request in model.requests] == [1, 1]


async def test_what_the_model_does_not_read_opens_no_turn(core: Core) -> None:
    await core.runtime.save_agent(
        ALICE, {"name": "reader", "instructions": "x", "model": TEXT_ONLY}
    )
    started = await core.runtime.start_session(BOB, agent="reader")
    parts = [
        await upload(core, "a.png", "image/png", PNG),
        await upload(core, "notes.md", "", TEXT),
        await upload(core, "a.pdf", "application/pdf", pdf(2)),
    ]

    with pytest.raises(Invalid) as refused:
        await core.runtime.send_message(BOB, started.session_id, "look", files=parts)

    told = refused.value.details["parts"]
    assert [(part["name"], part["media"]) for part in told] == [
        ("a.png", "image/png"), ("a.pdf", "application/pdf"),
    ]  # fmt: skip
    assert "does not read images; it reads text" in told[0]["reason"]
    assert await core.types(started.session_id) == ["session.started"]
    assert len(await core.runtime.uploads(BOB, [part.upload_id for part in parts])) == 3


async def test_every_model_of_a_chain_is_asked_what_it_reads(core: Core) -> None:
    small, large = ({**TEXT_ONLY, "name": name} for name in ("small", "smaller"))
    everything = {"provider": "scripted", "name": "large"}
    for name, chain in (
        ("able", [everything, small]),
        ("blind", [small, everything]),
        ("none", [small, large]),
    ):
        model = {**chain[0], "fallbacks": chain[1:]}
        await core.runtime.save_agent(ALICE, {"name": name, "instructions": "x", "model": model})
    pictures = [await upload(core, f"{n}.png", "image/png", PNG) for n in range(3)]

    sent = await core.runtime.start_session(BOB, agent="able", message="x", files=[pictures[0]])
    words = []
    for agent, picture in (("blind", pictures[1]), ("none", pictures[2])):
        with pytest.raises(Invalid) as refused:
            await core.runtime.start_session(BOB, agent=agent, message="x", files=[picture])
        words.append(refused.value.message)

    assert list(sent.warnings) == [
        "Were the fallback small asked, it would not be given “0.png”: it reads no image/png."
    ]
    assert words[0].endswith("Its fallback large does; choose that model for the session.")
    assert words[1].endswith("This agent's model does not read images; it reads text.")


async def test_a_file_alone_is_a_message(core, model) -> None:
    picture = await upload(core, "a.png", "image/png", PNG)

    async with core.working():
        session = await core.over(await core.start(None, files=[picture]))

    assert session.status == "completed"
    assert len(model.said()[0].files) == 1


async def test_a_message_may_refer_to_a_version_of_an_artifact(core, model) -> None:
    session_id = await core.start()
    first = await save(core, session_id, "a.txt", b"first version")
    await save(core, session_id, "a.txt", b"second version", artifact_id=first.artifact_id)

    async with core.working():
        part = Part(artifact_id=first.artifact_id, version=1)
        await core.runtime.send_message(BOB, session_id, "say ok", files=[part])
        session = await core.over(session_id)

    assert "first version" in model.said()[0].text
    assert session.turn.files[0].version == 1


@pytest.mark.parametrize("artifact_id", ["art_none", "../x", "/etc/passwd", ""])
async def test_a_part_that_is_not_there_is_refused(core: Core, artifact_id: str) -> None:
    session_id = await core.start()

    with pytest.raises(Invalid) as refused:
        await core.runtime.send_message(
            BOB, session_id, "hi", files=[Part(artifact_id=artifact_id)]
        )

    assert list(refused.value.fields) == ["files.0"]


async def test_an_artifact_of_another_session_is_as_one_that_is_missing(core: Core) -> None:
    mine, other = await core.start(), await core.start()
    saved = await save(core, mine, "a.txt", TEXT)

    with pytest.raises(Invalid, match="has no artifact"):
        await core.runtime.send_message(
            BOB, other, "hi", files=[Part(artifact_id=saved.artifact_id)]
        )


async def test_the_same_message_sent_twice_is_one_turn(core: Core) -> None:
    part = await upload(core, "a.txt", "text/plain", TEXT)
    session_id = await core.start()

    sent = [
        await core.runtime.send_message(BOB, session_id, "hi", files=[part], key="k")
        for _ in range(2)
    ]

    assert sent[0] == sent[1]
    assert (await core.types(session_id)).count("artifact.saved") == 1


async def test_what_is_attached_twice_is_refused(core: Core) -> None:
    part = await upload(core, "a.txt", "text/plain", TEXT)
    session_id = await core.start()

    with pytest.raises(Invalid) as refused:
        await core.runtime.send_message(BOB, session_id, "hi", files=[part, part])

    assert refused.value.fields == {"files.1": "“a.txt” is attached twice."}
    assert (await core.types(session_id)).count("artifact.saved") == 0


async def test_a_long_text_file_is_cut_and_says_where_it_goes_on(core, model) -> None:
    part = await upload(core, "long.txt", "text/plain", b"x" * (files.TEXT_BYTES + 10))

    async with core.working():
        await core.over(await core.start("say ok", files=[part]))

    text = model.said()[0].text
    assert f"131,072 of 131,082 bytes; read_artifact with offset {files.TEXT_BYTES}" in text
    assert len(text) < files.TEXT_BYTES + 1_000


async def test_too_many_parts_are_refused(core: Core) -> None:
    session_id = await core.start()

    with pytest.raises(Invalid, match="101 files"):
        await core.runtime.send_message(
            BOB, session_id, "hi", files=[Part(artifact_id="art_x")] * 101
        )


async def test_the_digest_of_the_request_binds_the_files(core, model) -> None:
    hashes = []
    async with core.working():
        for data in (PNG, PNG + b"\1"):
            part = await upload(core, "a.png", "image/png", data)
            session_id = await core.start("say ok", files=[part])
            await core.over(session_id)
            hashes += [
                fact.event.request_hash
                for fact in await core.facts(session_id)
                if isinstance(fact.event, e.ModelRequested)
            ]

    assert len(set(hashes)) == 2


# Artifacts ----------------------------------------------------------------------------------------


async def test_a_person_keeps_a_file_in_versions(core: Core) -> None:
    session_id = await core.start()
    first = await save(core, session_id, "reports/a.txt", b"one")

    second = await save(core, session_id, "b.txt", b"two", artifact_id=first.artifact_id)

    assert (second.artifact_id, second.version, second.name) == (
        first.artifact_id, 2, "reports/a.txt",
    )  # fmt: skip
    assert await kept.whole(core.parts.db, first.hash, 3) == b"one"


async def test_an_unknown_artifact_gets_no_version(core: Core) -> None:
    session_id, other = await core.start(), await core.start()
    elsewhere = await save(core, other, "a.txt", b"one")

    for artifact_id in ("art_none", elsewhere.artifact_id):
        with pytest.raises(NotFound):
            await save(core, session_id, "a.txt", b"two", artifact_id=artifact_id)


async def test_a_private_session_takes_no_file_from_others(core: Core) -> None:
    session_id = await core.start(None, ALICE, private=True)

    with pytest.raises(NotFound):
        await save(core, session_id, "a.txt", b"one")


async def test_an_agent_saves_a_file_and_then_a_version_of_it(core: Core) -> None:
    async with core.working():
        session_id = await core.start(
            'call save_artifact {"name": "out/a.md", "text": "# One {{x}} {% y %}"}\nthen\n'
            'call save_artifact {"name": "out/a.md", "text": "# Two"}\n'
            'call save_artifact {"name": "in/a.md", "text": "# Other"}\nthen\nsay done'
        )
        session = await core.over(session_id)

    assert session.status == "completed"
    saved = [f.event for f in await core.facts(session_id) if f.event.TYPE == "artifact.saved"]
    told = {(s.artifact_id, s.name, s.version) for s in saved}
    assert {(name, version) for _, name, version in told} == {
        ("out/a.md", 1), ("out/a.md", 2), ("in/a.md", 1),
    }  # fmt: skip
    assert len({artifact_id for artifact_id, _, _ in told}) == 2
    assert {(s.source, s.by) for s in saved} == {("agent", "helper")}
    first = await kept.whole(core.parts.db, saved[0].hash, saved[0].size)
    assert first == b"# One {{x}} {% y %}"


@pytest.mark.parametrize(
    "arguments,code",
    [
        ({"name": "../a.txt", "text": "x"}, "tool.bad_arguments"),
        ({"name": "a.png", "text": "x", "media": "image/png"}, "file.type"),
        ({"name": "a.png", "base64": "%%%"}, "tool.bad_arguments"),
    ],
)
async def test_what_an_agent_may_not_save_is_told(core: Core, arguments: Any, code: str) -> None:
    import json

    async with core.working():
        session_id = await core.start(f"call save_artifact {json.dumps(arguments)}\nthen\nsay done")
        session = await core.over(session_id)

    (call,) = session.turn.calls.values()
    assert (call.state, call.code) == ("failed", code)
    assert "artifact.saved" not in await core.types(session_id)


async def test_the_policy_applies_to_saving(core: Core) -> None:
    await core.runtime.save_policy(
        ALICE, [{"effect": "deny", "tool": "save_artifact", "reason": "Not here."}], expect=None
    )

    async with core.working():
        session_id = await core.start(
            'call save_artifact {"name": "a.md", "text": "x"}\nthen\nsay done'
        )
        session = await core.over(session_id)

    (call,) = session.turn.calls.values()
    assert (call.state, call.message) == ("denied", "Not here.")
    assert "artifact.saved" not in await core.types(session_id)


async def read(core: Core, session_id: str, **arguments: Any) -> Any:
    """What became of reading an artifact, once the turn is over."""
    import json

    turns = (await core.session(session_id)).turns
    await core.runtime.send_message(
        BOB, session_id, f"call read_artifact {json.dumps(arguments)}\nthen\nsay done"
    )
    session = await core.until(session_id, lambda s: s.turns == turns + 1 and s.turn.is_over)
    (call,) = session.turn.calls.values()
    return call


async def test_an_agent_reads_text_in_pages(core: Core) -> None:
    session_id = await core.start()
    saved = await save(core, session_id, "a.txt", "é".encode() * 40_000)

    async with core.working():
        first = await read(core, session_id, id=saved.artifact_id)
        rest = await read(core, session_id, id=saved.artifact_id, offset=files.PAGE_BYTES)
        last = await read(core, session_id, id=saved.artifact_id, offset=79_990, limit=100)

    assert first.result.size <= 32 * 1024
    assert not first.result.stored
    assert f"offset {files.PAGE_BYTES} reads on" in first.result.value
    assert "bytes 32256 to 64512 of 80000" in rest.result.value
    assert last.result.value.endswith("this is its end]\n" + "é" * 5)


async def test_a_picture_that_is_read_is_shown_once(core, model) -> None:
    session_id = await core.start()
    saved = await save(core, session_id, "a.png", PNG)
    core.offer(tool("look", **READ))

    async with core.working():
        await core.runtime.send_message(
            BOB, session_id,
            f'call read_artifact {{"id": "{saved.artifact_id}"}}\nthen\ncall look {{}}\nthen\n'
            "say ok",
        )  # fmt: skip
        await core.over(session_id)

    shown = [[m for m in request.messages if m.files] for request in model.requests]
    assert [len(messages) for messages in shown] == [0, 1, 0]
    assert shown[1][0].files[0].data == PNG


async def test_what_the_model_cannot_read_is_refused_in_words(core: Core) -> None:
    await core.runtime.save_agent(
        ALICE, {"name": "helper", "instructions": "x", "model": TEXT_ONLY}
    )
    session_id = await core.start()
    saved = await save(core, session_id, "a.png", PNG)

    async with core.working():
        call = await read(core, session_id, id=saved.artifact_id)

    assert (call.state, call.code) == ("failed", "artifact.unreadable")
    assert "does not read images" in call.message


async def test_the_limits_that_are_set_hold_for_what_an_agent_reads_too(core: Core) -> None:
    session_id = await core.start()
    saved = await save(core, session_id, "two.pdf", pdf(2))

    async with core.working() as worker:
        worker.driver.limits = files.FileLimits(pdf_pages=1)
        call = await read(core, session_id, id=saved.artifact_id)

    assert (call.state, call.code) == ("failed", "artifact.unreadable")
    assert "It has 2 pages; 1 are allowed." in call.message


async def test_settings_say_what_a_file_may_be(tmp_path: Path) -> None:
    environ = {"STUDIO_DATA": str(tmp_path), "STUDIO_UPLOAD_MIB": "3", "STUDIO_PDF_PAGES": "7"}
    settings = Settings.from_env(environ)
    app.migrate(settings)
    limits = files.FileLimits(upload_bytes=3 * 1024 * 1024, pdf_pages=7)

    async with app.parts(settings) as built:
        worker = app.worker(built)
        found = (built.runtime.limits, worker.driver.limits)
        await worker.close()

    assert found == (limits, limits)


@pytest.mark.parametrize("given", ["art_none", "../x", "/etc/passwd"])
async def test_a_forged_reference_reads_nothing(core: Core, given: str) -> None:
    session_id, other = await core.start(), await core.start()
    elsewhere = await save(core, other, "a.txt", b"secret of another")

    async with core.working():
        calls = [
            await read(core, session_id, id=given),
            await read(core, session_id, id=elsewhere.artifact_id),
        ]

    assert {call.code for call in calls} == {"artifact.not_found"}
    assert len({call.message for call in calls}) == 1


# Results that fit ---------------------------------------------------------------------------------


async def returned(core: Core, *found: Any) -> tuple[str, Any]:
    """One step whose calls give these results."""
    names = []
    for number, result in enumerate(found):

        async def give(arguments: Any, kit: Kit, result: Any = result) -> Any:
            return result

        core.offer(tool(f"give{number}", give, **READ))
        names.append(f"call give{number} {{}}")
    async with core.working():
        session_id = await core.start("\n".join(names) + "\nthen\nsay done")
        return session_id, await core.over(session_id)


async def test_a_large_result_becomes_an_artifact_with_head_and_tail(core: Core) -> None:
    text = "begin" + "x" * (5 * 1024 * 1024) + "end"

    _, session = await returned(core, Result(text=text, media="text/plain"))

    (call,) = session.turn.calls.values()
    (ref,) = call.files
    words = context.result_words(call)
    assert len(words.encode()) <= 32 * 1024
    assert words.startswith("begin")
    assert f"{ref.artifact_id} v1" in words
    assert call.result.head.startswith("begin")
    assert len(call.result.head) == 4 * 1024
    assert call.result.tail.endswith("end")
    assert len(call.result.tail) == 1024
    assert ref.hash == hashlib.sha256(text.encode()).hexdigest()
    assert await kept.whole(core.parts.db, ref.hash, ref.size) == text.encode()


async def test_a_small_result_makes_no_artifact(core: Core) -> None:
    session_id, session = await returned(core, Result(text="x" * 32_768, media="text/plain"))

    (call,) = session.turn.calls.values()
    assert call.files == ()
    assert "artifact.saved" not in await core.types(session_id)


async def test_the_results_of_one_step_share_their_room(core: Core) -> None:
    results = [Result(text=chr(97 + n) * 32_000, media="text/plain") for n in range(12)]

    _, session = await returned(core, *results)

    calls = list(session.turn.calls.values())
    shown = sum(
        len(c.result.head + c.result.tail) if c.result.stored else c.result.size for c in calls
    )
    assert shown <= STEP_BYTES + 12 * 512
    cut = [call for call in calls if call.result.stored]
    assert len(cut) == 4
    assert min(len(call.result.head) for call in cut) == 512
    for call in cut:
        (ref,) = call.files
        whole = await kept.whole(core.parts.db, ref.hash, ref.size)
        assert hashlib.sha256(whole).hexdigest() == call.result.hash


async def test_more_than_eight_mib_is_dropped_with_words(core: Core) -> None:
    _, session = await returned(core, Result(text="x" * (8 * 1024 * 1024 + 1), media="text/plain"))

    (call,) = session.turn.calls.values()
    assert (call.state, call.code) == ("failed", "tool.too_large")
    assert "8,388,608 are kept" in call.message


async def test_a_picture_in_a_result_is_an_artifact_and_shown_in_the_next_step(core, model) -> None:
    found = ResultFile(data=PNG, media="image/png", name="chart.png")

    _, session = await returned(core, Result(value={"ok": True}, files=(found,)))

    (call,) = session.turn.calls.values()
    (ref,) = call.files
    assert (ref.name, ref.media, ref.size) == ("chart.png", "image/png", len(PNG))
    asked = model.said()[-1]
    assert asked.files == (FilePart(name="chart.png", media="image/png", data=PNG),)
    result = model.said()[-2].text
    assert f'[Tool give0 returned artifact "chart.png" · {ref.artifact_id} v1' in result
    assert base64.b64encode(PNG[:30]).decode()[:20] not in result


async def test_a_picture_for_a_model_that_reads_none_is_a_line(core, model) -> None:
    await core.runtime.save_agent(
        ALICE, {"name": "helper", "instructions": "x", "model": TEXT_ONLY}
    )

    await returned(
        core, Result(value={"ok": True}, files=(ResultFile(data=PNG, media="image/png"),))
    )

    assert [message.files for message in model.said()] == [(), (), ()]
    assert "give0-1.png" in model.said()[-1].text


async def test_bytes_that_lie_about_their_type_are_just_bytes(core: Core) -> None:
    found = ResultFile(data=pdf(1), media="image/png", name="a.png")

    _, session = await returned(core, Result(value=1, files=(found,)))

    (call,) = session.turn.calls.values()
    assert call.files[0].media == "application/octet-stream"


# When it dies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", ["file.before_whole", "file.after_whole", "upload.after_kept"])
async def test_a_cut_upload_shows_nothing_half(core: Core, point: str) -> None:
    faults.arm(point, "raise")
    try:
        with pytest.raises(faults.Injected):
            await upload(core, "a.txt", "text/plain", TEXT)
    finally:
        faults.disarm()

    part = await upload(core, "a.txt", "text/plain", TEXT)
    await core.start("say ok", files=[part])
