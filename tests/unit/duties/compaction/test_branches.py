"""Compaction beside branches: what a branch hides is kept for a roll back, and its chunks are left while it runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_coordination.duties.branches.emptying import publish_nothing
from airflow_coordination.duties.compaction.revoking import release_groups
from airflow_coordination.leases.viewing.branches import as_retired
from airflow_coordination.outputs import collect
from airflow_coordination.outputs.heads.showing import read_view
from airflow_coordination.planning.intervals import Interval, interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.writes import Act, Action
from airflow_coordination.stores import open_store
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import EPOCH
from tests.unit.duties.compaction.made import config, planner, publish, work
from tests.upkeep import SOURCE, Dataset

JANUARY = "e000001|clean|2013-01-01T00:00:00Z|0"
MONTH = interval_of("interval", "2013-01/P1M")


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    return Dataset(open_store("memory://"), tmp_path)


def change(data: Dataset, step) -> None:
    data.ingest().documents.change_view(step, "a test", "why")


def begin(data: Dataset, *keys: str, interval: Interval | None = MONTH) -> int:
    number = read_view(data.store, f"{SOURCE}|PARTITION").next_number
    change(data, lambda view: changing.begun(view, {"keys": list(keys)}, interval, "a test", "why", EPOCH)[0])
    for key in keys:
        into(data, key, number)
    change(data, lambda view: changing.complete(view, number, len(keys), None))
    return number


def into(data: Dataset, key: str, branch: int) -> None:
    ingest = data.ingest()
    act = Act(
        source=f"{SOURCE}|PARTITION",
        key=key,
        op=f"reset-{key}-{branch}",
        action=Action.RESET,
        seen=ingest.partition(key),
        by="a test",
        why="why",
        branch=branch,
    )
    assert data.store.act(act).applied


def in_branch(data: Dataset, key: str, *rows: str) -> None:
    lease = data.ingest().acquire_partition(key)
    data.ingest().complete(lease, [replace(data.block(lease, rows), rows=len(rows))])


def merge(data: Dataset) -> list[str]:
    planner(data).run([config()])
    return work(data)


def delete(data: Dataset) -> int:
    data.store.enable_branches()
    found = collect(data.store, SOURCE, str(data.root), older_than=EPOCH - EPOCH, dry_run=False)
    assert found.errors == ()
    return found.blocks


def test_s22_what_a_branch_hides_is_merged_with_it_and_comes_back_by_a_roll_back(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-01-04", rows="12")
    number = begin(data, "2013-01-03")
    in_branch(data, "2013-01-03", "new")
    assert data.rows() == Counter({"1": 2, "2": 2})
    change(data, lambda view: changing.published(view, number, EPOCH))
    assert data.rows() == Counter({"1": 1, "2": 1, "new": 1})
    assert merge(data) == [JANUARY]
    assert data.rows() == Counter({"1": 1, "2": 1, "new": 1})
    assert delete(data) == 3, "the originals of the base, and that of the branch"
    assert data.rows() == Counter({"1": 1, "2": 1, "new": 1})
    publish(data, "2013-01-05", rows="5")
    assert merge(data) == [JANUARY]
    change(data, lambda view: changing.rolled_back(view, number, EPOCH))
    assert data.rows() == Counter({"1": 2, "2": 2, "5": 1})
    publish(data, "2013-01-06", rows="6")
    assert merge(data) == [JANUARY]
    assert data.rows() == Counter({"1": 2, "2": 2, "5": 1, "6": 1})


def test_chunks_of_a_branch_that_runs_are_left_until_it_shows(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-02-03")
    number = begin(data, "2013-01-03")
    [february] = planner(data).run([config()]).begun
    assert february.startswith("e000001|clean|2013-02")
    [left] = planner(data).look([config()]).found.left
    assert str(left) == "locked: by branch 1"
    work(data)
    in_branch(data, "2013-01-03", "new")
    change(data, lambda view: changing.published(view, number, EPOCH))
    assert merge(data) == [JANUARY], "although nothing was published since"


def test_a_branch_takes_the_groups_of_its_chunks_from_their_workers(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-02-03")
    planner(data).run([config()])
    held = [data.groups().get_next_partition() for _ in range(2)]
    assert release_groups(data.ingest(), MONTH, 7, "ana") == [JANUARY]
    states = {lease.key: data.groups().partition(lease.key).status for lease in held}
    assert states.pop(JANUARY) is PartitionStatus.UNASSIGNED
    assert set(states.values()) == {PartitionStatus.ASSIGNED}
    [line] = data.store.audit("~merged/flights|PARTITION", JANUARY)
    assert (line["by"], line["why"]) == ("ana", "revoked by branch 7")
    assert release_groups(data.ingest(), None, 8, "ana") == []


def test_a_group_that_waits_for_a_branch_takes_no_slot(data: Dataset) -> None:
    publish(data, "2013-01-03")
    assert planner(data).run([config()]).begun == (JANUARY,)
    publish(data, "2013-02-03")
    begin(data, "2013-01-03")
    made = planner(data, slots=1).look([config()])
    assert (made.available, len(made.begins)) == (1, 1)


def chunk_sums(data: Dataset) -> tuple:
    """Return what the board shows of January after a plan."""
    planner(data).run([config()])
    [one] = parts_of(data.store).chunks.chunks("flights|PARTITION")
    return one.state, one.heads, one.uncovered_heads, one.rows, one.dead_rows


def test_sums_of_chunks_are_of_what_shows(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-01-04", rows="12")
    number = begin(data, "2013-01-03", interval=None)
    in_branch(data, "2013-01-03", "new")
    assert sum(data.rows().values()) == 4
    assert chunk_sums(data) == ("fresh", 2, 2, 4, 0), "not those that lie aside, too"
    change(data, lambda view: changing.published(view, number, EPOCH))
    work(data)
    assert sum(data.rows().values()) == 3
    publish(data, "2013-01-05", rows="5")
    assert chunk_sums(data) == ("partly", 3, 1, 4, 0), "rows that are hidden are dead to no overlay: they may come back"
    change(data, lambda view: changing.rolled_back(view, number, EPOCH))
    publish(data, "2013-01-06", rows="6")
    assert chunk_sums(data) == ("partly", 4, 2, 6, 0)
    assert sum(data.rows().values()) == 6


def test_what_only_a_branch_has_counts_when_it_shows(data: Dataset) -> None:
    number = begin(data, interval=None)
    data.ingest().create_partitions(["2013-01-03"])
    into(data, "2013-01-03", number)
    in_branch(data, "2013-01-03", "new")
    assert chunk_sums(data) == ("fresh", 0, 0, 0, 0)
    [head] = data.heads()
    assert (head.rows, head.bytes, len(head.blocks)) == (0, 0, 1)
    [task] = planner(data).look([config()]).tasks
    assert task.bytes == head.blocks[0].bytes > 0, "it is planned with all the same"
    change(data, lambda view: changing.published(view, number, EPOCH))
    publish(data, "2013-01-04", rows="1")
    assert chunk_sums(data) == ("fresh", 2, 2, 2, 0)


def test_what_was_retired_in_a_branch_counts_no_more(data: Dataset) -> None:
    """Its head record there is of no block; what it has in the base is kept, and merged, for a roll back."""
    publish(data, "2013-01-03", "2013-01-04", rows="12")
    number = begin(data, "2013-01-03", interval=None)
    publish_nothing(data.ingest(), "2013-01-03", number, "a test", "retired", as_retired(number))
    assert chunk_sums(data) == ("fresh", 2, 2, 4, 0)
    change(data, lambda view: changing.published(view, number, EPOCH))
    publish(data, "2013-01-05", rows="5")
    assert chunk_sums(data) == ("fresh", 2, 2, 3, 0)
    assert sum(data.rows().values()) == 3
    [task] = planner(data).look([config()]).tasks
    assert task.heads == 3
