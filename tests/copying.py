"""A dataset of lines, its copies in locations, and who makes them: real leases and real files, without Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.copies.locations import set_locations
from airflow_coordination.outputs.copies.reading import tier_manifests
from airflow_coordination.planning.copies.work import CopyWork
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.spark.draining import Drained, drain
from airflow_coordination.spark.upkeep import copy
from airflow_coordination.systems.spark.no_session import NoSession
from airflow_coordination.values.names import COPIES
from tests.upkeep import DATASET, SOURCE, Dataset, lines

COPIED = f"{COPIES}{SOURCE}"
DAYS = ("2013-01-01", "2013-01-02", "2013-01-03")


@dataclass(slots=True)
class Copying(Dataset):
    """Days of one source that are published, merged and copied."""

    @property
    def out(self) -> Path:
        """Where days are published."""
        return Path(self.root)

    def publish(self, *days: str, word: str = "row") -> None:
        """Publish two lines for each day, anew where it has some."""
        ingest = self.ingest()
        ingest.create_partitions(list(days))
        for day in days:
            lease = ingest.acquire_partition(day)
            if lease is None:
                ingest.people.reset(day, "a test", "once more")
                lease = ingest.acquire_partition(day)
            assert lease is not None
            block = self.block(lease, [f"{word} {number} of {day}" for number in range(2)])
            ingest.complete(lease, [block], interval=f"{day}/P1D")

    def merge_all(self, part: int = 0) -> None:
        """Merge all that is published in one group."""
        groups, key = self.groups(), f"e000001|{DATASET}|2013-01-01T00:00:00Z|{part}"
        groups.create_partitions([key])
        lease = groups.acquire_partition(key)
        if lease is None:
            groups.people.reset(key, "a test", "once more")
            lease = groups.acquire_partition(key)
        assert lease is not None
        manifest = self.merge(lease)
        groups.complete(lease, [manifest.block("replace")])

    def place(self, *roots: Path, tier: str = "hot", capacity: int = 1_000_000, **tiers: Iterable[Path]) -> None:
        """Say where copies may lie: some roots of one tier, and more of others by their names."""
        said = [(root, tier) for root in roots] + [(root, name) for name, row in tiers.items() for root in row]
        text = json.dumps(
            [{"name": root.name, "root": str(root), "tier": name, "capacity": capacity} for root, name in said]
        )
        set_locations(self.ingest(), text, "a test", "locations")

    def copies(self) -> SourceCoordinator:
        """Return who creates and works on copies."""
        return SourceCoordinator(self.store, COPIED, self.owner)

    def ask(self, location: str, chunk: str, dataset: str = DATASET) -> str:
        """Create the partition of a copy, and return its key."""
        work = CopyWork(location=location, dataset=dataset, chunk=parse_interval("chunk", chunk))
        self.copies().create_partitions([PartitionIdentifier(work.key, work.to_payload(), work.priority)])
        return work.key

    def work(self) -> Drained:
        """Make all copies that are asked for."""
        return drain(copy, store=self.store, source=COPIED, spark=NoSession(), max_leases=None)

    def copy_of(self, key: str) -> Partition:
        """Return the partition of a copy."""
        found = self.copies().partition(key)
        assert found is not None
        return found

    def rows_in(self, tier: str) -> Counter[str]:
        """Return what readers of a tier find."""
        found = tier_manifests(self.store, SOURCE, DATASET, tier)
        return Counter(line for manifest in found for line in lines(manifest))
