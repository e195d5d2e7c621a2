"""The datasets of a source: what the planner's sums say of them, and what is said where there are none."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from airflow_coordination.duties.compaction.configured import set_compaction
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.protocol.beside.chunk_sums import ChunkState, ChunkSums
from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.protocol.remedies import AIRFLOW, command
from airflow_coordination.stores.sql.columns import PARTITIONS
from airflow_coordination.values.blocks import Block
from tests.integration.board.conftest import TEAM_DAG

JANUARY = datetime(2013, 1, 1, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def get(client, token):
    """Ask as a viewer of the team; return what is answered."""
    client.headers["Authorization"] = f"Bearer {token('viewer', ['ours'])}"
    here = {"store": "coordination_default", "source": "flights|PARTITION"}

    def answered(path, status=200, **given):
        answer = client.get(f"/api/v1/{path}", params={**here, **given})
        assert answer.status_code == status, answer.text
        return answer.json()

    return answered


def day(number, state, size, dataset="clean", **more):
    start = JANUARY + timedelta(days=number)
    return ChunkSums(
        dataset=dataset,
        chunk_start=start,
        chunk_end=start + timedelta(days=1),
        state=state,
        heads=10,
        rows=1_000,
        bytes_before=size,
        files_before=20,
        files_now=2 if state == ChunkState.MERGED else 20,
        bytes_now=size // 2 if state == ChunkState.MERGED else size,
        **more,
    )


SUMS = [
    day(0, ChunkState.MERGED, 600, merged_at=JANUARY + timedelta(days=9)),
    day(1, ChunkState.PARTLY, 200, uncovered_bytes=100, uncovered_heads=5, reason="dead rows: 23 %"),
    day(2, ChunkState.FRESH, 200, uncovered_bytes=200, reason="never compacted"),
    day(3, ChunkState.LEFT_OUT, 9_000, reason="over the limit: 9.0 of 3.6 KB"),
    ChunkSums(dataset="clean", state=ChunkState.LEFT_OUT, reason="unbounded interval"),
    day(0, ChunkState.FRESH, 1, dataset=HOSTILE, reason=HOSTILE),
]


def test_a_dataset_without_sums_says_what_plans(flights, get):
    lease = flights.get_next_partition()
    flights.complete(lease, blocks=[Block("clean", "/out/1", "d", rows=3, bytes=9)])
    found = get("datasets")
    assert (found["kept"], found["all_looked_at"], found["groups"]) == (True, True, [])
    assert [(one["dataset"], one["summed"], one["percent"]) for one in found["datasets"]] == [("clean", False, None)]
    plan = command("compaction plan", "flights", prefix=None, shell=AIRFLOW)
    assert found["planning"] == f"""{plan} --config '{{"dataset": "clean"}}'"""
    one = get("dataset", dataset="clean")
    assert (one["summary"]["summed"], one["chunks"], one["after"]) == (False, [], None)
    assert one["planning"] == found["planning"]
    assert one["typed"] == command("compaction status", "flights", prefix=None, shell=AIRFLOW)


def test_nothing_published_is_no_dataset(flights, get):
    assert get("datasets")["datasets"] == []
    assert get("dataset", dataset="none")["summary"]["summed"] is False


def test_what_is_known_of_a_dataset_is_added_up(flights, get):
    flights.looking.chunks.put(SUMS)
    hostile, clean = get("datasets")["datasets"]
    assert hostile["dataset"] == HOSTILE
    assert clean["chunks"] == {"fresh": 1, "left out": 2, "merged": 1, "partly": 1}
    assert {name: clean[name] for name in ("heads", "rows", "files_before", "files_now")} == {
        "heads": 40,
        "rows": 4_000,
        "files_before": 80,
        "files_now": 62,
    }
    assert (clean["bytes_before"], clean["bytes_now"], clean["percent"], clean["whole"]) == (10_000, 9_700, 70.0, True)
    assert clean["first"] == "2013-01-01T00:00:00Z"
    assert (clean["last"], clean["merged_at"]) == ("2013-01-05T00:00:00Z", "2013-01-10T00:00:00Z")
    assert (clean["left_bytes"], clean["left_chunks"]) == (300, 2)
    one = get("dataset", dataset="clean")
    assert one["summary"] == clean
    assert one["planning"] == command("compaction plan", "flights", prefix=None, shell=AIRFLOW)


def test_chunks_are_paged_the_newest_first_with_their_reasons(flights, get):
    flights.looking.chunks.put(SUMS)
    first = get("dataset", dataset="clean", limit=2)
    second = get("dataset", dataset="clean", limit=2, after=first["after"])
    last = get("dataset", dataset="clean", limit=2, after=second["after"])
    chunks = [*first["chunks"], *second["chunks"], *last["chunks"]]
    assert last["after"] is None
    assert [(one["start"] or "-")[:10] for one in chunks] == [
        "2013-01-04",
        "2013-01-03",
        "2013-01-02",
        "2013-01-01",
        "-",
    ]
    assert [one["state"] for one in chunks] == ["left out", "fresh", "partly", "merged", "left out"]
    assert [one["reason"] for one in chunks] == [SUMS[number].reason for number in (3, 2, 1, 0, 4)]
    assert chunks[-1]["rows"] is None
    assert chunks[0]["updated_at"] is not None
    [hostile] = get("dataset", dataset=HOSTILE)["chunks"]
    assert hostile["reason"] == HOSTILE


def test_groups_that_are_merged_now_are_named(flights, store, get):
    flights.looking.chunks.put(SUMS)
    groups = SourceCoordinator(store, merged_source("flights"), "host/upkeep/run/merge/0/1")
    payload = {"dataset": "clean", "chunk": "2013-01-02T00:00:00Z/2013-01-03T00:00:00Z", "part": 0}
    groups.create_partitions([PartitionIdentifier("e0001|clean|b|0", payload=payload), "without", "waits"])
    for key in ("e0001|clean|b|0", "without"):
        assert groups.acquire_partition(key)
    found = get("datasets")
    assert [(one["key"], one["dataset"]) for one in found["groups"]] == [
        ("e0001|clean|b|0", "clean"),
        ("without", None),
    ]
    assert [(one["dataset"], one["running"]) for one in found["datasets"]] == [(HOSTILE, 0), ("clean", 1)]
    [group] = get("dataset", dataset="clean")["groups"]
    assert (group["chunk"], group["expired"], group["task"]["task"]) == (payload["chunk"], False, "merge")
    assert get("dataset", dataset=HOSTILE)["groups"] == []


def test_a_group_that_is_corrupt_hides_no_other(flights, store, get):
    groups = SourceCoordinator(store, merged_source("flights"), "somebody")
    groups.create_partitions(["a", "b"])
    assert groups.acquire_partition("a")
    assert groups.acquire_partition("b")
    with store.database.setting_up() as connection:
        connection.exec_driver_sql(f"UPDATE {PARTITIONS} SET payload = '[' WHERE source_partition_key = 'a'")
    assert [(one["key"], one["dataset"]) for one in get("datasets")["groups"]] == [("a", None), ("b", None)]


def test_a_name_too_long_for_a_source_beside_it_has_no_groups(store, get):
    name = "f" * 240
    SourceCoordinator(store, name, "somebody").supplying.register(dag_id=TEAM_DAG)
    assert get("datasets", source=f"{name}|PARTITION")["groups"] == []


def test_what_is_no_dataset_and_no_place_is_refused(flights, get):
    assert "dataset" in get("dataset", 422, dataset="x" * 300)["detail"]
    get("dataset", 422, dataset="")
    get("dataset", 422, dataset="clean", after="\x00")
    get("dataset", 422, dataset="clean", limit=251)
    assert get("dataset", dataset="clean", after="no place")["chunks"] == []


def test_how_a_dataset_is_compacted_is_said_with_who_said_so_and_why(flights, get):
    assert get("dataset", dataset="clean")["settings"] is None
    set_compaction(flights, "clean", '{"skipOffsetFromLatest": "P14D"}', "joe", "late files")
    found = get("dataset", dataset="clean")
    said = found["settings"]
    assert (said["version"], said["author"], said["why"]) == (1, "joe", "late files")
    assert json.loads(said["content"])["skipOffsetFromLatest"] == "P14D"
    assert found["setting"] == "airflow coordination compaction set flights compaction.json --dataset clean --why '…'"
