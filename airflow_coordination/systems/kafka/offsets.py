"""Telling a consumer group of Kafka how far its topics are published: for other people's tools, which look there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

from airflow_coordination.protocol.follow_up import Carried, FollowUpError, Place
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.input_errors import InvalidInputError

_SECONDS: Final = 15.0
_MAX_OFFSET, _MAX_NUMBER = 2**63 - 1, 2**31 - 1
"""Kafka: an offset has 64 bits, the number of a topic's partition 32."""


@dataclass(frozen=True, slots=True)
class CommitOffsets:
    """Moves a consumer group's offsets on to where a partition has ended, never back.

    The position that counts is the partition's progress. The group mirrors it, always behind what is published: it is
    committed after the ending, and one that is further on already, by a later pass, stays.

    :param servers: ``host:port``, several with commas.
    :param group: the consumer group, which has no members.
    :param offsets: the offset after the last record by ``topic:partition``, as the keys of
        :func:`~airflow_coordination.sources.kafka_ranges` are.
    :param options_from: the name of an environment variable of the driver with more options of librdkafka as a JSON
        object. The note does not hold it: whoever does later what the driver did not live to do has options of its own.
    :raises InvalidInputError: naming what cannot be used.
    """

    servers: str
    group: str
    offsets: Mapping[str, int]
    options_from: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    kind: ClassVar[str] = "commit offsets"

    def __post_init__(self) -> None:
        for name in ("servers", "group"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name) or "\0" in getattr(self, name):
                raise InvalidInputError(name, getattr(self, name), "is no name", "Give a text")
        given: object = self.offsets
        whole = isinstance(given, Mapping) and given and all(_is_place(key, value) for key, value in given.items())
        if not whole:
            remedy = "Give {'topic:partition': offset}, for example {lease.partition.key: range.end}"
            raise InvalidInputError("offsets", given, "names no offsets of topics", remedy)

    def pinned(self, partition: Partition) -> CommitOffsets:
        """Return itself: an offset is of one record."""
        return self

    def to_json(self) -> dict[str, Any]:
        """Return where to, and how far."""
        return {"servers": self.servers, "group": self.group, "offsets": dict(self.offsets)}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> CommitOffsets:
        """Return the commit that was noted; a variable that older notes name is nobody's here."""
        return cls(found["servers"], found["group"], found["offsets"])

    def with_options(self, options: Mapping[str, str]) -> CommitOffsets:
        """Return the commit by somebody else than the driver, with options of its own."""
        made = replace(self, options_from=None)
        object.__setattr__(made, "options", dict(options))
        return made

    def places(self) -> tuple[Place, ...]:
        """Return the servers."""
        return (Place("servers", self.servers),)

    def carry_out(self) -> Carried:
        """Commit what the group has not reached.

        :raises FollowUpError: when Kafka does not answer, or refuses.
        """
        kafka = _library()
        wanted = [kafka.TopicPartition(*_place(key), offset) for key, offset in self.offsets.items()]
        try:
            consumer = kafka.Consumer(
                {
                    "bootstrap.servers": self.servers,
                    "group.id": self.group,
                    "enable.auto.commit": False,
                    "log_level": 0,
                    **self._options(),
                }
            )
        except (kafka.KafkaException, TypeError, ValueError) as error:
            raise self._error(error) from error
        try:
            reached = consumer.committed(wanted, timeout=_SECONDS)
            ahead = [each for each, known in zip(wanted, reached, strict=True) if each.offset > known.offset]
            if ahead:
                consumer.commit(offsets=ahead, asynchronous=False)
        except kafka.KafkaException as error:
            raise self._error(error) from error
        finally:
            consumer.close()
        return Carried(len(wanted))

    def _options(self) -> dict[str, str]:
        if self.options_from is None:
            return dict(self.options)
        try:
            return options_in(self.options_from)
        except InvalidInputError as error:
            raise FollowUpError(self._what, f"{self.options_from} {error.problem}", error.remedy) from error

    @property
    def _what(self) -> str:
        return f"commit offsets of group {self.group!r} at {self.servers}"

    def _error(self, error: Any) -> FollowUpError:
        remedy = "Check servers and rights, and that the group has no members"
        return FollowUpError(self._what, str(error.args[0]), remedy)


def options_in(name: str) -> dict[str, str]:
    """Return the options of librdkafka in a variable of this process's environment.

    :raises InvalidInputError: when it holds no JSON object; nothing of what it holds is shown.
    """
    try:
        found: object = json.loads(os.environ[name])
    except (KeyError, ValueError):
        found = None
    if not isinstance(found, dict):
        remedy = "Set it where this is done"
        raise InvalidInputError("options_from", name, "is no JSON object in this process's environment", remedy)
    return found


def _place(key: str) -> tuple[str, int]:
    topic, _, number = key.rpartition(":")
    return topic, int(number)


def _is_place(key: object, offset: object) -> bool:
    topic, _, number = str(key).rpartition(":")
    named = bool(topic) and "\0" not in topic and number.isascii() and number.isdecimal() and len(number) <= 10
    counted = isinstance(offset, int) and not isinstance(offset, bool) and 0 <= offset <= _MAX_OFFSET
    return named and counted and int(number) <= _MAX_NUMBER


def _library() -> Any:
    try:
        import confluent_kafka
    except ModuleNotFoundError as error:
        raise FollowUpError(
            "commit offsets", "it needs confluent-kafka, which is not here", "Install airflow-coordination[kafka]"
        ) from error
    return confluent_kafka
