"""The supplier that gives every shard of Kinesis streams a partition, and removes streams nobody asks for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from airflow_coordination.leases.supply import SourceView, Supplied, partitions_of
from airflow_coordination.planning.shards.coverage import CONFIDENCE
from airflow_coordination.planning.shards.lineage import InconsistentListingError
from airflow_coordination.planning.shards.position import Position
from airflow_coordination.protocol.metrics import Metric
from airflow_coordination.protocol.partition import Checkpoint, Partition
from airflow_coordination.systems.kinesis.listing import connect, find, list_shards
from airflow_coordination.systems.kinesis.memory import Memory
from airflow_coordination.systems.kinesis.shards import Stream, initial_position
from airflow_coordination.systems.kinesis.sync import Care, Sync
from airflow_coordination.systems.left_out import LeftOut
from airflow_coordination.systems.suppliers import SourceError
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import needed

log = logging.getLogger(__name__)
_BY: Final = "KinesisShards"


def remove(memory: Memory, asked: Collection[str], view: SourceView, now: datetime, deferred: timedelta) -> None:
    """Delete the partitions of streams that have not been asked for long enough, and forget those without any.

    :param memory: of all streams; it learns which are not asked for any more.
    :param asked: the beginnings of the keys of those that are.
    :param deferred: how long is long enough.
    """
    for prefix, known in list(memory.streams.items()):
        if prefix in asked:
            continue
        since = known.removed or now
        memory.streams[prefix] = replace(known, removed=since)
        if now - since >= deferred and _delete_all(prefix, view):
            del memory.streams[prefix]


def _delete_all(prefix: str, view: SourceView) -> bool:
    """Delete what nobody holds, children first, since nobody may be left waiting; return whether nothing is left."""
    left = list(partitions_of(view, prefix))
    deleted = 0
    while left:
        refused = [one for one in left if not _deleted(one, view)]
        if len(refused) == len(left):
            break
        deleted, left = deleted + len(left) - len(refused), refused
    log.info("Stream %s is not read any more: %d partitions deleted, %d left", prefix, deleted, len(left))
    return not left


def _deleted(seen: Partition, view: SourceView) -> bool:
    if seen.status is PartitionStatus.ASSIGNED:
        return False
    try:
        view.delete(seen.key, by=_BY, why="its stream is not read any more", seen=seen)
    except PartitionNotFoundError:
        return True
    except PartitionUpdateError:  # it has changed, or others wait for it
        return False
    return True


_OF_A_STREAM = (SourceError, InconsistentListingError, InvalidInputError, LookupError, TypeError, ValueError)
"""What one stream may raise, odd answers among it; an error of the store is everybody's."""
Streams = Sequence[str] | Callable[[], Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class KinesisShards:
    """A supplier that gives every shard of some streams a partition, and reads nothing twice and skips nothing.

    Hand it to :class:`~airflow_coordination.operators.CreatePartitionsOperator` or to ``drain(supplier=)``; ask it
    again and again, every minute or so. A shard's partition waits for those of its parents, so that records with one
    partition key stay in their order over splits and merges. Kinesis is asked for its shards only when hash keys are
    covered by no lease for some looks running, or after ``full_sync_interval``. Names of options as in the KCL.

    :param streams: names or ARNs, or a function that returns them whenever the supplier runs.
    :param initial_position: where a stream begins that has no partitions yet: ``"TRIM_HORIZON"``, the oldest record
        that is there; ``"LATEST"``, the moment of the first listing (and not, as in the KCL, whenever somebody begins
        to read); or an aware datetime.
    :param client: a boto3 client of Kinesis, an Airflow hook (``AwsBaseHook(aws_conn_id=…, client_type="kinesis")``),
        or a function that returns one of them, called when the supplier runs; by default boto3's own.
    :param region_name: of boto3's own client; by default the environment's.
    :param endpoint_url: another address than the region's own.
    :param full_sync_interval: how old the newest listing of a stream may become.
    :param leases_recovery_auditor_inconsistency_confidence_threshold: how many looks running must find the same hole.
    :param ignore_unexpected_child_shards: leave out open children of open parents; otherwise such a listing, which
        Kinesis gives in the middle of a reshard, is an error to try again after.
    :param deferred_stream_deletion: how long the partitions of a stream stay that nobody asks for any more; one that
        somebody holds is never deleted (KCL: ``FormerStreamsLeasesDeletionStrategy``).
    :raises InvalidInputError: naming the option that cannot be used.
    """

    streams: Streams
    initial_position: str | datetime = "TRIM_HORIZON"
    client: Any = field(default=None, repr=False)
    region_name: str | None = None
    endpoint_url: str | None = None
    full_sync_interval: timedelta = timedelta(minutes=10)
    leases_recovery_auditor_inconsistency_confidence_threshold: int = CONFIDENCE
    ignore_unexpected_child_shards: bool = False
    deferred_stream_deletion: timedelta = timedelta(hours=1)
    _position: Position | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.streams):
            _names(self.streams)
        object.__setattr__(self, "_position", initial_position(self.initial_position))
        needed("full_sync_interval", self.full_sync_interval, zero=True)
        needed("deferred_stream_deletion", self.deferred_stream_deletion, zero=True)
        name = "leases_recovery_auditor_inconsistency_confidence_threshold"
        confidence: object = getattr(self, name)
        if isinstance(confidence, bool) or not isinstance(confidence, int) or confidence < 1:
            raise InvalidInputError(name, confidence, "is no whole number above zero", "Give 1 or more")

    def supply(self, state: Mapping[str, Any], view: SourceView) -> Iterator[Supplied]:
        """Yield the partitions that are missing, and delete those of streams that are gone.

        One stream's error does not stop the others; it is raised at the end.

        :param state: the source's global state.
        :param view: the source's partitions.
        :raises SourceError: when Kinesis does not answer, or there is no such stream.
        :raises InconsistentListingError: in the middle of a reshard.
        :raises InvalidInputError: when a partition under a stream's keys is none of a shard.
        """
        memory, now = Memory(state), datetime.now(UTC)
        client = connect(self.client, self.region_name, self.endpoint_url)
        asked: set[str] = set()
        left = LeftOut("Kinesis", "streams")
        for name in _names(self.streams() if callable(self.streams) else self.streams):
            try:
                found = find(client, name)
                if found is None:
                    left.failed(name, _no_stream(name))
                    continue
                stream, readable = found
                asked.add(stream.prefix)
                if readable:
                    yield from self._sync(client, stream, memory, view, now)
            except _OF_A_STREAM as error:
                left.failed(name, error)
        if not left.work:  # a stream that could not be looked at may be any of the known ones
            remove(memory, asked, view, now, self.deferred_stream_deletion)
        yield Checkpoint(memory.document())
        left.finish("All other streams have their partitions. Look at these, or leave them out")

    def _sync(self, client: Any, stream: Stream, memory: Memory, view: SourceView, now: datetime) -> Iterator[Supplied]:
        known = memory.of(stream.prefix)
        memory.streams[stream.prefix] = replace(known, removed=None)
        sync = Sync(
            stream,
            self._position,
            list(partitions_of(view, stream.prefix)),
            lambda position, alive_only: list_shards(client, stream, position, alive_only=alive_only),
            memory,
            Care(
                self.leases_recovery_auditor_inconsistency_confidence_threshold,
                self.full_sync_interval,
                self.ignore_unexpected_child_shards,
            ),
        )
        yield from sync.run(now)
        view.count(Metric.SHARD_SYNCS if sync.listed else Metric.SHARD_SYNCS_AVOIDED)
        view.count(Metric.COVERAGE_HOLES, len(sync.holes))


def _names(given: object) -> tuple[str, ...]:
    """Return the names of streams.

    :raises InvalidInputError: when there is none, one twice, or something else.
    """
    names = tuple(given) if isinstance(given, list | tuple | set | frozenset) else ()
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise InvalidInputError(
            "streams", given, "is no list of different names", "Give names or ARNs of streams, each once"
        )
    return names


def _no_stream(name: str) -> SourceError:
    return SourceError("list shards", name, "is no stream here", "Check its name, the account and the region")
