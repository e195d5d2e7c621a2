"""The collector takes the files of long notes that no ending has taken, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.duties import follow_ups
from airflow_coordination.leases import Lease, SourceCoordinator
from airflow_coordination.outputs import collect
from airflow_coordination.outputs.layout import partition_directory
from airflow_coordination.outputs.lists import long_notes
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.deletion import DeleteObjects

NOW = timedelta(0)


@pytest.fixture(params=["memory", "sqlite"])
def coordinator(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SourceCoordinator]:
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/c.db")
    store.setup()
    coordinator = SourceCoordinator(store, source="flights", owner="a test", max_failures=100)
    coordinator.create_partitions(["k", "other"])
    yield coordinator
    store.close()


def noted(lease: Lease, root: Path) -> tuple[str, Path]:
    """Write a note's file, as a driver does before it ends the tenure."""
    (root / "in").mkdir(exist_ok=True)
    objects = [root / "in" / f"{number:03}{'x' * 50}.json" for number in range(100)]
    for each in objects:
        each.touch()
    text = follow_ups.note_of(DeleteObjects(list(map(str, objects))), lease.partition, lease.fence, str(root / "out"))
    assert text is not None
    return text, Path(json.loads(text)["file"])


def acquired(coordinator: SourceCoordinator) -> Lease:
    lease = coordinator.acquire_partition("k")
    assert lease is not None
    return lease


def run(coordinator: SourceCoordinator, root: Path, **how: object):
    return collect(coordinator.store, "flights", root / "out", **{"older_than": NOW, "dry_run": False, **how})


def test_f6_the_file_of_an_ending_that_was_refused_goes(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    """F6: nobody ever heard of it, and it stayed for ever."""
    lease = acquired(coordinator)
    _, file = noted(lease, tmp_path)
    assert run(coordinator, tmp_path).lists == 0, "the tenure goes on"
    coordinator.people.release("k", by="ana", why="test")
    assert run(coordinator, tmp_path, dry_run=True).lists == 1
    assert run(coordinator, tmp_path, older_than=timedelta(hours=1)).lists == 0
    assert file.exists()
    assert run(coordinator, tmp_path).lists == 1
    assert not file.parent.exists()


def test_f6_a_file_that_an_open_note_names_stays(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    """F6: what it says is still to be done, whoever does it."""
    lease = acquired(coordinator)
    text, file = noted(lease, tmp_path)
    coordinator.complete(lease, then=text)
    assert run(coordinator, tmp_path).lists == 0
    assert file.exists()
    [note] = coordinator.follow_ups.follow_ups()
    coordinator.follow_ups.clear_follow_up(note)
    assert run(coordinator, tmp_path).lists == 1


@pytest.mark.parametrize(
    "name", ["1-0123456789abcdef01234567.json", "9-0123456789abcdef01234567.json", "x.json", "1-a.txt"]
)
def test_f6_what_this_store_did_not_give_stays(coordinator: SourceCoordinator, tmp_path: Path, name: str) -> None:
    """F6: another store's tenure, one of the future, or no note at all; and the partition of another source."""
    coordinator.fail(acquired(coordinator), "no", retry_after=NOW)
    for key in ("k", "unknown"):
        place = tmp_path / "out" / long_notes.LISTS / partition_directory("flights|PARTITION", key)
        place.mkdir(parents=True)
        (place / name).write_text("[]")
    found = run(coordinator, tmp_path, unmarked_are_own=True)
    assert found.lists == 0
    assert len(found.foreign) == (name[:2] == "1-" and name.endswith("json"))
    assert len(list((tmp_path / "out").rglob(name))) == 2


def test_f6_what_this_store_has_forgotten_is_named(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    """F6: a partition remembers eight tenures."""
    lease = acquired(coordinator)
    _, file = noted(lease, tmp_path)
    coordinator.fail(lease, "no", retry_after=NOW)
    for _ in range(9):
        coordinator.fail(acquired(coordinator), "no", retry_after=NOW)
    found = run(coordinator, tmp_path)
    assert (found.lists, found.unmarked) == (0, (str(file),))
    assert run(coordinator, tmp_path, unmarked_are_own=True).lists == 1


def test_f6_both_rooms_mean_one_directory() -> None:
    """F6: one writes there, the other cleans up."""
    assert long_notes.LISTS == follow_ups.LISTS
