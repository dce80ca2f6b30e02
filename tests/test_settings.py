"""Settings are read once, and every fault is told at once."""

import os
from pathlib import Path

import pytest

from studio.core.rules.errors import Invalid
from studio.settings import NAMES, Settings, signing_key


def read(tmp_path: Path, **variables: str) -> Settings:
    environ = {"STUDIO_DATA": str(tmp_path / "data"), "HOME": str(tmp_path)}
    return Settings.from_env({**environ, **variables})


def faults(tmp_path: Path, **variables: str) -> dict[str, str]:
    with pytest.raises(Invalid) as raised:
        read(tmp_path, **variables)
    return raised.value.fields


def test_nothing_set_serves_this_machine_alone(tmp_path):
    settings = read(tmp_path)

    assert (settings.host, settings.port, settings.url) == (
        "127.0.0.1", 8321, "http://127.0.0.1:8321",
    )  # fmt: skip
    assert settings.warnings == ()


def test_the_database_and_the_key_live_in_the_data_folder(tmp_path):
    settings = read(tmp_path)

    assert settings.database_url == f"sqlite:///{tmp_path}/data/studio.db"
    assert settings.key_file == tmp_path / "data" / "studio.key"
    assert settings.cli_key_file == tmp_path / "data" / "cli.key"


def test_a_checkout_keeps_its_data_beside_the_source(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "Makefile").touch()

    settings = Settings.from_env({}, checkout=tmp_path)

    assert settings.data == tmp_path / ".studio"


def test_an_installed_studio_keeps_its_data_in_the_home_folder(tmp_path):
    settings = Settings.from_env({"HOME": "/home/ann"}, checkout=tmp_path)

    assert settings.data == Path("/home/ann/.local/share/operator-studio")


def test_the_desktop_convention_for_data_folders_is_kept(tmp_path):
    settings = Settings.from_env({"XDG_DATA_HOME": "/xdg"}, checkout=tmp_path)

    assert settings.data == Path("/xdg/operator-studio")


def test_a_tilde_is_the_home_folder(tmp_path):
    assert read(tmp_path, STUDIO_DATA="~/studio").data == tmp_path / "studio"


def test_every_fault_is_told_at_once(tmp_path):
    wrong = faults(
        tmp_path,
        STUDIO_PORT="eighty",
        STUDIO_DEMO="maybe",
        STUDIO_URL="ftp://here",
        STUDIO_HTTP_ALLOW="localhost",
        STUDIO_PLUGINS="/nowhere/at/all",
        STUDIO_CONCURRENCY="0",
        STUDIO_DATABASE_URL="mysql://x",
        STUDIO_HOSTS="a b",
        STUDIO_FAULT="point",
        STUDIO_LOG="loud",
    )

    assert len(wrong) == 10
    assert wrong["STUDIO_PORT"] == "must be a whole number from 0 to 65535, not 'eighty'"
    assert wrong["STUDIO_DEMO"] == "must be on, off or auto, not 'maybe'"
    assert wrong["STUDIO_HTTP_ALLOW"] == "needs host:port for each, and localhost has no port"


def test_a_fault_reads_as_a_sentence(tmp_path):
    with pytest.raises(Invalid, match="One setting is wrong:\n  STUDIO_PORT must be") as raised:
        read(tmp_path, STUDIO_PORT="-1")

    assert raised.value.code == "settings.invalid"


def test_a_setting_that_stands_on_a_faulty_one_is_not_told_twice(tmp_path):
    assert list(faults(tmp_path, STUDIO_PORT="x")) == ["STUDIO_PORT"]


def test_an_empty_variable_counts_as_unset(tmp_path):
    assert read(tmp_path, STUDIO_PORT="").port == 8321


def test_a_misspelt_variable_is_told_with_the_nearest_name(tmp_path):
    settings = read(tmp_path, STUDIO_CONCURENCY="4", STUDIO_ZZZ="1", STUDIO_PYTHON="python3")

    assert settings.warnings == (
        "STUDIO_CONCURENCY is not a setting, so it changes nothing. "
        "Did you mean STUDIO_CONCURRENCY?",
        "STUDIO_ZZZ is not a setting, so it changes nothing.",
    )


