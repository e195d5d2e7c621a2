"""All mutants, and the code as it is, which nothing must catch."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.mutants import in_kit
from tests.mutants.broken import (
    accounting,
    acquiring,
    aggregates,
    board,
    branches,
    command_line,
    configuring,
    connections,
    copies,
    delivering,
    dynamodb,
    explaining,
    families,
    following,
    groups,
    keeping,
    kinesis,
    looked_at,
    moving,
    outputs,
    overlays,
    pausing,
    planning,
    postgresql,
    purging,
    rendering,
    settling,
    short_way,
    sqlite,
    steps,
    supplying,
    tenures,
    tiers,
    upkeep,
    wanting,
)
from tests.mutants.mutant import RULE, Mutant, Simulated

_TABLES = (
    settling,
    steps,
    tenures,
    acquiring,
    supplying,
    rendering,
    sqlite,
    configuring,
    connections,
    postgresql,
    short_way,
    dynamodb,
    keeping,
    outputs,
    overlays,
    tiers,
    purging,
    command_line,
    board,
    branches,
    explaining,
    delivering,
    pausing,
    moving,
    planning,
    upkeep,
    aggregates,
    kinesis,
    looked_at,
    accounting,
    copies,
    families,
    following,
    groups,
    wanting,
)

MUTANTS: tuple[Mutant, ...] = tuple(in_kit.found(mutant) for table in _TABLES for mutant in table.MUTANTS)
"""Those that are texts; the others are made from the operation table (``generated.py``)."""

WRITTEN_IN: Final = {mutant.name: Path(table.__file__ or "") for table in _TABLES for mutant in table.MUTANTS}
"""The file that has each of them."""

AS_IT_IS: Final = f"{RULE}as it is"
"""The rules said through the words that are made to be broken, none of which is."""

CONTROLS: Final[dict[str, Simulated | None]] = {
    AS_IT_IS: None,
    "as it is, in_memory": Simulated("in_memory", operations=60_000),
    "as it is, sqlite": Simulated("sqlite", operations=20_000),
    "as it is, dynamodb": Simulated("dynamodb", operations=10_000),
}
