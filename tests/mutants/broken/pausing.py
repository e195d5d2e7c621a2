"""Mutants of a source's pause: promise X12, and who may set it."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Simulated, Tested


def _kit(store: str, test: str) -> Tested:
    return Tested(f"tests/conformance/test_{store}::test_{test}")


MUTANTS = (
    Mutant(
        "a pause is not asked for in SQL",
        "stores.sql.statements.step",
        "    if rule.held_back:",
        "    if False:",
        "X12: a source is paused, and goes on",
        _kit("sqlite.py::TestSqlite", "x12_nothing_is_acquired"),
    ),
    Mutant(
        "a pause in SQL never ends by itself",
        "stores.sql.columns",
        "coalesce(pause_until_op <> pause_op OR pause_until > {now}, TRUE)",
        "coalesce(TRUE, {now} > 0)",
        "X12: a source stays paused although its pause has an end",
        _kit("sqlite.py::TestSqlite", "x12_a_pause_with_an_end_ends_by_the_store_s_clock"),
    ),
    Mutant(
        "the same dead leases hold a source back again",
        "duties.watching.losses",
        "(not pause.at or since > pause.at)",
        "(pause or since)",
        "L1: a source is paused again and again for owners that never come back",
        Tested("tests/unit/duties/watching/test_losses.py::test_the_same_dead_leases_hold_it_back_once"),
    ),
    Mutant(
        "a pause in memory forgets the order",
        "stores.in_memory",
        "        if source.pause(now).paused:\n            return None",
        "        if False:\n            return None",
        "X12: a source is paused, and goes on",
        Simulated("in_memory", operations=60_000),
    ),
    Mutant(
        "a process on DynamoDB asks for a pause once",
        "stores.dynamodb.steps",
        "ASKED_AGAIN: Final = 30.0",
        "ASKED_AGAIN: Final = 1e9",
        "X12: who has acquired before the pause goes on acquiring",
        Tested(
            "tests/simulation/dynamodb/test_pausing.py::test_x12_a_process_that_acquires_asks_again_after_30_seconds"
        ),
    ),
    Mutant(
        "a pause is set by whether there is one",
        "stores.in_memory_source",
        "if self._pause.op != write.seen:",
        "if self._pause.paused == write.paused:",
        "people: a message that comes once more pauses what was resumed",
        _kit("in_memory.py::TestInMemory", "a_second_copy_of_a_pause_does_nothing_also_after_it_was_resumed"),
    ),
    Mutant(
        "a pause in SQL is set by whoever comes",
        "stores.sql.statements.writes",
        "WHERE coalesce({SOURCES}.pause_op, '') = :seen_op",
        "WHERE :seen_op = :seen_op",
        "people: one overwrites the pause of another who was faster",
        _kit("sqlite.py::TestSqlite", "of_two_who_pause_at_once_one_is_told"),
    ),
    Mutant(
        "an applied pause is read once more",
        "leases.people",
        "        now = answer.pause",
        "        now = self.current_pause()",
        "S6: a pause was applied, and its sender is told that nothing was written",
        Tested("tests/unit/leases/test_pausing.py::test_s6_an_applied_pause_is_not_denied_because_a_read_fails"),
    ),
    Mutant(
        "each failure of a partition counts",
        "stores.sql.statements.writes",
        "replace(failing_marks, :failing_mark, '') ||",
        "failing_marks ||",
        "X13: one partition that keeps failing pauses its source",
        _kit("sqlite.py::TestSqlite", "x13_a_partition_counts_once"),
    ),
    Mutant(
        "failures on DynamoDB count at once",
        "stores.dynamodb.steps",
        "COUNTED_AFTER: Final = timedelta(seconds=ASKED_AGAIN) + MARGIN",
        "COUNTED_AFTER: Final = timedelta(0) * MARGIN.days",
        "X13: a source is paused although somebody does well, who has not heard that anything fails",
        Tested(
            "tests/simulation/dynamodb/test_braking.py::test_x13_a_success_of_who_may_not_know_is_no_failure_in_a_row"
        ),
    ),
    Mutant(
        "hints of a paused source",
        "monitoring.waiting.observation",
        "        if self.paused:\n            return []",
        "        if False:\n            return []",
        "X12: a sensor starts tasks that find nothing to do",
        Tested("tests/unit/monitoring/test_conclusion.py::test_x12_it_waits_while_the_source_is_paused"),
    ),
    Mutant(
        "explain forgets the pause",
        "leases.explaining.reasons",
        "    if reason in (waiting, due):\n        return paused",
        "    if reason in ():\n        return paused",
        "people: nobody says why it does not move",
        Tested("tests/unit/leases/explaining/test_reasons.py::test_its_source_is_paused"),
    ),
)
