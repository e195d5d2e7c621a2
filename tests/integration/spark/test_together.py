"""One Spark job for many leases: each has its own rows, its own block and its own ending."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import functions as fn

from airflow_coordination.leases import PartitionStatus, Settings, SourceCoordinator
from airflow_coordination.outputs import collect
from airflow_coordination.sources import object_listing
from airflow_coordination.spark import Complete, Drained, count_completed, drain, read_completed
from airflow_coordination.spark.together import writing
from tests.integration.spark.drivers import Task, eventually

SCHEMA = "id long, name string"
NAMES = ("a.csv", "b c.csv", "d%20+e.csv", "ä=&;,!'(.csv", "e{x}[1].csv")
"""As they may be in a bucket; a comma or a plus is another character in a URL, or in a pattern."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of files, each with as many rows as its place says."""
    folder = tmp_path / "in put"
    folder.mkdir()
    for number, name in enumerate(NAMES):
        lines = (f'{number * 10 + line},"{name}"' for line in range(number))
        (folder / name).write_text("id,name\n" + "".join(f"{line}\n" for line in lines))
    return folder


@pytest.fixture
def listed(store, files: Path) -> SourceCoordinator:
    coordinator = SourceCoordinator(store, source="files", owner="a person")
    coordinator.run_supplier(object_listing(str(files), scan="once", lateness=timedelta(0)))
    return coordinator


@pytest.fixture
def run(spark, store, output_root) -> Callable[..., Drained]:
    def run(main, source: str, together: int = 200, **more: object) -> Drained:
        more = {"max_leases": None, "settings": Settings(retry_delay=timedelta(hours=1))} | more
        given = {"store": store, "source": source, "spark": spark, "output_root": output_root}
        return drain(main, together=together, **given, **more)

    return run


def keyed(coordinator: SourceCoordinator, keys: str) -> SourceCoordinator:
    coordinator.create_partitions(list(keys))
    return coordinator


@pytest.fixture
def days(store) -> SourceCoordinator:
    return keyed(SourceCoordinator(store, source="days", owner="a person"), "abcde")


def rows_of(spark, keys: str, number: int = 3):
    return spark.createDataFrame([(key, each) for key in keys for each in range(number)], "key string, id long")


def published(spark, store, source: str, dataset: str) -> Counter[str]:
    frame = read_completed(spark, store=store, source=source, dataset=dataset, schema="key string, id long")
    return Counter(row.key for row in frame.collect())


def reading(spark, leases):
    rows = spark.read.schema(SCHEMA).csv(leases.paths, header=True)
    keyed = leases.with_keys(rows, "of")
    assert leases.publish("clean", keyed, by="of") == {key: NAMES.index(key.split("|")[-1]) for key in leases}
    return Complete()


def test_files_are_read_and_written_by_one_job_and_each_has_its_rows(run, listed, spark, store) -> None:
    done = run(reading, "files")
    assert (done.completed, done.errors, len(listed.partitions())) == (5, (), 5)
    read = read_completed(spark, store=store, source="files", dataset="clean").collect()
    assert Counter((row.name, row.of.split("|")[-1]) for row in read) == {
        (name, name): number for number, name in enumerate(NAMES) if number
    }
    assert sorted(row.id for row in read) == sorted(n * 10 + line for n in range(5) for line in range(n))
    assert count_completed(store=store, source="files", dataset="clean") == 10


def test_each_block_lies_where_its_own_tenure_would_have_written_it(run, days, spark, store, output_root) -> None:
    def main(spark, leases):
        leases.publish("rows", rows_of(spark, "abcd"), by="key")
        return Complete()

    assert run(main, "days").completed == 5
    heads = store.heads("days|PARTITION", "rows")
    assert [(head.key, sum(block.rows for block in head.blocks)) for head in heads] == [
        *((key, 3) for key in "abcd"),
        ("e", 0),
    ]
    for head in heads:
        fence = days.partition(head.key).endings[-1].fence
        assert all(f"/_attempt={fence}-" in block.address for block in head.blocks)
    left = sorted(path.relative_to(output_root).parts[1] for path in Path(output_root).rglob("*.parquet"))
    assert len(left) == len(set(left)) == 4
    assert not list(Path(output_root).rglob("_lease=*"))
    assert collect(store, "days", output_root, older_than=timedelta(0)).blocks == 0


