"""The states of the model, as small frozen values.

A block is the number of the tenure that wrote it; its rows are one thing. Files are atoms: a block, or an overlay with
its manifest. What was really published (:attr:`Partition.rows`) is read by nobody but the checks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

IDLE, OWNS, SENT = "idle", "owns", "sent"
NOTHING = 0
"""The token of no tenure: nothing is followed, or published."""

Block = tuple[int, int]
"""Its partition, and the token of the tenure that wrote it."""
Heads = tuple[int, ...]
"""The tokens of the blocks that a head record names."""


class Origin(NamedTuple):
    """A block that an overlay stands for, with all that it follows; and whose rows the overlay has for it."""

    block: Block
    rows: tuple[Block, ...]


Overlay = tuple[Origin, ...]


class File(NamedTuple):
    """What a collector may delete: of which partition or group, and the token of the tenure that wrote it."""

    kind: str
    of: int
    token: int

    def __str__(self) -> str:
        return f"{self.kind} {self.of}.{self.token}"


class Partition(NamedTuple):
    """A partition of the dataset, and its head record.

    :param follows: for each of its blocks, by token, which one it follows.
    :param rows: whose rows it has published.
    """

    token: int = 1
    held: bool = False
    plan: tuple[str, ...] = ()
    follows: tuple[int, ...] = (NOTHING,)
    head: Heads = (1,)
    rows: tuple[int, ...] = (1,)

    def chain(self, token: int) -> tuple[int, ...]:
        """Return a block and all that it follows, newest first."""
        found: list[int] = []
        while token != NOTHING:
            found.append(token)
            token = self.follows[token - 1]
        return tuple(found)


class Group(NamedTuple):
    """A partition of merged output: its tenures, what they wrote, and which one its head record names."""

    token: int = 0
    held: bool = False
    published: int = NOTHING
    written: tuple[tuple[int, Overlay], ...] = ()

    def overlay(self, token: int) -> Overlay:
        """Return what a tenure wrote."""
        return dict(self.written).get(token, ())

    @property
    def newest(self) -> int:
        """The last tenure that has written something."""
        return max((token for token, _ in self.written), default=NOTHING)


class Read(NamedTuple):
    """What somebody has read so far: overlays by group, as tokens; heads by partition. ``None``: not yet."""

    overlays: tuple[int | None, ...]
    heads: tuple[Heads | None, ...]

    @property
    def whole(self) -> bool:
        """Whether nothing is left to read."""
        return None not in self.overlays and None not in self.heads


class Driver(NamedTuple):
    """A process that merges for a group; ``read`` is what it goes by."""

    group: int = -1
    phase: str = IDLE
    token: int = 0
    read: Read | None = None


class Collector(NamedTuple):
    """The file about which it decides, the overlays that it goes by, and whether no head has led to the file."""

    file: File | None = None
    overlays: tuple[int, ...] = ()
    unnamed: bool = False


class Reader(NamedTuple):
    """A slow reader.

    :param rows: for each partition, all that it has published since the reader began.
    :param dead: what nobody followed when it began: the collector's margin does not keep it.
    """

    read: Read
    rows: tuple[tuple[tuple[int, ...], ...], ...] = ()
    dead: tuple[File, ...] = ()
    over: bool = False


class State(NamedTuple):
    """Everything at one moment."""

    partitions: tuple[Partition, ...]
    groups: tuple[Group, ...]
    drivers: tuple[Driver, ...]
    collectors: tuple[Collector, ...]
    gone: tuple[File, ...] = ()
    reader: Reader | None = None


def put(values: tuple[Any, ...], index: int, value: object) -> tuple[Any, ...]:
    """Return ``values`` with another one at ``index``."""
    return (*values[:index], value, *values[index + 1 :])


def unread(state: State) -> Read:
    """Return what somebody has read who begins."""
    return Read((None,) * len(state.groups), (None,) * len(state.partitions))


def published(state: State) -> tuple[int, ...]:
    """Return which overlay of each group is published now."""
    return tuple(group.published for group in state.groups)


def named(state: State) -> tuple[Heads, ...]:
    """Return what the head records name now."""
    return tuple(partition.head for partition in state.partitions)
