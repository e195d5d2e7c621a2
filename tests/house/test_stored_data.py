"""Nothing that is stored can become code (X6), and nothing is counted where a retried task counts twice (S13)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.house.tree import PACKAGE, imported

MODULES = [module for module in sorted(PACKAGE.rglob("*.py")) if "testing" not in module.parts]
LOADERS = {"cloudpickle", "dill", "jsonpickle", "marshal", "pickle", "shelve"}
RUNNERS = {"__import__", "compile", "eval", "exec", "import_module", "full_load", "unsafe_load"}
"""``import_module`` stands in ``__init__`` files and in the doors beside them only, for names that are public."""


def called(text: str) -> Iterator[str]:
    """Yield the last name of everything that is called."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            yield getattr(node.func, "attr", getattr(node.func, "id", ""))


def offences(text: str, *, face: bool = False) -> set[str]:
    """Return what ``text`` calls that could run what was stored; ``face`` for what hands public names on."""
    return set(called(text)) & (RUNNERS - ({"import_module"} if face else set()))


def test_x6_stored_data_is_read_as_json_and_never_run():
    """In the whole package; ``re.compile`` is no runner of Python."""
    found = {
        str(module.relative_to(PACKAGE)): offences(
            module.read_text().replace("re.compile(", "re_compile("),
            face=module.name == "__init__.py" or module.parent == PACKAGE,
        )
        for module in MODULES
    }
    assert {name: names for name, names in found.items() if names} == {}
    loaders = {name for module in MODULES for _, name in imported(module) if name.partition(".")[0] in LOADERS}
    assert loaders == set()


@pytest.mark.parametrize("text", ["eval(text)", "import_module(name)", "yaml.unsafe_load(text)", "__import__(name)"])
def test_what_runs_stored_data_would_be_seen(text):
    """The check can fail."""
    assert offences(text)


def test_s13_nothing_is_counted_by_an_accumulator():
    """A retried or speculative task adds to it again: rows are counted by the files that the ending names."""
    counting = [module for module in MODULES if "ccumulator" in module.read_text()]
    assert [
        module.name for module in counting if {"accumulator", "collectionAccumulator"} & set(called(module.read_text()))
    ] == []