def test_one_job_writes_for_all(run, days, spark) -> None:
    """One that Spark counts: nothing is read once more, neither to count nor to look for rows of others."""
    groups = []
    context = spark.sparkContext

    def main(spark, leases):
        rows = spark.range(20).selectExpr("substring('abcde', 1 + id % 5, 1) as key", "id")
        leases.publish("rows", rows, by="key")
        groups.append(context.getLocalProperty("spark.jobGroup.id"))
        return Complete()

    assert run(main, "days").completed == 5
    assert len(context.statusTracker().getJobIdsForGroup(groups[0])) == 1


def test_what_the_next_pass_does_not_have_is_gone_from_what_readers_see(run, days, spark, store) -> None:
    def main(spark, leases):
        leases.publish("rows", rows_of(spark, keys), by=fn.col("key"))
        return Complete()

    keys = "abcde"
    assert run(main, "days").completed == 5
    for key in "ab":
        days.people.reset(key, by="ana", why="again")
    keys = "a"
    assert run(main, "days").completed == 2
    assert published(spark, store, "days", "rows") == {"a": 3, "c": 3, "d": 3, "e": 3}


def test_one_fails_alone_and_its_rows_are_left_out(run, days, spark, store) -> None:
    def main(spark, leases):
        leases.fail("b", "no header")
        assert "b" not in leases.publish("rows", rows_of(spark, "abcde"), by="key")
        leases.fail("c", "its sum is wrong")  # after its block is written, too
        return Complete()

    done = run(main, "days")
    assert (done.completed, done.failed) == (3, 2)
    assert dict(done.errors) == {"b": "RuntimeError: no header", "c": "RuntimeError: its sum is wrong"}
    assert published(spark, store, "days", "rows") == {"a": 3, "d": 3, "e": 3}


def test_a_bad_file_fails_alone_though_the_job_is_one(run, days, spark, store) -> None:
    def main(spark, leases):
        rows = rows_of(spark, "".join(leases))
        checked = rows.withColumn("id", fn.expr("if(key = 'd' and id = 1, raise_error('bad row'), id)").cast("long"))
        leases.publish("rows", checked, by="key")
        return Complete()

    done = run(main, "days")
    assert (done.completed, done.failed) == (4, 1)
    [(key, message)] = done.errors
    assert (key, "bad row" in message) == ("d", True)
    assert published(spark, store, "days", "rows") == dict.fromkeys("abce", 3)


def test_s12_what_a_call_has_published_that_fails_then_is_published_once(run, days, spark, store) -> None:
    def main(spark, leases):
        assert leases.publish("rows", rows_of(spark, "".join(leases)), by="key") == dict.fromkeys(leases, 3)
        if "d" in leases:
            raise ValueError("its sum is wrong")
        return Complete()

    done = run(main, "days")
    assert (done.completed, done.errors) == (4, (("d", "ValueError: its sum is wrong"),))
    assert published(spark, store, "days", "rows") == dict.fromkeys("abce", 3)


def test_s2_a_lease_that_is_lost_during_the_job_is_left_out(run, days, spark, store) -> None:
    def main(spark, leases):
        rows = rows_of(spark, "abcde")
        days.people.release("b", by="ana", why="moved")
        days.people.park("b", by="ana", why="moved")
        assert "a" in leases.publish("rows", rows, by="key")
        return Complete()

    done = run(main, "days")
    assert (done.completed, done.lost) == (4, 1)
    assert published(spark, store, "days", "rows") == dict.fromkeys("acde", 3)
    assert days.partition("b").parked


