"""A source moves, and the names of its groups stay where they are: in both stores the same file, needed by both."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.leases import Checkpoint, SourceCoordinator
from airflow_coordination.outputs import collect
from airflow_coordination.sources import object_listing, object_paths
from airflow_coordination.stores import open_store
from airflow_coordination.transfer.exporting import export
from airflow_coordination.transfer.importing import import_, read_export

FILES = 150


def test_an_imported_partition_finds_its_names_and_no_collector_takes_them(tmp_path: Path) -> None:
    """S12: what is created and what is only planned, with its file."""
    (tmp_path / "in").mkdir()
    paths = [tmp_path / "in" / f"{number:03}{'x' * 40}.json" for number in range(2 * FILES)]
    for path in paths:
        path.touch()
    listing = object_listing(tmp_path / "in", scan="once", max_objects=FILES, output_root=tmp_path / "out")
    old, new = open_store("memory://"), open_store(f"sqlite:///{tmp_path}/new.db")
    new.setup()
    here, there = SourceCoordinator(old, "flights", "me"), SourceCoordinator(new, "flights", "me")

    class Interrupted(Exception):
        """Ends the supplier when one of its two partitions is created, and both are planned."""

    class HalfWay:
        def supply(self, state, view):
            created = 0
            for item in listing.supply(state, view):
                created += not isinstance(item, Checkpoint)
                if created == 2:
                    raise Interrupted
                yield item
                if created == 1:
                    here.create_partitions([item])

    with pytest.raises(Interrupted):
        here.run_supplier(HalfWay())
    assert len(here.partitions()) == 1
    here.pausing.pause(by="ana", why="it moves")
    export(here, tmp_path / "flights.jsonl")
    import_(there, read_export(tmp_path / "flights.jsonl"), by="ana")
    there.pausing.resume(by="ana", why="moved")
    there.run_supplier(listing)
    found = [path for each in there.partitions() for path in object_paths(each.payload)]
    assert found == [str(path) for path in paths]
    for store in (old, new):
        assert collect(store, "flights", tmp_path / "out", older_than=timedelta(0), dry_run=False).names == 0
    assert found == [path for each in there.partitions() for path in object_paths(each.payload)]
