"""``lease.deliver`` on real Spark: what goes where, what is counted, and what becomes of the partition."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path

import psycopg
import pytest

from airflow_coordination.acknowledgments import SinkCounts
from airflow_coordination.delivery import delivery, keys
from airflow_coordination.delivery.acknowledgment_set import NegativeAcknowledgmentError
from airflow_coordination.leases import DeploymentError, InvalidInputError, PartitionStatus
from airflow_coordination.outputs import published_accounting
from airflow_coordination.sinks import (
    DELIVERED,
    Answer,
    Guarantee,
    Record,
    SinkNotReadyError,
    SinkTask,
    failed,
    refused,
)
from airflow_coordination.spark import (
    Close,
    Complete,
    DataPrepperDeadLetters,
    DeadLetters,
    DeleteObjects,
    FileSink,
    PostgresSink,
    Publish,
    drain,
    read_completed,
)
from tests.integration.spark.one_partition import FAST, coordinator, run, store

__all__ = ["coordinator", "run", "store"]

HOUR = timedelta(hours=1)
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture
def deliver(run):
    """Deliver records in a tenure of its own; return the acknowledgment, the error, and how the tenure ended."""

    def deliver(records, sinks, outcome=None, **more):
        found: dict[str, object] = {}

        def main(spark, lease):
            frame = records if hasattr(records, "columns") else spark.createDataFrame(records, "k bigint, v string")
            try:
                found["done"] = lease.deliver(frame, "k", sinks, **more)
            except Exception as error:
                found["error"] = error
                raise
            return outcome or Complete()

        found["drained"] = run(main)
        return found

    return deliver


@pytest.fixture
def published(spark, store):
    def published(dataset: str) -> list:
        return read_completed(spark, store=store, source="s", dataset=dataset).collect()

    return published


@dataclass(frozen=True)
class Journal:
    """A sink from elsewhere: appends to a file of each task, and answers as it is told.

    :param refuses: record keys.
    :param away: whether it takes nothing.
    """

    directory: str
    where: str | None = None
    refuses: tuple[int, ...] = ()
    away: bool = False
    hangs_until: str | None = None
    bulk_records: int = 3
    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE

    def open(self, task: SinkTask) -> JournalWriter:
        return JournalWriter(self, task)


class JournalWriter:
    def __init__(self, sink: Journal, task: SinkTask) -> None:
        self.sink, self.file = sink, Path(sink.directory) / f"{task.attempt}.txt"

    def write(self, records: Sequence[Record]) -> list[Answer]:
        import time

        while self.sink.hangs_until and not Path(self.sink.hangs_until).exists():
            (Path(self.sink.directory) / "hangs").touch()
            time.sleep(0.05)
        if self.sink.away:
            return [failed("503 Service Unavailable")] * len(records)
        with self.file.open("a") as file:
            file.writelines(f"{record['k']}\n" for record in records if record["k"] not in self.sink.refuses)
        return [refused("400 mapping error") if r["k"] in self.sink.refuses else DELIVERED for r in records]

    def close(self) -> None:
        return None


@pytest.fixture
def journal(tmp_path):
    directory = tmp_path / "journal"
    directory.mkdir()
    return directory


def written(directory: Path) -> list[int]:
    return sorted(int(line) for file in directory.glob("*.txt") for line in file.read_text().splitlines())


ROWS = [(each, None if each == 3 else "v") for each in range(10)]


def test_s13_each_record_is_where_its_conditions_say(deliver, published, journal, tmp_path, coordinator):
    found = deliver(
        ROWS,
        {
            "clean": Publish("clean", where="v is not null"),
            "files": FileSink(str(tmp_path / "export"), where="k % 2 = 0"),
            "journal": Journal(str(journal), where="k < 4 and v is not null"),
        },
        drop={"nine": "k = 9"},
    )
    done = found["done"]
    assert (done.positive, done.problems, done.expired) == (True, (), False)
    assert done.accounting.sinks == {
        "clean": SinkCounts(8, 8),
        "files": SinkCounts(5, 5),
        "journal": SinkCounts(3, 3),
    }
    counts = done.accounting
    assert (counts.read, counts.dropped, counts.unrouted, counts.delivered_everywhere) == (10, {"nine": 1}, 1, 8)
    assert sorted(row.k for row in published("clean")) == [0, 1, 2, 4, 5, 6, 7, 8]
    lines = [line for file in (tmp_path / "export").glob("*.jsonl") for line in file.read_text().splitlines()]
    assert sorted(json.loads(line)["k"] for line in lines) == [0, 2, 4, 6, 8]
    assert written(journal) == [0, 1, 2]
    partition = coordinator.partition("p")
    assert (partition.status, partition.accounting) == (PartitionStatus.COMPLETED, done.accounting)
    beside_the_rows = published_accounting(coordinator.store, "s", "clean")
    assert (beside_the_rows.partitions, beside_the_rows.dropped) == (1, {"nine": 1})
    assert beside_the_rows.sinks == done.accounting.sinks


def test_s13_a_record_that_is_refused_fails_the_partition(deliver, store, journal, coordinator):
    sinks = {"clean": Publish("clean"), "search": Journal(str(journal), refuses=(4, 6))}
    found = deliver(ROWS, sinks)
    done = found["done"]
    assert (done.positive, done.accounting.failed, done.accounting.sinks["search"]) == (
        False,
        2,
        SinkCounts(10, 8, 0, 2),
    )
    assert done.problems == ("sink 'search' failed for 2 record(s), first: 400 mapping error",)
    partition = coordinator.partition("p")
    assert (partition.status, partition.failures) == (PartitionStatus.UNASSIGNED, 1)
    assert partition.last_error.startswith(
        "NegativeAcknowledgmentError: Not every record of partition 'p' was delivered: sink 'search' failed for 2"
    )
    assert store.heads(partition.source) == [], "the block is not published"


def test_s13_refused_records_are_dead_letters_as_data_prepper_stores_them(deliver, journal, tmp_path, coordinator):
    sinks = {"search": Journal(str(journal), refuses=(4, 6))}
    place = DataPrepperDeadLetters(str(tmp_path / "dlq"), "%{yyyy}")
    done = deliver(ROWS, sinks, dead_letters=place)["done"]
    assert (done.positive, done.accounting.dead_lettered) == (True, 2)
    assert coordinator.partition("p").status is PartitionStatus.COMPLETED
    files = [json.loads(file.read_text()) for file in (tmp_path / "dlq").glob("20??/dlq-v2-s_PARTITION-search-*.json")]
    letters = [each for file in files for each in file["dlqObjects"]]
    assert sorted(each["failedData"]["document"]["k"] for each in letters) == [4, 6]
    assert {each["failedData"]["message"] for each in letters} == {"400 mapping error"}


def test_s13_data_prepper_s_dead_letters_that_cannot_be_stored_are_failures(deliver, journal, tmp_path, monkeypatch):
    monkeypatch.setattr(DataPrepperDeadLetters, "check", lambda *_: None)  # it could be used a moment ago
    (tmp_path / "file").write_text("")
    place = DataPrepperDeadLetters(str(tmp_path / "file"))
    done = deliver(ROWS, {"search": Journal(str(journal), refuses=(4,))}, dead_letters=place)["done"]
    assert (done.positive, done.accounting.failed) == (False, 1)
    assert done.problems[-1].startswith("dead letters could not be written: OutputError: Cannot write a file: ")


@dataclass(frozen=True)
class Flaky(Journal):
    """Cannot end its first delivery in the driver, as S3 may not answer for a moment."""

    def accept(self, delivery: str, notes: Sequence[str]) -> None:
        seen = Path(self.directory) / "seen"
        if not seen.exists():
            seen.touch()
            raise OSError("503 slow down")


@pytest.mark.parametrize("again", [True, False], ids=["tried again", "swallowed"])
def test_d1_the_blocks_of_a_delivery_that_raised_are_not_published(run, store, published, journal, coordinator, again):
    def main(spark, lease):
        def deliver():
            records = spark.range(10).selectExpr("id as k")
            sinks = {"clean": Publish("clean", mode="append"), "other": Flaky(str(journal))}
            return lease.deliver(records, "k", sinks)

        with pytest.raises(OSError, match="503 slow down"):
            deliver()
        assert lease.blocks == ()
        assert not again or deliver().positive
        return Complete()

    run(main)
    partition = coordinator.partition("p")
    if not again:
        assert "a delivery to clean, other raised OSError: 503 slow down" in partition.last_error
        assert (partition.failures, store.heads(partition.source)) == (1, [])
        return
    assert (partition.status, partition.accounting.read) == (PartitionStatus.COMPLETED, 10)
    assert sorted(row.k for row in published("clean")) == list(range(10))


@pytest.mark.parametrize("outcome", [Complete(), Close(HOUR)])
def test_s13_no_good_ending_after_a_negative_delivery(deliver, journal, coordinator, outcome):
    deliver(ROWS, {"search": Journal(str(journal), refuses=(4,))}, outcome)
    assert (coordinator.partition("p").failures, coordinator.partition("p").closed_count) == (1, 0)


def test_scenario_42_giving_up_counts_nothing(deliver, journal, coordinator):
    found = deliver(ROWS, {"search": Journal(str(journal), away=True)}, on_negative="give up")
    assert found["drained"].given_up == 1
    assert (coordinator.partition("p").failures, coordinator.partition("p").status) == (0, PartitionStatus.UNASSIGNED)


@pytest.mark.parametrize(
    ("settings", "given_up", "said"),
    [
        ({"on_negative": "give up"}, 1, None),
        ({"acknowledgment_timeout": timedelta(milliseconds=1)}, 0, "it took longer than acknowledgment_timeout, 0.001"),
    ],
)
def test_scenario_42_the_settings_of_the_task_say_it_for_all_deliveries(
    store, coordinator, spark, journal, output_root, settings, given_up, said
):
    def main(spark, lease):
        records = spark.createDataFrame(ROWS, "k bigint, v string")
        lease.deliver(records, "k", {"search": Journal(str(journal), away=True)})
        return Complete()

    told = replace(FAST, **settings)
    drained = drain(main, store=store, source="s", spark=spark, output_root=output_root, settings=told)
    assert (drained.given_up, drained.failed) == (given_up, 1 - given_up)
    assert said is None or said in coordinator.partition("p").last_error


def test_s13_no_progress_is_saved_over_a_negative_delivery(run, journal, coordinator):
    refusals = []

    def main(spark, lease):
        first, second = (spark.createDataFrame(part, "k bigint, v string") for part in (ROWS[:5], ROWS[5:]))
        lease.deliver(first, "k", {"search": Journal(str(journal))})
        lease.save({"row": 5})
        lease.deliver(second, "k", {"search": Journal(str(journal), refuses=(7,))})
        with pytest.raises(NegativeAcknowledgmentError) as raised:
            lease.save({"row": 10})
        refusals.append(str(raised.value))
        return Complete()

    run(main)
    partition = coordinator.partition("p")
    assert (partition.progress_state, partition.accounting.read) == ({"row": 5}, 5)
    assert "sink 'search' failed for 1 record(s)" in refusals[0]


@pytest.mark.parametrize("refuses", [(), (7, 8)], ids=["positive", "negative"])
def test_metrics_tell_what_accepted_steps_stand_for(run, journal, refuses):
    heard = []

    def main(spark, lease):
        heard.append(lease._coordinator.metrics)
        first, second = (spark.createDataFrame(part, "k bigint, v string") for part in (ROWS[:5], ROWS[5:]))
        lease.deliver(first, "k", {"search": Journal(str(journal), where="k > 1")}, drop={"zero": "k = 0"})
        lease.save({"row": 5})
        lease.deliver(second, "k", {"search": Journal(str(journal), refuses=refuses)})
        return Complete()

    run(main)
    counts = {name.removeprefix("s_source_coordinator_"): count for name, count in heard[0].counts.items()}
    told = {name: count for name, count in counts.items() if name.startswith("records") or "Sets" in name}
    accepted = {"recordsIn": 5, "recordsOut": 3, "recordsDropped": 1, "recordsUnrouted": 1}
    if not refuses:
        accepted |= {"recordsIn": 10, "recordsOut": 8}
    results = {"positiveAcknowledgementSets": 1, "negativeAcknowledgementSets": 1, "recordsFailed": 2}
    results = results if refuses else {"positiveAcknowledgementSets": 2}
    sets = {"numberOfAcknowledgementSetsCreated": 2, "numberOfAcknowledgementSetsCompleted": 2}
    assert told == accepted | results | sets


def test_s26_batches_add_up_and_are_kept_with_the_partition(run, published, coordinator):
    accounts = []

    def main(spark, lease):
        for start in (0, 5):
            frame = spark.createDataFrame(ROWS[start : start + 5], "k bigint, v string")
            assert lease.deliver(frame, "k", {"clean": Publish("clean")}).positive
            lease.save({"row": start + 5})
        accounts.append(lease.accounting)
        return Complete()

    run(main)
    assert (accounts[0].read, accounts[0].delivered) == (10, {"clean": 10})
    assert coordinator.partition("p").accounting == accounts[0]
    assert len(published("clean")) == 10


def test_s13_what_a_sink_refuses_is_a_dead_letter(deliver, published, journal, coordinator):
    sinks = {"clean": Publish("clean"), "search": Journal(str(journal), refuses=(4, 6))}
    found = deliver(ROWS, sinks, dead_letters=DeadLetters("dead"))
    done = found["done"]
    assert (done.positive, done.accounting.dead_lettered, done.accounting.failed) == (True, 2, 0)
    letters = sorted((row.key, row.sink, row.reason, json.loads(row.record)) for row in published("dead"))
    assert letters == [
        ("4", "search", "400 mapping error", {"k": 4, "v": "v"}),
        ("6", "search", "400 mapping error", {"k": 6, "v": "v"}),
    ]
    assert len(published("clean")) == 10


def test_d6_what_a_sink_refuses_every_record_for_acknowledges_nothing(deliver, journal, tmp_path, coordinator):
    """An index that somebody closed: its answers are no dead letters, and the input is not deleted."""
    source, letters = tmp_path / "in.csv", tmp_path / "dlq"
    source.write_text("1")
    then = DeleteObjects(str(source))
    sinks = {"search": Journal(str(journal), refuses=tuple(range(10)))}
    place = DataPrepperDeadLetters(str(letters))
    done = deliver(ROWS, sinks, Complete(then=then), dead_letters=place)["done"]
    assert (done.positive, done.accounting.failed, done.accounting.dead_lettered) == (False, 10, 0)
    assert done.problems == (
        "sink 'search' failed for 10 record(s), first: it refuses every record for one reason, which is no record's "
        "fault: 400 mapping error",
    )
    assert (coordinator.partition("p").failures, source.exists()) == (1, True)
    assert list(letters.rglob("*.json")) == []


def test_s13_without_refusals_there_are_no_dead_letters_and_all_is_well(deliver, journal, coordinator):
    found = deliver(ROWS, {"search": Journal(str(journal))}, dead_letters=DeadLetters("dead"))
    assert found["done"].positive
    assert coordinator.partition("p").status is PartitionStatus.COMPLETED


def test_s13_what_lost_attempts_wrote_is_no_dead_letter(deliver, published, journal, spark, monkeypatch):
    """A file that no accepted summary names, in the directory of the dead letters."""
    from airflow_coordination.delivery.delivery import Delivery

    real = Delivery._pass

    def with_a_zombie(self, flagged, dead_letters, *more):
        Path(dead_letters.directory).mkdir(parents=True)
        (Path(dead_letters.directory) / "part-zombie.json").write_text('{"key":"99"}\n')
        return real(self, flagged, dead_letters, *more)

    monkeypatch.setattr(Delivery, "_pass", with_a_zombie)
    deliver(ROWS, {"search": Journal(str(journal), refuses=(4,))}, dead_letters=DeadLetters("dead"))
    assert [row.key for row in published("dead")] == ["4"]


@dataclass(frozen=True)
class NotReady(Journal):
    """A sink whose set-up was forgotten, as one from elsewhere says it."""

    def check(self, columns: Sequence[str], key: str) -> None:
        raise InvalidInputError("queue", "flights", "does not exist", "Run queue create flights")


def in_a_file(tmp_path: Path) -> str:
    (tmp_path / "file").write_text("")
    return str(tmp_path / "file" / "below")


NOT_READY = {
    "a sink from elsewhere": (lambda path: NotReady(str(path)), "Run queue create flights"),
    "a directory": (lambda path: FileSink(in_a_file(path)), "Give a directory"),
    "a server": (lambda path: PostgresSink("postgresql://x@127.0.0.1:1/x", table="t"), "Check the address, and that"),
}


@pytest.mark.parametrize("name", NOT_READY)
def test_b4_a_set_up_that_was_forgotten_charges_nobody_and_is_told(run, coordinator, tmp_path, name):
    """Of 300 partitions none is parked, tried or lost; the task is red, and says what to do."""
    coordinator.create_partitions([f"p{number}" for number in range(299)])
    sink, remedy = NOT_READY[name]

    def main(spark, lease):
        lease.deliver(spark.range(1), "id", {"queue": sink(tmp_path)})
        return Complete()

    for _ in range(3):  # the task is tried again
        with pytest.raises(SinkNotReadyError, match=remedy):
            run(main)
    partitions = list(coordinator.partitions())
    assert len(partitions) == 300
    assert {(each.status, each.failures) for each in partitions} == {(PartitionStatus.UNASSIGNED, 0)}


def test_b4_a_sink_that_is_not_ready_for_one_partition_starves_no_other(run, coordinator, tmp_path):
    coordinator.create_partitions(["q"])

    def main(spark, lease):
        if lease.partition.key == "p":
            raise SinkNotReadyError("index", "p", "does not exist", "Create it")
        return Complete()

    with pytest.raises(SinkNotReadyError):
        run(main, max_leases=None)
    run(main, max_leases=None)
    assert [coordinator.partition(key).status for key in "pq"] == [
        PartitionStatus.UNASSIGNED,
        PartitionStatus.COMPLETED,
    ]
    assert coordinator.partition("p").failures == 0


def test_b4_a_forgotten_setup_of_a_table_names_the_command(run, coordinator, postgres_url):
    url = postgres_url.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table forgotten (id bigint primary key)")

    def main(spark, lease):
        lease.deliver(spark.range(1), "id", {"table": PostgresSink(url, table="forgotten")})
        return Complete()

    with pytest.raises(SinkNotReadyError, match=r"Run PostgresSink\(…\)\.setup\(\) once"):
        run(main)
    assert coordinator.partition("p").failures == 0


@dataclass(frozen=True)
class OfTheDriverAlone(Journal):
    """A sink whose library no executor has."""

    def open(self, task: SinkTask) -> None:
        import_module("a_library_of_the_driver_alone")


def test_b4_a_library_that_only_executors_lack_charges_nobody(run, coordinator, tmp_path):
    def main(spark, lease):
        lease.deliver(spark.range(3), "id", {"queue": OfTheDriverAlone(str(tmp_path))})
        return Complete()

    with pytest.raises(SinkNotReadyError, match="'queue': needs the module a_library_of_the_driver_alone, which Sp"):
        run(main)
    assert (coordinator.partition("p").status, coordinator.partition("p").failures) == (PartitionStatus.UNASSIGNED, 0)


def test_b4_an_output_root_that_cannot_be_written_charges_nobody(store, coordinator, spark, tmp_path):
    def main(spark, lease):
        lease.deliver(spark.range(1), "id", {"clean": Publish("clean")})
        return Complete()

    with pytest.raises(DeploymentError, match=r"is a file\. Give a directory"):
        drain(main, store=store, source="s", spark=spark, output_root=in_a_file(tmp_path), settings=FAST)
    assert coordinator.partition("p").failures == 0


def test_b4_a_refusal_that_is_about_the_records_is_their_partition_s(deliver, coordinator, postgres_url):
    url = postgres_url.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table narrow (k bigint primary key)")
        (sink := PostgresSink(url, table="narrow")).setup()
        assert "columns='v': is no column of the table" in str(deliver(ROWS, {"table": sink})["error"])
    assert coordinator.partition("p").failures == 1


def test_s13_a_table_holds_each_record_once(deliver, postgres_url):
    url = postgres_url.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table flights (k bigint primary key, v text check (v <> 'bad'))")
        sink = PostgresSink(url, table="flights", where="k <> 1")
        sink.setup()
        rows = [(each, "bad" if each == 7 else "v") for each in range(10)]
        done = deliver(rows, {"table": sink}, dead_letters=DeadLetters("dead"))["done"]
        assert done.accounting.sinks["table"] == SinkCounts(9, 8, 1, 0)
        found = connection.execute("select k, lease_fence from flights order by k").fetchall()
    assert found == [(k, 1) for k in (0, 2, 3, 4, 5, 6, 8, 9)]


@pytest.fixture
def once(spark, tmp_path):
    """Records of which the condition ``r`` holds the first time they are read, and never again."""
    from pyspark.sql import functions as fn

    seen = tmp_path / "seen"

    def first_time(_: int) -> bool:
        first = not seen.exists()
        seen.touch()
        return first

    return spark.range(1).select(
        fn.col("id").alias("k"), fn.udf(first_time, "boolean").asNondeterministic()("id").alias("r")
    )


@pytest.mark.parametrize("other", [False, True], ids=["blocks only", "another sink"])
def test_s13_input_that_differs_when_it_is_read_again_is_an_imbalance(
    deliver, once, coordinator, monkeypatch, journal, other
):
    """The block's rows are counted by the footers of its files, what it was owed by the pass."""
    monkeypatch.setattr(delivery, "_kept", lambda frame, several: nullcontext(frame))
    again = Journal(str(journal), where="r") if other else Publish("other", where="r")
    sinks = {"some": Publish("some", where="r"), "other": again}
    done = deliver(once, sinks, check_keys=False)["done"]
    assert not done.positive
    assert done.problems == (
        "the counts do not balance: sink 'some': owed 0 ≠ delivered 1 + dead-lettered 0 + failed 0; is the input the "
        "same each time it is read?",
    )
    assert coordinator.partition("p").failures == 1


