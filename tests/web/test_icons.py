"""Icons: whatever a template may show is in the sprite."""

from collections.abc import Iterator

import pytest
from jinja2 import nodes

from studio.web import icons, static
from studio.web.attachments import KIND_ICONS
from studio.web.render import templates

NAMES = templates().list_templates(extensions=["html"])
TREES = {name: templates().parse((static.folder("templates") / name).read_text()) for name in NAMES}
FILTERS = {"kind_icon": {*KIND_ICONS.values(), "list"}}
MACROS = {
    macro.name: [arg.name for arg in macro.args].index("symbol")
    for macro in TREES["ui.html"].find_all(nodes.Macro)
    if "symbol" in [arg.name for arg in macro.args]
}


def called(call: nodes.Call) -> str:
    """The macro of `ui` that is called, from its own file or another."""
    match call.node:
        case nodes.Getattr(node=nodes.Name(name="ui"), attr=name) | nodes.Name(name=name):
            return str(name)
    return ""


def asked(tree: nodes.Template) -> Iterator[nodes.Expr]:
    """What this template gives to an icon, or to a macro as its `symbol`."""
    for macro in tree.find_all(nodes.Macro):
        named = zip(reversed(macro.args), reversed(macro.defaults), strict=False)
        yield from (default for arg, default in named if arg.name == "symbol")
    for call in tree.find_all(nodes.Call):
        yield from (given.value for given in call.kwargs if given.key == "symbol")
        place = 0 if called(call) == "icon" else MACROS.get(called(call))
        if place is not None:
            yield from call.args[place : place + 1]


def may_be(found: nodes.Node | None, tree: nodes.Template) -> Iterator[nodes.Node]:
    """Every constant or collection that an expression can turn out to be."""
    match found:
        case None | nodes.Const() | nodes.Tuple() | nodes.List() | nodes.Dict():
            yield from [found] if found else []
        case nodes.CondExpr():
            yield from (*may_be(found.expr1, tree), *may_be(found.expr2, tree))
        case nodes.Add():
            yield from (*may_be(found.left, tree), *may_be(found.right, tree))
        case nodes.Call(node=nodes.Getattr(attr="get")):
            for part in (nodes.Getitem(found.node.node, found.args[0], "load"), *found.args[1:]):
                yield from may_be(part, tree)
        case nodes.Getitem():
            for whole in may_be(found.node, tree):
                yield from within(whole, getattr(found.arg, "value", None), tree)
        case nodes.Filter(name=name) if name in FILTERS:
            yield from map(nodes.Const, FILTERS[name])
        case nodes.Name(name="symbol") if tree is TREES["ui.html"]:
            return  # what its callers give is looked at where they are
        case nodes.Name(name=name):
            yield from bound(name, tree)
        case _:
            pytest.fail(f"nobody knows which icon this is: {found}")


def within(whole: nodes.Node, at: object, tree: nodes.Template) -> Iterator[nodes.Node]:
    """The part of a collection at a place, or all of them where the place is not said."""
    parts = [pair.value for pair in whole.items] if isinstance(whole, nodes.Dict) else whole.items
    for part in [parts[at]] if isinstance(at, int) else parts:
        yield from may_be(part, tree)


def bound(name: str, tree: nodes.Template) -> Iterator[nodes.Node]:
    """What a name was set to, or goes through."""
    for one in tree.find_all((nodes.Assign, nodes.For)):
        names = getattr(one.target, "items", [one.target])
        places = [at for at, target in enumerate(names) if target.name == name]
        if places and isinstance(one, nodes.Assign):
            yield from may_be(one.node, tree)
        elif places:
            for whole in may_be(one.iter, tree):
                for part in within(whole, None, tree):
                    yield from within(part, places[0], tree)


def test_every_icon_that_is_shown_is_there() -> None:
    shown = {
        found.value
        for tree in TREES.values()
        for given in asked(tree)
        for found in may_be(given, tree)
    } - {""}

    assert len(shown) > 50
    for name in shown:
        assert icons.drawing(name), name


def test_an_icon_that_is_not_there_is_no_drawing() -> None:
    with pytest.raises(KeyError):
        icons.drawing("unicorn")
