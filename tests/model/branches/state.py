"""The states of the model, as small frozen values.

What a partition has published lies in *places*: 0 is the base, the others are branches. A block is the number of the
tenure that wrote it. What was really published (:attr:`Partition.accepted`) is read by nobody but the checks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

BASE = 0
FREE, HELD, SENT, DONE, PARKED, ABSENT = "free", "held", "sent", "done", "parked", "absent"
NONE, BEGUN, PUBLISHED, FINAL, ROLLED_BACK = "none", "begun", "published", "final", "rolled back"
SHOWS = (PUBLISHED, FINAL)
HIDDEN, PURGING = "hidden", "purging"
BELIEVES, SEEN, SURE = "believes", "seen", "sure"

Rows = tuple[int, ...]


class Head(NamedTuple):
    """A head record: the ending that published it, its blocks, and whether they lie in the partition's interval."""

    token: int
    rows: Rows
    dated: bool


class Accepted(NamedTuple):
    """The last ending that was accepted in a place.

    :param rows: of all blocks that it published, or added to; none when they were retracted.
    :param doomed: somebody has decided, for good, to delete them.
    """

    place: int
    rows: Rows
    dated: bool
    doomed: bool = False


class Ending(NamedTuple):
    """What was sent to be published: the head record, ``None`` for nothing, and whether it adds to the present one."""

    head: Head | None
    adds: bool = False


class Purger(NamedTuple):
    """A purger that takes its time.

    :param phase: ``believes`` that the entry is being purged, has ``seen`` the partition, or is ``sure`` of the entry.
    :param places: the head records that its retract names.
    :param current: whether the entry is still the one that it began with.
    """

    phase: str = BELIEVES
    places: tuple[int, ...] = ()
    current: bool = True


class Partition(NamedTuple):
    """A partition and its head records.

    :param branch: the place into which its endings publish.
    :param heads: by place.
    :param accepted: in the order in which they were accepted.
    :param life: how often it was taken away before.
    :param ending: what was sent by who holds it.
    :param asked: resets that were sent for what the partition is now, by the branch that they name. They may arrive at
        any later moment, and are refused when it has changed.
    :param view: what somebody has read of the view who will reset it.
    :param entry: what the view says of its interval.
    :param moved: another interval was sent for what its base has, which may arrive at any later moment; what the view
        said then of the present one.
    """

    token: int
    phase: str
    branch: int
    heads: tuple[Head | None, ...]
    accepted: tuple[Accepted, ...]
    life: int = 0
    ending: Ending | None = None
    asked: tuple[int, ...] = ()
    view: tuple[str, ...] | None = None
    entry: str = ""
    purger: Purger | None = None
    moved: str | None = None

    @property
    def held(self) -> bool:
        """Whether somebody holds it."""
        return self.phase in (HELD, SENT)

    @property
    def block(self) -> int:
        """The block that its tenure writes."""
        return self.life * 10 + self.token

    def written(self, *, as_seen: bool = True, **values: Any) -> Partition:
        """Return the partition after a write: what was sent for what it was is refused from here on.

        :param as_seen: whether a purger's retract is, too.
        """
        purger = self.purger and self.purger._replace(phase=BELIEVES, places=()) if as_seen else self.purger
        return self._replace(asked=(), purger=purger, **values)


class Branch(NamedTuple):
    """A branch in the view.

    :param seen: somebody has seen all of its partitions completed, and will publish it if nobody changes the view.
    :param ran: the partitions that have completed in it.
    """

    state: str = NONE
    seen: bool = False
    ran: tuple[int, ...] = ()


class Reader(NamedTuple):
    """A slow reader.

    :param branches: the states of branches, as it has read the view.
    :param entries: and the entries of hidden intervals.
    :param heads: what it has read, by partition and place, as far as it has.
    :param shown: for each view since it began that shows something else, what readers saw in each partition.
    :param hidden: what was hidden for good when it began, by partition and place.
    :param changed: whether the view has changed since.
    """

    branches: tuple[str, ...]
    entries: tuple[str, ...]
    heads: tuple[tuple[tuple[int, Head | None], ...], ...]
    shown: tuple[tuple[tuple[Rows, ...], ...], ...]
    hidden: tuple[tuple[int, int], ...] = ()
    changed: bool = False


class State(NamedTuple):
    """Everything at one moment."""

    partitions: tuple[Partition, ...]
    branches: tuple[Branch, ...]
    gone: tuple[tuple[int, int], ...] = ()
    reader: Reader | None = None


def put(values: tuple[Any, ...], index: int, value: object) -> tuple[Any, ...]:
    """Return ``values`` with another one at ``index``."""
    return (*values[:index], value, *values[index + 1 :])


def states(state: State) -> tuple[str, ...]:
    """Return how far each branch is."""
    return tuple(branch.state for branch in state.branches)


def entries(state: State) -> tuple[str, ...]:
    """Return which intervals are hidden."""
    return tuple(partition.entry for partition in state.partitions)


def with_partition(state: State, key: int, partition: Partition) -> State:
    """Return the state with another partition."""
    return state._replace(partitions=put(state.partitions, key, partition))


def with_view(state: State, branch: int | None = None, to: str = "", **entry: Any) -> State:
    """Return the state after a change of the view: whoever has read it before must read it again to change it.

    :param branch: the place of the branch that is in another state now.
    :param entry: ``key`` and ``partition`` where an interval is.
    """
    branches = tuple(each._replace(seen=False) for each in state.branches)
    if branch is not None:
        branches = put(branches, branch - 1, branches[branch - 1]._replace(state=to))
    after = state._replace(branches=branches)
    return with_partition(after, entry["key"], entry["partition"]) if entry else after
