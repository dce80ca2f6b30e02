"""The MCP project's own suite against our connection: 0 failures, and none expected.

Left out is what our client does not claim: signing in to servers by OAuth (they are given headers
from secrets), asking people for a server (elicitation, input required), and extensions.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.outside import node

ROOT = Path(__file__).parents[2]
SCENARIOS = """
initialize tools_call sse-retry request-metadata http-standard-headers http-custom-headers
http-invalid-tool-headers json-schema-ref-no-deref json-schema-2020-12-preservation
""".split()
SECONDS = 120.0


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_our_client_conforms(scenario, tmp_path):
    suite = node.package("conformance") / "dist" / "index.js"
    command = f"{sys.executable} -m tests.outside.client"

    done = subprocess.run(
        [node.node(), str(suite), "client", "--command", command, "--scenario", scenario,
         "--timeout", str(int(SECONDS * 500)), "-o", str(tmp_path)],
        capture_output=True, text=True, timeout=SECONDS, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip

    checks = [check for path in tmp_path.rglob("checks.json") for check in json.loads(
        path.read_text("utf-8"))]  # fmt: skip
    failed = [check for check in checks if check["status"] in {"FAILURE", "WARNING"}]
    assert failed == [], json.dumps(failed, indent=1)
    assert any(check["status"] == "SUCCESS" for check in checks), done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