@pytest.mark.parametrize(("strange", "shown"), [("x", "'x'"), (None, "None")])
def test_a_row_of_nobody_is_named_and_nothing_is_published(run, days, spark, store, strange, shown) -> None:
    def main(spark, leases):
        others = spark.createDataFrame([(strange, 1)], "key string, id long")
        leases.publish("rows", rows_of(spark, "".join(leases)).union(others), by="key")
        return Complete()

    done = run(main, "days", settings=Settings(retry_delay=timedelta(hours=1), brake_after=1))
    assert (done.completed, done.failed, done.given_up) == (0, 1, 4)
    assert f"by={shown}: is the key of none of the 1 partitions of this call" in done.errors[0][1]
    assert published(spark, store, "days", "rows") == {}


@pytest.mark.parametrize("by", ["day", "`key`", "key + 1"])
def test_a_column_that_is_not_there_is_named(run, days, spark, by) -> None:
    done = run(
        lambda spark, leases: leases.publish("rows", rows_of(spark, "a"), by=by), "days", together=1, max_leases=1
    )
    assert f"by='{by}': is no column of these rows. Give one of 'key', 'id', or an expression" in done.errors[0][1]


def test_keys_of_any_letters_become_no_path(run, store, spark) -> None:
    keys = ["../../x", "a/b=c", "ä ö", "%2F", "a\u2028b", "x" * 2000]
    keyed(SourceCoordinator(store, source="odd", owner="a person"), keys)

    def main(spark, leases):
        rows = spark.createDataFrame([(key, 1) for key in keys], "key string, id long")
        assert leases.publish("rows", rows, by="key") == dict.fromkeys(keys, 1)
        return Complete()

    assert run(main, "odd").completed == len(keys)
    assert published(spark, store, "odd", "rows") == dict.fromkeys(keys, 1)


def test_an_input_that_is_another_each_time_it_is_read_is_published_as_it_was_written(run, days, spark, store) -> None:
    """What is counted is what is written, in one reading: it has nothing to differ from."""

    def main(spark, leases):
        rows = rows_of(spark, "abcde", 50).where(fn.rand() < 0.5)
        counts.update(leases.publish("rows", rows, by="key"))
        return Complete()

    counts: dict[str, int] = {}
    assert run(main, "days").completed == 5
    assert published(spark, store, "days", "rows") == {key: number for key, number in counts.items() if number}


def test_files_that_hold_other_rows_than_were_read_fail_their_partition_alone(
    run, days, spark, store, monkeypatch
) -> None:
    by_digest = writing._by_digest

    def losing(place):
        found = by_digest(place)
        found.pop(writing.digest("c"))
        return found

    monkeypatch.setattr(writing, "_by_digest", losing)

    def main(spark, leases):
        assert "c" not in leases.publish("rows", rows_of(spark, "abcde"), by="key")
        return Complete()

    done = run(main, "days")
    assert (done.completed, done.failed) == (4, 1)
    assert "has files of 0 row(s), and 3 were read" in dict(done.errors)["c"]
    assert published(spark, store, "days", "rows") == dict.fromkeys("abde", 3)


def test_types_that_do_not_fit_the_dataset_fail_as_alone(run, days, spark, store) -> None:
    def main(spark, leases):
        kind = "long" if first else "string"
        rows = rows_of(spark, "".join(leases)).withColumn("id", fn.col("id").cast(kind))
        leases.publish("rows", rows, by="key")
        return Complete()

    first = True
    assert run(main, "days", together=2, max_leases=2).completed == 2
    first = False
    done = run(main, "days", settings=Settings(retry_delay=timedelta(hours=1), brake_after=0))
    assert (done.completed, done.failed) == (0, 3)
    assert all("does not fit" in message for _, message in done.errors)


