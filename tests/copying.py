"""A dataset of lines, its copies in locations, and who makes them: real leases and real files, without Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow_coordination.duties.copies.group import BalanceSegments, UnloadUnused, load_copies
from airflow_coordination.duties.groups.round import Cluster, Ran, Round
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.copies.locations import set_locations
from airflow_coordination.outputs.copies.reading import tier_manifests
from airflow_coordination.outputs.heads.pages import head_pages
from airflow_coordination.planning.copies.work import CopyWork, chunk_of, location_of
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.spark.draining import Drained, drain
from airflow_coordination.spark.upkeep import copy
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

    def publish_for(self, interval: str | None, *keys: str) -> None:
        """Publish one line for each key, all for one interval, or for none."""
        ingest = self.ingest()
        ingest.create_partitions(list(keys))
        for key in keys:
            lease = ingest.acquire_partition(key)
            assert lease is not None
            ingest.complete(lease, [self.block(lease, [f"row of {key}"])], interval=interval)

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
        return drain(copy, store=self.store, source=COPIED, spark=None, max_leases=None)

    def copy_of(self, key: str) -> Partition:
        """Return the partition of a copy."""
        found = self.copies().partition(key)
        assert found is not None
        return found

    def want(self, **tiers: int) -> None:
        """Set rules that want so many copies in each tier."""
        self.rule({"type": "loadForever", "tieredReplicants": tiers})

    def rule(self, *rules: Mapping[str, Any]) -> None:
        """Set the rules of the dataset."""
        set_rules(self.ingest(), DATASET, json.dumps(list(rules)), "a test", "tiers")

    def copied(self) -> list[tuple[str, str]]:
        """Return which chunks have published copies, and where."""
        heads = [head for page in head_pages(self.store, f"{COPIED}|PARTITION", DATASET) for head in page]
        return sorted((location_of(head.key), str(chunk_of(head.key))) for head in heads if head.blocks)

    def rows_in(self, tier: str) -> Counter[str]:
        """Return what readers of a tier find."""
        found = tier_manifests(self.store, SOURCE, DATASET, tier)
        return Counter(line for manifest in found for line in lines(manifest))


class Duties:
    """The duties about copies, run after run, at a time of the test's own.

    :param days: whose copies they are about.
    """

    def __init__(self, days: Copying, **config: Any) -> None:
        self.days, self.config = days, DynamicConfig(**config)
        self.now = days.store.now()
        self.left: dict[str, Any] = {}
        self.said: dict[str, Ran] = {}

    def later(self, **by: float) -> None:
        """Let time pass."""
        self.now += timedelta(**by)

    def cluster(self, *, dry_run: bool = False) -> Cluster:
        """Return what is the same for the duties of one run."""
        return Cluster(
            store=self.days.store,
            owner="the leader",
            now=self.now,
            led_since=self.now,
            period=timedelta(minutes=1),
            config=self.config,
            dry_run=dry_run,
        )

    def run(self, *names: str, dry_run: bool = False) -> dict[str, Ran]:
        """Run some duties, all by default, as their group does it."""
        cluster, found = self.cluster(dry_run=dry_run), {}
        for name, duty in DUTIES.items():
            if name in (names or DUTIES):
                ran = duty(Round(cluster=cluster, by=name, remembered=self.left.get(name)))
                found[name] = ran
                if ran.left is not None and not dry_run:
                    self.left[name] = json.loads(json.dumps(ran.left))
        return found

    def settle(self, most: int = 10) -> list[dict[str, Ran]]:
        """Run all of them, with a worker that makes what was asked for after each run, until nothing is to do."""
        runs = []
        for _ in range(most):
            runs.append(self.run())
            done = self.days.work()
            assert done.errors == ()
            if all(ran.idle for ran in runs[-1].values()) and not done.completed and not _may_go(runs[-1]):
                return runs
        raise AssertionError([{name: ran.said for name, ran in run.items()} for run in runs])


def _may_go(run: Mapping[str, Ran]) -> bool:
    return "may go" in run["unloadUnused"].said


DUTIES = {"runRules": load_copies, "unloadUnused": UnloadUnused().run, "balanceSegments": BalanceSegments().run}
