"""Reading the next range of a topic's partition with Spark's connector to Kafka."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from airflow_coordination.values.input_errors import (
    CoordinationError,
    InvalidInputError,
    ProgressStateError,
    SettingsError,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_coordination.systems.reader import ReadersLease

_SECONDS: Final = 15.0


class KafkaRangeError(CoordinationError):
    """A topic's partition cannot be read from where the last pass ended.

    :param place: the topic's partition and the servers.
    :param problem: the problem, with the offsets.
    :param remedy: the way out.
    """

    def __init__(self, place: str, problem: str, remedy: str) -> None:
        super().__init__(place, problem, remedy)
        self.place, self.problem, self.remedy = place, problem, remedy

    def __str__(self) -> str:
        return f"Cannot read {self.place}: {self.problem}. {self.remedy}"


@dataclass(frozen=True, slots=True)
class KafkaRange:
    """The records from ``start`` up to, not including, ``end``: the same ones each time ``records`` is read.

    :param records: the connector's columns: key, value, topic, partition, offset, timestamp, timestampType.
    :param start: the first offset.
    :param end: the offset after the last one.
    """

    records: DataFrame = field(repr=False)
    start: int
    end: int

    @property
    def state(self) -> dict[str, int]:
        """The progress to save or to close with once the records are published."""
        return {"offset": self.end}


def read_range(
    spark: SparkSession,
    lease: ReadersLease,
    servers: str,
    *,
    max_records: int | None = None,
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed",
    client_options: Mapping[str, str] | None = None,
    spark_options: Mapping[str, str] | None = None,
    seconds: float = _SECONDS,
) -> KafkaRange:
    """Return what a partition of :func:`~airflow_coordination.sources.kafka_ranges` has beyond its progress.

    Kafka is asked once for the latest offset; later records belong to the next pass. Without progress the range begins
    with the earliest record. Publish ``records``, then return ``Close(reopen_after, state=range.state)``. The driver
    needs the extra ``kafka``, Spark the connector ``spark-sql-kafka-0-10`` of its own version.

    :param servers: ``host:port``, several with commas.
    :param max_records: at most so many offsets; the next pass goes on from there.
    :param isolation: what both clients take part in: ``"read_committed"`` leaves out the records of transactions that
        were aborted, and waits for those that are open; ``"read_uncommitted"`` takes them all (Kafka:
        ``isolation.level``).
    :param client_options: more options of librdkafka, which asks for the offsets.
    :param spark_options: more options of the connector (``kafka.security.protocol`` and so on).
    :param seconds: how long to wait for Kafka's answer about offsets.
    :raises KafkaRangeError: when Kafka does not answer, or the records after the progress are gone; it names the offset
        that is wanted and those that are there. Nothing is skipped.
    :raises ProgressStateError: when the progress is no offset.
    :raises InvalidInputError: for a payload, ``max_records`` or ``isolation`` that cannot be used, and for options that
        set the isolation for one of the two clients.
    """
    topic, number = _place(lease.partition.payload)
    if max_records is not None and (isinstance(max_records, bool) or not max_records > 0):
        raise InvalidInputError(
            "max_records", max_records, "is no number of records", "Give 1 or more, or leave it out"
        )
    _check_isolation(isolation, client_options or {}, spark_options or {})
    place = f"{topic}:{number} at {servers}"
    options = {**(client_options or {}), "isolation.level": isolation}
    earliest, latest = _offsets(servers, topic, number, options, seconds, place)
    start = _start(lease.progress_state, earliest, latest, place)
    end = latest if max_records is None else min(latest, start + max_records)
    records = (
        spark.read.format("kafka")
        .options(**(spark_options or {}))
        .option("kafka.bootstrap.servers", servers)
        .option("kafka.isolation.level", isolation)
        .option("assign", json.dumps({topic: [number]}))
        .option("startingOffsets", json.dumps({topic: {number: start}}))
        .option("endingOffsets", json.dumps({topic: {number: end}}))
        .option("failOnDataLoss", "true")
        .load()
    )
    return KafkaRange(records, start, end)


def _place(payload: Mapping[str, Any] | None) -> tuple[str, int]:
    topic, number = (payload or {}).get("topic"), (payload or {}).get("partition")
    if not isinstance(topic, str) or not isinstance(number, int):
        raise InvalidInputError("payload", payload, "names no topic and partition", "Create it with kafka_ranges")
    return topic, number


def _check_isolation(isolation: object, client: Mapping[str, str], spark: Mapping[str, str]) -> None:
    """Refuse two isolations: what one client counts, the other would not read, or the other way round."""
    if isolation not in ("read_committed", "read_uncommitted"):
        remedy = "Give 'read_committed' or 'read_uncommitted'"
        raise InvalidInputError("isolation", isolation, "is no isolation of Kafka", remedy)
    for given, options in (("client_options", client), ("spark_options", spark)):
        for name in options:
            if name.lower().removeprefix("kafka.") == "isolation.level":
                problem = f"sets {name} for one of two clients"
                raise InvalidInputError(given, options[name], problem, "Give isolation=… instead, which is for both")


def _start(progress: Any, earliest: int, latest: int, place: str) -> int:
    """Return the first offset of the range.

    :raises KafkaRangeError: when the progress is not among the offsets that are there.
    """
    if progress is None:
        return earliest
    wanted = progress.get("offset") if isinstance(progress, Mapping) else None
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 0:
        raise ProgressStateError(
            "progress", progress, "has no offset", "Close with range.state, or reset the partition"
        )
    remedy = "Reset the partition to read what is there, after you have seen to what is lost"
    if wanted < earliest:
        problem = f"offset {wanted} is wanted and {earliest} is the earliest there: {earliest - wanted} are gone"
        raise KafkaRangeError(place, problem, remedy)
    if wanted > latest:
        problem = f"offset {wanted} is wanted and {latest} is the latest there: the topic was created anew or cut short"
        raise KafkaRangeError(place, problem, remedy)
    return wanted


def _offsets(
    servers: str, topic: str, number: int, options: Mapping[str, str], seconds: float, place: str
) -> tuple[int, int]:
    try:
        from confluent_kafka import Consumer, KafkaException, TopicPartition
    except ModuleNotFoundError as error:
        remedy = "Install airflow-coordination[kafka] where the driver runs"
        raise SettingsError("confluent-kafka", None, "is not here", remedy) from error
    own = {"bootstrap.servers": servers, "group.id": "airflow-coordination", "log_level": "0"}
    try:
        consumer = Consumer({**own, **options})
        try:
            found = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=seconds, cached=False)
        finally:
            consumer.close()
    except (KafkaException, ValueError) as error:
        raise KafkaRangeError(
            place, f"Kafka says {error}", "Check servers, the topic and this user's rights"
        ) from error
    return int(found[0]), int(found[1])
