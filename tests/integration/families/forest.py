"""A random graph of partitions, and the processes that drain it while others of them are killed."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from airflow_coordination.leases import PartitionIdentifier, PartitionStatus, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.testing.history import FileLog, Operation, RecordedCoordinator, read_logs
from airflow_coordination.values.errors import PartitionNotOwnedError
from airflow_coordination.values.settings import Settings

SOURCE: Final = "forest"
WORKERS: Final = 8
SETTINGS: Final = Settings(
    ownership_timeout=timedelta(seconds=15),
    max_failures=1,
    max_lost_leases=1_000,
    request_deadline=timedelta(seconds=10),
)
_LOOK_SECONDS: Final = 0.2
_POISON: Final = "poison"
_PAGE: Final = 250


@dataclass
class Forest:
    """Partitions with none to three parents among those before them; what is poison always fails, and is parked.

    :param directory: where the processes write their histories.
    :param url: of the store.
    :param nodes: how many.
    :param kills: how many processes are killed, one each time as much of the graph is done.
    """

    directory: Path
    url: str
    nodes: int
    kills: int
    parents: Mapping[str, tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        chance = random.Random(self.nodes)
        keys: list[str] = []
        parents: dict[str, tuple[str, ...]] = {}
        for number in range(self.nodes):
            is_poison = number > self.nodes // 8 and chance.random() < 0.01
            key = f"{_POISON if is_poison else 'n'}-{number:05}"
            many = chance.choice((0, 1, 1, 1, 2, 3))
            parents[key] = tuple(chance.sample(keys, min(many, len(keys))))
            keys.append(key)
        self.parents = parents

    def expected(self) -> dict[str, list[str]]:
        """Return what becomes of them: what is completed, parked, and behind what is parked."""
        found: dict[str, list[str]] = {"completed": [], "parked": [], "behind": []}
        gone_wrong: set[str] = set()
        for key, parents in self.parents.items():
            fate = "behind" if gone_wrong.intersection(parents) else "parked" if is_poison(key) else "completed"
            if fate != "completed":
                gone_wrong.add(key)
            found[fate].append(key)
        return {fate: sorted(keys) for fate, keys in found.items()}

    def found(self) -> dict[str, list[str]]:
        """Return what has become of them, as the store says it."""
        one, after = coordinator(self.url, "looks"), None
        found: dict[str, list[str]] = {"completed": [], "parked": [], "behind": [], "else": []}
        while page := one.partitions(after=after):
            for each in page:
                done = each.status is PartitionStatus.COMPLETED
                fate = "completed" if done else "parked" if each.parked else "behind" if each.blocked else "else"
                found[fate].append(each.key)
            after = page[-1].key
        assert not found.pop("else")
        return found

    def run(self) -> list[Operation]:
        """Create the graph while others drain it, kill some, and return what all of them did."""
        self.directory.mkdir()
        spawn = multiprocessing.get_context("spawn")
        looks = coordinator(self.url, "creates")
        one = RecordedCoordinator(looks, FileLog(self.directory / "creates.jsonl"), "creates")
        started, working = 0, list[BaseProcess]()
        pages, killed, all_of_it = list(range(0, self.nodes, _PAGE)), 0, len(self.expected()["completed"])
        identifiers = [PartitionIdentifier(key, parents=parents) for key, parents in self.parents.items()]
        while pages or any(process.is_alive() for process in working):
            while len([process for process in working if process.is_alive()]) < WORKERS and (pages or moves(looks)):
                started += 1
                working.append(spawn.Process(target=drain, args=(self.directory, self.url, f"w{started:03}")))
                working[-1].start()
            if pages:
                first = pages.pop(0)
                one.create_partitions(identifiers[first : first + _PAGE])
            else:
                (self.directory / "created").touch()
                time.sleep(_LOOK_SECONDS)
            done = looks.counts()[PartitionStatus.COMPLETED]
            if killed < self.kills and done * (self.kills + 2) > all_of_it * (killed + 1):
                alive = [process for process in working if process.is_alive()]
                if alive:
                    alive[killed % len(alive)].kill()
                    killed += 1
        for process in working:
            process.join()
        assert killed == self.kills
        assert sum(process.exitcode != 0 for process in working) == killed
        return read_logs(self.directory.glob("*.jsonl"))


def moves(one: SourceCoordinator) -> bool:
    """Return whether anything moves, now or later, without a person."""
    seen = one.looking.outlook()
    return bool(seen.claimable or seen.assigned or seen.waiting)


def is_poison(key: str) -> bool:
    """Return whether a partition always fails."""
    return key.startswith(_POISON)


def coordinator(url: str, owner: str) -> SourceCoordinator:
    """Return a participant."""
    return SourceCoordinator(open_store(url), SOURCE, f"host/dag/run/{owner}/0/1", settings=SETTINGS)


def drain(directory: Path, url: str, name: str) -> None:
    """Work until everything was created and nothing moves any more."""
    one = RecordedCoordinator(coordinator(url, name), FileLog(directory / f"{name}.jsonl"), name)
    while True:
        all_is_created = (directory / "created").exists()
        with suppress(PartitionNotOwnedError):  # this machine was busy for longer than a lease lasts
            _drain(one)
        one.sweep()
        if all_is_created and not moves(one.coordinator):
            return
        time.sleep(_LOOK_SECONDS)


def _drain(one: RecordedCoordinator) -> None:
    ended, lease = 0, one.get_next_partition()
    while lease is not None:
        ended += 1
        if is_poison(lease.key):
            one.fail(lease, "poison")
            lease = one.get_next_partition()
        elif ended % 2:
            lease = one.complete_and_get_next(lease)
        else:
            one.complete(lease)
            lease = one.get_next_partition()
