"""Skills on demand: `load_skill` and `read_skill_resource`. They only read, and add no authority.

Whatever is read is held against the hash that the package was named by, so a file that was changed
on disk is not shown. A call of either carries the badge of the plugin that brings the skill.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from studio.core.packages import names
from studio.core.packages import skill as texts
from studio.core.rules import ids
from studio.core.rules.events import Origin
from studio.core.rules.plugins import File, Skill
from studio.core.rules.skills import Brief, body
from studio.core.tools.tool import Gap, Kit, Result, Tool, ToolError, ToolSpec

LOAD, READ = "load_skill", "read_skill_resource"
NAMES = (LOAD, READ)
PAGE_BYTES = 32_000  # of text, so that it stands in a fact of 32 KiB with a line about it
MOST_NAMED = 5_000  # characters of the list of resources when a skill is loaded
MEDIA = "text/markdown"


@dataclass(frozen=True, kw_only=True)
class Package:
    """A skill with its files, which lie in `folder` under their paths."""

    skill: Skill
    folder: Path
    files: tuple[File, ...]
    plugin: str | None = None
    version: str | None = None

    @property
    def label(self) -> str:
        """`name@hash`, by which its folder on a disk is called."""
        return self.skill.label

    def listed(self) -> list[tuple[str, str]]:
        """(path, SHA-256 in hex) of each file."""
        return [(file.path, file.hash) for file in self.files]

    @property
    def origin(self) -> Origin:
        """Where a call about it comes from."""
        return Origin(kind="platform", plugin=self.plugin, plugin_version=self.version)

    @property
    def brought(self) -> str:
        """Who brings it, in words."""
        return f"plugin {self.plugin} {self.version}" if self.plugin else "saved with the agent"

    def read(self, path: str) -> bytes:
        """The bytes of one of its files; ToolError when they are no longer those of its hash."""
        file = next((file for file in self.files if file.path == path), None)
        if file is None:
            raise _no_file(self, path)
        try:
            data = _read(self.folder / path, file.size)
        except OSError as wrong:
            raise ToolError("skill.unreadable", f"{path} cannot be read: {wrong.strerror}.",
                            settled=True) from None  # fmt: skip
        if sha256(data).hexdigest() != file.hash:
            raise ToolError(
                "skill.changed", f"{path} is no longer what the skill {self.skill.label} holds.",
                settled=True,
            )  # fmt: skip
        return data


def offered(packages: Iterable[Package], gaps: list[Gap]) -> dict[str, Package]:
    """The skills by the names they are loaded by; a second of one name is `plugin/name`."""
    found: dict[str, Package] = {}
    for package in packages:
        name = package.skill.name
        if name in found and package.plugin:
            name = f"{package.plugin}/{name}"
        if name in found:
            words = f"The skill {name} is there twice; {found[name].brought} is used."
            gaps.append(Gap(source=name, message=words))
        else:
            found[name] = package
    return found


def briefs(found: Mapping[str, Package]) -> tuple[Brief, ...]:
    """The skills as a model is told of them."""
    return tuple(
        Brief(
            name=name, description=package.skill.description, hash=package.skill.hash,
            plugin=package.plugin, plugin_version=package.version,
        )
        for name, package in found.items()
    )  # fmt: skip


def tools(found: Mapping[str, Package]) -> dict[str, Tool]:
    """The two tools, when there is a skill to load."""
    if not found:
        return {}
    return {LOAD: LoadSkill(found), READ: ReadResource(found)}


# The tools ----------------------------------------------------------------------------------------


class _SkillTool:
    """What both tools share: which skill a call is about."""

    spec: ToolSpec

    def __init__(self, found: Mapping[str, Package]) -> None:
        self.found = dict(found)

    def bound(self, arguments: Any) -> ToolSpec:
        """The spec of a call with these arguments: its skill's plugin, content and place."""
        package = self._package(arguments)
        if package is None:
            return self.spec
        definition = {"kind": "skill", "tool": self.spec.name, "skill": package.skill.hash,
                      "name": package.skill.name, "plugin": package.plugin}  # fmt: skip
        return replace(
            self.spec, origin=package.origin, hash=ids.digest(definition),
            destination=f"the skill {package.skill.label}, {package.brought}",
        )  # fmt: skip

    def _package(self, arguments: Any) -> Package | None:
        name = arguments.get("skill") if isinstance(arguments, Mapping) else None
        return self.found.get(name) if isinstance(name, str) else None

    def _needed(self, arguments: Any) -> Package:
        package = self._package(arguments)
        if package is None:
            words = ", ".join(self.found)
            raise ToolError("skill.unknown", f"There is no such skill. There are: {words}.",
                            settled=True)  # fmt: skip
        return package


