"""All mutants by name, with the files that each depends on; of a landing those that are due."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from airflow_coordination.testing import conformance
from tests.mutants.catalogue import MUTANTS, WRITTEN_IN
from tests.mutants.due import ROOT, Due, due
from tests.mutants.equivalent import reason_of
from tests.mutants.generated import all_breaches, modules_of_the_table
from tests.mutants.mutant import Mutant, Tested

TEXTS, GENERATED = 20, 100
"""How many of each kind a landing tries at most. A text takes about 3 s of a processor, a generated one 0.1 s."""
_HOW: Final = tuple(Path(__file__).with_name(f"{name}.py") for name in ("generated", "equivalent", "kit"))
_KIT: Final = tuple(sorted(Path(conformance.__file__).parent.glob("*.py")))
"""What catches those that are made from the table; so cheaply that they are due with every change of it."""
EVERY: Final = (*(breach.name for breach in all_breaches()), *(mutant.name for mutant in MUTANTS))
"""The names of all."""


def due_now() -> Due:
    """Return what this landing tries."""
    return due(kinds())


def kinds() -> dict[int, dict[str, tuple[str, ...]]]:
    """Return by how many of a kind a landing tries at most: its mutants, and the files that each depends on.

    What is known to be as good as the code is left out.
    """
    table = tuple(map(_from_the_root, (*modules_of_the_table(), *_KIT, *_HOW)))
    generated = {breach.name: table for breach in all_breaches() if reason_of(breach.name) is None}
    texts = {mutant.name: tuple(map(_from_the_root, places_of(mutant))) for mutant in MUTANTS}
    return {GENERATED: generated, TEXTS: texts}


def places_of(mutant: Mutant) -> Iterator[Path]:
    """Yield the module that a mutant breaks, the file it is written in, and that of the test which has to notice."""
    yield ROOT.joinpath(*mutant.full_module.split(".")).with_suffix(".py")
    yield WRITTEN_IN[mutant.name]
    if isinstance(mutant.catcher, Tested):
        yield ROOT / mutant.catcher.node.partition("::")[0]


def _from_the_root(place: Path) -> str:
    return str(place.relative_to(ROOT))
