"""Branches and the view as a world that the explorer goes through."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.branches import checks, people, purging, readers, tenures
from tests.model.branches.rules import Scenario
from tests.model.branches.showing import newest
from tests.model.branches.state import (
    ABSENT,
    BASE,
    DONE,
    Accepted,
    Branch,
    Head,
    Partition,
    State,
    states,
)

Step = tuple[str, State, str]


class Branches:
    """The design within the bounds of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario, self.expect = scenario, scenario.expect

    def start(self) -> State:
        """Return the state in which each partition has published one block into the base."""
        partitions = [self._published() for _ in range(self._scenario.keys)]
        if self._scenario.instead:
            partitions[1] = Partition(0, ABSENT, BASE, (None,) * self._places, ())
        return State(tuple(partitions), (Branch(),) * len(self._scenario.branches))

    @property
    def _places(self) -> int:
        return len(self._scenario.branches) + 1

    def _published(self) -> Partition:
        head, dated = Head(1, (1,), self._scenario.dated), self._scenario.dated
        return Partition(1, DONE, BASE, (head, *(None,) * (self._places - 1)), (Accepted(BASE, (1,), dated),))

    def successors(self, state: State) -> Iterator[Step]:
        """Yield what can happen next, and what is wrong with it."""
        for said, after, broken in self._steps(state):
            after = readers.goes_on(state, after, self._scenario)
            yield said, after._replace(gone=self._gone(state, after)), broken

    def _steps(self, state: State) -> Iterator[Step]:
        yield from tenures.happenings(state, self._scenario)
        for said, after in people.happenings(state, self._scenario):
            yield said, after, ""
        for said, after in purging.happenings(state, self._scenario):
            yield said, after, ""
        yield from readers.happenings(state, self._scenario)

    def wrong(self, state: State) -> str:
        """Return what is wrong with a state, whatever led to it."""
        return checks.wrong(state, self._scenario)

    def said(self, label: str, after: State) -> str:
        """Return one step of a trace."""
        return label

    def _gone(self, before: State, state: State) -> tuple[tuple[int, int], ...]:
        """Return the blocks that a collector without margin has deleted: all that it could, as soon as it could.

        Those that nobody can come to any more are left out.
        """
        gone = []
        for key, partition in enumerate(state.partitions):
            ending = partition.ending
            if self._scenario.rules.follows_every_head and (ending is None or not ending.adds) and not before.gone:
                continue  # what it has is followed
            heads = [head for head in partition.heads if head is not None]
            named = {row for head in heads for row in head.rows}
            followed = named if self._scenario.rules.follows_every_head else self._followed(partition, state)
            if ending is not None and ending.head is not None:
                named = {*named, *ending.head.rows}
            for row in sorted(named):
                over = not (partition.held and row == partition.block)
                if (key, row) in before.gone or (over and row not in followed):
                    gone.append((key, row))
        return tuple(gone)

    def _followed(self, partition: Partition, state: State) -> set[int]:
        found = newest(list(enumerate(partition.heads)), states(state), self._scenario.rules)
        return set(found[1].rows) if found else set()
