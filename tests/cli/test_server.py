"""Commands about the studio itself, and what they say when it cannot be."""

import asyncio
import contextlib
import json
import signal
import socket
import sqlite3
import time
from pathlib import Path

import pytest

from studio import __version__, address
from studio.cli.command import parser_of
from studio.cli.commands import COMMANDS
from studio.cli.server import called
from studio.settings import Settings
from tests.live import Live, live, run


def test_the_version_is_printed():
    assert run("version").stdout == f"studio {__version__}\n"
    assert json.loads(run("version", "--json").stdout) == {"version": __version__}


def test_what_is_printed_to_be_typed_is_found_where_it_was_called(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", [".venv/bin/studio", "up"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert called() == ".venv/bin/studio"

    (tmp_path / "studio").touch(mode=0o755)
    assert called() == "studio"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: f"{one.group} {one.name}".strip())
def test_every_command_helps_with_an_example(command, capsys):
    parser = parser_of(COMMANDS)

    with pytest.raises(SystemExit) as ended:
        parser.parse_args([*filter(None, [command.group]), command.name, "--help"])

    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert f"example:\n  {command.example}" in said
    assert "--json" in said


def test_an_unknown_command_is_told_those_that_are():
    done = run("approve")

    assert done.returncode == 2
    assert "approvals" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("group", ["sessions", "approvals", "outside"])
@pytest.mark.parametrize("number", ["0", "-1", "x", "²"])
def test_a_list_of_no_lines_is_not_asked_for(group: str, number: str, capsys):
    with pytest.raises(SystemExit):
        parser_of(COMMANDS).parse_args([group, "list", f"--limit={number}"])

    assert "must be a whole number from 1 on" in capsys.readouterr().err


def test_faulty_settings_are_told_all_at_once():
    done = run("migrate", STUDIO_PORT="x", STUDIO_DEMO="maybe")

    assert done.returncode == 1
    assert done.stderr == (
        "studio: 2 settings are wrong:\n"
        "  STUDIO_PORT must be a whole number from 0 to 65535, not 'x'.\n"
        "  STUDIO_DEMO must be on, off or auto, not 'maybe'.\n"
    )


def test_a_misspelt_setting_is_told(tmp_path: Path):
    done = run("migrate", STUDIO_DATA=str(tmp_path), STUDIO_PROT="1")

    assert done.returncode == 0
    assert "STUDIO_PROT is not a setting" in done.stderr
    assert "STUDIO_PORT" in done.stderr


def test_the_database_is_brought_up_to_date(tmp_path: Path):
    first = run("migrate", STUDIO_DATA=str(tmp_path / "new"))
    again = run("migrate", "--json", STUDIO_DATA=str(tmp_path / "new"))

    assert first.returncode == again.returncode == 0
    assert json.loads(again.stdout)["revision"] in first.stdout


def test_doctor_looks_at_a_running_studio(studio: Live):
    done = studio.run("doctor")

    assert done.returncode == 0
    assert "store" in done.stdout
    assert all(check["ok"] for check in json.loads(studio.run("doctor", "--json").stdout))


def test_a_sign_in_link_is_printed_alone_on_standard_output(studio: Live):
    done = studio.run("login", "--person", "ann", "--role", "viewer")

    assert done.returncode == 0
    assert done.stdout.startswith(f"{studio.url}/sign-in/")
    assert len(done.stdout.splitlines()) == 1


def test_a_studio_at_another_port_is_found_by_its_data_folder(studio: Live):
    unsaid = {**studio.environ, "STUDIO_PORT": ""}
    done = run("login", **unsaid)
    listed = run("agents", "list", **unsaid)

    assert done.stdout.startswith(f"{studio.url}/sign-in/")
    assert (done.returncode, listed.returncode) == (0, 0)
    assert "No studio" not in done.stderr


def test_a_link_to_a_studio_that_does_not_run_says_so(tmp_path: Path):
    done = run("login", STUDIO_DATA=str(tmp_path))
    named = run("login", STUDIO_DATA=str(tmp_path), STUDIO_URL="https://studio.example")

    assert done.stdout.startswith("http://127.0.0.1:8321/sign-in/")
    assert f"No studio that runs now has the data folder {tmp_path}" in done.stderr
    assert named.stdout.startswith("https://studio.example/sign-in/")
    assert "No studio" not in named.stderr


def test_a_taken_port_is_one_paragraph(studio: Live, tmp_path: Path):
    port = studio.url.rpartition(":")[2]

    done = run("up", "--port", port, STUDIO_DATA=str(tmp_path), STUDIO_DEMO="off")

    assert done.returncode == 1
    assert "STUDIO_PORT" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_that_is_not_here_is_not_called_taken(tmp_path: Path, host: str):
    done = run("up", "--host", host, "--port", "0", STUDIO_DATA=str(tmp_path), STUDIO_DEMO="off")

    assert done.returncode == 1
    assert "set STUDIO_HOST" in done.stderr
    assert "Another program" not in done.stderr


def test_a_database_in_use_is_one_paragraph(studio: Live):
    done = studio.run("up", "--port", "0")

    assert done.returncode == 1
    assert done.stderr.startswith("studio: ")
    assert "Traceback" not in done.stderr


def test_a_data_folder_that_cannot_be_is_one_paragraph(tmp_path: Path):
    (tmp_path / "file").touch()

    done = run("up", "--port", "0", STUDIO_DATA=str(tmp_path / "file" / "data"))

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(tmp_path) in done.stderr


def test_doctor_finds_a_data_folder_that_cannot_be(tmp_path: Path):
    (tmp_path / "file").touch()

    for folder in ("file", "file/data"):
        done = run("doctor", "--json", STUDIO_DATA=str(tmp_path / folder))

        (found,) = [check for check in json.loads(done.stdout) if check["name"] == "data folder"]
        assert done.returncode == 1
        assert not found["ok"]
        assert "STUDIO_DATA" in found["words"]


