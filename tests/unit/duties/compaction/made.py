"""A planner beside a dataset of lines whose keys tell their intervals, and a worker without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from airflow_coordination.compaction import CompactionConfig
from airflow_coordination.duties.compaction.planner import Planner
from airflow_coordination.outputs.attempts import Measured
from airflow_coordination.outputs.manifests import Reference
from airflow_coordination.outputs.membership import members
from airflow_coordination.outputs.merging import check_walk, gathered, given_up
from airflow_coordination.outputs.origins import Merged
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.planning.compaction.slots import CompactionSlots
from tests.upkeep import DATASET, Dataset, _write, rows_of

KEEP = {"max_failures": 4}


def config(**more):
    said = {"granularity": "MONTH", "skip_offset_from_latest": "P0D", "interval_from_key": "%Y-%m-%d"}
    return CompactionConfig(DATASET, **said | more)


def planner(data: Dataset, slots=4, **more) -> Planner:
    return Planner(data.ingest(), CompactionSlots(max_slots=slots), **more)


def publish(data: Dataset, *keys: str, rows: Sequence[str] = "12", mode="replace", interval=None) -> None:
    ingest = data.ingest()
    for key in keys:
        if ingest.create_partitions([key]).existing:
            ingest.people.reset(key, by="a test", why="again")
        lease = ingest.acquire_partition(key)
        before = [block for head in data.heads([key]) for block in head.blocks]
        follows = Reference(before[-1].address, before[-1].digest) if before and mode == "append" else None
        attempt = data.attempt(lease)
        opened = attempt.open(DATASET)
        _write(opened.path, list(rows))
        block = attempt.finish(opened, mode=mode, follows=follows, file_format="json", measure=_measured)
        ingest.complete(lease, [block], interval=interval)


def work(data: Dataset) -> list[str]:
    """Merge what is claimable, as the worker does, and return the keys of the groups."""
    done = []
    groups = data.groups(**KEEP)
    while (lease := groups.get_next_partition()) is not None:
        group = GroupWork.from_payload(lease.partition.payload)
        overlays = data.overlays()
        heads = members(lease.key, group, overlays, data.standing())
        present = overlays.of(lease.key)
        if group.is_given_up:
            assert given_up(lease.key, present, overlays, heads)
            heads = []
        merge = gathered(heads, overlays)
        attempt = data.attempt(lease)
        opened = attempt.open(DATASET)
        _write(opened.path, rows_of(merge), raw=True)
        said = Merged(
            covers=merge.origins, merged_with=dict(group.config.spec), chunk=str(group.chunk), part=group.part
        )
        attempt.finish(opened, file_format="json", merged=said, measure=_measured, allow_empty=True)
        check_walk(lease.key, attempt.finished[-1], present, overlays, heads)
        groups.complete(lease, [attempt.finished[-1].block("replace")])
        done.append(lease.key)
    return done


def _measured(directory: str, files: Sequence[str]) -> Measured:
    return Measured(rows=sum(len((Path(directory) / each).read_text().splitlines()) for each in files))
