"""Manifests and environments for the tests of pages."""

from typing import Any

from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments import records
from studio.core.rules.environments.records import Kept
from tests.web.conftest import Studio

ADA = Person(id="ada", role="admin", via="key")
VALUE = "fake-token-0123456789"
MANIFEST: dict[str, Any] = {
    "name": "python",
    "description": "Python and git.",
    "setup": [{"run": "python3 -m venv .venv"}, {"run": "make <all>", "cwd": "src"}],
    "files": [{"path": "notes.md", "text": "Hello.\n"}],
    "variables": {"STAGE": "test"},
    "secrets": [
        {"name": "CRM_TOKEN", "type": "bearer", "binding": "https://crm.example/api"},
        {"name": "DEPLOY_KEY", "type": "file", "binding": "deploy.pem", "required": False},
    ],
    "network": {"allow": [{"host": "pypi.org"}]},
    "limits": {"memory_mib": 512},
}


async def save(studio: Studio, **changes: Any) -> None:
    """A version of the manifest, with these fields changed."""
    await studio.runtime.save_environment_manifest(ADA, {**MANIFEST, **changes})


async def make(studio: Studio, name: str = "desk", **more: Any) -> str:
    """An environment; without a manifest of its own it is made from a plain definition."""
    if "manifest" not in more and "definition" not in more:
        more["definition"] = {"kind": "sandbox"}
    return (await studio.runtime.make_environment(ADA, name, **more)).id


async def record(studio: Studio, id: str, *events: e.Event) -> None:
    """Facts of an environment, as a worker tells them."""
    journal, clock = studio.story.journal, studio.story.clock
    clock.told += 1_000
    await journal.commit_environment(id, lambda conn, it: list(events), at=clock.now(), actor=None)


async def keep(studio: Studio, id: str, letter: str = "a") -> None:
    """A version of its disk."""
    kept = Kept(digest=letter * 64, files=3, folders=1, bytes=2_000)
    journal, clock = studio.story.journal, studio.story.clock
    await journal.commit_environment(
        id, lambda conn, it: records.note_kept(it, kept, "hand", by="ada"), at=clock.now(),
        actor=None,
    )  # fmt: skip


async def busy(studio: Studio, id: str, title: str = "Release", **more: Any) -> str:
    """A session that has a turn in hand in an environment; its id."""
    started = await studio.runtime.start_session(
        ADA, agent="helper", title=title, message="Go on.", environment=id, **more
    )
    return started.session_id


def tried(host: str = "evil.example", port: int = 443, outcome: Any = "refused") -> e.EgressTried:
    """A connection that something tried."""
    why = "It is not on the allow-list." if outcome == "refused" else ""
    return e.EgressTried(host=host, port=port, outcome=outcome, reason=why, up=10, down=2_000)
