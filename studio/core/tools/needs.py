"""What an agent's skills cannot do without, held against what the agent has."""

from collections.abc import Collection, Iterable, Mapping

from studio.core.rules.plugins import Skill
from studio.core.tools.tool import Gap, Tool


def missing(
    skills: Mapping[str, Skill], tools: Mapping[str, Tool], servers: Collection[str],
    values: Mapping[str, str],
) -> list[Gap]:  # fmt: skip
    """Everything that is missing, of every skill: each a sentence. All of them stop a turn.

    `servers` are those that answer now; `values` are settings by name and secrets by `secret:NAME`.
    """
    found = []
    for name, skill in skills.items():
        for words in _of(skill, skills, tools, servers, values):
            source = f"skill {name}"
            found.append(Gap(source=source, message=f"{source} needs {words}", kind="needed"))
    return found


def _of(
    skill: Skill, skills: Mapping[str, Skill], tools: Mapping[str, Tool],
    servers: Collection[str], values: Mapping[str, str],
) -> Iterable[str]:  # fmt: skip
    needs = skill.requires
    names = {skill.name for skill in skills.values()}
    for tool in needs.tools:
        if not _is_offered(tool, tools):
            yield f"the tool {tool}, which this agent is not offered."
    for server in needs.servers:
        if server not in servers:
            yield f"the server {server}, which does not answer or is not the agent's."
    for other in needs.skills:
        if other not in names and other not in skills:
            yield f"the skill {other}, which this agent does not have."
    for secret in needs.secrets:
        if not values.get(secret) and not values.get(f"secret:{secret}"):
            yield f"the secret {secret}, which is not set."
    if needs.environment:
        kind = "an environment" if needs.environment == "any" else f"a {needs.environment}"
        yield f"{kind} with a disk, and sessions of this studio have none yet."


def _is_offered(name: str, tools: Mapping[str, Tool]) -> bool:
    """Under its own name, or under the longer one it got beside another of that name."""
    return name in tools or any(
        tool.spec.origin.server and offered == f"{tool.spec.origin.server}_{name}"
        for offered, tool in tools.items()
    )


def told(gaps: Iterable[Gap]) -> str:
    """All that stops a turn, in one text for a person; "" when nothing does."""
    words = [gap.message for gap in gaps if gap.kind == "needed"]
    if not words:
        return ""
    count = "1 thing that its skills need is" if len(words) == 1 else (
        f"{len(words)} things that its skills need are"
    )  # fmt: skip
    return f"{count} missing, so nothing was asked of the model: {' '.join(words)}"
