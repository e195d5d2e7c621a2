"""Every step of the reference obeys the state table, whatever is sent in whatever order."""

from __future__ import annotations

from hypothesis import settings

from tests.properties.machine import Machine


class TestSteps(Machine.TestCase):  # type: ignore[misc]
    settings = settings(max_examples=60, stateful_step_count=80, deadline=None)
