"""Promise S16 for what is compacted: older code works beside it, until a person keeps it out."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.outputs import collect
from airflow_coordination.outputs.enabling import enabling_of
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.stores import open_store
from tests.integration.upgrade.conftest import Starts
from tests.integration.upgrade.old_worker import Old, OldCodeRefused
from tests.unit.outputs.test_overlays import compacted, published
from tests.upkeep import SOURCE, Dataset

pytestmark = pytest.mark.slow

NOW = timedelta(0)


@pytest.fixture
def data(url: str, before: Starts, tmp_path: Path) -> Dataset:
    """A dataset in a store that the version before has set up, migrated."""
    before(url).does("setup")
    open_store(url).setup()
    return Dataset(open_store(url), tmp_path / "out")


@pytest.fixture
def old(data: Dataset, url: str, before: Starts) -> Old:
    """A worker of the version before on the same store."""
    return before(url)


def publishes(data: Dataset, old: Old, key: str, rows: str, mode: str = "replace") -> None:
    """Let the version before publish."""
    if data.ingest().create_partitions([key]).existing:
        data.ingest().people.reset(key, by="a test", why="again")
    old.does("publish", str(data.root), key, list(rows), mode)


def both_read(data: Dataset, old: Old, rows: str) -> None:
    assert old.does("rows") == sorted(data.rows().elements()) == sorted(rows)


def collected(data: Dataset, source: str = SOURCE) -> int:
    found = collect(data.store, source, data.root, older_than=NOW, dry_run=False)
    assert found.errors == ()
    return found.blocks


def test_s16_the_version_before_works_on_what_is_compacted(data: Dataset, old: Old) -> None:
    """S21: it reads and publishes the same rows, and its collector takes what is replaced, and nothing else."""
    published(data, "a", "12")
    published(data, "b", "34")
    publishes(data, old, "c", "56")
    publishes(data, old, "b", "7", "append")
    compacted(data)
    both_read(data, old, "1234567")
    publishes(data, old, "a", "8", "append")
    publishes(data, old, "c", "9")
    both_read(data, old, "1234789")
    assert old.does("collect", str(data.root), SOURCE) == 1
    assert old.does("collect", str(data.root), merged_source(SOURCE)) == 0
    assert collected(data) == 0
    both_read(data, old, "1234789")
    compacted(data)
    assert old.does("collect", str(data.root), SOURCE) == 0
    assert collected(data, merged_source(SOURCE)) == 1
    both_read(data, old, "1234789")


def test_s16_once_outputs_are_enabled_older_code_refuses_at_its_start(
    data: Dataset, old: Old, url: str, before: Starts
) -> None:
    """What runs already looks no more: the command that enables them says so."""
    published(data, "a", "12")
    compacted(data)
    enabling = enabling_of(data.store)
    assert not enabling.outputs_enabled()
    both_read(data, old, "12")
    for _ in range(2):
        enabling.enable_outputs()
        assert enabling.outputs_enabled()
    late = before(url)
    for call in (("rows",), ("collect", str(data.root), SOURCE), ("create", "z"), ("setup",)):
        with pytest.raises(OldCodeRefused, match=r"SchemaVersionError.* is too new for this code.*Upgrade airflow-coo"):
            late.does(*call)
    assert old.does("rows") == ["1", "2"]
    assert collected(data) == 1
    assert sorted(data.rows()) == ["1", "2"]
    open_store(url).setup()
    assert enabling.outputs_enabled()
    assert open_store(url).store_id == data.store.store_id