def test_s13_one_block_is_read_once_so_that_no_input_differs(deliver, once, coordinator, published):
    done = deliver(once, {"some": Publish("some", where="r")})["done"]
    assert (done.positive, done.accounting.delivered, len(published("some"))) == (True, {"some": 1}, 1)
    assert coordinator.partition("p").accounting == done.accounting


@pytest.fixture
def counting_jobs(run, spark):
    """Deliver records in a tenure of its own; return the acknowledgment, and the stages of each Spark job of it."""

    def counting_jobs(records, sinks, **more):
        found: dict[str, object] = {}
        group = f"jobs of {secrets.token_hex(4)}"

        def main(spark, lease):
            spark.sparkContext.setJobGroup(group, "a delivery")
            found["done"] = lease.deliver(records, "k", sinks, **more)
            return Complete()

        run(main)
        tracker = spark.sparkContext.statusTracker()
        jobs = sorted(tracker.getJobIdsForGroup(group))
        return found["done"], [len(tracker.getJobInfo(job).stageIds) for job in jobs]

    return counting_jobs


WRITE, READ = [1], [1, 2]
"""The stages of the jobs. Counting is a shuffle, of which Spark's adaptive planner starts the first stage as a job. A
block of ORC is read for its rows, too, because its footers are not."""
PASSES = {
    "a block": ({"all": Publish("all")}, {}, WRITE),
    "a block with a condition": ({"some": Publish("some", where="k > 3")}, {"drop": {"two": "k = 2"}}, WRITE),
    "some columns": ({"keys": Publish("keys", columns=("k",))}, {}, WRITE),
    "two blocks": ({"low": Publish("low", where="k < 3"), "all": Publish("all")}, {}, WRITE + WRITE),
    "no footers": ({"all": Publish("all", format="orc")}, {}, WRITE + READ + READ),
    "one of two without": (
        {"all": Publish("all"), "orc": Publish("orc", format="orc")},
        {},
        WRITE + WRITE + READ + READ,
    ),
    "five blocks": ({f"b{each}": Publish(f"b{each}", where=f"k = {each}") for each in range(5)}, {}, WRITE * 5 + READ),
}


