"""``count_completed``: the rows that readers get, from manifests alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs import Attempt, OutputError
from airflow_coordination.spark import count_completed
from airflow_coordination.stores import open_store


def test_w6_without_a_publication_there_are_no_rows() -> None:
    assert count_completed(store=open_store("memory://"), source="s", dataset="d") == 0


def test_w6_text_that_nobody_has_counted_is_named_and_not_taken_for_no_rows(tmp_path: Path) -> None:
    coordinator = SourceCoordinator(open_store("memory://"), "s", "a test")
    coordinator.create_partitions(["k"])
    lease = coordinator.acquire_partition("k")
    assert lease is not None
    attempt = Attempt(str(tmp_path), lease.partition.source, "k", lease.fence, coordinator.store.store_id)
    opened = attempt.open("d")
    Path(opened.path).mkdir()
    (Path(opened.path) / "part-0.txt").write_text("a line\n")
    coordinator.complete(lease, [attempt.finish(opened, file_format="text")])
    with pytest.raises(OutputError, match=r"count the rows of dataset 'd' of partition 'k'.*has text files whose rows"):
        count_completed(store=coordinator.store, source="s", dataset="d")
