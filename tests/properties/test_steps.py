"""Every step of the reference obeys the state table, whatever is sent in whatever order."""

from __future__ import annotations

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.properties.machine import Machine


def test_s1_s7_every_step_is_in_the_state_table_with_unique_fences_and_exact_counts() -> None:
    few = settings(max_examples=60, stateful_step_count=80, deadline=None, print_blob=True)
    run_state_machine_as_test(Machine, settings=few)
