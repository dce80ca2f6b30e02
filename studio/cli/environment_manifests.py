"""Environment manifests from the command line: a folder of them planned, then saved."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import api_client
from api_client import Client
from api_client.shapes import ManifestPlan
from studio.cli.command import Command, argument
from studio.cli.context import Context
from studio.cli.environment_files import Sending
from studio.cli.manifests import Fault, File, find


def apply(context: Context) -> int:
    """Save environment manifests: none when one of them is wrong, and every fault is told."""
    found = find([Path(path) for path in context.given.paths])
    faults = list(found.faults)
    with context.client() as studio:
        sending, files = Sending(studio), list[File]()
        for file in found.files:
            filled, wrong = sending.filled(file)
            files.append(filled)
            faults += wrong
        plans = _plans(studio, files, faults)
        if faults:
            _refuse(context, faults)
            return 1
        if not context.given.dry_run:
            plans = [_save(studio, file, plan) for file, plan in zip(files, plans, strict=True)]
    if context.as_json:
        given = zip(files, plans, strict=True)
        context.terminal.json([{"file": str(file.path), **plan} for file, plan in given])
    else:
        _show_plans(context, plans)
    return 0


def _plans(studio: Client, files: Sequence[File], faults: list[Fault]) -> list[ManifestPlan]:
    """What saving each would do; what is wrong goes to the faults."""
    plans = []
    for file in files:
        name = file.value.get("name") if isinstance(file.value, dict) else None
        if not isinstance(name, str) or not name:
            faults.append(file.fault("name", "is needed."))
            continue
        try:
            manifests = studio.environment_manifests
            plans.append(manifests.save(name, file.value, dry_run=True))
        except api_client.Invalid as error:
            told = error.fields or {"": error.message}
            faults += [file.fault(path, words) for path, words in told.items()]
    return plans


def _save(studio: Client, file: File, plan: ManifestPlan) -> ManifestPlan:
    """Save what was planned, unless somebody else saved it meanwhile."""
    if not plan["creates"]:
        return plan
    manifests = studio.environment_manifests
    return manifests.save(plan["name"], file.value, version=plan["current"])


def _refuse(context: Context, faults: Sequence[Fault]) -> None:
    """Every fault, by file and line."""
    faults = sorted(faults, key=lambda fault: (fault.file, fault.line or 0, fault.path))
    if context.as_json:
        context.terminal.json({"applied": False, "faults": [asdict(fault) for fault in faults]})
    lines = ["Nothing was applied."]
    for fault in faults:
        line = f":{fault.line}" if fault.line is not None else ""
        lines.append(f"  {fault.file}{line}: {fault.path} {fault.message}")
    context.terminal.fail("\n".join(lines))


def _show_plans(context: Context, plans: Sequence[ManifestPlan]) -> None:
    def outcome(plan: ManifestPlan) -> str:
        if not plan["creates"]:
            return "unchanged"
        return "saved" if plan["saved"] else "would be saved"

    context.terminal.table(
        ("NAME", "VERSION", "OUTCOME", "CHANGES", "BEHIND"),
        [(p["name"], p["version"], outcome(p), "; ".join(p["changes"]) or "-", p["behind_count"])
         for p in plans],
        none="Nothing to apply.",
    )  # fmt: skip
    for plan in plans:
        for warning in plan["warnings"]:
            context.terminal.warn(f"{plan['name']}: {warning}")


COMMANDS: tuple[Command, ...] = (
    Command(
        group="environments", name="apply",
        says="save environment manifests: none when one of them is wrong",
        example="studio environments apply environments/ --dry-run", run=apply,
        arguments=(
            argument("paths", nargs="+", metavar="PATH",
                     help="a .json, .yaml or .yml file, or a folder of them"),
            argument("--dry-run", action="store_true", help="only say what would change"),
        ),
    ),
)  # fmt: skip
