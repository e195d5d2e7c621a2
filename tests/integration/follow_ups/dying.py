"""Completes a partition, does what follows, and kills itself at one point of it: run by test_killed.py."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from airflow_coordination.duties.follow_ups import note_of
from airflow_coordination.follow_ups import DeleteObjects, FollowUpRights, follow_up_all
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects import deletion
from airflow_coordination.testing.forwarding import ForwardingStore

T = TypeVar("T")
CALLS = ("write", "follow_ups", "clear_follow_up")


class Points:
    """Kills this process at one of the points that it passes.

    :param last: the number of the point; a negative one is never passed.
    """

    def __init__(self, last: int) -> None:
        self.last, self.passed = last, itertools.count()

    def around(self, call: Callable[[], T]) -> T:
        """Make a call, with a point before and one after it."""
        self.one()
        answer = call()
        self.one()
        return answer

    def one(self) -> None:
        """Pass a point."""
        if next(self.passed) == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


class DyingStore(ForwardingStore):
    """A store with points around the calls that matter here."""

    def __init__(self, store: Any, points: Points) -> None:
        super().__init__(store)
        self.points = points

    def forward(self, name: str, call: Callable[[], T]) -> T:
        """Carry out one call."""
        return self.points.around(call) if name in CALLS else call()


def finish(one: SourceCoordinator, key: str) -> None:
    """Complete a partition, delete what its payload names, and take the note away."""
    lease = one.acquire_partition(key)
    assert lease is not None
    then = DeleteObjects(lease.partition.payload["paths"])
    one.complete(lease, then=note_of(then, lease.partition, lease.fence, None))
    follow_up_all(one, key, FollowUpRights.of_a_person())


def main(store: str, key: str, last: str) -> None:
    """Finish a partition, and print how many points there were."""
    points, delete = Points(int(last)), deletion.delete_marked
    deletion.delete_marked = lambda *each: points.around(lambda: delete(*each))
    deletion.side_by_side = lambda ask, each: [ask(one) for one in each]  # type: ignore[assignment]
    finish(SourceCoordinator(DyingStore(open_store(store), points), "s", "h/d/r/t/0/1"), key)
    print(next(points.passed))


if __name__ == "__main__":
    main(*sys.argv[1:])
