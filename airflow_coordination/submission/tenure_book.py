"""The book of one task's tenures: which its driver works on, and how the others ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from airflow_coordination.leases.explaining.wording import counted
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.fence import Fence, Owner
from airflow_coordination.values.status import Outcome, PartitionStatus

NAMED: Final = 20
"""The most partitions named in a summary: every one would make Airflow's database grow with the drain."""


_ELSEWHERE: Final = frozenset({Outcome.GIVEN_UP, Outcome.HANDED_OVER, Outcome.STOLEN})
"""Endings of what others go on with."""


def has_begun(partition: Partition) -> bool:
    """Return whether a driver of ours works under the partition's tenure: its first write tells, a renewal does not."""
    return partition.last_op != partition.nonce


def is_of_task(partition: Partition, task: Owner) -> bool:
    """Return whether a driver of this try, or of one before that this try has adopted, holds the partition.

    :param task: the owner that this try is.
    """
    if partition.status is not PartitionStatus.ASSIGNED or partition.deleted or partition.owner is None:
        return False
    return task.is_also(partition.owner) and Owner(partition.owner).try_number <= task.try_number


class TenureBook:
    """Kept from what the driver reports, so that the hundredth lease of a drain is known as well as the first.

    Only what its driver left open, or ended badly, is looked up in the store in the end: the store decides.

    :param key: the partition of the first tenure.
    :param fence: its fence.
    :param further: partitions and fences of others that its driver is to go on with.
    """

    def __init__(self, key: str, fence: Fence, further: Iterable[tuple[str, Fence]] = ()) -> None:
        self._open = {key: fence, **dict(further)}
        self.handed_over = frozenset(self._open.values())
        """The fences of the tenures that the task started, and its driver is to begin."""
        self._failed: dict[str, Fence] = {}
        self._cut: set[Fence] = set()
        self._done: list[tuple[str, int | None]] = []
        self._branches: dict[tuple[str, Fence], int] = {}
        self._outcomes: Counter[Outcome] = Counter()
        self._rows = 0
        self._passed = 0
        self.current = (key, fence)
        """The newest tenure."""

    def began(self, key: str, fence: Fence) -> None:
        """Note that the driver works under this tenure now."""
        self._open[key] = fence
        self.current = (key, fence)

    def runs_in(self, key: str, fence: Fence, branch: int | None) -> None:
        """Note the branch that a tenure runs in, ``None`` = in none: its own, whatever its partition runs in later."""
        if branch is not None:
            self._branches[key, fence] = branch

    def ended(self, key: str, outcome: Outcome, *, cut: bool = False, rows: int = 0) -> None:
        """Note how a tenure ended.

        :param rows: so many it has published, as its driver says.
        :param cut: its work was cut short because the store was not heard in time; its function decided nothing.
        """
        fence = self._open.pop(key, None)
        if fence is None:
            return
        self._outcomes[outcome] += 1
        branch = self._branches.pop((key, fence), None)
        if outcome in (Outcome.COMPLETED, Outcome.CLOSED):
            self._failed.pop(key, None)  # an earlier tenure of this drain may have failed on it
            self._done.append((key, branch))
            self._rows += rows
        elif cut and outcome is Outcome.GIVEN_UP:
            self._failed[key] = fence
            self._cut.add(fence)
        elif outcome not in _ELSEWHERE:
            self._failed[key] = fence

    def passed(self, tenures: int) -> None:
        """Note that so many more were completed whose partitions nobody has named."""
        self._outcomes[Outcome.COMPLETED] += tenures
        self._passed += tenures

    @property
    def open(self) -> Mapping[str, Fence]:
        """The tenures without a known ending, by partition."""
        return dict(self._open)

    def was_cut_short(self, fence: Fence) -> bool:
        """Return whether the partition of this tenure was given back because the store was not heard in time."""
        return fence in self._cut

    @property
    def unfinished(self) -> Mapping[str, Fence]:
        """The tenures that are open or ended badly: what a retry goes on with."""
        return {**self._failed, **self._open}

    @property
    def first_unfinished(self) -> tuple[str, Fence]:
        """The tenure that a retry goes on with: the first that is unfinished, else the newest."""
        return next(iter(self.unfinished.items()), self.current)

    @property
    def done(self) -> tuple[str, ...]:
        """The partitions that were completed or closed, in their order, as far as they were named."""
        return tuple(key for key, _ in self._done)

    @property
    def unnamed(self) -> int:
        """How many more were completed, in no branch, that the driver has only counted."""
        return self._passed

    @property
    def branches(self) -> frozenset[int]:
        """The branches in which tenures were completed or closed."""
        return frozenset(branch for _, branch in self._done if branch is not None)

    def done_in(self, shown: Collection[int]) -> tuple[str, ...]:
        """Return the partitions that were completed or closed where readers see it.

        :param shown: the branches that they see, beside what runs in none.
        """
        return tuple(key for key, branch in self._done if branch is None or branch in shown)

    @property
    def label(self) -> str:
        """What the task did, in the grid and on its page in the end: what failed first, before what went well."""
        if self._failed and (self._done or len(self._failed) > 1):
            return f"{next(iter(self._failed))} failed"
        if self._failed:
            return next(iter(self._failed))
        number = len(self._done) + self._passed
        done = self.current[0] if number < 2 else f"{number:,} partitions"
        return f"{done}: {counted(self._rows, 'row')}" if self._rows else done

    def summary(self) -> dict[str, Any]:
        """Return the numbers and the first partitions, as JSON values of bounded size."""
        counts = {
            str(outcome).replace(" ", "_"): self._outcomes[outcome] for outcome in Outcome if self._outcomes[outcome]
        }
        rows = {"rows": self._rows} if self._rows else {}
        more = max(0, len(self._done) - NAMED) + self._passed
        return {**counts, **rows, "partitions": list(self.done[:NAMED]), "more": more}
