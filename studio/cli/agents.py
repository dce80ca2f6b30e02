"""Agents from the command line: apply manifests, list what there is."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import api_client
from api_client import Client
from api_client.shapes import Plan
from studio.cli.command import Command, argument
from studio.cli.context import Context
from studio.core.rules.errors import Invalid


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A manifest and the file it came from."""

    path: Path
    name: str
    data: dict[str, Any]


def apply(context: Context) -> None:
    """Save every manifest, or none: all are looked at first, and every fault is told."""
    faults: dict[str, str] = {}
    manifests = _read_all([Path(path) for path in context.given.paths], faults)
    with context.client() as studio:
        plans = {one.name: _plan(studio, one, faults) for one in manifests}
        if faults:
            raise Invalid("Nothing was applied. Mend this first:", fields=faults)
        if not context.given.dry_run:
            plans = {one.name: _save(studio, one, plans[one.name]) for one in manifests}
    found = [plan for plan in plans.values() if plan is not None]
    if context.as_json:
        context.terminal.json(found)
    else:
        _show(context, found)


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


def _read_all(paths: list[Path], faults: dict[str, str]) -> list[Manifest]:
    files: list[Path] = []
    for path in paths:
        found = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not found:
            faults[str(path)] = "has no .json files"
        files += found
    manifests = [one for file in files if (one := _read(file, faults)) is not None]
    counts = Counter(one.name for one in manifests)
    for one in manifests:
        if counts[one.name] > 1:
            faults[str(one.path)] = f"{one.name} is given more than once"
    return manifests


def _read(path: Path, faults: dict[str, str]) -> Manifest | None:
    try:
        data = json.loads(path.read_text("utf-8"), object_pairs_hook=_once)
    except OSError as error:
        faults[str(path)] = f"cannot be read: {error.strerror}"
    except (ValueError, RecursionError) as error:
        faults[str(path)] = f"is not JSON: {error}"
    else:
        name = data.get("name") if isinstance(data, dict) else None
        if isinstance(name, str) and name:
            return Manifest(path=path, name=name, data=data)
        faults[str(path)] = "is not a manifest: it has no name"
    return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice in one object")
    return found


def _plan(studio: Client, one: Manifest, faults: dict[str, str]) -> Plan | None:
    try:
        return studio.agents.save(one.name, one.data, dry_run=True)
    except api_client.Invalid as error:
        for field, words in (error.fields or {"": error.message}).items():
            faults[f"{one.path}{': ' if field else ''}{field}"] = words
        return None


def _save(studio: Client, one: Manifest, plan: Plan | None) -> Plan | None:
    """Save what was planned, unless somebody else saved it meanwhile."""
    if plan is None or not plan["creates"]:
        return plan
    return studio.agents.save(one.name, one.data, version=plan["version"] - 1)


def _show(context: Context, plans: list[Plan]) -> None:
    def outcome(plan: Plan) -> str:
        if not plan["creates"]:
            return "unchanged"
        return "saved" if plan["saved"] else "would be saved"

    context.terminal.table(
        ("NAME", "VERSION", "OUTCOME", "CHANGES"),
        [(p["name"], p["version"], outcome(p), "; ".join(p["changes"]) or "-") for p in plans],
        none="Nothing to apply.",
    )
    for plan in plans:
        for warning in plan["warnings"]:
            context.terminal.warn(f"{plan['name']}: {warning}")


COMMANDS: tuple[Command, ...] = (
    Command(
        group="agents", name="apply", says="save manifests: all of them, or none when one is wrong",
        example="studio agents apply agents/ --dry-run", run=apply,
        arguments=(
            argument("paths", nargs="+", metavar="PATH", help="a .json file, or a folder of them"),
            argument("--dry-run", action="store_true", help="only say what would change"),
        ),
    ),
    Command(
        group="agents", name="list", says="list agents", example="studio agents list", run=index,
    ),
)  # fmt: skip