@pytest.mark.parametrize(("sinks", "more", "stages"), PASSES.values(), ids=PASSES)
def test_w4_what_is_counted_as_it_is_written_is_not_read_again(counting_jobs, spark, sinks, more, stages):
    records = spark.range(0, 10, 1, 2).selectExpr("id as k", "'v' as v")
    done, found = counting_jobs(records, sinks, **more)
    assert (done.positive, done.accounting.read, done.accounting.imbalances()) == (True, 10, []), done.problems
    assert found == stages


@pytest.fixture
def moving(spark, tmp_path):
    """Records that are open and closed in turns: another half of them each time they are read."""
    from pyspark.sql import functions as fn

    def is_open(key: int) -> bool:
        with (tmp_path / f"reads-{key}").open("a") as file:
            file.write("x")
            return bool((key + file.tell()) % 2)

    is_open = fn.udf(is_open, "boolean").asNondeterministic()
    return spark.range(10).select(fn.col("id").alias("k"), is_open("id").alias("open"))


@pytest.mark.parametrize("other", [False, True], ids=["blocks only", "another sink"])
def test_d2_as_many_other_records_are_no_delivery(deliver, moving, coordinator, monkeypatch, journal, other):
    """Between the two readings each record has changed sides: all numbers are equal, and half of them are nowhere."""
    monkeypatch.setattr(delivery, "_kept", lambda frame, several: nullcontext(frame))
    sinks = {"open": Publish("open", where="open"), "closed": Publish("closed", where="not open")}
    sinks |= {"other": Journal(str(journal), where="k = 1")} if other else {}
    done = deliver(moving, sinks, check_keys=False)["done"]
    assert (done.accounting.imbalances(), done.accounting.delivered["open"]) == ([], 5)
    assert "got other records than it was owed, although as many; is the input the same" in done.problems[0]
    assert (done.positive, coordinator.partition("p").failures) == (False, 1)


