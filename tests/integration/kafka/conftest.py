"""A real broker, a Spark session that has the connector, and a topic of three partitions for each test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from scripts.java_packages import jars
from tests.engines.kafka import kafka_broker
from tests.integration.spark.conftest import spark

__all__ = ["spark"]


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
