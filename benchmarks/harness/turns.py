"""The two ways of measuring: each system alone for some seconds, or all in turn in short slices."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from benchmarks.harness.figures import Turn
from benchmarks.harness.systems import Team

WARM_CYCLES = 3
"""Before each slice, unmeasured: the caches that the others' slices filled with theirs."""
Advance = Callable[[], None]
Measured = dict[str, list[Turn]]


class Engine(Protocol):
    """Where systems work, and what measures them there."""

    def measured(self, team: Team, warm: Sequence[dict[str, Any]] = (), **order: float) -> Turn:
        """Let a system warm up and then work, and return what the work took."""
        ...


def steady(
    engine: Engine, teams: Sequence[Team], *, rounds: int, seconds: float, advance: Advance, **order: float
) -> Measured:
    """Let each system work alone for some seconds, after a third of that to warm up; each round in an order of its own.

    :param order: what else the processes are told.
    :return: by name of the system, the turns in order of the rounds.
    """
    return _in_rounds(
        teams,
        rounds,
        lambda team: engine.measured(team, warm=[{"seconds": seconds / 3}], seconds=seconds, **order),
        advance,
    )


def rotated(engine: Engine, teams: Sequence[Team], *, rounds: int, cycles: int, advance: Advance) -> Measured:
    """Let the systems work in turn, a slice of some cycles each; each round in an order of its own."""
    warm = [{"cycles": WARM_CYCLES}]
    return _in_rounds(teams, rounds, lambda team: engine.measured(team, warm, cycles=cycles), advance)


def acquiring(engine: Engine, teams: Sequence[Team], *, rounds: int, cycles: int, advance: Advance) -> Measured:
    """As :func:`rotated`, for systems that only acquire: what they hold is completed before each slice, unmeasured."""
    warm = [{"cycles": WARM_CYCLES}, {"settle": 1}]
    return _in_rounds(teams, rounds, lambda team: engine.measured(team, warm, cycles=cycles), advance)


def _in_rounds(teams: Sequence[Team], rounds: int, turn: Callable[[Team], Turn], advance: Advance) -> Measured:
    measured: Measured = {team.spec.name: [] for team in teams}
    order = list(teams)
    for _ in range(rounds):
        random.shuffle(order)
        for team in order:
            measured[team.spec.name].append(turn(team))
        advance()
    return measured
