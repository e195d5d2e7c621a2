"""All mutants, and the code as it is, which nothing must catch."""

from __future__ import annotations

from tests.mutants.broken import (
    accounting,
    acquiring,
    aggregates,
    board,
    command_line,
    connections,
    copies,
    delivering,
    dynamodb,
    explaining,
    families,
    following,
    keeping,
    kinesis,
    moving,
    outputs,
    pausing,
    planning,
    postgresql,
    rendering,
    rules,
    settling,
    short_way,
    sqlite,
    steps,
    supplying,
    tenures,
    wanting,
)
from tests.mutants.mutant import Mutant, Simulated

_TABLES = (
    settling,
    rules,
    steps,
    tenures,
    acquiring,
    supplying,
    rendering,
    sqlite,
    connections,
    postgresql,
    short_way,
    dynamodb,
    keeping,
    outputs,
    command_line,
    board,
    explaining,
    delivering,
    pausing,
    moving,
    planning,
    aggregates,
    kinesis,
    accounting,
    copies,
    families,
    following,
    wanting,
)

MUTANTS: tuple[Mutant, ...] = tuple(mutant for table in _TABLES for mutant in table.MUTANTS)

CONTROLS = {
    "as it is, in_memory": Simulated("in_memory", operations=60_000),
    "as it is, sqlite": Simulated("sqlite", operations=20_000),
    "as it is, dynamodb": Simulated("dynamodb", operations=10_000),
}
