"""Mutants of plain modules that no test catches, and why none has to: ``known.tsv``, a line for each.

Its columns are the four of ``Known``. A mutant that survives and has no line here fails ``make proof``; a line whose
mutant is caught by now is reported, so that it can go.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.mutants.plain.sources import Mutant

LIST: Final = Path(__file__).with_name("known.tsv")


def line_of(mutant: Mutant, reason: str) -> str:
    """Return how a mutant stands in the list."""
    return "\t".join((mutant.where, mutant.was, mutant.becomes, reason))


def known(path: Path = LIST) -> Mapping[Mutant, str]:
    """Return the reason of each mutant that is listed.

    :raises ValueError: when a line has not four columns, or a mutant stands there twice.
    """
    found = dict[Mutant, str]()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        columns = line.split("\t")
        if len(columns) != 4:
            raise ValueError(f"{path.name}, line {number}: {len(columns)} columns, not 4 (where, was, becomes, reason)")
        *said, reason = columns
        if (mutant := Mutant(*said)) in found:
            raise ValueError(f"{path.name}, line {number}: it stands there twice")
        found[mutant] = reason
    return found
