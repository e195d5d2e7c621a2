"""The explorer: breadth first through all states, each compared in full, so that the first trace is a shortest one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

Key = tuple[Any, ...]
Step = tuple[Any, Any, str]
"""What happens, the state after it, and the promise that it breaks (empty: none)."""


class World(Protocol):
    """What is explored: a model within the bounds of a scenario.

    A state is a named tuple of tuples, of parts that can be compared; its last field holds one part or none.

    :param expect: part of the violation that is looked for.
    """

    expect: str

    def start(self) -> Any:
        """Return the state before anything happened."""

    def successors(self, state: Any) -> Iterable[Step]:
        """Yield what can happen next."""

    def wrong(self, state: Any) -> str:
        """Return what is wrong with a state, whatever led to it."""

    def said(self, label: Any, after: Any) -> str:
        """Return one step of a trace, in words."""


@dataclass(slots=True)
class Result:
    """What the exploration of one scenario found.

    :param complete: whether every state within the bounds was seen.
    :param violation: the first broken promise, empty when there is none.
    :param trace: the shortest way to it, in words.
    """

    states: int = 0
    edges: int = 0
    depth: int = 0
    seconds: float = 0.0
    complete: bool = False
    violation: str = ""
    trace: list[str] = field(default_factory=list)


class Shelf:
    """Keeps each part of a state once, and states as tuples of the parts' numbers: exact, and small."""

    def __init__(self, first: Any) -> None:
        self._made, self._last = type(first), len(first) - 1
        self._numbers: dict[Any, int] = {}
        self._parts: list[Any] = []

    def key(self, state: Any) -> Key:
        """Return the state as numbers, the same ones if and only if it is the same state."""
        numbers, parts = self._numbers, self._parts
        key = []
        for group in state[: self._last]:
            for part in group:
                number = numbers.setdefault(part, len(parts))
                if number == len(parts):
                    parts.append(part)
                key.append(number)
            key.append(-1)
        if (single := state[self._last]) is not None:
            key.append(numbers.setdefault(single, len(parts)))
            if key[-1] == len(parts):
                parts.append(single)
        return tuple(key)

    def state(self, key: Key) -> Any:
        """Return the state that has this key."""
        groups: list[list[Any]] = [[]]
        for number in key:
            if number == -1:
                groups.append([])
            else:
                groups[-1].append(self._parts[number])
        *all_groups, rest = groups
        return self._made(*map(tuple, all_groups), *rest)


class Explorer:
    """Explores one world.

    :param limit: so many states at most.
    :param until: own monotonic time at which to stop.
    """

    def __init__(self, world: World, limit: int = 10_000_000, until: float = float("inf")) -> None:
        self._world, self._limit, self._until = world, limit, until
        self._first = world.start()
        self._shelf = Shelf(self._first)
        self._before: dict[Key, Key | None] = {}

    def run(self, watch: Callable[[Result], object] = lambda result: None) -> Result:
        """Return what is found."""
        began, result = time.monotonic(), Result()
        layer = [self._shelf.key(self._first)]
        self._before[layer[0]] = None
        while layer and not result.violation:
            layer = self._next_layer(layer, result)
            result.seconds, result.states = time.monotonic() - began, len(self._before)
            watch(result)
            if result.violation or self._over():
                return result
            result.depth += bool(layer)
        result.complete = not result.violation
        return result

    def _next_layer(self, layer: list[Key], result: Result) -> list[Key]:
        found: list[Key] = []
        for key in layer:
            state = self._shelf.state(key)
            if (broken := self._world.wrong(state)) and self._world.expect in broken:
                return self._violated(result, key, broken)
            for label, after, broken in self._world.successors(state):
                result.edges += 1
                if broken and self._world.expect in broken:
                    return self._violated(result, key, broken, self._world.said(label, after))
                new = self._shelf.key(after)
                if not broken and new not in self._before:
                    self._before[new] = key
                    found.append(new)
            if self._over():
                break
        return found

    def _over(self) -> bool:
        return len(self._before) >= self._limit or time.monotonic() > self._until

    def _violated(self, result: Result, key: Key, broken: str, *last: str) -> list[Key]:
        result.violation, result.trace = broken, [*self._way(key), *last]
        return []

    def _way(self, key: Key) -> list[str]:
        """Return what led to the state of ``key``, in words."""
        words: list[str] = []
        while (before := self._before[key]) is not None:
            for label, after, _ in self._world.successors(self._shelf.state(before)):
                if self._shelf.key(after) == key:
                    words.append(self._world.said(label, after))
                    break
            key = before
        return words[::-1]