KEYS = {"unique": ("id as k", True), "one null": ("nullif(id, 3) as k", True), "not unique": ("id % 2 as k", False)}


@pytest.mark.parametrize(("key", "positive"), KEYS.values(), ids=KEYS)
def test_d2_what_is_computed_anew_is_the_same_record_if_its_key_tells_it_apart(deliver, spark, key, positive):
    """The moment of the reading, a sum of floats: they may differ, and who is where does not."""
    moments = spark.range(10).selectExpr(key, "current_timestamp() as at", "rand() as r", "map('a', id) as m")
    done = deliver(moments, {"all": Publish("all"), "some": Publish("some", where="k = 1")})["done"]
    assert done.positive is positive, done.problems


def test_d2_dead_letters_that_are_other_records_are_no_delivery(deliver, moving, monkeypatch):
    place = DeadLetters("dead", where="not open")
    done = deliver(moving, {"open": Publish("open", where="open and false")}, dead_letters=place)["done"]
    assert "the dead letters are other records than were counted for them, although as many" in done.problems[0]
    assert not done.positive


def test_s13_what_spark_keeps_is_the_same_each_time(deliver, once, journal):
    sinks = {"some": Publish("some", where="r"), "journal": Journal(str(journal), where="r")}
    assert deliver(once, sinks)["done"].accounting.delivered == {"some": 1, "journal": 1}


