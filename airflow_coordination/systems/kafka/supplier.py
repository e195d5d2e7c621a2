"""The supplier that makes a standing partition of every partition of Kafka topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_coordination.leases.supply import Supplied
from airflow_coordination.protocol.partition import Checkpoint, PartitionIdentifier
from airflow_coordination.systems.left_out import LeftOut
from airflow_coordination.systems.rights import FollowUpRights
from airflow_coordination.systems.suppliers import SourceError
from airflow_coordination.values.input_errors import InvalidInputError

_ACTION: Final = "list the partitions of a topic"
_SECONDS: Final = 15.0
_DAY: Final = 86_400
_WAIT: Final = "Give how long to wait for an answer"


@dataclass(frozen=True, slots=True)
class KafkaRanges:
    """The supplier that :func:`kafka_ranges` makes. It remembers nothing: what exists already is not created again."""

    servers: str
    topics: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = _SECONDS

    def __call__(self, state: Mapping[str, Any]) -> Iterator[Supplied]:
        """Yield each topic's partitions, those that were added since last time among them.

        A topic that cannot be looked at does not stop the others; the error comes at the end.

        :raises SourceError: when no server answers, or topics do not exist; it names them.
        """
        client, left = self._client(), LeftOut(self.servers, "topics")
        for topic in self.topics:
            found = self._numbers(client, topic)
            if isinstance(found, SourceError):
                left.failed(topic, found)
            else:
                yield from (PartitionIdentifier(f"{topic}:{n}", {"topic": topic, "partition": n}) for n in found)
        if left.work:
            yield Checkpoint(dict(state))  # when this goes on, what was yielded before it is in the store
        left.finish("The partitions of all others are created. Create these, or leave them out")

    @property
    def follow_up_rights(self) -> FollowUpRights:
        """Where offsets may be committed for notes that are found, and with which options."""
        return FollowUpRights(servers=self.servers, options=self.options)

    def _client(self) -> Any:
        try:
            from confluent_kafka.admin import AdminClient
        except ModuleNotFoundError as error:
            remedy = "Install airflow-coordination[kafka]"
            raise SourceError(_ACTION, self.servers, "needs confluent-kafka, which is not here", remedy) from error
        from confluent_kafka import KafkaException

        try:
            return AdminClient({"bootstrap.servers": self.servers, "log_level": "0", **self.options})
        except (KafkaException, ValueError) as error:
            raise SourceError(_ACTION, self.servers, f"takes no such options: {error}", "Mend options") from error

    def _numbers(self, client: Any, topic: str) -> list[int] | SourceError:
        """Return a topic's partitions, or what the servers have against this topic.

        :raises SourceError: when none answers: the next topic would wait as long, and hear as little.
        """
        from confluent_kafka import KafkaException

        try:
            found = client.list_topics(topic, timeout=self.seconds).topics.get(topic)
            problem = None if found is None else found.error
        except KafkaException as error:
            found, problem = None, error.args[0]
            if problem.code() < 0:  # librdkafka's own: no server has said it
                said = f"did not answer within {self.seconds:g} seconds: {problem.str()}"
                remedy = "Check servers, and that a broker runs there"
                raise SourceError(_ACTION, self.servers, said, remedy) from error
        if found is not None and problem is None:
            return sorted(found.partitions)
        said = f"has no readable topic {topic!r}" + (f": {problem.str()}" if problem else "")
        return SourceError(_ACTION, self.servers, said, "Create it, or check its name and this user's rights")


def kafka_ranges(
    servers: str,
    topic: str | Sequence[str],
    *,
    options: Mapping[str, str] | None = None,
    seconds: float = _SECONDS,
) -> KafkaRanges:
    """Return a supplier that makes one standing partition of every partition of a topic.

    Its key is ``topic:partition``, its payload ``topic`` and ``partition``. Ask it again and again: partitions that a
    topic gets later are created then. What is read in each pass says ``spark.read_range``. Nothing is contacted before
    the supplier runs. It needs the extra ``kafka``.

    :param servers: ``host:port``, several with commas (Kafka: ``bootstrap.servers``).
    :param topic: the topic's name, or several names.
    :param options: more options of librdkafka's client (``security.protocol``, ``sasl.password`` and so on).
    :param seconds: how long to wait for an answer.
    :raises InvalidInputError: for servers, topics, options or seconds that are none.
    """
    _check_place(servers, seconds)
    given: object = topic
    topics: tuple[Any, ...] = (
        (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else ()
    )
    named = all(isinstance(each, str) and each for each in topics)
    if not topics or not named or len(set(topics)) < len(topics):
        raise InvalidInputError("topic", topic, "is no name or list of different names", "Give at least one name")
    return KafkaRanges(servers, topics, _options(options), seconds)


def _check_place(servers: object, seconds: object) -> None:
    if not isinstance(servers, str) or not servers.strip():
        raise InvalidInputError("servers", servers, "names no server", "Write host:port, several with commas")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= _DAY:
        raise InvalidInputError("seconds", seconds, "is no number of seconds from above zero to a day", _WAIT)


def _options(given: object) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        problem = f"is {type(given).__name__}, no mapping of names"  # its values may be secret
        raise InvalidInputError("options", "(not shown)", problem, "Give librdkafka's options by their names")
    return dict(given)
