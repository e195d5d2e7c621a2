"""Topics of a real broker: their partitions as partitions, their records read once each, and what is an error."""

from __future__ import annotations

from datetime import timedelta

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewPartitions

from airflow_coordination.leases import InvalidInputError, PartitionStatus, SourceCoordinator
from airflow_coordination.sources import SourceError, kafka_ranges
from airflow_coordination.spark import Close, drain, read_completed, read_range
from airflow_coordination.stores import open_store
from tests.engines.ports import free_port

LATER = timedelta(hours=1)


@pytest.fixture
def store():
    store = open_store("memory://")
    store.setup()
    yield store
    store.close()


@pytest.fixture
def coordinator(store):
    return SourceCoordinator(store, source="topic", owner="a person")


@pytest.fixture
def one_pass(kafka, topic, spark, store, coordinator, tmp_path):
    """Read every partition once; return how it ended."""

    def one_pass(**options):
        def main(spark, lease):
            found = read_range(spark, lease, kafka, **options)
            with lease.publish("numbers", allow_empty=True) as block:
                found.records.selectExpr("cast(value as string) as number").write.parquet(block.path)
            return Close(LATER, state=found.state)

        coordinator.run_supplier(kafka_ranges(kafka, topic))
        for partition in coordinator.partitions(PartitionStatus.CLOSED):
            coordinator.people.reopen(partition.key, by="a person", why="the next pass")
        return drain(main, store=store, source="topic", spark=spark, output_root=tmp_path / "out", max_leases=3)

    return one_pass


@pytest.fixture
def published(spark, store):
    def published():
        rows = read_completed(spark, store=store, source="topic", dataset="numbers").collect()
        return sorted(int(row.number) for row in rows)

    return published


def offsets(coordinator):
    return {partition.key.partition(":")[2]: partition.progress_state for partition in coordinator.partitions()}


def test_a_topic_s_partitions_are_created_once_also_those_of_later(kafka, topic, admin, coordinator):
    supplier = kafka_ranges(kafka, topic)
    assert coordinator.run_supplier(supplier).created.created == 3
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result()
    assert coordinator.run_supplier(supplier).created.created == 2
    found = {partition.key: partition.payload for partition in coordinator.partitions()}
    assert found == {f"{topic}:{n}": {"topic": topic, "partition": n} for n in range(5)}


def test_passes_read_each_record_once(send, one_pass, published, coordinator):
    send(range(30))
    one_pass()
    assert published() == list(range(30))
    one_pass()
    send(range(30, 100))
    one_pass()
    assert published() == list(range(100))
    assert offsets(coordinator) == {"0": {"offset": 34}, "1": {"offset": 33}, "2": {"offset": 33}}


def test_a_range_is_bounded_and_the_next_goes_on(send, one_pass, published, coordinator):
    send(range(30))
    one_pass(max_records=4)
    assert published() == list(range(12))
    assert offsets(coordinator)["1"] == {"offset": 4}
    one_pass(max_records=100)
    assert published() == list(range(30))


def test_a_range_is_the_same_when_it_is_read_again(kafka, topic, send, spark, store, coordinator):
    send(range(30))
    seen = []

    def main(spark, lease):
        found = read_range(spark, lease, kafka)
        send(range(30, 60))
        seen.append((found.records.count(), found.start, found.end))
        return Close(timedelta(hours=1), state=found.state)

    coordinator.run_supplier(kafka_ranges(kafka, topic))
    drain(main, store=store, source="topic", spark=spark)
    assert seen[0] == (10, 0, 10)


def test_deleted_records_are_an_error_with_both_offsets(kafka, topic, admin, send, one_pass, published, coordinator):
    send(range(30))
    one_pass()
    send(range(30, 60))
    gone = TopicPartition(topic, 1, 15)
    admin.delete_records([gone])[gone].result()
    one_pass()
    (failed,) = (each for each in coordinator.partitions() if each.last_error)
    assert failed.key == f"{topic}:1"
    assert f"{topic}:1 at {kafka}: offset 10 is wanted and 15 is the earliest there: 5 are gone" in failed.last_error
    assert failed.progress_state == {"offset": 10}
    assert published() == sorted([*range(30), *(n for n in range(30, 60) if n % 3 != 1)])