def test_s13_blocks_only_keep_nothing_and_ask_no_python(deliver, published, spark, monkeypatch):
    """Each record counts once under the first reason, or under each of its sinks."""
    monkeypatch.setattr(type(spark.range(1)), "persist", None)
    monkeypatch.setattr(type(spark.range(1)), "mapInArrow", None)
    sinks = {"small": Publish("small", where="k < 5"), "even": Publish("even", where="k % 2 = 0")}
    drop = {"no value": "v is null", "first": "k < 4 and k > 1"}
    done = deliver(ROWS, sinks, drop=drop, dead_letters=DeadLetters("dead"), check_keys=True)["done"]
    counts = done.accounting
    assert (done.positive, counts.read, counts.dropped, counts.unrouted) == (True, 10, {"no value": 1, "first": 1}, 3)
    assert (counts.delivered_everywhere, counts.failed) == (5, 0)
    assert counts.sinks == {"small": SinkCounts(3, 3), "even": SinkCounts(4, 4)}
    assert sorted(row.k for row in published("even")) == [0, 4, 6, 8]


@pytest.mark.parametrize(
    ("options", "counts"),
    [({"columnNameOfCorruptRecord": "bad"}, (3, {"malformed": 1}, 2)), ({"mode": "DROPMALFORMED"}, (2, {}, 2))],
)
def test_s13_malformed_lines_count_as_they_were_written(deliver, spark, tmp_path, options, counts):
    """A reader that is asked for fewer columns would not see that the second line is malformed."""
    (tmp_path / "in.csv").write_text("1,2\n2,x\n3,4\n")
    schema = "k bigint, v int" + (", bad string" if "mode" not in options else "")
    drop = {} if "mode" in options else {"malformed": "bad is not null and k > 0"}
    records = spark.read.csv(str(tmp_path / "in.csv"), schema=schema, **options)
    done = deliver(records, {"clean": Publish("clean", where="k > 0")}, drop=drop)["done"]
    assert done.positive, done.problems
    assert (done.accounting.read, done.accounting.dropped, done.accounting.delivered["clean"]) == counts


def test_s13_records_of_many_columns_are_counted(deliver, spark):
    wide = spark.range(3).selectExpr("id as k", *(f"id + {number} as `c {number}`" for number in range(250)))
    assert deliver(wide, {"wide": Publish("wide")})["done"].accounting.delivered == {"wide": 3}


@pytest.mark.timeout(120)
def test_s13_expiry_cancels_the_jobs_and_is_negative(deliver, journal, coordinator, tmp_path):
    """By then a Python worker must have begun, which took more than three seconds on a machine with a load of 12."""
    released = tmp_path / "released"
    try:
        sinks = {"slow": Journal(str(journal), hangs_until=str(released))}
        done = deliver(ROWS, sinks, acknowledgment_timeout=timedelta(seconds=8), check_keys=False)["done"]
    finally:
        released.touch()
    assert (journal / "hangs").exists()
    assert (done.positive, done.expired) == (False, True)
    assert done.problems == ("it took longer than acknowledgment_timeout, 8 seconds",)
    assert coordinator.partition("p").failures == 1


def test_a_condition_that_is_null_is_false(deliver, journal):
    done = deliver(ROWS, {"journal": Journal(str(journal), where="v = 'v'")}, drop={"odd": "v <> 'v'"})["done"]
    assert (done.accounting.unrouted, done.accounting.dropped) == (1, {"odd": 0})


def test_a_sink_that_raises_fails_the_job_with_its_error(deliver, coordinator):
    deliver(ROWS, {"broken": Journal("/nowhere/at/all")})
    assert "No such file or directory: '/nowhere/at/all/" in coordinator.partition("p").last_error


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (
            [(1, "a"), (2, "b"), (1, "c")],
            "key='k': is 1 in 2 records, so that sinks cannot tell them apart",
        ),
        ([(1, "a"), (None, "b"), (None, "c")], r"key='k': is null in 2 record\(s\), so that"),
    ],
)
def test_keys_that_cannot_tell_records_apart(deliver, journal, rows, problem):
    with pytest.raises(InvalidInputError, match=problem):
        raise deliver(rows, {"journal": Journal(str(journal))})["error"]
    assert written(journal) == []


