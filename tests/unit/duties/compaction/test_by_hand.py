"""What people ask of compaction: one partition at once, and everything given up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from airflow_coordination.duties.compaction.by_hand import at_once, give_up
from airflow_coordination.duties.compaction.plan import State
from airflow_coordination.duties.compaction.planner import COMPACT
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs import OutputError
from airflow_coordination.outputs.enabling import enabling_of
from airflow_coordination.stores import open_store
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError
from airflow_coordination.values.names import DUTIES
from tests.unit.duties.compaction.made import config, planner, publish, work
from tests.upkeep import DATASET, SOURCE, Dataset

JANUARY = "e000001|clean|2013-01-01T00:00:00Z|0"


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    found = Dataset(open_store("memory://"), tmp_path)
    publish(found, "2013-01-03", "2013-01-04", "2013-02-01")
    planner(found).run([config()])
    work(found)
    return found


def covered(data: Dataset) -> list[str]:
    return [origin.key for overlay in data.overlays().row for origin in overlay.covers]


def test_rows_of_a_retracted_partition_are_gone_from_merged_files_at_once(data: Dataset) -> None:
    data.ingest().people.retract("2013-01-03", by="a test", why="erasure")
    assert "2013-01-03" in covered(data)
    [task] = at_once(planner(data), "2013-01-03", "ana")
    assert (task.key, task.state) == (JANUARY, State.RESET)
    assert work(data) == [JANUARY]
    assert covered(data) == ["2013-01-04", "2013-02-01"]
    assert data.rows() == Counter({"1": 2, "2": 2})
    [entry] = [each for each in data.groups().looking.actions(JANUARY) if each["action"] == "reset"]
    assert (entry["by"], entry["why"]) == ("ana", "asked for, because of '2013-01-03'")


def test_a_group_that_is_claimable_is_not_begun_again(data: Dataset) -> None:
    at_once(planner(data), "2013-01-03", "ana")
    [task] = at_once(planner(data), "2013-01-03", "ana")
    assert task.state is State.UNDER_WAY


def test_while_a_group_is_held_that_may_have_read_the_rows_nothing_begins(data: Dataset) -> None:
    at_once(planner(data), "2013-01-03", "ana")
    groups = data.groups()
    lease = groups.get_next_partition()
    data.ingest().people.retract("2013-01-03", by="a test", why="erasure")
    with pytest.raises(PartitionUpdateError, match=r"it is held by a test\. .*: repeat the command when it has ended"):
        at_once(planner(data), "2013-01-03", "ana")
    [task] = at_once(planner(data), "2013-02-01", "ana")  # another group is free
    assert task.state is State.RESET
    groups.complete(lease)
    [task] = at_once(planner(data), "2013-01-03", "ana")
    assert task.state is State.RESET
    work(data)
    assert covered(data) == ["2013-01-04", "2013-02-01"]


def test_what_is_not_merged_is_refused_by_name(data: Dataset) -> None:
    with pytest.raises(InvalidInputError, match=r"key='2014': has no rows in what is merged\."):
        at_once(planner(data), "2014", "ana")


def test_given_up_everything_is_as_before(data: Dataset) -> None:
    before = data.rows()
    looked = give_up(planner(data), DATASET, "ana", "not needed", dry_run=True)
    assert (len(looked.groups), looked.originals) == (2, 3)
    assert covered(data)
    assert give_up(planner(data), DATASET, "ana", "not needed") == looked
    assert covered(data) == []
    assert data.rows() == before
    assert data.groups().partitions() == []
    with pytest.raises(InvalidInputError, match="nothing has been planned yet"):
        planner(data).look()


def test_given_up_and_on_again(data: Dataset) -> None:
    give_up(planner(data), DATASET, "ana", "a test")
    assert len(planner(data).run([config()]).begun) == 2
    assert len(work(data)) == 2
    assert len(covered(data)) == 3


def test_where_an_original_is_gone_nothing_is_given_up(data: Dataset) -> None:
    [head] = data.heads(["2013-01-04"])
    [original] = Path(head.blocks[0].address.removeprefix("file://")).parent.glob("part-*")
    original.unlink()
    with pytest.raises(OutputError, match=r"'2013-01-04'.*part-.*is missing, so that its rows are in merged"):
        give_up(planner(data), DATASET, "ana", "a test")
    assert len(covered(data)) == 3


def test_while_somebody_works_on_a_group_nothing_is_given_up(data: Dataset) -> None:
    at_once(planner(data), "2013-01-03", "ana")
    data.groups().get_next_partition()
    with pytest.raises(PartitionUpdateError, match=r"it is held by a test\. Wait until it has ended, or release it"):
        give_up(planner(data), DATASET, "ana", "a test")
    assert len(covered(data)) == 3


def test_while_somebody_plans_nothing_is_given_up(data: Dataset) -> None:
    other = SourceCoordinator(data.store, DUTIES, "somebody else")
    other.acquire_partition(f"{COMPACT}|{SOURCE}")
    with pytest.raises(PartitionUpdateError, match=r"somebody else plans\. Try again soon"):
        give_up(planner(data), DATASET, "ana", "a test")


def test_once_originals_may_go_nothing_is_given_up(data: Dataset) -> None:
    """A collector that has read the overlays deletes originals, whatever becomes of those meanwhile."""
    enabling_of(data.store).enable_outputs()
    with pytest.raises(SettingsError, match=r"are enabled in this store.*say enabled=False"):
        give_up(planner(data), DATASET, "ana", "a test", dry_run=True)
    assert len(covered(data)) == 3
