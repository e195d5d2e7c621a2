"""The accident: one attempt is killed half way, after it has saved progress together with a finished block."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import psutil

from airflow_coordination import Partition, PartitionStatus, SourceCoordinator
from airflow_coordination.leases.handover import HANDOVER_VARIABLE
from demo.problems import DemoError
from demo.processes import of_demo, variable

SAVED = {"day": 15}
"""What dags/flights_job.py has saved when the first half of a month is written."""


class Accident:
    """Kills one attempt, without a warning: its task, its Spark driver, whatever belongs to its process group.

    :param coordinator: looks at the source.
    :param root: the demo's folder.
    """

    def __init__(self, coordinator: SourceCoordinator, root: Path) -> None:
        self._coordinator, self._root = coordinator, root
        self.victim: Partition | None = None
        """The partition as its attempt left it; ``None`` while no attempt was killed."""

    def look(self, partitions: Sequence[Partition]) -> Partition | None:
        """Kill the attempt on the first of these partitions that is half done; return that partition, once."""
        if self.victim is None:
            candidates = (partition for partition in partitions if half_done(partition))
            self.victim = next((partition for partition in candidates if self._kill(partition)), None)
            return self.victim
        return None

    def checked_victim(self) -> Partition:
        """Return the partition whose attempt was killed, as it was left.

        :raises DemoError: when there was none.
        """
        if self.victim is None:
            raise DemoError("No attempt could be killed half way: every one was too fast.", "Run it again.")
        return self.victim

    def _kill(self, partition: Partition) -> bool:
        """Freeze the attempt, look whether it is still half way, then kill it or let it go on."""
        group = self._group_of(partition.owner)
        if group is None:
            return False
        try:
            os.killpg(group, signal.SIGSTOP)
            seen = self._coordinator.partition(partition.key)
            half_way = seen is not None and seen.fence == partition.fence and half_done(seen)
            os.killpg(group, signal.SIGKILL if half_way else signal.SIGCONT)
        except ProcessLookupError:
            return False
        return half_way

    def _group_of(self, owner: str | None) -> int | None:
        """Return the process group of the Spark driver that works for ``owner``: that of its Airflow task."""
        for process in of_demo(self._root):
            handed_over = variable(process, HANDOVER_VARIABLE)
            if handed_over and json.loads(handed_over)["owner"] == owner:
                try:
                    return os.getpgid(process.pid)
                except (ProcessLookupError, psutil.Error):
                    continue
        return None


def half_done(partition: Partition) -> bool:
    """Return whether somebody works on it now and has saved its first half; the newest month stops there by itself."""
    saved = partition.status is PartitionStatus.ASSIGNED and partition.progress_state == SAVED
    return saved and not partition.payload["newest"]
