"""Promise S16 under load: neighbouring versions on one store, migrated in between: before and today, today and next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import airflow_coordination
from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.schema import SCHEMA_VERSION
from tests.integration.upgrade.conftest import PLACES, Starts
from tests.integration.upgrade.frozen_packages import BEFORE
from tests.integration.upgrade.next_version import NEXT, TOUCHED, next_version
from tests.integration.upgrade.processes import Versions, Worker
from tests.integration.upgrade.worker import PASSES, SOURCE

pytestmark = pytest.mark.slow

TODAY = Path(airflow_coordination.__file__).parent.parent
SQLITE, *SERVERS = PLACES
LONG = pytest.mark.long
"""The version before shows it there in ``make test``, with code that nobody has made up."""
LOAD = 20
"""How many passes a worker makes before anything else happens."""


@pytest.fixture(scope="session")
def tomorrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of the package of the next schema."""
    return next_version(tmp_path_factory.mktemp("next"))


@pytest.fixture
def versions(url: str, tmp_path: Path) -> Iterator[Versions]:
    with ExitStack() as stack:
        yield Versions(url, tmp_path, stack)


@pytest.mark.parametrize(
    "url", [SQLITE, *(pytest.param(*each.values, marks=[*each.marks, LONG]) for each in SERVERS)], indirect=True
)
def test_s16_neighbours_work_on_one_store_that_is_migrated_under_load(versions: Versions, tomorrow: Path) -> None:
    store = open_store(versions.url)
    store.setup()
    old, early = versions.start(TODAY), versions.start(tomorrow)
    old.until("worked", LOAD)
    problem = f"its schema {SCHEMA_VERSION} is too old for this code, which needs {NEXT}"
    assert problem in (refusal := early.complaint())
    assert "airflow coordination store migrate" in refusal
    assert store.store_id in versions.migrate(tomorrow)
    open_store(versions.url).setup()  # older code, told to migrate as well, leaves it as it is
    new, late = versions.start(tomorrow), versions.start(TODAY)
    for worker in (new, late):
        worker.until("worked", LOAD)
    new.until("worked", versions=[SCHEMA_VERSION, NEXT])
    old.until("worked", versions=[NEXT, SCHEMA_VERSION])
    versions.stop.touch()
    everybody = [old, new, late]
    assert [worker.ended()["refusals"] for worker in everybody] == [0, 0, 0]
    assert {worker.events[0]["store"] for worker in everybody} == {store.store_id}
    check_all_done(store, [event for worker in everybody for event in worker.events])
    assert saved_by(new).isdisjoint({None})
    assert saved_by(old) == saved_by(late) == {None}


def test_s16_the_version_before_and_this_one_work_on_one_store_that_is_migrated_under_load(
    versions: Versions, before: Starts, before_package: Path
) -> None:
    before(versions.url).does("setup")
    old = versions.start(before_package)
    old.until("worked", LOAD)
    store = open_store(versions.url)
    assert old.events[0]["store"] in versions.migrate(TODAY)
    new, late = versions.start(TODAY), versions.start(before_package)
    for worker in (new, late):
        worker.until("worked", LOAD)
    new.until("worked", versions=[BEFORE.schema, SCHEMA_VERSION])
    old.until("worked", versions=[SCHEMA_VERSION, BEFORE.schema])
    versions.stop.touch()
    everybody = [old, new, late]
    assert [worker.ended()["refusals"] for worker in everybody] == [0, 0, 0]
    assert {worker.events[0]["store"] for worker in everybody} == {store.store_id}
    check_all_done(store, [event for worker in everybody for event in worker.events])


def test_a_field_more_takes_six_files() -> None:
    assert len(TOUCHED) <= 6


def saved_by(worker: Worker) -> set[str | None]:
    """Return what a worker has read of the field that only the next version has."""
    return {event["saved_op"] for event in worker.events if event["event"] == "worked"}


def check_all_done(store: PartitionStore, events: list[dict[str, Any]]) -> None:
    """Each partition was worked on ``PASSES`` times, and each pass is published once."""
    worked = [(event["key"], event["versions"]) for event in events if event["event"] == "worked"]
    partitions = {partition.key: partition for partition in listed(store)}
    assert len(worked) == PASSES * len(partitions)
    for partition in partitions.values():
        assert (partition.status, partition.closed_count) == (PartitionStatus.COMPLETED, PASSES)
        assert (partition.failures, partition.lost_leases, partition.token) == (0, 0, PASSES)
    expected = [f"{number}.{step}" for number in range(PASSES) for step in ("saved", "last")]
    for key in partitions:
        [head] = store.heads(f"{SOURCE}|PARTITION", key=key)
        assert [block.digest.removeprefix(f"{key}.").partition("#")[0] for block in head.blocks] == expected
    store.close()


def listed(store: PartitionStore) -> Iterator[Any]:
    """Yield all partitions."""
    one, after = SourceCoordinator(store, SOURCE, "reader"), None
    while page := one.partitions(after=after):
        yield from page
        after = page[-1].key
