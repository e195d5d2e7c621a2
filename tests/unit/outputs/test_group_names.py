"""The collector takes the files of groups' names that no partition has, and none that somebody needs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_coordination.leases import Checkpoint, PartitionIdentifier, SourceCoordinator
from airflow_coordination.outputs import collect
from airflow_coordination.outputs.lists.group_names import GroupNames
from airflow_coordination.sources import object_listing, object_paths
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.names_file import names_directory
from airflow_coordination.values.names import GLOBAL_STATE_KEY
from airflow_coordination.values.status import PartitionStatus

NOW = timedelta(0)
FILES = 150


@pytest.fixture(params=["memory", "sqlite"])
def one(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SourceCoordinator]:
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/c.db")
    store.setup()
    yield SourceCoordinator(store, "flights", "a test")
    store.close()


@pytest.fixture
def listing(tmp_path: Path) -> Any:
    (tmp_path / "in").mkdir()
    for number in range(FILES):
        (tmp_path / "in" / f"{number:03}{'x' * 40}.json").touch()
    return object_listing(tmp_path / "in", scan="once", max_objects=FILES, output_root=tmp_path / "out")


def kept(root: Path) -> list[Path]:
    return [path for path in (root / "out" / "_names").rglob("*") if path.is_file()]


def names_collected(one: SourceCoordinator, root: Path, **how: Any) -> int:
    return collect(one.store, one.source, root / "out", **{"older_than": NOW, "dry_run": False, **how}).names


def planned(one: SourceCoordinator, listing: Any) -> Iterator[object]:
    """Return the steps of a run of which nothing is saved."""
    view = SimpleNamespace(store=one.store, identifier="flights|PARTITION", partitions=one.partitions)
    return listing.supply({}, view)  # type: ignore[no-any-return]


class Then:
    """Runs a supplier, and something else between its steps.

    :param between: is called before each step is handed on, with it.
    """

    def __init__(self, supplier: Any, between: Any) -> None:
        self._supplier, self._between = supplier, between

    def supply(self, state: dict[str, Any], view: Any) -> Iterator[object]:
        for item in self._supplier.supply(state, view):
            self._between(item)
            yield item


def test_it_lives_as_long_as_its_partition(one: SourceCoordinator, listing: Any, tmp_path: Path) -> None:
    one.run_supplier(listing)
    [partition] = one.partitions()
    assert names_collected(one, tmp_path) == 0
    lease = one.get_next_partition()
    assert lease is not None
    assert names_collected(one, tmp_path) == 0
    one.complete(lease)
    assert names_collected(one, tmp_path) == 0, "a reset may read it again"
    one.people.reset(partition.key, by="ana", why="test")
    assert len(object_paths(partition.payload)) == FILES
    one.people.delete(partition.key, by="ana", why="test")
    assert names_collected(one, tmp_path, dry_run=True) == 1
    assert names_collected(one, tmp_path, older_than=timedelta(hours=1)) == 0
    assert len(kept(tmp_path)) == 1
    assert names_collected(one, tmp_path) == 1
    assert kept(tmp_path) == []
    assert not list((tmp_path / "out" / "_names").iterdir()), "nor is its directory left"
    assert names_collected(one, tmp_path) == 0


def test_the_plan_of_a_killed_supplier_keeps_it(one: SourceCoordinator, listing: Any, tmp_path: Path) -> None:
    """It is in no partition yet, and the next run creates that from the plan."""

    def die(item: object) -> None:
        if not isinstance(item, Checkpoint):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one.run_supplier(Then(listing, die))
    assert one.partitions() == []
    supplier = one.store.get("flights|GLOBAL_STATE", GLOBAL_STATE_KEY)
    assert supplier is not None
    assert supplier.status is PartitionStatus.UNASSIGNED, "it does not run any more"
    assert names_collected(one, tmp_path) == 0
    one.run_supplier(listing)
    [partition] = one.partitions()
    assert len(object_paths(partition.payload)) == FILES


def test_what_a_supplier_left_that_was_killed_before_its_plan_goes(
    one: SourceCoordinator, listing: Any, tmp_path: Path
) -> None:
    next(planned(one, listing))
    assert len(kept(tmp_path)) == 1
    assert names_collected(one, tmp_path) == 1
    assert kept(tmp_path) == []


def test_what_lost_the_race_goes_and_what_won_stays(one: SourceCoordinator, listing: Any, tmp_path: Path) -> None:
    """Two suppliers see two listings; the one whose lease was lost has written a file for nothing."""
    next(planned(one, listing))
    [lost] = kept(tmp_path)
    (tmp_path / "in" / "000-first.json").touch()
    one.run_supplier(listing)
    assert len(kept(tmp_path)) == 2
    assert names_collected(one, tmp_path) == 1
    [partition] = [each for each in one.partitions() if "names_file" in each.payload]
    [won] = kept(tmp_path)
    assert won != lost
    assert partition.payload["names_file"]["address"] == str(won)


def test_while_a_supplier_runs_nothing_is_judged(one: SourceCoordinator, listing: Any, tmp_path: Path) -> None:
    """Before its plan is saved nothing names the file."""
    seen: list[int] = []
    one.run_supplier(Then(listing, lambda _: seen.append(names_collected(one, tmp_path))))
    assert seen == [0, 0, 0]
    [partition] = one.partitions()
    assert len(object_paths(partition.payload)) == FILES


def test_once_a_run_has_begun_the_rest_stays(one: SourceCoordinator, listing: Any, tmp_path: Path) -> None:
    """It may find the same names again, and trusts the file that is there."""
    next(planned(one, listing))
    (tmp_path / "in" / "zzz.json").touch()
    more = object_listing(tmp_path / "in", scan="once", max_objects=2 * FILES, output_root=tmp_path / "out")
    next(planned(one, more))
    found = GroupNames(one.store, "flights|PARTITION", str(tmp_path / "out"), NOW)
    assert len(found.orphans) == 2
    going = found.while_at_rest()
    first = next(going)
    one.run_supplier(lambda state: ["k"])
    assert list(going) == []
    assert found.orphans == [first]
    assert names_collected(one, tmp_path) == 2


def test_one_file_serves_two_partitions(one: SourceCoordinator, listing: Any, tmp_path: Path) -> None:
    one.run_supplier(listing)
    [first] = one.partitions()
    one.create_partitions([PartitionIdentifier("other", payload=first.payload)])
    one.people.delete(first.key, by="ana", why="test")
    assert names_collected(one, tmp_path) == 0
    one.people.delete("other", by="ana", why="test")
    assert names_collected(one, tmp_path) == 1


def test_many_partitions_are_looked_at(
    one: SourceCoordinator, listing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_coordination.outputs.lists.group_names._PAGE", 2)
    one.create_partitions([f"a{number}" for number in range(5)])
    one.run_supplier(listing)
    one.create_partitions([f"~z{number}" for number in range(5)])
    assert names_collected(one, tmp_path) == 0
    assert len(kept(tmp_path)) == 1


def test_what_is_not_this_source_s_or_no_file_of_names_stays(
    one: SourceCoordinator, listing: Any, tmp_path: Path
) -> None:
    """Another source, another store with a source of that name, and whatever a person has put there."""
    one.run_supplier(listing)
    digest = hashlib.sha256(b"x").hexdigest()
    mine = Path(names_directory(str(tmp_path / "out"), one.store.store_id, "flights|PARTITION"))
    assert [file.parent for file in kept(tmp_path)] == [mine]
    others = [
        Path(names_directory(str(tmp_path / "out"), one.store.store_id, "trains|PARTITION")) / f"{digest}.json",
        Path(names_directory(str(tmp_path / "out"), "another", "flights|PARTITION")) / f"{digest}.json",
        mine / "README.md",
        mine / "deeper" / f"{digest}.json",
        mine / f"{digest}.json.bak",
    ]
    for other in others:
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text("[]")
    assert names_collected(one, tmp_path) == 0
    assert all(other.exists() for other in others)