class LoadSkill(_SkillTool):
    """Gives the text of a skill, and names what lies beside it."""

    def __init__(self, found: Mapping[str, Package]) -> None:
        super().__init__(found)
        self.spec = _spec(
            LOAD, "Load a skill: its instructions, and the names of the files beside them.", found
        )

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """The skill's text; a long one comes in pages."""
        package = self._needed(arguments)
        text = _text(package.read(texts.FILE), texts.FILE)
        pages = _pages(body(text), PAGE_BYTES - _room(package))
        said = [_head(package, texts.FILE, 1, len(pages)), pages[0]]
        if len(pages) > 1:
            said.append(f"[It goes on: {READ} with the path {texts.FILE} and page 2.]")
        if resources := _resources(package):
            said.append(resources)
        return Result(text="\n".join(said), media=MEDIA)


class ReadResource(_SkillTool):
    """Gives one text file of a skill, in pages."""

    def __init__(self, found: Mapping[str, Package]) -> None:
        super().__init__(found)
        more = {
            "path": {"type": "string", "minLength": 1, "maxLength": names.LONGEST_PATH,
                     "description": "Path of a file in the skill, such as examples/one.md"},
            "page": {"type": "integer", "minimum": 1, "maximum": 10_000,
                     "description": "Page of a long file; 1 without it"},
        }  # fmt: skip
        self.spec = _spec(READ, "Read a text file that belongs to a skill.", found, more, ("path",))

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """One page of a file inside the skill; anything else is refused in words."""
        package = self._needed(arguments)
        path, page = str(arguments.get("path", "")), int(arguments.get("page", 1))
        if not any(file.path == path for file in package.files):
            raise _no_file(package, path)
        text = _text(package.read(path), path)
        if path == texts.FILE:
            pages = _pages(body(text), PAGE_BYTES - _room(package))
        else:
            pages = _pages(text, PAGE_BYTES)
        if page > len(pages):
            words = f"{path} has {len(pages)} page{'s' if len(pages) != 1 else ''}; {page} is none."
            raise ToolError("skill.no_page", words, settled=True)
        head = _head(package, path, page, len(pages))
        return Result(text=f"{head}\n{pages[page - 1]}", media=MEDIA)


# ----------------------------------------------------------------------------------------------


def _spec(
    name: str, description: str, found: Mapping[str, Package],
    more: Mapping[str, Any] | None = None, needed: tuple[str, ...] = (),
) -> ToolSpec:  # fmt: skip
    schema = {
        "type": "object",
        "properties": {
            "skill": {"type": "string", "enum": list(found), "description": "Name of the skill"},
            **(more or {}),
        },
        "required": ["skill", *needed],
        "additionalProperties": False,
    }
    held = {key: package.skill.hash for key, package in found.items()}
    definition = {"kind": "platform", "name": name, "schema": schema, "skills": held}
    return ToolSpec(
        name=name, description=description, schema=schema, origin=Origin(kind="platform"),
        hash=ids.digest(definition), destination="the studio", read_only=True, repeatable=True,
    )  # fmt: skip


def _no_file(package: Package, path: str) -> ToolError:
    wrong = names.fault(path)
    if wrong:
        words = f"“{path[:200]}” {wrong} Only files of the skill can be read."
    else:
        words = f"The skill {package.skill.name} has no file {path[:200]}."
    return ToolError("skill.no_file", words, settled=True)


def _read(path: Path, size: int) -> bytes:
    """A plain file's bytes; a link is not followed, and no more is read than was promised."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is no file")
        return file.read(size + 1)


def _text(data: bytes, path: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        words = f"{path} is not text: {len(data):,} bytes that cannot be shown to you."
        raise ToolError("skill.binary", words, settled=True)
    return text.replace("\r\n", "\n")


def _pages(text: str, most: int) -> list[str]:
    """Pieces of at most so many bytes, cut at the end of a line where there is one."""
    found, left = list[str](), text
    while len(left.encode("utf-8")) > most:
        piece = left.encode("utf-8")[:most].decode("utf-8", "ignore")
        cut = piece.rfind("\n") + 1
        piece = piece[:cut] if cut > most // 2 else piece
        found.append(piece)
        left = left[len(piece) :]
    return [*found, left] if left or not found else found


def _head(package: Package, path: str, page: int, pages: int) -> str:
    of = f", page {page} of {pages}" if pages > 1 else ""
    return f"[skill {package.skill.label}, {package.brought}: {path}{of}]"


def _resources(package: Package) -> str:
    """The files beside SKILL.md, by name."""
    beside = [file for file in package.files if file.path != texts.FILE]
    if not beside:
        return ""
    lines, left = list[str](), MOST_NAMED
    for number, file in enumerate(beside):
        line = f"- {file.path} ({file.size:,} bytes)"
        left -= len(line)
        if left < 0:
            lines.append(f"- and {len(beside) - number:,} more")
            break
        lines.append(line)
    return f"Files of this skill, for {READ}:\n" + "\n".join(lines)


def _room(package: Package) -> int:
    """Bytes that the list of resources takes of the first page."""
    return len(_resources(package).encode("utf-8"))
