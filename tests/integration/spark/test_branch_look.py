"""``branches diff``: one wrong row is named by its partition, whatever files, formats and columns both sides have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.duties.branches import showing
from airflow_coordination.duties.branches.look import BranchLook, Change, DatasetContents, KeyContents
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs import OutputError
from airflow_coordination.outputs.enabling import enabling_of
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.protocol.beside.documents import VIEW
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import Complete, drain, read_completed
from airflow_coordination.spark.branch_look import look_at
from airflow_coordination.spark.upkeep import compact
from airflow_coordination.stores import open_store
from tests.branches import begun, shown
from tests.integration.spark.test_upkeep import forget_originals, planned

DAYS = [f"2013-01-{day:02}" for day in range(1, 5)]
Publish = Callable[..., None]


@pytest.fixture
def store() -> PartitionStore:
    return open_store("memory://")


@pytest.fixture
def c(store: PartitionStore) -> SourceCoordinator:
    c = SourceCoordinator(store, "s", "a test")
    c.create_partitions(DAYS)
    return c


@pytest.fixture
def publish(spark, store: PartitionStore, output_root: str) -> Publish:
    """Let what is claimable publish a frame for its key: of a function of it, or the same for all."""

    def publish(frame: Any, mode: str = "replace", write: Any = None, **how: Any) -> None:
        def main(spark, lease):
            with lease.publish("d", mode, **how) as block:
                rows = frame(lease.partition.key) if callable(frame) else frame
                (write or (lambda rows, block: rows.write.parquet(block.path)))(rows, block)
            return Complete()

        drained = drain(main, store=store, source="s", spark=spark, output_root=output_root, max_leases=None)
        assert (drained.completed > 0, drained.errors) == (True, ())

    return publish


def contents(spark, c: SourceCoordinator, number: int) -> DatasetContents:
    [found] = look_at(c, number).contents(spark)
    return found


def different(spark, c: SourceCoordinator, number: int) -> list[str]:
    return [each.key for each in contents(spark, c, number).different]


def rows(spark) -> Any:
    """All types that Spark has of its own, nulls and maps among them; of each key other values."""
    text = """
        select id, '{0}' as day, cast(id as decimal(20, 3)) as d, float(id) / 3 as f, array(id, null) as a,
               map('k', id, 'n', null) as m, named_struct('x', id, 'y', cast(null as string)) as s,
               timestamp'2013-01-01 12:00:00' as at, if(id = 1, null, 'x') as t, binary('b') as b from range(5)
    """
    return lambda key: spark.sql(text.format(key))


def test_one_wrong_row_in_one_partition_is_named(spark, c, publish) -> None:
    """The same rows in other files and another order are the same."""
    publish(lambda key: rows(spark)(key).repartition(3))
    branch = begun(c, DAYS)
    wrong = "named_struct('x', s.x, 'y', if(id = 3, '', s.y)) as s"
    publish(
        lambda key: (
            rows(spark)(key)
            .selectExpr("id", "day", "d", "f", "a", "m", wrong if key == DAYS[2] else "s", "at", "t", "b")
            .orderBy("id", ascending=False)
        )
    )
    found = contents(spark, c, branch)
    assert [each.key for each in found.keys] == DAYS
    assert found.different == (KeyContents(key=DAYS[2], dataset="d", rows_before=5, rows_after=5, same=False),)
    assert (found.only_before, found.only_after, found.retyped) == ((), (), {})


def test_one_wrong_value_of_any_type_is_a_wrong_row(spark, c, publish) -> None:
    """In each partition another one, but in one."""
    wrong = {
        DAYS[0]: "map('k', id, 'n', if(id = 3, 7, null)) as m",
        DAYS[1]: "if(id = 3, array(null, id), a) as a",
        DAYS[2]: "if(id = 1, '', t) as t",
    }
    publish(rows(spark))
    branch = begun(c, DAYS)

    def changed(key: str) -> Any:
        good = rows(spark)(key)
        names = [wrong[key] if key in wrong and wrong[key].endswith(f" as {name}") else name for name in good.columns]
        return good.selectExpr(*names)

    publish(changed)
    assert different(spark, c, branch) == DAYS[:3]


def test_a_row_twice_and_one_less_are_others(spark, c, publish) -> None:
    publish(lambda key: spark.sql("select 1 as id union all select 2"))
    branch = begun(c, DAYS)
    made = {
        DAYS[0]: "select 1 as id union all select 1",
        DAYS[1]: "select 2 as id",
        DAYS[2]: "select 1 as id union all select 2 union all select 2",
    }
    publish(lambda key: spark.sql(made.get(key, "select 2 as id union all select 1")))
    assert different(spark, c, branch) == DAYS[:3]
    assert [(each.rows_before, each.rows_after) for each in contents(spark, c, branch).keys] == [
        (2, 2),
        (2, 1),
        (2, 3),
        (2, 2),
    ]


def test_formats_and_partition_columns_are_of_no_matter(spark, c, publish) -> None:
    def frame(key: str) -> Any:
        return spark.sql(f"select id, concat('0', id) as n, date'{key}' as at from range(3)")

    schema = frame(DAYS[0]).schema
    publish(frame)
    branch = begun(c, DAYS)
    publish(frame, write=lambda f, b: f.write.partitionBy("n", "at").parquet(b.path), schema=schema)
    assert different(spark, c, branch) == []
    second = begun(c, DAYS)
    publish(frame, write=lambda f, b: f.write.options(**b.options).csv(b.path), format="csv", schema=schema)
    assert different(spark, c, second) == []
    third = begun(c, DAYS)
    publish(frame, write=lambda f, b: f.write.json(b.path), format="json")
    found = contents(spark, c, third)
    assert found.retyped == {"at": ("date", "string")}
    assert found.different == ()


def test_columns_of_one_side_are_named_and_the_others_compared(spark, c, publish) -> None:
    publish(lambda key: spark.sql("select 1 as id, 2 as Old, 3 as n, cast(null as void) as v"))
    branch = begun(c, DAYS)
    publish(
        lambda key: spark.sql(f"select {1 if key != DAYS[3] else 9}L as ID, 5 as new, 3 as n, null as v"),
        allow_lossy=True,
    )
    found = contents(spark, c, branch)
    assert (found.only_before, found.only_after, found.retyped) == (("Old",), ("new",), {"ID": ("int", "bigint")})
    assert [each.key for each in found.different] == [DAYS[3]]


def test_what_the_base_has_merged_and_what_was_appended_to_it_are_read(spark, store, c, publish, output_root) -> None:
    """Overlays underneath, chains above them, and the originals gone."""
    publish(lambda key: spark.sql(f"select 1 as id, '{key}' as day"))
    planned(store)
    assert drain(compact, store=store, source=merged_source("s"), spark=spark, output_root=output_root).completed == 1
    for key in DAYS[:2]:
        c.people.reset(key, by="a test", why="more")
    publish(lambda key: spark.sql(f"select 2 as id, '{key}' as day"), "append")
    forget_originals(store)
    branch = begun(c, DAYS)
    good = "select 1 as id, '{0}' as day union all select 2, '{0}'"
    made = {
        DAYS[0]: good,
        DAYS[1]: good,
        DAYS[2]: "select 1 as id, '{0}' as day",
        DAYS[3]: "select 3 as id, '{0}' as day",
    }
    publish(lambda key: spark.sql(made[key].format(key)))
    found = contents(spark, c, branch)
    assert [(each.key, each.rows_before, each.rows_after) for each in found.different] == [(DAYS[3], 1, 1)]
    assert [each.rows_before for each in found.keys] == [2, 2, 1, 1]


def test_a_chain_in_the_branch_is_compared_whole(spark, c, publish) -> None:
    publish(lambda key: spark.sql("select 1 as id union all select 2"))
    branch = begun(c, DAYS[:1])

    def twice(spark, lease):
        with lease.publish("d", "append") as block:
            spark.sql("select 1 as id").write.parquet(block.path)
        with lease.publish("d", "append") as block:
            spark.sql("select 2 as id").write.parquet(block.path)
        return Complete()

    assert drain(twice, store=c.store, source="s", spark=spark, output_root=str(_root(c))).completed == 1
    assert different(spark, c, branch) == []


def test_files_that_are_gone_are_an_error_and_no_difference(spark, c, publish) -> None:
    publish(lambda key: spark.sql("select 1 as id"))
    branch = begun(c, DAYS)
    publish(lambda key: spark.sql("select 1 as id"))
    [head] = c.store.heads("s|PARTITION", f"~{branch}~d", DAYS[0])
    [file] = Path(head.blocks[0].address.removeprefix("file://")).parent.glob("*.parquet")
    file.unlink()
    with pytest.raises(OutputError, match="is missing"):
        look_at(c, branch).contents(spark)


def test_rows_that_are_read_for_no_partition_are_refused(spark, c, publish, monkeypatch) -> None:
    """Otherwise both sides would lack them, and be the same."""
    publish(lambda key: spark.sql("select 1 as id"))
    branch = begun(c, DAYS)
    publish(lambda key: spark.sql("select 2 as id"))
    monkeypatch.setattr("airflow_coordination.spark.file_scans._PLACE", "/nowhere/(x)/")
    with pytest.raises(OutputError, match=r"checksum differs: 0 row\(s\) were read, and 1 were published"):
        look_at(c, branch).contents(spark)


def test_a_look_sees_what_readers_of_the_branch_see(spark, store, c, publish) -> None:
    """``read_completed(branch=)`` is exactly what publication shows, and the look counts its rows."""
    publish(lambda key: spark.sql(f"select 1 as id, '{key}' as day"))
    c.create_partitions(["other"])
    publish(lambda key: spark.sql("select 7 as id, 'other' as day"))
    branch = begun(c, DAYS[:3])
    made = {DAYS[0]: "select 5 as id, '{0}' as day union all select 6, '{0}'", DAYS[1]: "select 1 as id, '{0}' as day"}
    publish(lambda key: spark.sql(made.get(key, "select 9 as id, '{0}' as day").format(key)))
    look = look_at(c, branch)
    read = {"store": store, "source": "s", "dataset": "d"}
    promised = sorted(map(tuple, read_completed(spark, **read, branch=branch).collect()))
    before = sorted(map(tuple, read_completed(spark, **read).collect()))
    assert len(promised) - len(before) == look.rows_after - look.rows_before == 1
    shown(c, branch)
    assert sorted(map(tuple, read_completed(spark, **read).collect())) == promised
    assert look_at(c, branch).contents(spark) == look.contents(spark)
    assert {each.change for each in look.keys} == {Change.CHANGED}


def test_a_check_that_raises_leaves_everything_as_it_was(spark, store, c, publish) -> None:
    """One that reads the branch sees exactly what readers see afterwards."""
    enabling_of(store).enable_branches()
    publish(lambda key: spark.sql(f"select 1 as id, '{key}' as day"))
    number = begun(c, DAYS[:2])
    publish(lambda key: spark.sql(f"select {9 if key == DAYS[1] else 1} as id, '{key}' as day"))
    read = {"store": store, "source": "s", "dataset": "d"}
    promised: list[Any] = []

    def check(look: BranchLook) -> None:
        promised[:] = sorted(map(tuple, read_completed(spark, **read, branch=number).collect()))
        [dataset] = look.contents(spark)
        wrong = [each.key for each in dataset.different if each.key not in allowed]
        if wrong:
            raise ValueError(f"other rows in {wrong}")

    def everything() -> tuple[Any, ...]:
        return c.documents.newest(VIEW), list(store.heads("s|PARTITION")), list(c.partitions())

    before, allowed = everything(), set()
    seen = sorted(map(tuple, read_completed(spark, **read).collect()))
    with pytest.raises(ValueError, match=DAYS[1]):
        showing.publish(c, number, "ana", "it is right", check=check, look=look_at)
    assert everything() == before
    assert sorted(map(tuple, read_completed(spark, **read).collect())) == seen
    allowed = {DAYS[1]}
    showing.publish(c, number, "ana", "it is right", check=check, look=look_at)
    assert sorted(map(tuple, read_completed(spark, **read).collect())) == promised != seen


def _root(c: SourceCoordinator) -> Path:
    [head, *_] = c.store.heads("s|PARTITION")
    return Path(head.blocks[0].address.removeprefix("file://").partition("/_attempts/")[0])
