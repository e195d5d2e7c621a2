"""Mutants of what is counted: totals that a step carries (S26)."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Simulated, Tested

_ACCOUNTS = "values.accounting"
_DYNAMODB = "stores.dynamodb.partitions"


def _unit(test: str) -> Tested:
    return Tested(f"tests/unit/values/test_accounting.py::test_s26_{test}")


_SUM = Tested("tests/conformance/test_sqlite.py::TestSqlite::test_s26_a_source_is_the_sum_of_its_partitions")

MUTANTS = (
    Mutant(
        "saved counts are added to once more",
        "leases.tenures",
        "    chain.totals = write.accounting or chain.totals\n",
        "    chain.totals = write.accounting or chain.totals\n"
        "    chain.partition = replace(chain.partition, accounting_text=chain.totals)\n",
        "S26: a record counts again with each save after the one that it was counted in",
    ),
    Mutant(
        "counts outlive a reset",
        _ACCOUNTS,
        "    return stored if stored.generation == partition.generation else None\n",
        "    return stored\n",
        "S26: what was done before a reset counts beside the same records once more",
    ),
    Mutant(
        "a pass from the start adds to the one before",
        _ACCOUNTS,
        "Accounting() if known is None or known.over else",
        "Accounting() if known is None else",
        "S26: the records of a partition that is read again from the start count twice",
    ),
    Mutant(
        "the counts of a pass go with it",
        _ACCOUNTS,
        ".text if over and stored else None",
        ".text if False else None",
        "S26: what a pass has saved counts no more when it ends",
        _unit("a_saved_pass_that_ends_without_more_stays_counted"),
    ),
    Mutant(
        "counts that do not balance are kept",
        _ACCOUNTS,
        "    if wrong := counted.imbalances():\n",
        "    if False and (wrong := counted.imbalances()):\n",
        "S26: records that are nowhere are covered up",
        _unit("an_accounting_that_does_not_balance_is_refused_and_nothing_is_written"),
    ),
    Mutant(
        "DynamoDB drops counts",
        _DYNAMODB,
        "for name, attribute in TEXTS.items() if name in changed}",
        'for name, attribute in TEXTS.items() if name in changed and name != "accounting_text"}',
        "S26: a save or an ending stands for records that are not counted",
        Simulated("dynamodb"),
    ),
    Mutant(
        "a source adds counts from before a reset",
        "stores.sql.statements.read",
        "counted AS (SELECT totals FROM stored WHERE {generation} = generation)",
        "counted AS (SELECT totals FROM stored)",
        "S26: a source counts records twice that are done again after a reset",
        _SUM,
    ),
    Mutant(
        "a source adds what was deleted",
        "stores.sql.statements.read",
        "AND deleted = 0 AND accounting IS NOT NULL",
        "AND accounting IS NOT NULL",
        "S26: a source counts records of partitions that are not there",
        _SUM,
    ),
)
