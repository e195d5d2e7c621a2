"""What people ask of compaction: one partition's groups at once, and that all of a dataset is given up."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from airflow_coordination.duties.compaction.plan import State, Task
from airflow_coordination.duties.compaction.planner import Planner
from airflow_coordination.duties.compaction.remembered import Remembered
from airflow_coordination.duties.compaction.snapshot import Seen, Snapshot
from airflow_coordination.outputs.membership import chunk_of, keys_of
from airflow_coordination.outputs.merging import dataset_of, epoch_of
from airflow_coordination.outputs.overlays import Overlay
from airflow_coordination.outputs.published import follow, starts_of
from airflow_coordination.planning.compaction.configuration import CompactionConfig
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.protocol.beside.parts import originals_may_go
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.systems.objects.storage import OutputError, join, list_files
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError, shown
from airflow_coordination.values.names import partition_label
from airflow_coordination.values.status import PartitionStatus

_BY_HAND: Final = "asked for, because of "


def at_once(planner: Planner, key: str, by: str) -> list[Task]:
    """Make the groups claimable that have rows of a partition, whatever the plan says; claimable ones stay so.

    So rows of a partition that was retracted are gone from merged files, too, when these groups have run. A group that
    is held may have read them before and end with them, after which nobody would begin it again: while one is, nothing
    is changed.

    :param key: of the partition.
    :param by: who asks, for the audit.
    :return: the groups.
    :raises InvalidInputError: when nothing has been planned yet, or no group has rows of it.
    :raises PartitionUpdateError: while a group is held, or when one has changed meanwhile.
    """
    configs = {config.dataset: config for config in planner.configs()}
    seen = planner.snapshot(configs)
    tasks = [
        _task(overlay, _again(configs[name], overlay), key, seen)
        for name, dataset in seen.datasets.items()
        for overlay in dataset.overlays.row
        if key in keys_of(overlay)
    ]
    if not tasks:
        problem = "has no rows in what is merged"
        raise InvalidInputError("key", key, problem, "Publish or retract it first, or let `compaction plan` take it in")
    remedy = "It may have read before what is gone now: repeat the command when it has ended"
    _check_free("merge at once", (task.seen for task in tasks), remedy)
    ready = [task for task in tasks if task.state is State.RESET]
    _, moved = planner.carry_out(ready, by)
    if moved:
        raise PartitionUpdateError("merge at once", moved[0], "it changed meanwhile. Repeat the command.")
    return tasks


def _again(config: CompactionConfig, overlay: Overlay) -> GroupWork:
    """Return the work of a group that merges once more; one of an old epoch, too, is not to be given up."""
    merged, epoch = overlay.manifest.merged, epoch_of(overlay.key)
    chunk = chunk_of(overlay)
    part = merged.part if merged else 0
    return GroupWork(config=config, chunk=chunk, part=part, keys=("", ""), epoch=epoch, current_epoch=epoch)


def _task(overlay: Overlay, work: GroupWork, key: str, seen: Snapshot) -> Task:
    group = seen.groups.get(overlay.key)
    free = group is None or group.parked or group.status is PartitionStatus.COMPLETED
    state = State.CREATE if group is None else State.RESET if free else State.UNDER_WAY
    size = overlay.manifest.size
    return Task(
        key=overlay.key,
        work=work,
        reason=f"{_BY_HAND}{shown(key)}",
        bytes=size,
        heads=len(keys_of(overlay)),
        state=state,
        seen=group,
    )


@dataclass(frozen=True, slots=True)
class GivenUp:
    """What giving up a dataset does, or would do.

    :param groups: the keys of its groups.
    :param bytes: of merged files that nobody reads any more then.
    :param originals: how many files readers go back to.
    """

    groups: tuple[str, ...]
    bytes: int
    originals: int


def give_up(planner: Planner, dataset: str, by: str, why: str, *, dry_run: bool = False) -> GivenUp:
    """Take back all that is merged of a dataset: readers read the originals again, and no plan takes it in.

    :param dataset: its name.
    :param by: who asks, for the audit.
    :param why: the reason, for the audit.
    :param dry_run: look whether it can be done, and change nothing.
    :raises OutputError: when an original is missing: then nothing is changed.
    :raises SettingsError: once originals may be deleted: a collector may be about to do it.
    :raises PartitionUpdateError: while somebody plans or works on one of its groups; killed or refused in the middle,
        it goes on when it is called again.
    """
    _check_kept(planner)
    with planner.leased() as lease:
        if lease is None:
            held = planner.duties.partition(planner.key)
            raise PartitionUpdateError(
                "give up", dataset, f"{held.owner if held else 'somebody'} plans. Try again soon."
            )
        remembered = Remembered.from_json(lease.partition.progress_state)
        seen = planner.snapshot([dataset])
        groups = [group for key, group in sorted(seen.groups.items()) if dataset_of(key) == dataset]
        _check_free("give up", groups, "Wait until it has ended, or release it, then repeat the command")
        found = seen.datasets[dataset]
        files = _originals(planner, found)
        result = GivenUp(
            tuple(group.key for group in groups),
            sum(one.manifest.size for one in found.overlays.row),
            files,
        )
        if not dry_run:
            for group in groups:
                planner.groups.people.give_up_group(group.key, by, why, group)
            left = {name: known for name, known in remembered.datasets.items() if name != dataset}
            planner.forget_sums(dataset)
            planner.duties.save_progress_state(lease, dataclasses.replace(remembered, datasets=left).to_json())
    return result


def _check_kept(planner: Planner) -> None:
    """Refuse once originals may go: a collector that has read the overlays deletes them whatever becomes of those."""
    if originals_may_go(planner.coordinator.store):
        problem = "are enabled in this store, so that a collector may be about to delete the originals"
        remedy = "Leave what is merged, and say enabled=False in its CompactionConfig: then nothing more is"
        raise SettingsError("outputs", True, problem, remedy)


def _check_free(action: str, groups: Iterable[Partition | None], remedy: str) -> None:
    for group in groups:
        if group is not None and group.status is PartitionStatus.ASSIGNED:
            raise PartitionUpdateError(action, group.key, f"it is held by {group.owner}. {remedy}.")


def _originals(planner: Planner, seen: Seen) -> int:
    """Return how many files readers go back to, all of which were seen to be there.

    :raises OutputError: naming the first that is missing.
    """
    merged = {key for overlay in seen.overlays.row for key in keys_of(overlay)}
    manifests = follow(starts_of(head for head in seen.heads if head.key in merged))
    for manifest in manifests:
        there = {file.path for file in list_files(manifest.directory)}
        if missing := [file.path for file in manifest.files if file.path not in there]:
            what = f"read the output of {partition_label(manifest.source, manifest.key)}"
            problem = "is missing, so that its rows are in merged files only"
            remedy = "Leave compaction on, or reset the partition to produce its output again"
            raise OutputError(what, join(manifest.directory, missing[0]), problem, remedy)
    return sum(len(manifest.files) for manifest in manifests)
