"""Processes that finish parents while their children are created, family by family."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from typing import Any

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store

CREATORS, OWNERS = 2, 2
_WAIT = 120


@dataclass(frozen=True)
class Race:
    """A race.

    :param url: of the store.
    :param families: how many; each has two parents and two children, one of which comes after both.
    :param loosen: breaks one rule in each process, by the name of a function of :mod:`.loosened`.
    """

    url: str
    families: int
    loosen: str = ""

    def run(self) -> None:
        """Create the parents, and let the processes run."""
        spawn = multiprocessing.get_context("spawn")
        steady = coordinator(open_store(self.url), "steady")
        steady.create_partitions(key(which, number) for number in range(self.families) for which in "pq")
        start = spawn.Barrier(CREATORS + OWNERS)
        works: list[Callable[..., None]] = [_create, _create_both, _finish, _finish]
        given = [(self, start, which) for which in ("p", "", "p", "q")]
        processes = [spawn.Process(target=work, args=more) for work, more in zip(works, given, strict=True)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(_WAIT * 5)
        assert [process.exitcode for process in processes] == [0] * len(processes)


def key(which: str, number: int) -> str:
    """Return the key of one of a family."""
    return f"{which}-{number:05}"


def coordinator(store: PartitionStore, owner: str) -> SourceCoordinator:
    """Return a participant."""
    return SourceCoordinator(store, "races", f"host/dag/run/{owner}/0/1")


def stuck(race: Race) -> list[str]:
    """Return who still waits although everything that it waits for has finished."""
    found = coordinator(open_store(race.url), "looks").partitions(limit=100_000)
    return [one.key for one in found if one.waits_for]


def _loosened(race: Race) -> PartitionStore:
    if race.loosen:
        from tests.integration.families import loosened

        getattr(loosened, race.loosen)()
    return open_store(race.url)


def _families(race: Race, start: Barrier) -> Any:
    for number in range(race.families):
        start.wait(_WAIT)
        yield number


def _create(race: Race, start: Barrier, which: str) -> None:
    one = coordinator(_loosened(race), f"creates-{which}")
    for number in _families(race, start):
        one.create_partitions([PartitionIdentifier(key("c", number), parents=[key(which, number)])])


def _create_both(race: Race, start: Barrier, which: str) -> None:
    one = coordinator(_loosened(race), "creates-both")
    for number in _families(race, start):
        one.create_partitions([PartitionIdentifier(key("d", number), parents=[key("p", number), key("q", number)])])


def _finish(race: Race, start: Barrier, which: str) -> None:
    one = coordinator(_loosened(race), f"finishes-{which}")
    lease = one.acquire_partition(key(which, 0))
    for number in _families(race, start):
        assert lease is not None
        if number + 1 < race.families:
            lease = one.complete_and_get_next(lease, hint=key(which, number + 1))
        else:
            one.complete(lease)
