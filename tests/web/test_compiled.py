"""Compiled templates are kept beside their sources, and never outlive what they were made of."""

import os
import sys
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2 import Environment, FileSystemLoader, nodes
from jinja2.utils import _PassArg

from studio.web.compiled import Compiled
from studio.web.render import templates


class Counting(Environment):
    """An environment that remembers what it compiled."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.compiled: list[Any] = []

    def compile(self, *args: Any, **options: Any) -> Any:
        self.compiled.append(args)
        return super().compile(*args, **options)


@pytest.fixture(autouse=True)
def keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text("<p>{{ name }}</p>")
    return path


def shown(page: Path, **options: Any) -> tuple[str, int]:
    """The page as a new process shows it, and how many templates it compiled for that."""
    options = {"autoescape": True, **options}
    environment = Counting(
        loader=FileSystemLoader(page.parent), bytecode_cache=Compiled(), **options
    )
    return environment.get_template("page.html").render(name="<a>"), len(environment.compiled)


def kept(page: Path) -> list[Path]:
    return sorted(page.parent.glob("__pycache__/*"))


def test_a_template_is_compiled_once(page: Path) -> None:
    assert shown(page) == ("<p>&lt;a&gt;</p>", 1)
    assert shown(page) == ("<p>&lt;a&gt;</p>", 0)
    assert [path.name for path in kept(page)] == [f"page.{sys.implementation.cache_tag}.pyc"]


def test_a_changed_template_is_compiled_anew(page: Path) -> None:
    shown(page)
    before = page.stat()
    page.write_text("<b>{{ name }}</b>")
    os.utime(page, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert shown(page) == ("<b>&lt;a&gt;</b>", 1)


def test_what_escapes_nothing_lends_its_code_to_nobody(page: Path) -> None:
    assert shown(page, autoescape=False) == ("<p><a></p>", 1)

    assert shown(page) == ("<p>&lt;a&gt;</p>", 1)


def test_another_jinja_compiles_anew(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown(page)
    monkeypatch.setattr(jinja2, "__version__", "99.0")

    assert shown(page) == ("<p>&lt;a&gt;</p>", 1)


@pytest.mark.parametrize("cut", [0, 10, 64, 65, 80])
def test_a_file_that_was_cut_off_is_made_anew(page: Path, cut: int) -> None:
    shown(page)
    [path] = kept(page)
    path.write_bytes(path.read_bytes()[:cut])

    assert shown(page) == ("<p>&lt;a&gt;</p>", 1)
    assert shown(page) == ("<p>&lt;a&gt;</p>", 0)


def test_where_nothing_can_be_kept_pages_are_shown_all_the_same(page: Path) -> None:
    (page.parent / "__pycache__").write_text("not a folder")

    assert shown(page) == ("<p>&lt;a&gt;</p>", 1)
    assert sorted(path.name for path in page.parent.iterdir()) == ["__pycache__", "page.html"]


def test_who_wants_no_bytecode_gets_none(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    assert shown(page) == ("<p>&lt;a&gt;</p>", 1)
    assert kept(page) == []


def test_nothing_of_a_filter_is_compiled_into_a_template() -> None:
    environment = templates()
    asking = {
        name for name, one in environment.filters.items()
        if _PassArg.from_obj(one) and name not in jinja2.filters.FILTERS
    }  # fmt: skip
    assert asking == set()

    for name in environment.list_templates(extensions=["html"]):
        context = nodes.EvalContext(environment, name)
        tree = environment.parse(Path(environment.get_template(name).filename or "").read_text())
        for one in tree.find_all(nodes.Filter):
            if one.node is not None:
                with pytest.raises(nodes.Impossible):
                    one.as_const(context)
