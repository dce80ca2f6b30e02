"""Attaching: the files of a message, found and judged in the transaction that accepts it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from studio.core.rules import files, models
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid
from studio.core.rules.events import Fact, FileRef
from studio.core.rules.files import FileLimits, Given, Part
from studio.core.rules.session import Session
from studio.core.store import agents, artifacts, providers, uploads
from studio.core.store import files as kept


@dataclass
class Attached:
    """The parts of one message. `given` is what was found for them.

    `warnings` say which model of the agent's chain would not be given one of them, were it asked
    in place of the first.
    """

    person: Person
    parts: Sequence[Part]
    limits: FileLimits
    agent: tuple[str, int] | None = None  # of a session that has not begun yet
    model: dict[str, str] | None = None  # chosen for it
    given: list[Given] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def find(self, conn: sa.Connection, session: Session) -> None:
        """Find every part and hold it against what the model reads; one refusal for all."""
        if not self.parts:
            return
        if len(self.parts) > files.PARTS:
            words = f"{len(self.parts)} files are attached; {files.PARTS} are allowed."
            raise Invalid(words, code="message.parts", fields={"files": words})
        faults, code = dict[str, str](), "file.missing"
        seen: set[tuple[str, int]] = set()
        self.given = []
        for number, part in enumerate(self.parts):
            found = self._one(conn, session, part)
            if found is None or not (found.found.is_folder or kept.has(conn, found.ref.hash)):
                faults[f"files.{number}"] = _missing(part)
            elif (found.ref.artifact_id, found.ref.version) in seen:
                faults[f"files.{number}"] = f"“{found.ref.name}” is attached twice."
                code = "file.twice"
            else:
                seen.add((found.ref.artifact_id, found.ref.version))
                self.given.append(found)
        if faults:
            words = next(iter(faults.values()))
            raise Invalid(f"The message was not sent. {words}", code=code, fields=faults)
        self._judge(self._chain(conn, session))

    def _judge(self, chain: Sequence[Mapping[str, Any]]) -> None:
        """Hold the files against every model of the chain; the first must read all of them."""
        refused = [files.refused(self.given, models.reads(one), self.limits) for one in chain]
        if refused[0]:
            able = [_named(one) for one, wrong in zip(chain, refused, strict=True) if not wrong]
            raise files.refusal(refused[0], able=able[0] if able else "")
        self.warnings = [
            files.left_out(_named(one), wrong)
            for one, wrong in zip(chain, refused, strict=True)
            if wrong
        ]

    def spend(self, conn: sa.Connection, _session: Session, made: Sequence[Fact]) -> None:
        """The uploads are artifacts now."""
        for part in self.parts if made else ():
            if part.upload_id:
                uploads.drop(conn, self.person.actor, part.upload_id)

    @property
    def asked(self) -> list[list[object]]:
        """What a receipt remembers of the parts."""
        return [[part.upload_id, part.artifact_id, part.version] for part in self.parts]

    def _one(self, conn: sa.Connection, session: Session, part: Part) -> Given | None:
        if not part.upload_id:
            return artifacts.find(conn, session.id, part.artifact_id, part.version)
        artifact_id = files.artifact_of(part.upload_id)
        upload = uploads.get(conn, self.person.actor, part.upload_id)
        if upload is None:  # perhaps an earlier message of this session carried it
            return artifacts.find(conn, session.id, artifact_id, 1)
        found = upload.found
        ref = FileRef(
            artifact_id=artifact_id, version=1, name=upload.name, media=found.media,
            size=found.size, hash=found.hash,
        )  # fmt: skip
        return Given(ref=ref, found=found, is_new=True, source="upload", by=self.person.id)

    def _chain(self, conn: sa.Connection, session: Session) -> list[dict[str, Any]]:
        """The models that may be asked, in their order, as far as they are known."""
        chosen = self.model if self.model is not None else session.model
        if chosen is not None:
            return [providers.full(conn, chosen)]
        name, version = self.agent or (session.agent, session.agent_version)
        agent = agents.get(conn, name, version)
        assert agent is not None, "a session is pinned to a version that exists"
        chain = models.chain(agent.manifest.get("model", {}))
        return [providers.full(conn, one) for one in chain]


def _named(model: Mapping[str, Any]) -> str:
    return str(model.get("name") or model.get("provider") or "a model")


def _missing(part: Part) -> str:
    if part.upload_id:
        return "An attached file is no longer here: it was not sent for a day. Attach it again."
    version = f" in version {part.version}" if part.version else ""
    return f"This session has no artifact {part.artifact_id[:80]}{version}."
