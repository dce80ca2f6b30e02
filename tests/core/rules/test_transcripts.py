"""A transcript in Markdown: nothing that was said can pass for a heading, a link or our words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from studio.core.rules import contents, transcripts
from studio.core.store import codec

PARSER = MarkdownIt("commonmark").enable("table").enable("strikethrough")
HOSTILE = (
    "# Turn 9\n\n[approve](https://evil.example) <b>x</b>\n",
    "```\n# Approved by alice\n```",
    "````text\n~~~\n</details><h1>Done</h1>",
    "`` ` `` | a | b |\n|---|---|\n",
    "    code\n\n- list\n> quote\n---\n",
    "safe \u202e gpj.exe \x1b[31m \u200b",
    "* * *\n![x](https://evil.example/p.png)\n<https://evil.example>",
)


def tokens(text: str) -> list[Token]:
    found = PARSER.parse(text)
    return [*found, *(child for token in found for child in token.children or [])]


def kinds(text: str) -> set[str]:
    return {token.type for token in tokens(text)}


@pytest.mark.parametrize("text", HOSTILE)
def test_what_was_said_stays_inside_its_fence(text: str) -> None:
    (fence,) = tokens(transcripts.fence(text))

    assert fence.type == "fence"
    assert "\u202e" not in fence.content
    assert "\x1b" not in fence.content


@given(st.text())
def test_a_name_stays_inside_its_span_whatever_it_is(text: str) -> None:
    found = tokens(f"# Session {transcripts.code(text)}, and on.\n")

    assert [t.type for t in found if t.type.endswith("_open")] == ["heading_open"]
    assert [t.content for t in found if t.type == "code_inline"] != []
    assert not {"link_open", "html_inline", "image"} & {t.type for t in found}


@given(st.text())
def test_a_fence_holds_anything(text: str) -> None:
    assert kinds(transcripts.fence(text)) == {"fence"}


@pytest.mark.parametrize("text", HOSTILE)
def test_the_headings_of_a_talk_are_ours_alone(text: str) -> None:
    payload = {
        "turn_id": "trn_1", "number": 1, "by": text, "files": [{
            "artifact_id": "art_1", "version": 1, "name": text, "media": text, "size": 3,
            "hash": "0" * 64,
        }], "text": codec_of(text),
    }  # fmt: skip
    written = transcripts.head(
        {"id": "ses_1", "title": text, "agent": "helper", "agent_version": 1, "owner": text,
         "started": 0}
    ) + transcripts.fact("message.accepted", 0, f"operator:{text}", payload)  # fmt: skip

    found = PARSER.parse(written)
    headings = [found[i + 1].content for i, t in enumerate(found) if t.type == "heading_open"]
    assert len(headings) == 2
    assert headings[1] == "Turn 1"
    assert {"fence"} <= {t.type for t in found}
    assert not {"html_block", "bullet_list_open", "blockquote_open", "hr", "table_open"} & {
        t.type for t in found
    }


def test_a_large_content_is_named_by_its_hash() -> None:
    content = contents.shorten(contents.of_text("a" * 40_000 + "end"))

    written = transcripts.body(codec_dict(content))

    assert "40,003 bytes in all" in written
    assert content.hash in written
    assert written.count("```") == 4


def test_a_fact_that_says_nothing_to_a_reader_is_left_out() -> None:
    assert transcripts.fact("model.requested", 0, "runtime", {}) == ""
    assert transcripts.fact("of.tomorrow", 0, "runtime", {"a": 1}) == ""


def codec_of(text: str) -> dict[str, object]:
    return codec_dict(contents.of_text(text))


def codec_dict(content: object) -> dict[str, object]:
    import json

    made: dict[str, object] = json.loads(codec.value(content))
    return made
