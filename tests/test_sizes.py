"""How large things may grow: modules, functions, pages, tests, templates, style and script.

Things are cut by noun and not by size; a size that is passed asks whether two nouns live in one
house. What may pass has a bound of its own and says why, and loses its place here when it no
longer needs it.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULE, FUNCTION, PAGE, TEST = 400, 60, 30, 50
TEMPLATE, STYLE, SCRIPT = 150, 250, 300

Allowed = dict[str, tuple[int, str]]  # place: (how many lines it may have, why)
MODULES: Allowed = {
    "studio/core/reader.py": (650, "every question on one page, a few lines each"),
    "studio/core/store/tables.py": (1_000, "the whole schema on one page"),
    "studio/core/rules/session.py": (650, "what a session is and the one fold of its facts"),
    "studio/settings.py": (550, "every setting in one list, and how a text becomes each"),
}
FUNCTIONS: Allowed = {
    "studio/core/rules/session.py: _turn": (110, "one case a fact, flat: the crux of the fold"),
}
SCRIPTS: Allowed = {
    "static/js": (510, "keys, times, live regions, kept text, files, ticks: no library for six"),
}


def python(*tops: str) -> list[Path]:
    """Python files of ours; migrations are as long as the schema."""
    found = [path for top in tops for path in (ROOT / top).rglob("*.py")]
    return sorted(path for path in found if "migrations" not in path.parts)


def functions(*tops: str) -> Iterator[tuple[str, int]]:
    """Every function by its place, with its lines."""
    for path in python(*tops):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                yield f"{name(path)}: {node.name}", node.end_lineno - node.lineno + 1


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def wrong(sizes: dict[str, int], most: int, allowed: Allowed | None = None) -> list[str]:
    """What is larger than it may be, and what is allowed more than it needs."""
    allowed = allowed or {}
    found = []
    for place, size in sizes.items():
        bound = allowed[place][0] if place in allowed else most
        if size > bound:
            found.append(f"{place} has {size} lines, and {bound} are allowed")
    needless = [place for place in allowed if sizes.get(place, 0) <= most]
    return found + [f"{place} needs no exception any more" for place in needless]


def test_modules_can_be_read_at_a_sitting() -> None:
    sizes = {name(path): lines(path) for path in python("studio", "api_client")}

    assert wrong(sizes, MODULE, MODULES) == []


def test_functions_fit_on_a_page() -> None:
    assert wrong(dict(functions("studio", "api_client")), FUNCTION, FUNCTIONS) == []


def test_pages_only_join_what_others_do() -> None:
    assert wrong(dict(functions("studio/web/pages")), PAGE) == []


def test_tests_are_short() -> None:
    assert wrong(dict(functions("tests", "e2e")), TEST) == []


def test_templates_and_styles_are_of_one_thing() -> None:
    pages = {name(path): lines(path) for path in (ROOT / "templates").rglob("*.html")}
    styles = {name(path): lines(path) for path in (ROOT / "static/css").rglob("*.css")}

    assert wrong(pages, TEMPLATE) + wrong(styles, STYLE) == []


def test_our_own_script_stays_small() -> None:
    ours = sum(lines(path) for path in (ROOT / "static/js").glob("*.js"))

    assert wrong({"static/js": ours}, SCRIPT, SCRIPTS) == []


def test_a_bound_that_is_passed_and_one_that_is_not_needed_are_both_found() -> None:
    sizes = {"a": 10, "b": 30, "c": 5}

    assert wrong(sizes, 9, {"b": (20, "it is the crux"), "c": (20, "once it was long")}) == [
        "a has 10 lines, and 9 are allowed",
        "b has 30 lines, and 20 are allowed",
        "c needs no exception any more",
    ]
