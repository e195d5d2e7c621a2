"""Where a test of the conformance kit lies: rows of mutants name the store's class and the test, and no subject.

Nothing here imports the package: a mutant is put in its place before that.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from tests.mutants.mutant import PACKAGE, Mutant, Tested

_ROOT: Final = Path(__file__).parents[2]
_KIT: Final = _ROOT / PACKAGE / "testing" / "conformance"


@cache
def subjects() -> dict[str, str]:
    """Return the name of each test of the kit, and that under which the kit holds the class of it."""
    bodies = [ast.parse(file.read_text()).body for file in _KIT.rglob("*.py")]
    classes = {each.name: each for body in bodies for each in body if isinstance(each, ast.ClassDef)}
    held = {
        each.value.id: each.targets[0].id
        for each in classes["StoreConformance"].body
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Name) and isinstance(each.targets[0], ast.Name)
    }
    return {
        each.name: name
        for subject, name in held.items()
        for each in classes[subject].body
        if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")
    }


@cache
def _runs_the_kit(file: str) -> bool:
    return "(StoreConformance)" in (_ROOT / file).read_text()


def found(mutant: Mutant) -> Mutant:
    """Return the mutant, its catcher with the place where pytest finds it."""
    if not isinstance(mutant.catcher, Tested) or not _runs_the_kit(mutant.catcher.node.partition("::")[0]):
        return mutant
    store, _, test = mutant.catcher.node.rpartition("::")
    node = f"{store}::{subjects()[test.partition('[')[0]]}::{test}"
    return replace(mutant, catcher=replace(mutant.catcher, node=node))