BAD_KEYS = {
    "twice": ("id % 9 as k", "key='k': is 0 in 2 records"),
    "twice as text": ("cast(id % 9 as string) as k", "key='k': is '0' in 2 records"),
    "twice as a float": ("id % 9 * -0.0D as k", "key='k': is -?0.0 in 10 records"),
    "twice but for the case": ("substr('AabcdefghiJ', id + 1, 1) collate utf8_lcase as k", "key='k': is '[Aa]' in 2"),
    "null": ("nullif(id, 3) as k", r"key='k': is null in 1 record\(s\)"),
}


@pytest.mark.parametrize("little", [keys.LITTLE, 0], ids=["hashes", "counted"])
@pytest.mark.parametrize(("key", "problem"), BAD_KEYS.values(), ids=BAD_KEYS)
def test_w5_keys_are_refused_before_anything_is_delivered(deliver, spark, journal, monkeypatch, key, problem, little):
    """Also those whose hashes are brought, and those of which equal ones have different hashes."""
    monkeypatch.setattr(keys, "LITTLE", little)
    records = spark.range(0, 10, 1, 3).selectExpr(key, "'v' as v")
    with pytest.raises(InvalidInputError, match=problem):
        raise deliver(records, {"journal": Journal(str(journal))})["error"]
    assert written(journal) == []


@pytest.mark.parametrize("little", [keys.LITTLE, 0], ids=["hashes", "counted"])
@pytest.mark.parametrize(("most", "wanted", "refused"), [(9, None, False), (10, None, True), (9, True, True)])
def test_w5_above_so_many_records_keys_are_looked_at_if_it_is_said(
    deliver, spark, journal, monkeypatch, little, most, wanted, refused
):
    monkeypatch.setattr(keys, "LITTLE", little)
    monkeypatch.setattr(keys, "MOST_KEYS", most)
    records = spark.range(0, 10, 1, 1).selectExpr("id % 9 as k", "'v' as v")
    found = deliver(records, {"journal": Journal(str(journal))}, check_keys=wanted)
    assert isinstance(found.get("error"), InvalidInputError) is refused
    assert written(journal) == ([] if refused else sorted([*range(9), 0]))


@pytest.mark.parametrize(("key", "jobs"), [("id", 2), ("cast(id as double)", 6)], ids=["hashes", "counted"])
def test_w5_the_look_at_keys_is_a_job_of_one_stage_where_little_is_read(counting_jobs, spark, journal, key, jobs):
    """Keys that are not owed are none of its business: two of them are one."""
    records = spark.range(0, 10, 1, 2).selectExpr(f"if(id = 9, 8, {key}) as k", "id = 9 as other")
    sinks = {"journal": Journal(str(journal), where="not other")}
    done, found = counting_jobs(records, sinks)
    assert (done.positive, done.accounting.delivered, done.accounting.unrouted) == (True, {"journal": 9}, 1)
    assert len(found) <= jobs
    assert (found == [1, 1]) is (key == "id")


@pytest.fixture
def one_file(spark, tmp_path):
    """Write lines of JSON into one file; return the records that are read of it."""

    def one_file(*rows: tuple[object, str]):
        file = tmp_path / "records.json"
        file.write_text("".join(f"{json.dumps({'k': key, 'v': value})}\n" for key, value in rows))
        return spark.read.schema("k bigint, v string").json(str(file))

    return one_file


FEW = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
OF_LETTERS = [1, 1, 2]
"""The jobs behind a delivery that look into files of JSON: what they hold, and how many records."""


def _as_it_is(records):
    return records


def _divided(records):
    return records.repartition(2)


def _without_what_is_known(records):
    """Spark takes it that this has fewer bytes than the file; most of what it reads is elsewhere."""
    known = records.sparkSession.range(1_000_000, 2_000_000).selectExpr("id as k")
    return records.join(known, "k", "left_anti")


@pytest.mark.parametrize(
    ("change", "batch_rows", "dead_letters", "stages"),
    [
        (_as_it_is, 10_000, None, [1]),
        (_as_it_is, 10_000, DeadLetters("dead"), [1]),
        (_as_it_is, 3, DeadLetters("dead"), [1, 1, 1]),
        (_divided, 10_000, None, None),
        (_without_what_is_known, 10_000, None, None),
    ],
    ids=["in one job", "beside dead letters", "more than one batch", "its author wants two tasks", "a join"],
)
def test_w5_one_small_file_is_delivered_by_the_job_that_looks_at_its_keys(
    counting_jobs, one_file, spark, journal, published, change, batch_rows, dead_letters, stages
):
    spark.conf.set(BATCH, batch_rows)
    try:
        sinks = {"journal": Journal(str(journal), refuses=(4,) if dead_letters else ())}
        done, found = counting_jobs(change(one_file(*FEW)), sinks, dead_letters=dead_letters)
    finally:
        spark.conf.unset(BATCH)
    assert (done.positive, done.accounting.read, len(written(journal))) == (True, 4, 3 if dead_letters else 4)
    assert dead_letters is None or [row.key for row in published("dead")] == ["4"]
    if stages:
        assert found == [*stages, *(OF_LETTERS if dead_letters else [])]
    else:
        assert len(found) > 2, "one that looks, and one that delivers, behind one that shuffles"


@pytest.mark.parametrize(
    ("rows", "wanted", "problem"),
    [
        ([*FEW, (1, "e")], None, "key='k': is 1 in 2 records, so that sinks cannot tell them apart"),
        ([*FEW, (None, "e")], True, r"key='k': is null in 1 record\(s\), so that"),
        ([*FEW, (1, "e")], False, None),
    ],
)
def test_w5_keys_of_one_small_file_are_refused_before_anything_is_delivered(
    deliver, one_file, journal, tmp_path, rows, wanted, problem
):
    files = tmp_path / "files"
    sinks = {"journal": Journal(str(journal)), "files": FileSink(str(files))}
    found = deliver(one_file(*rows), sinks, dead_letters=DeadLetters("dead"), check_keys=wanted)
    if problem is None:
        assert found["done"].positive
        assert len(written(journal)) == len(rows)
        return
    with pytest.raises(InvalidInputError, match=problem):
        raise found["error"]
    assert (written(journal), [*files.rglob("*.json")]) == ([], [])


