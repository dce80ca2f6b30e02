"""The arrows between packages, as a dictionary; the code is held to it by walking its imports."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STUDIO = {"studio.core", "studio.web", "studio.api", "studio.cli", "studio.demo"}

# package: what of ours it may import. The longest matching prefix counts.
ARROWS: dict[str, set[str]] = {
    "studio.core.rules": {"studio.core.rules"},
    "studio.core.schemas": {"studio.core.rules", "studio.core.schemas"},
    "studio.core.packages": {
        "studio.core.rules", "studio.core.archives", "studio.core.packages",
    },
    "studio.core.manifests": {"studio.core.rules", "studio.core.manifests"},
    "studio.core.clock": {"studio.core.rules"},
    "studio.core.faults": set(),
    "studio.core.pdf": set(),
    "studio.core.archives": {"studio.core.rules", "studio.core.archives"},
    "studio.core.disks": {
        "studio.core.rules", "studio.core.faults", "studio.core.archives", "studio.core.disks",
    },
    "studio.core.intake": {"studio.core.rules", "studio.core.store", "studio.core.pdf"},
    "studio.core.keys": set(),
    "studio.core.serving": set(),
    "studio.core.tokens": {"studio.core.rules"},
    "studio.core.sealing": {"studio.core.rules"},
    "studio.core.masking": set(),
    "studio.core.store": {"studio.core.rules", "studio.core.store", "studio.core.faults"},
    "studio.core.providers": {
        "studio.core.rules", "studio.core.schemas", "studio.core.providers", "studio.core.faults",
    },
    "studio.core.network": {"studio.core.network", "studio.core.faults"},
    "studio.core.sandboxes": {
        "studio.core.sandboxes", "studio.core.network", "studio.core.rules", "studio.core.faults",
    },
    "studio.core.tools": {
        "studio.core.rules", "studio.core.schemas", "studio.core.tools", "studio.core.faults",
        "studio.core.network", "studio.core.masking", "studio.core.packages",
        "studio.core.sandboxes",
    },
    "studio.core.projections": {
        "studio.core.rules", "studio.core.store", "studio.core.projections",
    },
    "studio.core.telemetry": {
        "studio.core.rules", "studio.core.store", "studio.core.projections", "studio.core.clock",
        "studio.core.faults", "studio.core.telemetry", "studio.__version__",
    },
    "studio.core.questions": {
        "studio.core.rules", "studio.core.store", "studio.core.projections", "studio.core.clock",
        "studio.core.sealing",
    },
    "studio.core.folders": {"studio.core.rules", "studio.core.disks"},
    "studio.core.artifact_questions": {
        "studio.core.rules", "studio.core.store", "studio.core.projections", "studio.core.disks",
        "studio.core.disk_questions",
    },
    "studio.core.disk_questions": {
        "studio.core.rules", "studio.core.store", "studio.core.projections",
        "studio.core.questions", "studio.core.disks",
    },
    "studio.core.outside_questions": {
        "studio.core.rules", "studio.core.projections", "studio.core.questions",
    },
    "studio.core.trace_questions": {
        "studio.core.rules", "studio.core.store", "studio.core.projections",
        "studio.core.questions", "studio.core.disk_questions",
    },
    "studio.core.export_questions": {
        "studio.core.rules", "studio.core.store", "studio.core.projections",
        "studio.core.trace_questions",
    },
    "studio.core.reader": {
        "studio.core.rules", "studio.core.store", "studio.core.projections",
        "studio.core.questions", "studio.core.disk_questions", "studio.core.artifact_questions",
        "studio.core.export_questions", "studio.core.outside_questions",
    },
    "studio.core.talks": {"studio.core.rules", "studio.core.store"},
    "studio.core.verbs": {
        "studio.core.rules", "studio.core.store", "studio.core.schemas", "studio.core.clock",
        "studio.core.faults", "studio.core.keys", "studio.core.intake", "studio.core.tokens",
        "studio.core.talks", "studio.core.verbs", "studio.core.sealing", "studio.core.packages",
        "studio.core.folders", "studio.core.disks",
    },
    "studio.core.runtime": {"studio.core.verbs", "studio.core.store.uploads"},
    "studio.core.work": {
        "studio.core.rules", "studio.core.store", "studio.core.providers", "studio.core.tools",
        "studio.core.clock", "studio.core.faults", "studio.core.intake", "studio.core.schemas",
        "studio.core.talks", "studio.core.sealing", "studio.core.masking", "studio.core.disks",
        "studio.core.sandboxes", "studio.core.network", "studio.core.folders",
        "studio.core.work",
    },
    "studio.core.worker": {
        "studio.core.rules", "studio.core.store", "studio.core.providers", "studio.core.tools",
        "studio.core.clock", "studio.core.faults", "studio.core.work",
    },
    "studio.late": set(),
    "studio.warming": {"studio.late", "studio.web", "studio.api"},
    "studio.command_key": {
        "studio.core.reader", "studio.core.runtime", "studio.core.rules", "studio.settings",
    },
    "studio.web": {
        "studio.web", "studio.late", "studio.core.runtime", "studio.core.reader",
        "studio.core.rules", "studio.core.schemas", "studio.core.projections",
        "studio.core.tokens", "studio.settings", "studio.core.manifests",
    },
    "studio.api": {
        "studio.api", "studio.core.runtime", "studio.core.reader", "studio.core.rules",
        "studio.core.schemas", "studio.core.projections", "studio.settings",
        "studio.core.manifests",
    },
    "studio.settings": {"studio.core.rules"},
    "studio.address": {"studio.core.rules", "studio.settings"},
    "studio.cli": {"studio.cli", "studio.settings", "studio.core.rules", "studio.app",
                   "studio.core.serving",
                   "studio.core.packages",
                   "studio.core.manifests",
                   "studio.doctor", "api_client"},
    "studio.demo": {"studio.demo", "studio.core.rules", "studio.core.runtime",
                    "studio.core.reader", "studio.settings"},
    "api_client": {"api_client"},
    "e2e": {"e2e", "api_client"},
    "e2e.test_servers": {"e2e", "api_client", "tests.outside"},  # servers that others wrote
    "e2e.studio": {"e2e", "api_client", "tests.forked"},  # commands beside the studio
    "e2e.broken": {"studio.cli", "studio.web.render"},  # takes a wall down, for one test
}  # fmt: skip
FREE = {"studio.app", "studio.doctor", "studio.__main__", "studio", "studio.core"}


def modules() -> list[tuple[str, Path]]:
    """Every module of ours by dotted name."""
    found = []
    for top in ("studio", "api_client", "e2e"):
        for path in sorted((ROOT / top).rglob("*.py")):
            if "migrations" in path.parts or "plugin" in path.parts:
                continue
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found.append((name.removesuffix(".__init__"), path))
    return found


def imports(path: Path) -> set[str]:
    """The dotted names a file imports, `from a import b` as both `a` and `a.b`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room(module: str) -> str | None:
    """The row of ARROWS a module belongs to."""
    rows = [row for row in ARROWS if module == row or module.startswith(f"{row}.")]
    return max(rows, key=len, default=None)


