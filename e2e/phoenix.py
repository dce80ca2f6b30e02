"""A real Phoenix: its own process, a folder of its own, a free port.

`make test-phoenix` installs one into `.cache/phoenix`; nothing here does.
"""

import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from e2e.studio import until

HERE = Path(__file__).parent.parent / ".cache" / "phoenix" / "bin" / "python"
PATIENCE = 180.0


def python() -> Path | None:
    """The Python that has Phoenix: STUDIO_PHOENIX, else that of `.cache/phoenix`; None without."""
    named = os.environ.get("STUDIO_PHOENIX", "")
    found = Path(named) if named else HERE
    return found if found.with_name("phoenix").exists() else None


@contextmanager
def phoenix(program: Path) -> Iterator[httpx.Client]:
    """A client of a Phoenix that was started for this; its data goes with it."""
    with tempfile.TemporaryDirectory(prefix="phoenix-", ignore_cleanup_errors=True) as folder:
        here = port()
        environ = {
            "PATH": os.environ["PATH"], "HOME": folder, "PHOENIX_WORKING_DIR": folder,
            "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(here),
            "PHOENIX_GRPC_PORT": str(port()), "PHOENIX_TELEMETRY_ENABLED": "false",
            "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
        }  # fmt: skip
        with (Path(folder) / "log").open("w") as log:
            process = subprocess.Popen(
                [str(program.with_name("phoenix")), "serve"], env=environ, cwd=folder, stdout=log,
                stderr=log,
            )  # fmt: skip
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{here}", timeout=60) as client:
                until(lambda: answers(client), seconds=PATIENCE, what="Phoenix")
                yield client
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def answers(client: httpx.Client) -> bool:
    """It is up."""
    try:
        return client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


def port() -> int:
    """A port that nobody has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