def test_keys_of_what_goes_to_blocks_only_may_be_null(deliver, journal):
    sinks = {"clean": Publish("clean"), "journal": Journal(str(journal), where="k is not null")}
    assert deliver([(1, "a"), (None, "b"), (None, "c")], sinks)["done"].positive


@pytest.mark.parametrize(
    ("sinks", "more", "problem"),
    [
        ({}, {}, "sinks={}: are none"),
        ([Publish("a")], {}, r"sinks=.*: is no mapping"),
        ({"a": "b"}, {}, r"sinks\['a'\]='b': is no sink\. Give Publish"),
        ({"a\n": Publish("a")}, {}, "sinks='a.*': may hold printable ASCII"),
        ({str(n): Publish(str(n)) for n in range(9)}, {}, "are more than 8. Deliver in two calls"),
        ({"a": Publish("x"), "b": Publish("x")}, {}, "sinks='x': is the dataset of two sinks"),
        ({"a": Publish("x")}, {"dead_letters": DeadLetters("x")}, "sinks='x': is the dataset of two sinks"),
        (
            {"a": FileSink("/out"), "b": FileSink("file:///out/", format="parquet")},
            {},
            "sinks='/out': is the directory of two places, which would take each other's files away. Give each its own",
        ),
        (
            {"a": FileSink("/out")},
            {"dead_letters": DataPrepperDeadLetters("/out/letters/..")},
            "sinks='/out': is the directory of two places",
        ),
        ({"a": Publish("x", mode="add")}, {}, "mode='add': is not a mode"),
        ({"a": Publish("x", format="xml")}, {}, "format='xml': is not a format"),
        ({"a": Publish("x", where="nothing = 1")}, {}, r"sinks\['a'\].where='nothing = 1': cannot be evaluated: "),
        ({"a": Publish("x", where="k + 1")}, {}, r"sinks\['a'\].where='k \+ 1': is bigint, not boolean"),
        ({"a": Publish("x", where="sum(k) > 1")}, {}, r"sinks\['a'\].where='sum\(k\) > 1': cannot be evaluated: "),
        ({"a": Publish("x", where="explode(array(true))")}, {}, r"sinks\['a'\].where='explode.*cannot be evaluated: "),
        ({"a": Publish("x", where="row_number() over (order by k) > 1")}, {}, "cannot be evaluated: "),
        ({"a": Publish("x", where="k >")}, {}, r"cannot be evaluated: \S"),
        ({"a": FileSink}, {}, r"sinks\['a'\]=.*: is no sink\. Give Publish"),
        ({"a": Publish("x", columns=("k", "no"))}, {}, r"sinks\['a'\].columns='no': is no column of the records"),
        ({"a": Publish("x")}, {"check_keys": "no"}, "check_keys='no': is neither yes nor no"),
        ({"a": Publish("x")}, {"drop": {"r": 7}}, r"drop\['r'\]=7: is int, not text"),
        ({"a": Publish("x")}, {"drop": {"r": None}}, r"drop\['r'\]=None: is NoneType, not text"),
        ({"a": Publish("x")}, {"drop": {"": "k = 1"}}, "drop='': is no name"),
        ({"a": Publish("x")}, {"on_negative": "ignore"}, "on_negative='ignore': is no way to end a tenure"),
        ({"a": Publish("x")}, {"acknowledgment_timeout": 7}, "acknowledgment_timeout=7: is int, not a timedelta"),
    ],
)
def test_bad_arguments(deliver, sinks, more, problem):
    with pytest.raises(InvalidInputError, match=problem):
        raise deliver(ROWS, sinks, **more)["error"]


@pytest.mark.parametrize(("first", "second"), [({}, {"mode": "append"}), ({"mode": "append"}, {})])
def test_two_deliveries_into_one_dataset_agree_on_the_mode(run, store, journal, coordinator, first, second):
    """The second is refused before a record of it reaches any sink."""

    def main(spark, lease):
        early, late = (spark.createDataFrame(part, "k bigint, v string") for part in (ROWS[:5], ROWS[5:]))
        sinks = {"journal": Journal(str(journal))}
        lease.deliver(early, "k", {"clean": Publish("clean", **first)} | sinks)
        lease.deliver(late, "k", {"clean": Publish("clean", **second)} | sinks)
        return Complete()

    assert run(main).failed == 1
    assert ": differs from '" in coordinator.partition("p").last_error
    assert written(journal) == [0, 1, 2, 3, 4]
    assert store.heads("s|PARTITION") == []


@pytest.mark.parametrize("records", [[(1, "a")], None])
def test_what_is_no_dataframe(run, records):
    refused = []

    def main(spark, lease):
        with pytest.raises(InvalidInputError) as raised:
            lease.deliver(records, "k", {"a": Publish("x")})
        refused.append(str(raised.value))
        return Complete()

    run(main)
    assert f"is {type(records).__name__}, not a DataFrame. Give spark.createDataFrame" in refused[0]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ("1 as x", "key='k': is no column of the records. Give one of x"),
        ("map('a', 1) as k", "key='k': is of the type map, which is no key. Give a column of text"),
        ("named_struct('a', 1) as k", "key='k': is of the type struct, which is no key"),
        ("1 as k, 2 as k", "records='k': is the name of two columns"),
        ("1 as k, 2 as __deliver_0", "records='__deliver_0': is a name that deliver needs itself"),
    ],
)
def test_bad_columns(deliver, spark, columns, problem):
    with pytest.raises(InvalidInputError, match=problem):
        raise deliver(spark.sql(f"select {columns}"), {"a": Publish("x")})["error"]


@pytest.mark.parametrize(
    ("where", "rows", "said"),
    [
        ("v > 1000", "true", "4 row(s) reach no sink, and nobody knows for how many absorbed records they stand"),
        ("k < 2", "true", "2 row(s) reach no sink, and nobody knows for how many absorbed records they stand"),
        (None, "false", "there is no row, and 100 record(s) are to be absorbed"),
    ],
    ids=["no row fits", "half of the rows fit", "no row"],
)
def test_d3_rows_that_reach_no_sink_absorb_nothing(spark, deliver, coordinator, where, rows, said) -> None:
    records = spark.range(100).selectExpr("id as k", "id % 4 as g")
    sums = records.groupBy("g").count().selectExpr("g as k", "`count` as v").where(rows)
    done = deliver(sums, {"daily": Publish("daily", where=where)}, absorbs=records)["done"]
    assert (done.positive, done.problems) == (False, (said,))
    assert (done.accounting.delivered_everywhere, done.accounting.failed) == (0, 100)
    assert coordinator.partition("p").failures == 1


