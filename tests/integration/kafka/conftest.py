"""A real broker, a Spark session that has the connector, and a topic of three partitions for each test."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from scripts.java_packages import jars
from tests.engines.kafka import kafka_broker
from tests.integration.spark.conftest import spark

__all__ = ["spark"]

_LOADING = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """``host:port`` of the session's broker. Its topics outlive the test: use names of your own."""
    with kafka_broker(jars("kafka")) as servers:
        yield servers


@pytest.fixture
def admin(kafka: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka})


@pytest.fixture
def topic(admin: AdminClient) -> str:
    name = f"flights-{uuid.uuid4().hex[:12]}"
    admin.create_topics([NewTopic(name, 3, 1)])[name].result()
    return name


@pytest.fixture
def send(kafka: str, topic: str) -> Callable[[range], None]:
    """Send numbers, each to the partition that it leaves over when divided by three."""

    def send(numbers: range) -> None:
        producer = Producer({"bootstrap.servers": kafka})
        for number in numbers:
            producer.produce(topic, str(number).encode(), partition=number % 3)
        assert producer.flush(60) == 0

    return send


@pytest.fixture
def committed(kafka: str, topic: str) -> Callable[[], dict[int, int]]:
    """The offsets of the topic's own consumer group, by partition; 0 where it has none."""

    def committed() -> dict[int, int]:
        consumer = Consumer({"bootstrap.servers": kafka, "group.id": topic, "log_level": 0})
        try:
            found = _committed(consumer, [TopicPartition(topic, number) for number in range(3)])
            return {each.partition: max(each.offset, 0) for each in found}
        finally:
            consumer.close()

    return committed


def _committed(consumer: Consumer, places: list[TopicPartition]) -> list[TopicPartition]:
    """Return what is committed, as soon as the broker knows: on a busy machine a new one still loads its groups."""
    ends = time.monotonic() + 60
    while True:
        try:
            return consumer.committed(places, timeout=15)
        except KafkaException as error:
            if error.args[0].code() not in _LOADING or time.monotonic() > ends:
                raise
            time.sleep(0.1)
