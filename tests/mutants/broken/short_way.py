"""Mutants of the short way to what is fresh on PostgreSQL; each tried on a real server."""

from __future__ import annotations

from tests.mutants.broken.postgresql import ORDER, kit, looks
from tests.mutants.mutant import Mutant, Tested

_STORE = "stores.sql.postgres_store"
_SHORT_WAY = "stores.sql.queue"
_ACQUISITION = "leases.acquisition"


def _told(test: str) -> Tested:
    return Tested(f"tests/integration/stores/test_short_way.py::test_{test}", postgresql=True)


_RESTS = Tested("tests/unit/stores/test_short_way.py::test_after_a_miss_it_rests")
_ENDS = "L3: a worker ends while partitions wait"

_PASSED_OVER = (
    (
        "short way whatever else waits",
        "        WHERE {nothing_else} LIMIT 1)",
        "        LIMIT 1)",
        "S9: a new partition goes before a crashed one",
        "s9_crashed_then_reopened_then_new",
    ),
    (
        "short way past what returned",
        'f"ready < {Ready.FRESH:d}"',
        'f"ready < {Ready.RETURNED:d}"',
        "S9: what is given up waits behind what was created later",
        "a_second_half_that_may_miss_passes_over_nothing[returned]",
    ),
    (
        "short way past what is due",
        "times = (Timed.DELAYED,) if new_first else Timed",
        "times = (Timed.DELAYED,)",
        "S9: a closed partition that is due waits for all new ones",
        "a_second_half_that_may_miss_passes_over_nothing[due]",
    ),
    (
        "short way past what was delayed",
        "times = (Timed.DELAYED,) if new_first else Timed",
        "times = (Timed.HELD, Timed.CLOSED)",
        "S9: a delayed partition loses its place",
        "a_second_half_that_may_miss_passes_over_nothing[delayed]",
    ),
)
_LOCKS = (
    (
        "short way without a lock",
        "LIMIT 1 FOR UPDATE SKIP LOCKED) AS fresh",
        "LIMIT 1) AS fresh",
        "L3: all workers run after one row",
        "an_acquisition_passes_by_what_somebody_else_is_taking[_free]",
    ),
    (
        "short way that waits",
        "LIMIT 1 FOR UPDATE SKIP LOCKED) AS fresh",
        "LIMIT 1 FOR UPDATE) AS fresh",
        "L3: a worker waits for another's statement",
        "an_acquisition_passes_by_what_somebody_else_is_taking[_free]",
    ),
)

MUTANTS = (
    *(Mutant(f"PostgreSQL: {name}", ORDER, *texts, kit(f"test_{test}")) for name, *texts, test in _PASSED_OVER),
    *(Mutant(f"PostgreSQL: {name}", ORDER, *texts, looks(test)) for name, *texts, test in _LOCKS),
    Mutant(
        "PostgreSQL: a miss taken for the end",
        _STORE,
        "return FusedAnswer(Answer(True), missed=True)",
        "return FusedAnswer(Answer(True))",
        _ENDS,
        kit("test_a_second_half_that_may_miss_passes_over_nothing[crashed]"),
    ),
    Mutant(
        "a miss is not followed up",
        _ACQUISITION,
        "        if found is None and self._may_have_missed:",
        "        if False:",
        _ENDS,
        _told("a_fused_step_that_missed_is_followed_by_a_query"),
    ),
    Mutant(
        "a miss in a lost answer is not followed up",
        _ACQUISITION,
        "self._may_have_missed = True",
        "self._may_have_missed = False",
        _ENDS,
        _told("so_is_one_whose_answer_was_lost"),
    ),
    Mutant(
        "a refusal tells of a miss",
        _ACQUISITION,
        "        if answer.ended.applied:  # a refusal",
        "        if True:  # a refusal",
        _ENDS,
        _told("so_is_one_whose_answer_was_lost"),
    ),
    Mutant(
        "the short way is taken again at once",
        _SHORT_WAY,
        "self._misses[source] = self.clock()",
        "pass",
        "P1: two statements for each acquisition where crashed ones wait",
        _RESTS,
    ),
    Mutant(
        "the short way is never taken again",
        _SHORT_WAY,
        "missed is None or self.clock() - missed >= SHORT_WAY_SECONDS",
        "missed is None",
        "P1: one crashed partition makes a process slow for ever",
        _RESTS,
    ),
)
