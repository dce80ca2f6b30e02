"""What nobody asked for is not loaded: a studio without a collector knows no protobuf."""

import subprocess
import sys

from tests.live import ROOT, plain_environ

LOADED = """
import sys
from studio import app, web
from studio.api import routes
from studio.core import worker
from studio.core.work import probing
print([name for name in sys.modules if name.startswith(("opentelemetry.proto", "google.protobuf"))])
"""


def test_without_a_collector_no_protobuf_is_loaded() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, cwd=ROOT,
        env=plain_environ(),
    )  # fmt: skip

    assert done.stdout == "[]\n"
