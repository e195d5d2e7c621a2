"""All mutants, and the code as it is, which nothing must catch."""

from __future__ import annotations

from tests.mutants.broken import settling
from tests.mutants.mutant import Mutant, Simulated

MUTANTS: tuple[Mutant, ...] = (*settling.MUTANTS,)

CONTROLS = {"as it is, in_memory": Simulated("in_memory")}