def test_z4_each_sink_gets_the_columns_that_it_wants(spark, deliver, published, tmp_path) -> None:
    """Helper columns decide where a record goes, and are in no block and no file."""
    records = spark.range(4).selectExpr("id as k", "'v' as v", "id % 2 = 0 as even")
    sinks = {
        "block": Publish("clean", where="even", columns=("k", "v")),
        "files": FileSink(str(tmp_path / "f"), where="not even", columns=["v"]),
        "more": FileSink(str(tmp_path / "p"), format="parquet", columns=("k",)),
    }
    done = deliver(records, sinks)["done"]
    assert (done.positive, done.accounting.read) == (True, 4), done.problems
    assert sorted(list(row.asDict().items()) for row in published("clean")) == [
        [("k", 0), ("v", "v")],
        [("k", 2), ("v", "v")],
    ]
    lines = [line for file in (tmp_path / "f").glob("*.jsonl") for line in file.read_text().splitlines()]
    assert lines == ['{"v":"v"}'] * 2
    assert spark.read.parquet(str(tmp_path / "p")).columns == ["k"]


def test_d7_maps_are_objects_in_files_and_tables(spark, deliver, tmp_path, postgres_url) -> None:
    from pyspark.sql import functions as fn

    url = postgres_url.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table maps (k bigint primary key, m jsonb, s jsonb)")
        (table := PostgresSink(url, table="maps", columns=("k", "m", "s"))).setup()
        query = "select 1L as k, map('a', 1) as m, named_struct('k', map('z', 1)) as s, parse_json('{\"b\": 2}') as v"
        records = spark.sql(query)
        sinks = {"table": table, "json": FileSink(str(tmp_path / "f"))}
        sinks["parquet"] = FileSink(str(tmp_path / "p"), format="parquet")
        done = deliver(records, sinks)["done"]
        assert done.positive, done.problems
        assert connection.execute("select k, m, s from maps").fetchall() == [(1, {"a": 1}, {"k": {"z": 1}})]
    [file] = (tmp_path / "f").glob("*.jsonl")
    assert json.loads(file.read_text()) == {"k": 1, "m": {"a": 1}, "s": {"k": {"z": 1}}, "v": {"b": 2}}
    written = spark.read.parquet(str(tmp_path / "p"))
    assert written.collect() == records.withColumn("v", fn.to_json("v")).collect()


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("array(parse_json('1'))", "variant"),
        ("interval '1' month", "interval"),
        ("array(named_struct('i', interval '1' day))", "interval"),
    ],
)
def test_d7_types_that_no_sink_takes_are_refused_before_a_record_is_read(spark, deliver, journal, column, kind) -> None:
    records = spark.range(1).selectExpr("id as k", f"{column} as odd")
    with pytest.raises(InvalidInputError, match=f"records='odd': has the type {kind}, which sink 'j' does not take"):
        raise deliver(records, {"j": Journal(str(journal))})["error"]


def test_f6_a_delivery_that_raised_leaves_no_pending_files(run, spark, tmp_path) -> None:
    """Another sink cannot be written to: what this one has written is of no use, and nobody would look for it."""

    def main(spark, lease):
        sinks = {"files": FileSink(str(tmp_path / "out")), "broken": Journal("/nowhere/at/all")}
        lease.deliver(spark.range(10).selectExpr("id as k"), "k", sinks)
        return Complete()

    assert run(main).failed == 1
    assert list((tmp_path / "out").rglob("*.jsonl")) == []


def test_a_stream_has_no_end_to_account_for(spark, deliver) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(InvalidInputError, match="records='a stream': is a stream, which has no end"):
        raise deliver(stream, {"a": Publish("x")})["error"]


def test_a_dataset_needs_a_name() -> None:
    with pytest.raises(InvalidInputError, match="dataset=None"):
        Publish(None)  # type: ignore[arg-type]


def test_s13_rows_of_an_aggregation_stand_for_their_records(spark, deliver, published, coordinator) -> None:
    records = spark.range(100).selectExpr("id as k", "id % 4 as g")
    sums = records.groupBy("g").count().selectExpr("g as k", "`count` as v")
    found = deliver(sums, {"daily": Publish("daily")}, absorbs=records)
    done = found["done"]
    assert done.positive
    assert (done.accounting.read, done.accounting.delivered_everywhere, done.accounting.failed) == (100, 100, 0)
    assert done.accounting.sinks == {"daily": SinkCounts(owed=4, delivered=4)}
    assert sorted((row.k, row.v) for row in published("daily")) == [(each, 25) for each in range(4)]
    assert coordinator.accounting("p").read == 100


def test_s13_a_row_that_does_not_arrive_fails_all_it_may_stand_for(spark, deliver, journal, coordinator) -> None:
    records = spark.range(100).selectExpr("id as k", "id % 4 as g")
    sums = records.groupBy("g").count().selectExpr("g as k", "`count` as v")
    sinks = {"daily": Publish("daily"), "search": Journal(str(journal), refuses=(2,))}
    found = deliver(sums, sinks, absorbs=records)
    done = found["done"]
    assert not done.positive
    assert (done.accounting.read, done.accounting.delivered_everywhere, done.accounting.failed) == (100, 0, 100)
    assert done.accounting.sinks["search"] == SinkCounts(owed=4, delivered=3, failed=1)
    assert found["drained"].failed == 1
    assert list(coordinator.store.heads("s|PARTITION")) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"absorbs": "flights"}, "absorbs='flights': is str, not a DataFrame. Give the records that were aggregated"),
        ({"drop": {"odd": "k % 2 = 1"}}, "drop=['odd']: would drop rows that stand for many records each"),
        ({"dead_letters": DeadLetters("dead")}, "dead_letters='given': would keep a row that stands for many records"),
    ],
)
def test_what_cannot_stand_for_others_is_refused(spark, deliver, given: dict, said: str) -> None:
    found = deliver([(1, "v")], {"a": Publish("x")}, **{"absorbs": spark.range(3), **given})
    assert isinstance(found["error"], InvalidInputError)
    assert str(found["error"]).startswith(said)