def test_what_a_file_may_be_is_set_in_mib_and_pages(tmp_path):
    settings = read(tmp_path, STUDIO_UPLOAD_MIB="5", STUDIO_PDF_PAGES="20")

    assert (settings.upload_mib, settings.pdf_pages) == (5, 20)
    assert (read(tmp_path).upload_mib, read(tmp_path).pdf_pages) == (100, 100)
    wrong = faults(tmp_path, STUDIO_UPLOAD_MIB="251", STUDIO_PDF_PAGES="0")
    assert wrong == {
        "STUDIO_UPLOAD_MIB": "must be a whole number from 1 to 250, not '251'",
        "STUDIO_PDF_PAGES": "must be a whole number from 1 to 10000, not '0'",
    }


def test_a_secret_may_come_from_a_file(tmp_path):
    (tmp_path / "key").write_text("stk_x\n")

    assert read(tmp_path, STUDIO_API_KEY_FILE=str(tmp_path / "key")).api_key == "stk_x"


def test_a_secret_given_twice_is_refused(tmp_path):
    (tmp_path / "key").write_text("stk_x\n")

    wrong = faults(tmp_path, STUDIO_API_KEY="y", STUDIO_API_KEY_FILE=str(tmp_path / "key"))

    assert wrong["STUDIO_API_KEY"] == "is given twice, also by STUDIO_API_KEY_FILE; keep one"


def test_a_missing_secret_file_is_a_fault_in_words(tmp_path):
    wrong = faults(tmp_path, STUDIO_DATABASE_URL_FILE="/nowhere")

    assert wrong["STUDIO_DATABASE_URL"] == (
        "cannot be read from /nowhere: No such file or directory"
    )


def test_tool_settings_are_a_mapping_and_may_come_from_files(tmp_path):
    (tmp_path / "token").write_text("s3cret\n")

    settings = read(
        tmp_path,
        STUDIO_SETTING_MODEL_KEY="abc",
        STUDIO_SETTING_TOKEN_FILE=str(tmp_path / "token"),
    )

    assert settings.tool_settings == {"MODEL_KEY": "abc", "TOKEN": "s3cret"}
    assert settings.warnings == ()


def test_no_secret_is_in_the_representation(tmp_path):
    settings = read(
        tmp_path,
        STUDIO_API_KEY="hidden1",
        STUDIO_SETTING_A="hidden2",
        STUDIO_DATABASE_URL="postgresql://ann:hidden3@db/studio",
    )

    assert "hidden" not in repr(settings)


@pytest.mark.parametrize(
    "header", ["localhost:8321", "127.0.0.1:8321", "[::1]:8321", "LOCALHOST:8321"]
)
def test_this_machines_names_are_answered(tmp_path, header):
    assert read(tmp_path).allows_host(header)


@pytest.mark.parametrize(
    "header", ["evil.example:8321", "localhost:80", "localhost", "", "localhost:8321@evil", "a b"]
)
def test_another_name_is_not_answered(tmp_path, header):
    assert not read(tmp_path).allows_host(header)


def test_the_public_name_is_answered_without_its_usual_port(tmp_path):
    settings = read(tmp_path, STUDIO_URL="https://Studio.example/")

    assert settings.url == "https://studio.example"
    assert settings.secure
    assert settings.allows_host("studio.example")
    assert settings.allows_host("studio.example:443")


def test_a_name_without_a_port_is_answered_on_any(tmp_path):
    settings = read(tmp_path, STUDIO_HOSTS="studio.lan")

    assert settings.allows_host("studio.lan:9000")
    assert not settings.allows_host("localhost:8321")


