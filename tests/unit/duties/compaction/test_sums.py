"""The sums of chunks that a plan leaves in the store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from airflow_coordination.duties.compaction.by_hand import give_up
from airflow_coordination.duties.compaction.sums import sums
from airflow_coordination.planning.intervals import parse_moment
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.stores import open_store
from tests.unit.duties.compaction.made import config, planner, publish, work
from tests.upkeep import DATASET, Dataset


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    return Dataset(open_store("memory://"), tmp_path)


def kept(data: Dataset):
    return list(parts_of(data.store).chunks.chunks("flights|PARTITION"))


def states(data: Dataset, *, first: int = 3) -> list[tuple]:
    return [(str(one.chunk_start)[:7], one.state, one.heads, one.uncovered_heads)[: first + 1] for one in kept(data)]


def test_before_and_after_each_chunk_says_how_it_is(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-01-04", "2013-02-01", "odd")
    planner(data).run([config(skip_offset_from_latest="P1D")])
    assert states(data) == [
        ("2013-02", "left out", 1, 1),
        ("2013-01", "fresh", 2, 2),
        ("None", "left out", 1, 1),
    ]
    work(data)
    publish(data, "2013-01-05")
    planner(data).run([config()])
    assert states(data)[:2] == [("2013-02", "fresh", 1, 1), ("2013-01", "partly", 3, 1)]
    work(data)
    planner(data).run([config()])
    january = kept(data)[1]
    assert (january.state, january.rows, january.dead_rows, january.files_before, january.files_now) == (
        "merged",
        6,
        0,
        3,
        1,
    )
    assert (january.chunk_end, january.reason, january.epoch) == (parse_moment("m", "2013-02-01"), "nothing to do", 1)
    assert january.group_key == "e000001|clean|2013-01-01T00:00:00Z|0"


def test_what_is_open_in_any_way_is_one_chunk_with_all_its_rows(data: Dataset) -> None:
    publish(data, "2013-01-03", "9999-12-31", "odd", rows="12")
    publish(data, "open", rows="345", interval="../2013-01-01")
    planner(data).run([config()])
    assert [(one.chunk_start is None, one.heads, one.rows) for one in kept(data)] == [(False, 1, 2), (True, 3, 7)]
    totals = parts_of(data.store).chunks.chunk_totals("flights|PARTITION", DATASET)
    assert sum(each.rows for each in totals) == sum(data.rows().values())


def test_rows_that_nobody_reads_are_counted(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-01-04")
    planner(data).run([config()])
    work(data)
    data.ingest().people.retract("2013-01-03", by="a test", why="wrong")
    planner(data).run([config(dead_rows_percent=100)], full=True)
    [january] = kept(data)
    assert (january.state, january.rows, january.dead_rows, january.heads) == ("merged", 2, 2, 1)


class Counted(list):
    """A list that counts how often somebody goes through it."""

    walks = 0

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


def test_however_many_chunks_there_are_head_records_and_overlays_are_gone_through_once(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-01-04", "2013-02-01", "2013-03-01", "2013-04-01")
    planner(data).run([config()])
    work(data)
    one = planner(data)
    seen, made = one.snapshot([DATASET]), one.look()
    found = seen.datasets[DATASET]
    heads, overlays = Counted(found.heads), Counted(found.overlays.row)
    counted = replace(found, heads=heads, overlays=replace(found.overlays, row=overlays))
    overlays.walks = 0  # it was gone through when it was made
    chunks = list(sums(made, replace(seen, datasets={DATASET: counted})))
    assert sorted((chunk.state, chunk.heads) for chunk in chunks) == [("merged", 1)] * 3 + [("merged", 2)]
    assert (heads.walks, overlays.walks) == (1, 1)


def test_nothing_is_kept_of_what_is_given_up(data: Dataset) -> None:
    publish(data, "2013-01-03")
    planner(data).run([config()])
    work(data)
    give_up(planner(data), DATASET, "ana", "a test", dry_run=True)
    assert kept(data)
    give_up(planner(data), DATASET, "ana", "a test")
    assert kept(data) == []


def test_where_other_blocks_belong_together_the_sums_of_before_are_gone(data: Dataset) -> None:
    publish(data, "2013-01-03", "2013-01-04")
    planner(data).run([config()])
    planner(data).run([config(granularity="DAY")], full=True)
    row = [(one.dataset, str(one.chunk_start)[:10], one.heads) for one in kept(data)]
    assert row == [(DATASET, "2013-01-04", 1), (DATASET, "2013-01-03", 1)]
    [total] = parts_of(data.store).chunks.chunk_totals("flights|PARTITION", DATASET)
    assert total.heads == 2


def test_looking_keeps_nothing(data: Dataset) -> None:
    publish(data, "2013-01-03")
    planner(data).look([config()])
    assert kept(data) == []
