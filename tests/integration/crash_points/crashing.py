"""Runs an operation once undisturbed, and then once for every call at which its process can end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Crash, Fault
from tests.integration.crash_points.killable import Faults, Opens
from tests.integration.crash_points.operations import Operation
from tests.integration.crash_points.setup import Setup

CRASHES = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
LOST = (Fault.APPLIED, Fault.NOT_APPLIED, Fault.APPLIED_LATE)


class Crashes:
    """All crash points of one operation on one store.

    :param opens: opens the store for a process.
    :param task: goes on after a crash: a later try of the same task, called "task", or another task.
    """

    def __init__(self, operation: Operation, opens: Opens, clock: FakeClock, task: str = "task") -> None:
        self._operation, self._opens, self._clock, self._task = operation, opens, clock, task
        self._plain = opens({})
        self.runs = 0

    def run(self, faults: Faults) -> tuple[dict[str, Any], Sequence[str], bool]:
        """Return the account at the end, the calls of the process that may have died, and whether it has."""
        self.runs += 1
        operation = self._operation
        source, settings = f"run-{self.runs}", operation.settings
        setup = Setup(self._plain.process, source, self._clock, settings, operation.passes, operation.steps)
        operate = operation.prepare(setup)
        dying, living = self._opens({**operation.faults, **faults}), self._opens({})
        try:
            operate(setup.process(store=dying.process))
        except Crash:
            assert dying.crashed
        dying.end()
        survivor = setup.process(3, living.process, self._task)
        operation.recover(setup, survivor)
        setup.drain(survivor)
        living.end()
        return setup.account() | {"counts": operation.counts(setup, setup.process())}, dying.calls, dying.crashed

    def at_every_call(self) -> int:
        """End the process before and after each call; return how many calls there are."""
        expected, calls, _ = self.run({})
        self._check_undisturbed(expected)
        for number, name in enumerate(calls, 1):
            for crash in CRASHES:
                self._same({number: crash}, expected, name)
        self._plain.end()
        return len(calls)

    def after_every_lost_answer(self) -> None:
        """Lose the answer to one call, and end the process before and after each later one."""
        expected, calls, _ = self.run({})
        for first in range(1, len(calls) + 1):
            for lost in LOST:
                found, more, _ = self.run({first: lost})
                assert found == expected, f"{lost.name} at call {first} of {calls}"
                for second in range(first + 1, len(more) + 1):
                    for crash in CRASHES:
                        self._same({first: lost, second: crash}, expected, more[second - 1])

    def _same(self, faults: Faults, expected: dict[str, Any], name: str) -> None:
        found, calls, crashed = self.run(faults)
        planned = {number: fault.name for number, fault in faults.items()}
        assert crashed, f"{planned} ({name}) ended nothing: {calls}"
        assert found == expected, f"{planned} ({name})"

    def _check_undisturbed(self, expected: dict[str, Any]) -> None:
        assert expected["not done"] == []
        passes, steps = range(self._operation.passes or 1), [*map(str, range(self._operation.steps)), "end"]
        for key, (status, *_) in expected["partitions"].items():
            blocks = [f"{key}.{number}.{name}" for number in passes for name in steps]
            blocks = [] if key == self._operation.takes_back else blocks
            assert expected["published"].get(key, blocks) == blocks
            assert (key in expected["published"]) == (status == "COMPLETED" and key != self._operation.finishes)


RunsAll = Callable[..., Crashes]
"""Takes an operation and, if it is another, the task that goes on."""