def test_listening_everywhere_is_reached_by_loopback(tmp_path):
    assert read(tmp_path, STUDIO_HOST="0.0.0.0").url == "http://127.0.0.1:8321"
    assert read(tmp_path, STUDIO_HOST="::").url == "http://[::1]:8321"


def test_this_machine_reaches_its_studio_without_the_public_name(tmp_path):
    settings = read(tmp_path, STUDIO_URL="https://studio.example", STUDIO_HOST="0.0.0.0")

    assert settings.own_url == "http://127.0.0.1:8321"
    assert read(tmp_path, STUDIO_HOST="::").own_url == "http://[::1]:8321"


def test_this_machine_is_answered_whatever_the_names_are(tmp_path):
    settings = read(tmp_path, STUDIO_HOSTS="studio.example", STUDIO_HOST="0.0.0.0")

    assert settings.allows_host("127.0.0.1:8321")


def test_every_setting_has_a_sentence_and_a_name_of_its_own():
    for setting in Settings.SETTINGS:
        assert setting.words.endswith(".")
        assert setting.name.startswith(("STUDIO_", "OTEL_"))
        assert setting.kind
    assert len({setting.name for setting in Settings.SETTINGS}) == len(Settings.SETTINGS)
    assert "STUDIO_KEY_FILE" in NAMES


def test_the_signing_key_is_made_once_and_for_its_owner_alone(tmp_path):
    path = tmp_path / "data" / "studio.key"

    first, second = signing_key(path), signing_key(path)

    assert first == second
    assert len(first) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(path.parent) == ["studio.key"]


def test_a_signing_key_that_others_can_read_is_refused(tmp_path):
    path = tmp_path / "studio.key"
    signing_key(path)
    path.chmod(0o644)

    with pytest.raises(Invalid, match="chmod 600"):
        signing_key(path)


def test_a_broken_signing_key_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "studio.key"
    path.write_text("half a k")
    path.chmod(0o600)

    with pytest.raises(Invalid, match="not a key of ours"):
        signing_key(path)

    assert path.read_text() == "half a k"


def test_the_collector_is_told_as_opentelemetry_says(tmp_path):
    base = {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://otel.example:4318/base/"}

    assert read(tmp_path).collector == ""
    assert read(tmp_path, **base).collector == "https://otel.example:4318/base/v1/traces"
    own = read(tmp_path, **base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://traces.example/in")
    assert own.collector == "http://traces.example/in"
    assert own.otel_service == "operator-studio"


def test_headers_of_the_collector_are_read_and_shown_nowhere(tmp_path):
    settings = read(
        tmp_path,
        OTEL_EXPORTER_OTLP_HEADERS="Authorization=Basic%20aHVudGVyMg%3D%3D, x-tenant = a",
    )
    wrong = faults(tmp_path, OTEL_EXPORTER_OTLP_HEADERS="a=hunter2, hunter2 no")

    assert settings.otel_headers == (("authorization", "Basic aHVudGVyMg=="), ("x-tenant", "a"))
    assert "aHVudGVyMg" not in repr(settings)
    assert wrong == {
        "OTEL_EXPORTER_OTLP_HEADERS": "must be name=value, comma between; number 2 is not"
    }
    assert "hunter2" not in str(faults(tmp_path, OTEL_EXPORTER_OTLP_HEADERS="a=hunter2%0d%0a"))


def test_what_no_collector_can_be_is_told(tmp_path):
    wrong = faults(
        tmp_path,
        OTEL_EXPORTER_OTLP_ENDPOINT="otel:4317",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://user:word@otel.example",
        OTEL_EXPORTER_OTLP_PROTOCOL="grpc",
        OTEL_EXPORTER_OTLP_TIMEOUT="0",
        STUDIO_EXPORT_CONTENT="messages, secrets",
        STUDIO_EXPORT_HOURS="0",
    )

    assert len(wrong) == 6
    assert "word" not in wrong["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"].replace("password", "")
    kinds = read(tmp_path, STUDIO_EXPORT_CONTENT="Messages,results").export_content
    assert kinds == {"messages", "results"}