def test_a_first_pass_begins_with_what_is_there(topic, admin, send, one_pass, published):
    send(range(30))
    gone = TopicPartition(topic, 0, 5)
    admin.delete_records([gone])[gone].result()
    one_pass()
    assert published() == [n for n in range(30) if n % 3 or n >= 15]


def test_a_topic_that_was_cut_short_is_an_error(kafka, topic, one_pass, coordinator):
    coordinator.run_supplier(kafka_ranges(kafka, topic))
    coordinator.close(coordinator.acquire_partition(f"{topic}:1"), LATER, {"offset": 7})
    one_pass()
    (failed,) = (each for each in coordinator.partitions() if each.last_error)
    assert "offset 7 is wanted and 0 is the latest there" in failed.last_error
    assert failed.status is not PartitionStatus.COMPLETED


def test_a_topic_that_does_not_exist_is_named(kafka, coordinator):
    with pytest.raises(SourceError, match=rf"{kafka} has no readable topic 'nowhere': .*Unknown topic"):
        coordinator.run_supplier(kafka_ranges(kafka, "nowhere"))


def test_servers_that_do_not_answer_are_named(coordinator):
    servers = f"127.0.0.1:{free_port()}"
    with pytest.raises(SourceError, match=f"{servers} did not answer within 2 seconds"):
        coordinator.run_supplier(kafka_ranges(servers, "t", seconds=2))


def test_options_that_are_none_are_told(coordinator):
    with pytest.raises(SourceError, match="takes no such options"):
        coordinator.run_supplier(kafka_ranges("host:9092", "t", options={"no.such.option": "1"}))


@pytest.mark.parametrize(
    ("servers", "topics", "field"), [("", "t", "servers"), ("h:1", [], "topic"), ("h:1", ["t", "t"], "topic")]
)
def test_what_names_nothing_is_refused(servers, topics, field):
    with pytest.raises(InvalidInputError, match=field):
        kafka_ranges(servers, topics)


def test_d10_records_of_an_aborted_transaction_are_in_no_range(kafka, topic, one_pass, published, coordinator):
    def send_in_a_transaction(name, numbers, commit):
        producer = Producer({"bootstrap.servers": kafka, "transactional.id": f"{topic}-{name}"})
        producer.init_transactions(30)
        producer.begin_transaction()
        for number in numbers:
            producer.produce(topic, str(number).encode(), partition=0)
        producer.flush(30)
        producer.commit_transaction(30) if commit else producer.abort_transaction(30)

    send_in_a_transaction("one", range(2), True)
    send_in_a_transaction("two", range(2, 4), False)
    send_in_a_transaction("three", range(4, 6), True)
    one_pass()
    assert published() == [0, 1, 4, 5]
    assert offsets(coordinator)["0"] == {"offset": 9}, "six records and three markers"


def test_d10_one_isolation_is_for_both_clients(kafka, topic, one_pass, published):
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"7", partition=0)
    producer.flush(30)
    one_pass()
    assert published() == [], "the transaction is open: neither counted nor read"
    one_pass(isolation="read_uncommitted")
    assert published() == [7]
    producer.abort_transaction(30)


def test_source_s2_a_topic_that_is_gone_stops_no_other(kafka, topic, coordinator):
    with pytest.raises(SourceError, match=r"2 topics that were left out: '0-gone' \(.*Unknown topic.*'1-gone'"):
        coordinator.run_supplier(kafka_ranges(kafka, ["0-gone", "1-gone", topic]))
    assert [each.key for each in coordinator.partitions()] == [f"{topic}:{number}" for number in range(3)]
