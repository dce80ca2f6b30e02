"""What plugins bring to an agent that is being saved, and what will be missing when it runs:
providers of models, plugins, skills and what those need.
"""

from collections.abc import Iterator

import sqlalchemy as sa

from studio.core.rules import models, saved, sources
from studio.core.rules import plugins as rule
from studio.core.rules import secrets as secret_rule
from studio.core.rules.agent import Manifest
from studio.core.rules.plugins import Plugin, Skill
from studio.core.store import listings, plugins, providers, secrets


def warnings(conn: sa.Connection, manifest: Manifest, version: int) -> tuple[str, ...]:
    """Sentences about providers, plugins, skills and what those need.

    `version` is the newest one saved. Tools of servers are known only as they were last listed, so
    nothing is said of those that were not.
    """
    found, missing = _plugins(conn, manifest)
    missing = [*_providers(conn, manifest), *missing]
    skills, gone = _skills(conn, manifest, found)
    if not any(skill.requires != rule.Requires() for skill in skills):
        return (*missing, *gone)
    return (*missing, *gone, *_needs(conn, manifest, version, found, skills))


def _providers(conn: sa.Connection, manifest: Manifest) -> Iterator[str]:
    for name in sorted(saved.named(manifest.model) - {*models.PROVIDERS}):
        if providers.get(conn, name) is None:
            yield (
                f"Its model names the provider {name}, which is not saved under Models. Turns that "
                "would ask it fail until an admin adds it there."
            )


def _plugins(conn: sa.Connection, manifest: Manifest) -> tuple[list[Plugin], list[str]]:
    folders = {one.plugin.name: one.plugin for one in plugins.folders(conn) if not one.problem}
    found, missing = list[Plugin](), list[str]()
    for reference in manifest.plugins:
        name, version = rule.reference(reference)
        row = plugins.current(conn, name, version)
        plugin = row.plugin if row is not None else folders.get(name)
        if plugin is None or (version and plugin.version != version):
            words = f"The plugin {reference} is not here yet, so it brings nothing."
            missing.append(words)
        else:
            found.append(plugin)
    return found, missing


def _skills(
    conn: sa.Connection, manifest: Manifest, found: list[Plugin]
) -> tuple[list[Skill], list[str]]:
    brought = [(plugin.name, skill) for plugin in found for skill in plugin.skills]
    if manifest.skills is None:
        return [skill for _, skill in brought], []
    chosen, gone = list[Skill](), list[str]()
    for name in manifest.skills:
        if "@" in name:
            skill = plugins.skill(conn, name.partition("@")[2])
        else:
            plugin, _, last = name.rpartition("/")
            skill = next((s for p, s in brought if s.name == last and plugin in ("", p)), None)
        if skill is None:
            gone.append(f"The skill {name} is not saved, and none of its plugins brings it.")
        else:
            chosen.append(skill)
    return chosen, gone


def _needs(
    conn: sa.Connection, manifest: Manifest, version: int, found: list[Plugin], skills: list[Skill]
) -> Iterator[str]:
    servers = {str(server.get("name")) for server in manifest.servers}
    servers |= {str(server.get("name")) for plugin in found for server in plugin.servers}
    listing = listings.get(conn, manifest.name, version)
    listed = listing.tools if listing is not None else ()
    tools = {str(tool.get("name")) for tool in manifest.tools} | sources.RESERVED
    tools |= {str(tool["name"]) for tool in listed}
    are_known = servers <= {str(tool.get("server")) for tool in listed}
    sealed = {secret.name for secret in secrets.list_of(conn, secret_rule.STUDIO)}
    names = {skill.name for skill in skills}
    for skill in skills:
        needs = skill.requires
        for tool in needs.tools:
            if are_known and not any(one == tool or one.endswith(f"_{tool}") for one in tools):
                yield _words(skill, f"the tool {tool}, which the agent is not offered.")
        for server in needs.servers:
            if server not in servers:
                yield _words(skill, f"the server {server}, which the agent does not have.")
        for other in needs.skills:
            if other not in names:
                yield _words(skill, f"the skill {other}, which the agent does not have.")
        for secret in needs.secrets:
            if secret not in sealed:
                yield _words(skill, f"the secret {secret}, which is not set under Secrets.")
        if needs.environment:
            yield _words(skill, "an environment with a disk, and sessions have none yet.")


def _words(skill: Skill, needs: str) -> str:
    return f"Its skill {skill.name} needs {needs} Its turns fail until it is there."