def test_s12_a_driver_killed_in_the_middle_and_drained_again(spark, task: Task) -> None:
    keys = ("a", "b", "c", "d")
    coordinator = task.coordinator()
    coordinator.create_partitions(list(keys))
    (task.signs / "written.hold").touch()
    first = task.start("together.py", coordinator.get_next_partition(), max_leases=None, together=4)
    first.reached("written")
    assert (task.signs / "called for a b c d").exists()
    first.send(signal.SIGKILL)
    first.wait()
    assert coordinator.counts()[PartitionStatus.ASSIGNED] == 4
    (task.signs / "written.hold").unlink()
    retry = task.coordinator(owner="host/dag/run/task/0/2")
    held = retry.tries.held_by_task()
    lease = retry.tries.retake(held[0].key)
    for each in held[1:]:
        retry.tries.give_up_for_dead_owner(each.key, each.fence)
    second = task.start("together.py", lease, max_leases=None, together=3, owner="host/dag/run/task/0/2")
    assert second.wait() == 0, second.text()
    assert {report["key"]: report["outcome"] for report in second.reports("ended")} == dict.fromkeys(keys, "completed")
    frame = read_completed(spark, store=task.store, source="flights", dataset="rows")
    assert sorted((row.key, row.id) for row in frame.collect()) == [(key, n) for key in keys for n in range(10)]
    assert eventually(lambda: second.counted("partitionsCompleted") == 4)


def test_l7_a_person_releases_one_of_a_driver_s_leases_and_the_others_go_on(spark, task: Task) -> None:
    coordinator = task.coordinator()
    coordinator.create_partitions(["a", "b", "c"])
    (task.signs / "written.hold").touch()
    driver = task.start("together.py", coordinator.get_next_partition(), max_leases=None, together=3)
    driver.reached("written")
    coordinator.people.park("b", by="ana", why="moved")
    (task.signs / "written.hold").unlink()
    assert driver.wait() == 3, driver.text()
    outcomes = {report["key"]: report["outcome"] for report in driver.reports("ended")}
    assert outcomes == {"a": "completed", "b": "lost", "c": "completed"}
    frame = read_completed(spark, store=task.store, source="flights", dataset="rows")
    assert Counter(row.key for row in frame.collect()) == {"a": 10, "c": 10}


def test_a_driver_that_is_stopped_gives_all_back(task: Task) -> None:
    coordinator = task.coordinator()
    coordinator.create_partitions(["a", "b", "c"])
    (task.signs / "written.hold").touch()
    driver = task.start("together.py", coordinator.get_next_partition(), max_leases=None, together=3)
    driver.reached("written")
    driver.process.terminate()
    assert driver.wait() == 143, driver.text()
    assert coordinator.counts()[PartitionStatus.UNASSIGNED] == 3
    assert [coordinator.partition(key).failures for key in "abc"] == [0, 0, 0]
    assert task.store.heads("flights|PARTITION", "rows") == []


def test_large_groups_whose_names_are_in_files_are_read_by_one_job_as_well(
    run, store, spark, output_root, tmp_path
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(600):
        (folder / f"a name of some length {number:04}.csv").write_text(f"{number},x\n")
    files = SourceCoordinator(store, source="groups", owner="a person")
    listing = object_listing(folder, scan="once", max_objects=300, lateness=timedelta(0), output_root=output_root)
    files.run_supplier(listing)
    assert ["names_file" in partition.payload for partition in files.partitions()] == [True, True]

    def main(spark, leases):
        rows = spark.read.schema(SCHEMA).csv(leases.paths)
        assert leases.publish("clean", leases.with_keys(rows), by="key") == dict.fromkeys(leases, 300)
        return Complete()

    assert run(main, "groups").completed == 2
    read = read_completed(spark, store=store, source="groups", dataset="clean").collect()
    assert sorted(row.id for row in read) == list(range(600))
