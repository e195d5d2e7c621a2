"""A source whose blocks were merged and deleted moves with what was merged of it, or not at all."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import PartitionUpdateError, SettingsError, SourceCoordinator
from airflow_coordination.outputs import OutputError, collect
from airflow_coordination.outputs.enabling import enabling_of
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.stores import open_store
from airflow_coordination.transfer.exporting import export
from airflow_coordination.transfer.importing import import_, read_export
from tests.unit.outputs.test_keeping import filled
from tests.unit.outputs.test_overlays import compacted, published
from tests.upkeep import SOURCE, Dataset

BOTH = (merged_source(SOURCE), SOURCE)


@pytest.fixture
def here(tmp_path: Path) -> Dataset:
    """A compacted dataset, paused, whose originals are gone; what was added since is not merged."""
    here = Dataset(open_store("memory://"), tmp_path / "out")
    filled(here)
    compacted(here)
    enabling_of(here.store).enable_outputs()
    assert collected(here) == [0, 3]
    published(here, "a", "7", "append")
    for one in (here.ingest(), here.groups()):
        one.pausing.pause(by="ana", why="it moves")
    return here


@pytest.fixture
def there(tmp_path: Path, here: Dataset) -> Dataset:
    store = open_store(f"sqlite:///{tmp_path}/there.db")
    store.setup()
    return Dataset(store, here.root)


def collected(data: Dataset) -> list[int]:
    """Run the collector of a store on both sources, without a margin."""
    given: dict[str, Any] = {"older_than": timedelta(0), "dry_run": False, "keep_originals": False}
    return [collect(data.store, source, data.root, **given).blocks for source in BOTH]


def settle(there: Dataset, file: Path, source: str) -> None:
    import_(SourceCoordinator(there.store, source, "me"), read_export(file), "bob")


def test_it_moves_with_what_was_merged_of_it(here: Dataset, there: Dataset, tmp_path: Path) -> None:
    """S12, S21: the same rows; and neither collector takes what lies in directories of the other store."""
    merged, file = tmp_path / "merged.jsonl", tmp_path / "flights.jsonl"
    assert export(here.ingest(), file, merged=merged) == 3
    settle(there, merged, merged_source(SOURCE))
    settle(there, file, SOURCE)
    assert there.rows() == here.rows() == Counter("1234567")
    for one in (there.ingest(), there.groups()):
        one.pausing.resume(by="bob", why="moved")
    published(there, "b", "89", "append")
    compacted(there)
    assert there.rows() == Counter("123456789")
    assert collected(there) == [0, 1]
    assert collected(here) == [0, 0]
    assert (here.rows(), there.rows()) == (Counter("1234567"), Counter("123456789"))


def test_without_it_the_export_is_refused(here: Dataset, tmp_path: Path) -> None:
    with pytest.raises(PartitionUpdateError, match=r"merged them, and that would stay here\. Export both: .*--merged"):
        export(here.ingest(), tmp_path / "flights.jsonl")
    assert list(tmp_path.glob("*.jsonl*")) == []
    here.groups().pausing.resume(by="ana", why="not yet")
    with pytest.raises(PartitionUpdateError, match="is not paused"):
        export(here.ingest(), tmp_path / "flights.jsonl", merged=tmp_path / "merged.jsonl")


def test_one_file_without_the_other_is_none(here: Dataset, tmp_path: Path) -> None:
    here.ingest().pausing.resume(by="ana", why="not yet")
    merged = tmp_path / "merged.jsonl"
    with pytest.raises(PartitionUpdateError, match="is not paused"):
        export(here.ingest(), tmp_path / "flights.jsonl", merged=merged)
    assert list(tmp_path.glob("*.jsonl*")) == []
    merged.touch()
    with pytest.raises(SettingsError, match="is there already"):
        export(here.ingest(), tmp_path / "flights.jsonl", merged=merged)


def test_a_source_that_was_never_merged_moves_as_ever(tmp_path: Path) -> None:
    """Also where outputs are enabled; and where they are not, originals are there, and what was merged may stay."""
    data = Dataset(open_store("memory://"), tmp_path / "out")
    filled(data)
    data.ingest().pausing.pause(by="ana", why="it moves")
    enabling_of(data.store).enable_outputs()
    assert export(data.ingest(), tmp_path / "one.jsonl") == 3
    other = Dataset(open_store("memory://"), tmp_path / "other")
    filled(other)
    compacted(other)
    other.ingest().pausing.pause(by="ana", why="it moves")
    assert export(other.ingest(), tmp_path / "two.jsonl") == 3


def test_what_was_merged_alone_is_read_by_nobody(here: Dataset, there: Dataset, tmp_path: Path) -> None:
    """Whoever moves one file of the two is told so, and finds never fewer rows."""
    export(here.ingest(), tmp_path / "flights.jsonl", merged=tmp_path / "merged.jsonl")
    settle(there, tmp_path / "flights.jsonl", SOURCE)
    with pytest.raises(OutputError, match="is missing"):
        there.rows()


def test_a_source_with_too_long_a_name_to_be_merged_moves_alone(here: Dataset, tmp_path: Path) -> None:
    """Where what was merged may be all there is, nothing was merged of this one."""
    alone = SourceCoordinator(here.store, "s" * 242, "me")
    alone.create_partitions(["a", "b"])
    alone.pausing.pause(by="ana", why="it moves")
    assert enabling_of(here.store).outputs_enabled()
    assert export(alone, tmp_path / "alone.jsonl") == 2
