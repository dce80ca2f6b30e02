"""Agents from the command line: apply manifests, list what there is."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import api_client
from api_client import Client
from api_client.shapes import Plan
from studio.cli.command import Command, argument
from studio.cli.context import Context
from studio.cli.manifests import Fault, File, Folder, find
from studio.core.rules import paths


def apply(context: Context) -> int:
    """Save every manifest in one transaction, or none when one is wrong: every fault is told."""
    found = find([Path(path) for path in context.given.paths])
    with context.client() as studio:
        files = _with_skills(studio, found, dry_run=True)
        plans, faults = _plan(studio, files, found.faults)
        if faults:
            _refuse(context, faults, found.count)
            return 1
        if not context.given.dry_run:
            _with_skills(studio, found, dry_run=False)
            plans = _save(studio, files, plans)
    if context.as_json:
        given = zip(files, plans, strict=True)
        context.terminal.json([{"file": str(file.path), **plan} for file, plan in given])
    else:
        _show(context, files, plans)
    return 0


def index(context: Context) -> None:
    """List agents."""
    with context.client() as studio:
        agents = studio.agents.list()["items"]
    if context.as_json:
        context.terminal.json(agents)
    else:
        context.terminal.table(
            ("NAME", "VERSION", "MODEL", "TOOLS", "PLUGINS", "SAVED", "BY", "ABOUT"),
            [
                (a["name"], a["version"], a["model"] or a["provider"], a["tools"],
                 ", ".join(a["plugins"]) or "-", a["time"], a["by"], a["description"])
                for a in agents
            ],
            none="No agents yet. Save one with `studio agents apply <file>`.",
        )  # fmt: skip


def _with_skills(studio: Client, found: Folder, *, dry_run: bool) -> list[File]:
    """The manifests with the skills that lie beside them named by their content.

    What is wrong with a skill is a fault of the manifest that names it. A skill that is saved and
    then named by no agent changes nothing.
    """
    files = []
    for file in found.files:
        named = list(file.value["skills"]) if file.skills else []
        for index, archive in file.skills.items():
            try:
                saved = studio.plugins.save_skill(archive, dry_run=dry_run)
                named[index] = saved["reference"]
            except (api_client.Invalid, api_client.TooLarge) as error:
                words = "; ".join(f"{k} {v}".strip() for k, v in error.fields.items())
                place = f"skills[{index}].folder"
                found.faults.append(file.fault(place, words or error.message))
        files.append(replace(file, value={**file.value, "skills": named}) if named else file)
    return files


def _plan(
    studio: Client, files: Sequence[File], faults: Sequence[Fault]
) -> tuple[list[Plan], list[Fault]]:
    """What saving them would do, and everything that is wrong with any of them."""
    if not files:
        return [], list(faults)
    try:
        asked = [(file.value, None) for file in files]
        return studio.agents.save_many(asked, dry_run=True)["items"], list(faults)
    except api_client.Invalid as error:
        if not error.fields:
            raise
        return [], [
            *faults,
            *(_located(files, path, words) for path, words in error.fields.items()),
        ]


def _located(files: Sequence[File], path: str, words: str) -> Fault:
    """A fault of `items[3].manifest.model` as one of the fourth file."""
    parts = paths.parse(path) or ()
    if len(parts) < 2 or parts[0] != "items" or not isinstance(parts[1], int):
        return Fault(file="", message=words, path=path)
    return files[parts[1]].fault(paths.write(parts[3:]), words)


def _save(studio: Client, files: Sequence[File], plans: Sequence[Plan]) -> list[Plan]:
    """Save what was planned, unless somebody else saved one of them meanwhile."""
    asked = [
        (file.value, plan["version"] - 1 if plan["creates"] else plan["version"])
        for file, plan in zip(files, plans, strict=True)
    ]
    return studio.agents.save_many(asked)["items"]


def _refuse(context: Context, faults: Sequence[Fault], of: int) -> None:
    """Every fault, by file and line."""
    faults = sorted(faults, key=lambda fault: (fault.file, fault.line or 0, fault.path))
    if context.as_json:
        context.terminal.json({"applied": False, "faults": [asdict(fault) for fault in faults]})
    files = list(dict.fromkeys(fault.file for fault in faults))
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    lines = [f"Nothing was applied: {count} in {len(files)} of {of} files."]
    for file in files:
        lines.append(file or "The request")
        for fault in (one for one in faults if one.file == file):
            line = f"line {fault.line}: " if fault.line is not None else ""
            lines.append(f"  {line}{fault.path + ' ' if fault.path else ''}{fault.message}")
    context.terminal.fail("\n".join(lines))


def _show(context: Context, files: Sequence[File], plans: Sequence[Plan]) -> None:
    def outcome(plan: Plan) -> str:
        if not plan["creates"]:
            return "unchanged"
        return "saved" if plan["saved"] else "would be saved"

    rows: list[tuple[Any, ...]] = [
        (p["name"], p["version"], outcome(p), "; ".join(p["changes"]) or "-") for p in plans
    ]
    heads = ("NAME", "VERSION", "OUTCOME", "CHANGES")
    context.terminal.table(heads, rows, none="Nothing to apply.")
    for file, plan in zip(files, plans, strict=True):
        for note in file.document.notes:
            context.terminal.warn(f"{file.path}: {note}")
        for warning in plan["warnings"]:
            context.terminal.warn(f"{plan['name']}: {warning}")


COMMANDS: tuple[Command, ...] = (
    Command(
        group="agents", name="apply", says="save manifests: all of them, or none when one is wrong",
        example="studio agents apply agents/ --dry-run", run=apply,
        arguments=(
            argument("paths", nargs="+", metavar="PATH",
                     help="a .json, .yaml or .yml file, or a folder of them"),
            argument("--dry-run", action="store_true", help="only say what would change"),
        ),
    ),
    Command(
        group="agents", name="list", says="list agents", example="studio agents list", run=index,
    ),
)  # fmt: skip
