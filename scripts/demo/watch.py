"""Follows the source from the store while Airflow and Spark work, and says what changed."""

from __future__ import annotations

from airflow_coordination import Partition, PartitionStatus, SourceCoordinator
from demo.accident import Accident
from demo.data import MONTHS
from demo.display import Display, worker
from demo.problems import DemoError

MEANINGS = {
    PartitionStatus.UNASSIGNED: "It is free: whoever comes next may take it.",
    PartitionStatus.ASSIGNED: "One owner holds its lease. Now its Spark starts, in ten seconds or more.",
    PartitionStatus.CLOSED: "It reopens when its time has come.",
    PartitionStatus.COMPLETED: "Its rows are published, in the same step.",
}


class Watch:
    """Looks at the source again and again.

    :param coordinator: looks.
    :param display: shows.
    :param accident: happens once.
    """

    def __init__(self, coordinator: SourceCoordinator, display: Display, accident: Accident) -> None:
        self._coordinator, self._display, self._accident = coordinator, display, accident
        self._before: dict[str, Partition] = {}
        self._seen: set[PartitionStatus] = set()

    def look(self) -> None:
        """Look once: say what changed, and let the accident happen when its time has come."""
        partitions = self._coordinator.partitions()
        if partitions and not self._before:
            remembered = self._coordinator.supplying.global_state().get("last", "nothing")
            self._display.say(
                f"The supplier listed {len(partitions)} months, and remembers that it has listed up to {remembered}."
            )
        for partition in partitions:
            self._compare(self._before.get(partition.key), partition)
        self._before = {partition.key: partition for partition in partitions}
        self._display.show(partitions)
        if victim := self._accident.look(partitions):
            killed = f"{worker(victim.owner)} is killed (SIGKILL), task and Spark"
            self._display.say(
                f"[bold red]{victim.key} suffers an accident:[/] {killed}. It had saved {progress(victim)}."
            )

    def check(self) -> None:
        """Check that everything was seen that the demo promises to show.

        :raises DemoError: naming what was not.
        """
        unfinished = [key for key in MONTHS if key not in self._completed]
        unseen = [status for status in PartitionStatus if status not in self._seen]
        if unfinished:
            raise DemoError(f"The run succeeded, but these months are not completed: {', '.join(unfinished)}.")
        if unseen:
            raise DemoError(f"These states were not seen: {', '.join(unseen)}.")

    @property
    def _completed(self) -> set[str]:
        return {key for key, partition in self._before.items() if partition.status is PartitionStatus.COMPLETED}

    def _compare(self, before: Partition | None, now: Partition) -> None:
        for line in changes(before, now) if before else ():
            self._display.say(line)
        if now.status not in self._seen:
            self._seen.add(now.status)
            self._display.say(f"[bold]First seen: {now.status}[/], at {now.key}. {MEANINGS[now.status]}")


def changes(before: Partition, now: Partition) -> list[str]:
    """Return sentences for what changed between two looks; what happened in between may have been missed."""
    said = []
    if now.token > before.token:
        said.append(_acquired(before, now))
    if now.status is before.status:
        return said
    if now.status is PartitionStatus.CLOSED and now.reopen_at and now.updated_at:
        wait = (now.reopen_at - now.updated_at).total_seconds()
        said.append(
            f"[yellow]{now.key} closed itself[/] after {progress(now)}, published; it reopens in {wait:.0f} seconds."
        )
    elif now.status is PartitionStatus.COMPLETED:
        said.append(f"[green]{now.key} completed[/] and published.")
    elif now.status is PartitionStatus.UNASSIGNED:
        reopened = " reopened and" if before.status is PartitionStatus.CLOSED else ""
        said.append(f"{now.key}{reopened} is free again.")
    return said


def progress(partition: Partition) -> str:
    """Return how far a month came, as its job saves it."""
    return f"day {partition.progress_state['day']}" if partition.progress_state else "nothing"


def _acquired(before: Partition, now: Partition) -> str:
    by = f" by {worker(now.owner)}" if now.owner else ""
    if before.progress_state:
        return f"{now.key} acquired again{by}, tenure {now.token}: it goes on after {progress(before)}."
    return f"{now.key} acquired{by}."