def ours(name: str) -> bool:
    return name.split(".")[0] in ("studio", "api_client", "e2e", "tests", "bench")


def reaches(name: str, allowed: str) -> bool:
    return name == allowed or name.startswith(f"{allowed}.")


MODULES = modules()


@pytest.mark.parametrize("module,path", MODULES, ids=[name for name, _ in MODULES])
def test_imports_point_down(module: str, path: Path) -> None:
    row = room(module)
    if row is None:
        assert module in FREE, f"{module} stands in no room; give it a row in ARROWS"
        return

    wrong = [
        name
        for name in sorted(imports(path))
        if ours(name)
        and name not in ("studio.__version__",)
        and not any(reaches(name, allowed) for allowed in ARROWS[row])
    ]

    assert wrong == [], f"{module} may not import {wrong}"


def test_rules_know_the_standard_library_alone() -> None:
    known = sys.stdlib_module_names

    wrong = {
        f"{module}: {name}"
        for module, path in MODULES
        if module.startswith("studio.core.rules")
        for name in imports(path)
        if name.split(".")[0] not in known and not name.startswith("studio.core.rules")
    }

    assert wrong == set()


def test_rules_have_no_clock_and_no_dice() -> None:
    banned = {"time", "random", "secrets", "uuid", "os", "socket", "asyncio", "threading"}

    wrong = {
        f"{module}: {name}"
        for module, path in MODULES
        if module.startswith("studio.core.rules")
        for name in imports(path)
        if name.split(".")[0] in banned
    }

    assert wrong == set()


def test_nobody_imports_the_composition_root_but_the_command_line() -> None:
    users = {
        module
        for module, path in MODULES
        if any(reaches(name, "studio.app") for name in imports(path))
    }

    assert {user for user in users if not user.startswith("studio.cli")} == set()


def test_only_the_store_and_what_reads_it_speak_sql() -> None:
    allowed = ("studio.core.store", "studio.core.projections", "studio.core.verbs")

    wrong = {
        module
        for module, path in MODULES
        if any(name.split(".")[0] == "sqlalchemy" for name in imports(path))
        and not module.startswith(allowed)
        and module not in ("studio.doctor", "studio.core.questions", "studio.core.reader")
    }

    assert wrong == set()
