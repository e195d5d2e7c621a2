"""The arithmetic: what one turn of a system took, and how two systems compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Turn:
    """What a system took in one turn, in seconds and bytes, for all its cycles together.

    :param cycles: how many pieces of work it took and completed.
    :param client: CPU of its processes.
    :param server: CPU of the backends that serve it.
    :param wall: how long the turn was.
    :param wal: write-ahead log, of the whole server.
    :param longest: the longest time of one call, where systems keep it.
    :param served: cycles of each process.
    """

    cycles: int
    client: float
    server: float
    wall: float
    wal: float = 0.0
    longest: float = 0.0
    served: tuple[int, ...] = ()

    @property
    def cpu(self) -> float:
        """CPU microseconds a cycle, client and server."""
        return (self.client + self.server) / self.cycles * 1e6

    @property
    def client_cpu(self) -> float:
        """CPU microseconds a cycle of the client."""
        return self.client / self.cycles * 1e6

    @property
    def server_cpu(self) -> float:
        """CPU microseconds a cycle of the server."""
        return self.server / self.cycles * 1e6

    @property
    def rate(self) -> float:
        """Cycles a second."""
        return self.cycles / self.wall

    @property
    def wal_bytes(self) -> float:
        """Bytes of write-ahead log a cycle."""
        return self.wal / self.cycles


Turns = Sequence[Turn]
"""The turns of one system, by round."""
Figure = Callable[[Turn], float]


def cpu(turn: Turn) -> float:
    """Return CPU microseconds a cycle."""
    return turn.cpu


def rate(turn: Turn) -> float:
    """Return cycles a second."""
    return turn.rate


def typical(turns: Turns, figure: Figure) -> float:
    """Return the median over the turns."""
    return median(figure(turn) for turn in turns)


@dataclass(frozen=True)
class Ratio:
    """How many times as much one system takes as another.

    :param middle: the median over the rounds, each compared within itself: a neighbour disturbs both alike.
    :param low: the tenth part below which a tenth of the rounds are.
    :param high: the one above which a tenth is.
    """

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f}–{self.high:.2f})"


def ratio(ours: Turns, theirs: Turns, figure: Figure = cpu) -> Ratio:
    """Compare two systems round by round.

    :raises ValueError: when they did not have the same rounds.
    """
    pairs = zip(ours, theirs, strict=True)
    return of_pairs([figure(mine) / figure(other) for mine, other in pairs])


def of_pairs(ratios: Sequence[float]) -> Ratio:
    """Return the middle and the spread of some ratios.

    :raises ValueError: when there is none.
    """
    if not ratios:
        raise ValueError("no round was measured")
    found = sorted(ratios)
    tenth = (len(found) - 1) // 10
    return Ratio(median(found), found[tenth], found[-1 - tenth])
