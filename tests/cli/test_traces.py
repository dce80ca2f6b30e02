"""The export and its backfill from the command line, with a collector that takes everything."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import HELPER
from tests.live import Live, live
from tests.standins.collector import Collector, collector

SECRET = "hunter2-hunter2-hunter2"


@pytest.fixture(scope="module")
def receiving() -> Iterator[Collector]:
    with collector() as found:
        yield found


@pytest.fixture(scope="module")
def exporting(receiving: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A studio with one turn that is over, and a collector."""
    environ = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiving.url, "OTEL_SERVICE_NAME": "desk",
        "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{SECRET}", "STUDIO_LOG": "info",
    }  # fmt: skip
    with live(tmp_path_factory.mktemp("export") / "data", **environ) as running:
        with running.client() as client:
            client.agents.save("helper", HELPER)
            session_id = client.sessions.start("helper", message="say hi")["session_id"]
            for event in client.sessions.follow(session_id):
                if event["type"] == "turn.completed":
                    break
        yield running


def test_past_turns_are_sent_once_more_with_counts(exporting: Live, receiving: Collector):
    done = exporting.run("traces", "backfill", "--since", "2h", "--json")

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["state"], found["turns"], found["done"]) == ("done", 1, 1)
    assert "1 turns; it goes on" in done.stderr
    resource = receiving.requests[0].resource_spans[0].resource
    said = {pair.key: pair.value.string_value for pair in resource.attributes}
    assert said["service.name"] == "desk"
    assert receiving.asked[0][1]["authorization"] == f"Bearer {SECRET}"


def test_how_the_export_stands_is_told_and_the_doctor_sees_it(exporting: Live):
    said = exporting.run("traces", "collector")
    doctor = exporting.run("doctor")

    assert said.returncode == 0
    assert exporting.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] in said.stdout
    assert "collector" in doctor.stdout
    assert "well" in doctor.stdout


def test_a_time_that_means_nothing_is_one_line(exporting: Live):
    done = exporting.run("traces", "backfill", "--since", "soon")

    assert done.returncode == 1
    assert "2026-11-30" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_secret_of_the_collector_is_in_no_log(exporting: Live):
    log: Path = exporting.data.parent / f"{exporting.data.name}.log"

    assert SECRET not in log.read_text()
    assert SECRET not in exporting.run("doctor").stdout