@pytest.mark.parametrize(
    "change,words",
    [
        ("UPDATE alembic_version SET version_num = '9999'", "newer Operator Studio"),
        ("UPDATE alembic_version SET version_num = '0001'", "the next start brings it to"),
        ("DROP TABLE alembic_version", "tables of another program"),
    ],
)
def test_doctor_says_what_a_store_is_that_this_program_did_not_leave(
    tmp_path: Path, change: str, words: str
):
    assert run("migrate", STUDIO_DATA=str(tmp_path)).returncode == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "studio.db")) as file, file:
        file.execute(change)

    done = run("doctor", "--json", STUDIO_DATA=str(tmp_path))

    (found,) = [check for check in json.loads(done.stdout) if check["name"] == "store"]
    assert words in found["words"]
    assert found["ok"] == (done.returncode == 0) == ("next start" in words)


def test_doctor_names_sessions_that_cannot_move_and_their_fault(tmp_path: Path):
    assert run("migrate", STUDIO_DATA=str(tmp_path)).returncode == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "studio.db")) as file, file:
        file.execute("INSERT INTO wakes (session_id, due) VALUES ('ses_a', 60000), ('ses_b', 9)")
        file.execute(
            "INSERT INTO failing (session_id, tries, seq, fault, again) VALUES "
            "('ses_a', 5, 1, 'flt_a', 60000), ('ses_b', 4, 1, 'flt_b', 9)"
        )

    done = run("doctor", "--json", STUDIO_DATA=str(tmp_path))

    (found,) = [check for check in json.loads(done.stdout) if check["name"] == "sessions"]
    assert (done.returncode, found["ok"]) == (1, False)
    assert "ses_a (fault flt_a)" in found["words"]
    assert "ses_b" not in found["words"]


def test_doctor_goes_on_where_it_may_not_look(tmp_path: Path):
    done = run("doctor", "--json", STUDIO_DATA=str(tmp_path), STUDIO_KEY_FILE=f"/{'x' * 300}")

    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert done.returncode == 1
    assert "cannot be read" in checks["key file"]["words"]
    assert checks["settings"]["ok"]


def test_an_open_key_file_is_refused_with_what_to_do(tmp_path: Path):
    (tmp_path / "studio.key").write_text("0" * 64)
    (tmp_path / "studio.key").chmod(0o644)

    done = run("up", "--port", "0", STUDIO_DATA=str(tmp_path), STUDIO_DEMO="off")

    assert done.returncode == 1
    assert "chmod 600" in done.stderr
    assert "Traceback" not in done.stderr


def test_interrupting_ends_it_without_a_word_too_many(tmp_path: Path):
    with live(tmp_path / "data") as running:
        running.process.send_signal(signal.SIGINT)
        running.process.wait(timeout=20)

    assert "Traceback" not in (tmp_path / "data.log").read_text()


def test_a_studio_that_only_serves_sweeps_too(tmp_path: Path):
    store, data = tmp_path / "data" / "studio.db", tmp_path / "data"
    assert run("migrate", STUDIO_DATA=str(data)).returncode == 0
    with contextlib.closing(sqlite3.connect(store)) as file, file:
        file.execute(
            "INSERT INTO receipts (scope, key, request, answer, time) VALUES ('','','','',1)"
        )

    with live(data, "serve"), contextlib.closing(sqlite3.connect(store)) as file:
        deadline = time.monotonic() + 20
        while file.execute("SELECT count(*) FROM receipts").fetchone() != (0,):
            assert time.monotonic() < deadline, "nobody swept"
            time.sleep(0.05)


def test_a_command_without_a_studio_says_how_to_start_one(tmp_path: Path):
    done = run("sessions", "list", STUDIO_DATA=str(tmp_path))

    assert done.returncode == 1
    assert "studio up" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_studio_that_does_not_answer_is_one_paragraph(tmp_path: Path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        done = run(
            "keys", "list", STUDIO_DATA=str(tmp_path), STUDIO_API_KEY="stk_x",
            STUDIO_URL=f"http://127.0.0.1:{port}",
        )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.startswith("studio: No answer from http://127.0.0.1:")
    assert "`studio up`" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_key_file_that_others_can_read_is_not_used(tmp_path: Path):
    path = tmp_path / "cli.key"
    path.write_text("stk_x")
    path.chmod(0o644)

    done = run("keys", "list", STUDIO_DATA=str(tmp_path))

    assert done.returncode == 1
    assert "can be read by others" in done.stderr


def test_a_bad_key_is_told(studio: Live):
    done = studio.run("sessions", "list", STUDIO_API_KEY="stk_bad", STUDIO_URL=studio.url)

    assert done.returncode == 1
    assert done.stderr == "studio: This application key is not known, or was revoked.\n"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_answers_go_out_at_once_on_a_connection_that_is_kept(tmp_path: Path, host: str):
    """With Nagle's delay on, the body of each answer waits for its head to be acknowledged."""
    variables = {"STUDIO_DATA": str(tmp_path), "HOME": str(tmp_path), "STUDIO_HOST": host}
    settings = Settings.from_env({**variables, "STUDIO_PORT": "0"})
    delays = asyncio.get_running_loop().create_future()

    def came(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = writer.get_extra_info("socket")
        delays.set_result(not accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listening = address.listen(settings)
    async with await asyncio.start_server(came, sock=listening):
        _, writer = await asyncio.open_connection(host, listening.getsockname()[1])
        is_delayed = await delays
        writer.close()

    assert not is_delayed
