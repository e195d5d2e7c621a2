"""Several people change the configuration in the same moment, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

import pytest

from airflow_coordination.duties.configuring import Configured, read_config, set_config, versions
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.values.errors import ConfigurationChangedError
from airflow_coordination.values.names import ALL

_T = TypeVar("_T")
CHANGES = (
    {"maxSegmentsToMove": 10},
    {"pauseCoordination": True},
    {"locationGrace": "PT1M"},
    {"massLossPercent": 70},
    {"replicationThrottleLimit": 9},
    {"decommissioningNodes": ["hot1"]},
)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path) -> str:
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_store_url")
    url = f"sqlite:///{tmp_path / 'c.db'}"
    store = open_store(url)
    store.setup()
    store.close()
    return url


def at_once(url: str, do: Sequence[Callable[[SourceCoordinator], _T]]) -> list[_T]:
    """Return what each has answered; they have stores of their own, and begin together."""
    together = Barrier(len(do))

    def one(work: Callable[[SourceCoordinator], _T]) -> _T:
        store = open_store(url)
        try:
            coordinator = SourceCoordinator(store, ALL, "owner")
            together.wait()
            return work(coordinator)
        finally:
            store.close()

    with ThreadPoolExecutor(len(do)) as pool:
        return list(pool.map(one, do))


def setting(changes, by: str) -> Callable[[SourceCoordinator], Configured | ConfigurationChangedError]:
    def work(coordinator: SourceCoordinator) -> Configured | ConfigurationChangedError:
        try:
            return set_config(coordinator, changes, by, f"{by} wants it", seen=0)
        except ConfigurationChangedError as told:
            return told

    return work


def test_changes_of_different_keys_all_count(url) -> None:
    done = at_once(url, [setting(changes, f"p{number}") for number, changes in enumerate(CHANGES)])
    assert sorted(each.version for each in done) == [1, 2, 3, 4, 5, 6]
    [said] = at_once(url, [read_config])
    assert said.config.to_json().items() >= {key: value for each in CHANGES for key, value in each.items()}.items()
    [kept] = at_once(url, [lambda coordinator: list(versions(coordinator))])
    assert [len(each.changes) for each in kept] == [1] * len(CHANGES)


def test_of_one_key_one_wins_and_the_others_are_told_who(url) -> None:
    done = at_once(url, [setting({"maxSegmentsToMove": 10 + number}, f"p{number}") for number in range(6)])
    [won] = [each for each in done if isinstance(each, Configured)]
    lost = [each for each in done if isinstance(each, ConfigurationChangedError)]
    assert len(lost) == 5
    assert read_all(url).config == won.config
    for each in lost:
        assert each.version == 1
        [told] = each.told
        value = won.config.max_segments_to_move
        assert told.startswith(f"maxSegmentsToMove from 5 to {value}, by {won.author} at ")
        assert told.endswith(f"(version 1: {won.author} wants it)")


def read_all(url: str) -> Configured:
    [said] = at_once(url, [read_config])
    return said
