"""Compaction run after run: every chunk of every source is merged soon, none twice, whatever fails in between."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_coordination.duties.compaction.planner import Planner
from airflow_coordination.duties.compaction.together import run_together
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs import published_manifests
from airflow_coordination.outputs.heads.standing import Standing
from airflow_coordination.outputs.overlays import Overlays, merged_source
from airflow_coordination.outputs.published import read_overlays, source_identifier
from airflow_coordination.planning.compaction.configuration import by_dataset
from airflow_coordination.planning.compaction.slots import CompactionSlots
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.status import PartitionStatus
from tests.unit.duties.compaction.made import KEEP, config, publish, work
from tests.upkeep import DATASET, Dataset, lines

PERIOD = timedelta(minutes=30)
SOURCES = ("bar", "flights", "foo")
TRIES = KEEP["max_failures"]
"""So often a group fails before it is parked, and waits for runs."""
BUSY = (PartitionStatus.ASSIGNED, PartitionStatus.UNASSIGNED)
Name = tuple[str, str]

chunks = st.dictionaries(
    st.tuples(st.sampled_from(SOURCES), st.integers(1, 5)),  # a source and a month
    st.sampled_from([0, 0, 0, 1, TRIES - 1, TRIES, TRIES + 2]),  # how often its group fails before it is merged
    min_size=1,
    max_size=7,
)


@dataclass(slots=True)
class Source(Dataset):
    """The same dataset of any source."""

    source: str = ""

    def ingest(self, **said: Any) -> SourceCoordinator:
        return SourceCoordinator(self.store, self.source, self.owner, **said)

    def groups(self, **said: Any) -> SourceCoordinator:
        return SourceCoordinator(self.store, merged_source(self.source), self.owner, **said)

    def standing(self) -> Standing:
        return Standing(self.store, source_identifier(self.store, self.source, None), DATASET)

    def overlays(self) -> Overlays:
        return read_overlays(self.store, self.source, DATASET)

    def rows(self) -> Counter[str]:
        return Counter(
            row for manifest in published_manifests(self.store, self.source, DATASET) for row in lines(manifest)
        )


class Cluster:
    """Sources with one limit for all, and workers who fail as a test wants.

    :param root: of all output.
    :param failing: how often the group of a chunk fails, by its source and month.
    :param limit: of slots.
    """

    def __init__(self, root: str, failing: Mapping[tuple[str, int], int], limit: int) -> None:
        self.clock = FakeClock()
        store = InMemoryStore(self.clock)
        self.sources = {name: Source(store, root, source=name) for name, _ in failing}
        for name, month in failing:
            publish(self.sources[name], f"2013-{month:02}-01", f"2013-{month:02}-02")
        self.failing = {(name, f"2013-{month:02}"): fails for (name, month), fails in failing.items()}
        self.slots = CompactionSlots(max_slots=limit)
        self.merged: Counter[Name] = Counter()

    def run(self) -> list[Name]:
        """Plan all sources once, and return what began, the newest first of each source."""
        self.clock.advance(PERIOD.total_seconds())
        planners = {
            Planner(each.ingest(), self.slots, PERIOD): by_dataset([config()]) for each in self.sources.values()
        }
        done = run_together(planners, self.slots)
        assert [each.error for each in done.values() if each.error] == []
        return [(source, _month(key)) for source, each in done.items() for key in each.begun]

    def busy(self) -> int:
        """Return how many groups are claimable or held."""
        return sum(
            each.status in BUSY and not each.parked
            for data in self.sources.values()
            for each in data.groups().looking.each()
        )

    def work(self) -> None:
        """Let each claimable group fail until it is parked or has failed so often, and merge the others."""
        for source, data in self.sources.items():
            while self._one_fails(source, data):
                self.clock.advance(60)
            self.merged.update((source, _month(key)) for key in work(data))

    def _one_fails(self, source: str, data: Source) -> bool:
        groups = data.groups(**KEEP)
        for each in groups.looking.each():
            name = source, _month(each.key)
            if each.status in BUSY and not each.parked and self.failing[name]:
                lease = groups.acquire_partition(each.key)
                assert lease is not None
                self.failing[name] -= 1
                groups.fail(lease, "no memory", timedelta(0))
                return True
        return False


@contextmanager
def cluster(failing: Mapping[tuple[str, int], int], limit: int) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory() as root:
        yield Cluster(root, failing, limit)


def _month(key: str) -> str:
    return key.split("|")[2][:7]


@settings(max_examples=25, deadline=None)
@given(chunks, st.integers(0, 3))
def test_every_chunk_is_merged_within_so_many_runs_and_none_twice(failing, limit):
    """One limit over all sources; 0 gives one slot. What is parked waits for one run, and comes after all others."""
    slots = max(1, limit)
    parked = sum(fails >= TRIES for fails in failing.values())
    most = ceil(len(failing) / slots) + parked + 1
    waiting = {(name, f"2013-{month:02}") for name, month in failing}
    with cluster(failing, limit) as its:
        rows = {name: each.rows() for name, each in its.sources.items()}
        for _ in range(most):
            began = its.run()
            assert its.busy() <= slots, began
            fresh = waiting.intersection(began)
            if fresh and len(waiting) > len(fresh):
                older = waiting - fresh
                assert min(month for _, month in fresh) >= max(month for _, month in older), (
                    "the newest of all are first"
                )
            waiting -= fresh
            its.work()
        assert its.merged == Counter(dict.fromkeys(its.failing, 1)), f"each once, within {most} runs"
        assert its.run() == []
        assert {name: each.rows() for name, each in its.sources.items()} == rows
        assert all(rows.values()), "and there are some"
