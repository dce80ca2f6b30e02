"""Facts lie by noun in files of their own and are taken from one place."""

import importlib
import inspect
import pkgutil

from studio.core.rules import events as e


def test_every_class_of_every_file_is_taken_from_one_place() -> None:
    files = [
        importlib.import_module(f"{e.__name__}.{at.name}")
        for at in pkgutil.iter_modules(e.__path__)
    ]
    made = {
        name: kind
        for file in files
        for name, kind in inspect.getmembers(file, inspect.isclass)
        if kind.__module__ == file.__name__
    }

    assert {name: getattr(e, name, None) for name in made} == made
    assert made.keys() <= set(e.__all__)


def test_every_fact_has_a_type_of_its_own() -> None:
    kinds = [
        kind for kind in vars(e).values() if inspect.isclass(kind) and issubclass(kind, e.Event)
    ]

    assert sorted(e.EVENTS) == sorted(kind.TYPE for kind in kinds if kind is not e.Event)
