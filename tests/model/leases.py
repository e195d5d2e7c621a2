"""The lease protocol as a world that the explorer goes through."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model import successors as steps
from tests.model import words
from tests.model.adversary import Label, Step
from tests.model.recovery import Recovery
from tests.model.rules import Scenario
from tests.model.state import State


class Leases:
    """The protocol within the bounds of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario, self._recovery, self.expect = scenario, Recovery(scenario), scenario.expect

    def start(self) -> State:
        """Return the state before anything happened."""
        return steps.start(self._scenario)

    def successors(self, state: State) -> Iterator[Step]:
        """Yield what can happen next."""
        return steps.successors(state, self._scenario)

    def wrong(self, state: State) -> str:
        """Return what is wrong with a state, whatever led to it: the work cannot be finished any more."""
        return self._recovery.stuck(state)

    def said(self, label: Label, after: State) -> str:
        """Return one step of a trace."""
        return words.said(label, after)
