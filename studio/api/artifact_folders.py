"""Artifacts that are folders: kept from an archive or a disk, looked into, compared."""

from typing import Any

from studio.api import answers as a
from studio.api import artifact_bodies as ab
from studio.api import bodies as b
from studio.api.disks import diff_answer, folder_answer, path_of, version_of
from studio.api.endpoint import Answer, Ask, Endpoint
from studio.api.environment_bodies import DiffQuery
from studio.api.sent import sent
from studio.core.runtime import ARCHIVE_BYTES, SavedArtifact


async def save(ask: Ask[b.ArtifactQuery, b.NoBody]) -> Answer:
    """Keep what an archive holds."""
    async with sent(ask, ARCHIVE_BYTES) as (name, _, chunks):
        done = await ask.runtime.save_folder(
            ask.person, ask.part("id"), name=name, chunks=chunks,
            artifact_id=ask.query.artifact, key=ask.key,
        )  # fmt: skip
    return _saved(done)


async def keep(ask: Ask[ab.KeepQuery, b.NoBody]) -> Answer:
    """Keep a folder of a kept disk."""
    q = ask.query
    done = await ask.runtime.keep_folder(
        ask.person, q.session, environment=ask.part("id"), version=version_of(ask),
        path=path_of(ask), name=q.name, artifact_id=q.artifact, key=ask.key,
    )  # fmt: skip
    return _saved(done)


async def files(ask: Ask[ab.TreeQuery, b.NoBody]) -> a.DiskFolder:
    """A page of a folder."""
    found = await ask.reader.artifact_folder(
        ask.person, ask.part("id"), ask.query.version, path_of(ask), after=path_of(ask, "after"),
        limit=ask.query.limit,
    )  # fmt: skip
    return folder_answer(found.artifact.version.version, found.path, found.listing)


async def diff(ask: Ask[DiffQuery, b.NoBody]) -> a.DiskDiff:
    """How two versions differ."""
    q = ask.query
    found = await ask.reader.artifact_diff(ask.person, ask.part("id"), q.before, q.after)
    return diff_answer(q.before, q.after, found)


async def text_diff(ask: Ask[ab.LinesQuery, b.NoBody]) -> a.DiskTextDiff:
    """How a file differs, line by line."""
    q = ask.query
    found = await ask.reader.artifact_text_diff(
        ask.person, ask.part("id"), q.before, q.after, path_of(ask)
    )
    return a.take(a.DiskTextDiff, found)


async def links(ask: Ask[b.NoQuery, b.NoBody]) -> a.ArtifactLinks:
    """The newest links."""
    rows = await ask.reader.artifact_links(ask.person, ask.part("id"))
    return a.ArtifactLinks(items=a.take_all(a.ArtifactLink, rows))


async def make_link(ask: Ask[b.NoQuery, ab.NewArtifactLink]) -> Answer:
    """Make a link; it is in this answer and nowhere else."""
    made = await ask.runtime.make_link(
        ask.person, ask.part("id"), version=ask.body.version, minutes=ask.body.minutes
    )
    told = a.take(a.MadeArtifactLink, made, path=f"/links/{made.token}")
    return Answer(value=told, headers={"Location": f"/v1/artifacts/{made.artifact_id}/links"})


async def revoke_link(ask: Ask[b.NoQuery, b.NoBody]) -> None:
    """Let a link work no more; again is no error."""
    await ask.runtime.revoke_link(ask.person, ask.part("id"), ask.part("link"))


def _saved(done: SavedArtifact) -> Answer:
    where = {"Location": f"/v1/artifacts/{done.artifact_id}"}
    return Answer(value=a.take(a.SavedArtifact, done), headers=where)


ONE = "/artifacts/{id}"
ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="save_folder", method="POST", path="/sessions/{id}/folders", call=save,
        gives=a.SavedArtifact, status=201, query=b.ArtifactQuery, takes_file=True, keyed=True,
        needs=("operator", "save an artifact"), errors=(409,),
        says="Keep what a tar, tar.gz, tar.zst or zip archive holds with a session, as a folder. "
        "What is there already makes no version.",
    ),
    Endpoint(
        name="keep_folder", method="POST", path="/environments/{id}/versions/{version}/artifact",
        call=keep, gives=a.SavedArtifact, status=201, query=ab.KeepQuery, keyed=True,
        needs=("operator", "save an artifact"), errors=(409, 413),
        says="Keep a folder of a kept disk with a session, as an artifact.",
    ),
    Endpoint(
        name="list_artifact_files", method="GET", path=f"{ONE}/files", call=files,
        gives=a.DiskFolder, query=ab.TreeQuery, says="List a folder of an artifact.",
    ),
    Endpoint(
        name="diff_artifact_versions", method="GET", path=f"{ONE}/diff", call=diff,
        gives=a.DiskDiff, query=DiffQuery, says="Compare two versions of a folder.",
    ),
    Endpoint(
        name="diff_artifact_file", method="GET", path=f"{ONE}/diff/text", call=text_diff,
        gives=a.DiskTextDiff, query=ab.LinesQuery,
        says="Compare a file, or one of a folder, of two versions line by line.",
    ),
    Endpoint(
        name="list_artifact_links", method="GET", path=f"{ONE}/links", call=links,
        gives=a.ArtifactLinks, says="List the newest links to an artifact.",
    ),
    Endpoint(
        name="make_artifact_link", method="POST", path=f"{ONE}/links", call=make_link,
        gives=a.MadeArtifactLink, status=201, body=ab.NewArtifactLink, body_required=False,
        errors=(409,),
        says="Make a link that gives a version to whoever has it, for 15 minutes at most. It is "
        "shown once.",
    ),
    Endpoint(
        name="revoke_artifact_link", method="DELETE", path=f"{ONE}/links/{{link}}",
        call=revoke_link, gives=None, status=204, says="Let a link work no more.",
    ),
)  # fmt: skip
