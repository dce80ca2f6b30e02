"""Manifests in files: read, their instructions put in, every fault with its file and line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studio.core import manifests
from studio.core.manifests import Document, Format
from studio.core.packages import folder
from studio.core.rules.errors import Invalid, StudioError

FORMATS: dict[str, Format] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
LARGEST = 4 * 1024 * 1024  # bytes of one file


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is wrong with a file, and where in it."""

    file: str
    message: str
    path: str = ""
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class File:
    """A manifest that could be read. `value` has the text of its instructions in it.

    `skills` are archives of the skill folders that it names, by their place in its list.
    """

    path: Path
    value: Any
    document: Document
    skills: Mapping[int, bytes] = field(default_factory=dict)

    def fault(self, path: str, message: str) -> Fault:
        """A fault of one of its fields."""
        line = self.document.line(path)
        return Fault(file=str(self.path), message=message, path=path, line=line)


@dataclass(frozen=True, kw_only=True)
class Folder:
    """What was found: manifests, and what is wrong with the files that are none."""

    files: list[File] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many files were looked at."""
        return len({str(file.path) for file in self.files} | {fault.file for fault in self.faults})


def find(given: Iterable[Path]) -> Folder:
    """Every manifest of these files and folders, in the order of their names."""
    found = Folder()
    for path in _paths(given, found.faults):
        try:
            found.files.append(_read(path))
        except _Bad as bad:
            found.faults.append(bad.fault)
    return found


class _Bad(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def _paths(given: Iterable[Path], faults: list[Fault]) -> list[Path]:
    paths: dict[Path, None] = {}
    for path in given:
        if not path.is_dir():
            paths[path] = None
            continue
        found = sorted(one for one in path.iterdir() if one.suffix in FORMATS and one.is_file())
        if not found:
            words = "has no manifests: files that end in .json, .yaml or .yml."
            faults.append(Fault(file=str(path), message=words))
        paths.update(dict.fromkeys(found))
    return list(paths)


def _read(path: Path) -> File:
    format = FORMATS.get(path.suffix)
    if format is None:
        words = "is no manifest: its name must end in .json, .yaml or .yml."
        raise _Bad(Fault(file=str(path), message=words))
    try:
        document = manifests.read(_text(path, str(path)), format=format)
    except Invalid as error:
        lines = error.details.get("lines", {})
        (where, words), *_ = error.fields.items()
        raise _Bad(
            Fault(file=str(path), message=words, path=where, line=lines.get(where))
        ) from error
    found = File(path=path, value=document.value, document=document)
    value = _with_instructions(found)
    return File(path=path, value=value, document=document, skills=_skills(found))


def _text(path: Path, file: str) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise _Bad(Fault(file=file, message=f"is larger than {LARGEST:,} bytes."))
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        words = f"is not UTF-8: byte {error.start} cannot be read."
        raise _Bad(Fault(file=file, message=words)) from error
    except OSError as error:
        words = f"cannot be read: {error.strerror or error}."
        raise _Bad(Fault(file=file, message=words)) from error


def _with_instructions(file: File) -> Any:
    """The manifest with the text of the file that its instructions name."""
    value = file.value
    told = value.get("instructions") if isinstance(value, Mapping) else None
    if not isinstance(told, Mapping):
        return value
    if list(told) != ["file"] or not isinstance(told["file"], str):
        raise _Bad(file.fault("instructions", 'must be text, or {"file": "name.md"}.'))
    target = _beside(file, "instructions.file", told["file"])
    try:
        return {**value, "instructions": _text(target, str(file.path))}
    except _Bad as bad:
        words = f"{told['file']} {bad.fault.message}"
        raise _Bad(file.fault("instructions.file", words)) from bad


def _skills(file: File) -> dict[int, bytes]:
    """The skill folders beside a manifest, packed."""
    named = file.value.get("skills") if isinstance(file.value, Mapping) else None
    found: dict[int, bytes] = {}
    for index, one in enumerate(named if isinstance(named, list) else ()):
        if not isinstance(one, Mapping):
            continue
        at = f"skills[{index}]"
        if list(one) != ["folder"] or not isinstance(one["folder"], str):
            raise _Bad(file.fault(at, 'must be the name of a skill, or {"folder": "name"}.'))
        target = _beside(file, f"{at}.folder", one["folder"])
        if not target.is_dir():
            raise _Bad(file.fault(f"{at}.folder", "is no folder."))
        try:
            found[index] = folder.packed(folder.read(target))
        except StudioError as error:
            first = next(iter(getattr(error, "fields", {}).items()), ("", error.message))
            raise _Bad(file.fault(f"{at}.folder", " ".join(filter(None, first)))) from error
    return found


def _beside(file: File, at: str, name: str) -> Path:
    """A file or folder in the folder of a manifest, and nowhere else."""
    here = file.path.parent.resolve()
    target = (here / name).resolve()
    if not target.is_relative_to(here):
        raise _Bad(file.fault(at, "must lie in the folder of its manifest."))
    return target
