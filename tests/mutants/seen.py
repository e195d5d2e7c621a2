"""Which mutants have been caught as they are, so that CI tries only those whose code or test has changed since.

A mutant is what it was while its module, what stands in the list of mutants about it, and what caught it are the same
text. ``make mutants`` tries them all whatever is written here, and writes this anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.mutants.mutant import Mutant, Tested

ROOT: Final = Path(__file__).parents[2]
SEEN: Final = Path(__file__).with_name("seen.json")
_KIT: Final = ROOT / "airflow_coordination" / "testing" / "conformance"
_SIMULATION: Final = (ROOT / "tests" / "simulation", ROOT / "airflow_coordination" / "testing" / "history")


def changed(mutants: Iterable[Mutant]) -> list[Mutant]:
    """Return those that have not been caught as they are now."""
    seen = json.loads(SEEN.read_text()) if SEEN.exists() else {}
    return [mutant for mutant in mutants if seen.get(mutant.name) != digest(mutant)]


def remember(mutants: Iterable[Mutant]) -> None:
    """Write down that these were caught; those that are in the list no more are forgotten."""
    from tests.mutants.catalogue import MUTANTS

    seen = json.loads(SEEN.read_text()) if SEEN.exists() else {}
    seen |= {mutant.name: digest(mutant) for mutant in mutants}
    kept = {mutant.name: seen[mutant.name] for mutant in MUTANTS if mutant.name in seen}
    SEEN.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def digest(mutant: Mutant) -> str:
    """Return what changes with the mutant, its module, or what catches it."""
    module = ROOT.joinpath(*mutant.full_module.split(".")).with_suffix(".py")
    parts = (repr(mutant), _texts((module,)), _texts(tuple(_catching(mutant))))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _catching(mutant: Mutant) -> Iterator[Path]:
    """Yield the places of what catches it: a test's file, the kit behind it, or the simulation."""
    if not isinstance(mutant.catcher, Tested):
        yield from _SIMULATION
        return
    file = ROOT / mutant.catcher.node.partition("::")[0]
    yield file
    if file.parent.name == "conformance":
        yield _KIT


@cache
def _texts(places: tuple[Path, ...]) -> str:
    """Return the digest of all Python text in these files and folders."""
    found = hashlib.sha256()
    for place in places:
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return found.hexdigest()
