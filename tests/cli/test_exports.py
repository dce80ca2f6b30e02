"""Exports and saved views from the command line."""

import json
from pathlib import Path

import pytest

from studio.cli.exports import Tail
from tests.live import Live


@pytest.fixture(scope="module")
def session_id(studio: Live) -> str:
    with studio.client() as client:
        return client.sessions.start("helper", title="Talk `x`")["session_id"]


@pytest.mark.parametrize("format", ["markdown", "jsonl", "otlp"])
def test_a_session_is_taken_away_under_its_own_name(
    studio: Live, session_id: str, tmp_path: Path, format: str
):
    take = ("sessions", "export", session_id, "--format", format, "--to", str(tmp_path))

    done = studio.run(*take, "--json")
    again = studio.run(*take)

    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert told["complete"] is True
    assert Path(told["file"]).name.startswith(f"session-{session_id}.")
    assert again.returncode == 1
    assert "nothing was written" in again.stderr


def test_a_session_goes_to_standard_output(studio: Live, session_id: str):
    done = studio.run("sessions", "export", session_id, "--format", "jsonl", "--to", "-")

    assert json.loads(done.stdout.splitlines()[-1])["complete"] is True


def test_what_is_not_there_leaves_no_file(studio: Live, tmp_path: Path):
    done = studio.run("sessions", "export", "ses_none", "--to", str(tmp_path))

    assert done.returncode == 1
    assert "no such session" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "end, is_whole",
    [
        (b'{"line":"end","complete":true,"facts":3}\n', True),
        (b'{"line":"end","complete":false,"error":{}}\n', False),
        (b'{"line":"fact","x":"complete"}\n', False),
        (b'{"line":"fact","payload":{"arguments":{"complete":true}}}\n', False),
        (b'{"resourceSpans":[],"studioExport":{"complete":true,"turns":1}}\n', True),
        (b"The end of this export, which is complete: 1 session.\n", True),
        (b"**This export is not complete.**\n", False),
        (b"", False),
    ],
)
def test_the_last_line_says_whether_it_is_whole(end: bytes, is_whole: bool):
    tail = Tail(iter([b"x" * 10_000 + b"\n", end[:7], end[7:]]))

    assert len(b"".join(tail)) == 10_001 + len(end)
    assert tail.is_whole is is_whole


def test_views_are_saved_listed_and_deleted(studio: Live):
    saved = studio.run("views", "save", "traces", "Slow", "seconds=60", "--share", "--json")
    view = json.loads(saved.stdout)

    text = studio.run("views", "list", "--list", "traces").stdout
    gone = studio.run("views", "remove", view["id"])
    left = json.loads(studio.run("views", "list", "--json").stdout)

    assert "Slow" in text
    assert "everybody" in text
    assert gone.returncode == 0
    assert left == []
