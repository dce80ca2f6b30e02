"""Manifests, environments and their facts for tests."""

from typing import Any

from studio.core.rules import events as e
from studio.core.rules.environments import records
from studio.core.rules.environments.records import Kept
from studio.core.store import environments
from tests.core.conftest import ALICE, BOB, Core

PYTHON: dict[str, Any] = {
    "name": "python",
    "description": "Python and git.",
    "kind": "sandbox",
    "setup": [{"run": "python3 -m venv .venv"}, {"run": "make", "cwd": "src", "timeout": 900}],
    "files": [{"path": "notes.md", "text": "Hello.\n"}],
    "variables": {"STAGE": "test"},
    "secrets": [
        {"name": "CRM_TOKEN", "type": "bearer", "binding": "https://crm.example/api"},
        {"name": "DEPLOY_KEY", "type": "file", "binding": "deploy.pem", "required": False},
    ],
    "network": {"allow": [{"host": "pypi.org"}, {"host": "*.example.com", "ports": [443, 8443]}]},
    "limits": {"memory_mib": 512},
}
PLAIN: dict[str, Any] = {"name": "plain"}
TOKEN = "fake-token-0123456789"


async def saved(core: Core, manifest: dict[str, Any] = PYTHON, **changes: Any) -> None:
    """A manifest that is saved, with these fields changed."""
    await core.runtime.save_environment_manifest(ALICE, {**manifest, **changes})


async def made(core: Core, name: str = "desk", manifest: str = "plain", **more: Any) -> str:
    """An environment of a saved manifest; its id."""
    found = await core.runtime.make_environment(BOB, name, manifest=manifest, **more)
    return str(found.id)


async def note(core: Core, id: str, rule: Any) -> list[e.Fact]:
    """What a rule of `records` says of an environment, recorded as a worker does."""
    facts: list[e.Fact] = await core.parts.journal.commit_environment(
        id, lambda conn, it: rule(it), at=core.clock.now(), actor=None
    )
    return facts


async def kept(core: Core, id: str, letter: str = "a", reason: Any = "hand", **more: Any) -> None:
    """A version of its disk, as if the disk store had kept it."""
    await note(core, id, lambda it: records.note_kept(it, disk(letter), reason, **more))


def disk(letter: str = "a") -> Kept:
    """A kept state of a disk."""
    return Kept(digest=letter * 64, files=3, folders=1, bytes=2_000, added=100)


async def folded(core: Core, id: str) -> Any:
    """The environment as its row has it."""
    return await core.parts.db.read(lambda conn: environments.get(conn, id))
