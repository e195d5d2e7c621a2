"""Promise S16 for names in files: older code never takes such a partition for an empty one, nor supplies its source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.sources import object_listing, object_paths
from airflow_coordination.stores import open_store
from tests.integration.upgrade.conftest import Starts
from tests.integration.upgrade.old_worker import OldCodeRefused

pytestmark = pytest.mark.slow

FILES = 150


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number:03}{'x' * 40}.json").touch()
    return folder


@pytest.fixture
def one(sqlite_url: str) -> SourceCoordinator:
    store = open_store(sqlite_url)
    store.setup()
    return SourceCoordinator(store, "flights", "me")


def listing(folder: Path, **more: Any) -> Any:
    return object_listing(folder, scan="once", max_objects=FILES, **more)


def test_s16_older_code_fails_on_names_in_a_file_and_does_not_read_nothing(
    one: SourceCoordinator, sqlite_url: str, viewless: Starts, folder: Path, tmp_path: Path
) -> None:
    """S16: it finds no names, and raises; what it would delete afterwards it refuses as well."""
    old = viewless(sqlite_url)
    one.run_supplier(listing(folder, output_root=tmp_path / "out"))
    [partition] = one.partitions()
    assert old.does("object_paths", partition.key) == "KeyError: 'names'"
    with pytest.raises(OldCodeRefused, match="names no object"):
        old.does("delete_objects", partition.key)
    assert len(object_paths(partition.payload)) == FILES


def test_s16_older_code_reads_names_in_payloads(
    one: SourceCoordinator, sqlite_url: str, viewless: Starts, folder: Path
) -> None:
    old = viewless(sqlite_url)
    one.run_supplier(listing(folder))
    for partition in one.partitions():
        assert old.does("object_paths", partition.key) == object_paths(partition.payload)


def test_s16_an_older_supplier_refuses_a_source_whose_names_may_be_in_files(
    one: SourceCoordinator, sqlite_url: str, viewless: Starts, folder: Path, tmp_path: Path
) -> None:
    """S16: it would take all objects in such files for new ones. Before that it goes on with the same options."""
    old = viewless(sqlite_url)
    one.run_supplier(listing(folder))
    assert old.does("list_objects", str(folder), FILES) == 0
    whole = SourceCoordinator(one.store, "other", "me")
    whole.run_supplier(listing(folder, output_root=tmp_path / "out"))
    with pytest.raises(OldCodeRefused, match="was scanned with other filters"):
        old.does("list_objects", str(folder), FILES, "other")
    whole.run_supplier(listing(folder))
    assert len(whole.partitions()) == 1
