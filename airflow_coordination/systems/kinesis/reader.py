"""Reading the shard of a lease in batches: landed by an executor first, then handed to the partition function."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from airflow_coordination.leases.outcomes import Close, Complete, GiveUp, PartitionOutcome
from airflow_coordination.systems.kinesis.checkpoint import SEQUENCE_DIGITS, SUB_DIGITS, Checkpoint
from airflow_coordination.systems.kinesis.landing import SCHEMA, Landing, ShardPart, ShardReader
from airflow_coordination.systems.kinesis.shard_end import check_stream, create_children, is_gone
from airflow_coordination.systems.kinesis.shards import ShardLease, newest_read
from airflow_coordination.systems.objects.storage import delete
from airflow_coordination.systems.spark import archive
from airflow_coordination.systems.spark.session import context_of
from airflow_coordination.values.input_errors import (
    CoordinationError,
    InvalidInputError,
    ProgressStateError,
    SettingsError,
)
from airflow_coordination.values.times import from_micros, positive

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_coordination.systems.reader import ReadersLease

log = logging.getLogger(__name__)
_AFTER: Final = "after"
_LANDING: Final = "landing"
_PAUSE: Final = 1.0
_WANTED: Final = "another worker has asked for this shard, and goes on from where it was saved"
_TIP_PAUSE: Final = timedelta(minutes=1)
"""After a pass that has read everything: without it, a driver would take the same shard again and again."""
_TRIMMED: Final = (
    "Shard %s of %s was read up to %s, and its stream keeps records for %s only: those that came after that and are "
    "gone were never read. Look at the pauses between passes, or let the stream keep its records for longer"
)


@dataclass(frozen=True, slots=True)
class ShardBatch:
    """Some records of a shard, the same ones each time they are read.

    :param records: columns data, streamName, shardId, partitionKey, explicitHashKey, sequenceNumber, subSequenceNumber,
        approximateArrivalTimestamp; one row for each record that a producer gave, also out of aggregates of the KPL.
    :param count: how many.
    :param last: the place of the last of them: the progress once the function has done its work with them.
    :param arrived: when Kinesis got the newest of them.
    """

    records: DataFrame = field(repr=False)
    count: int
    last: Checkpoint
    arrived: datetime


class ShardBatches:
    """The batches of a shard, one after the other; made by :func:`shard`. Iterate over it once."""

    def __init__(
        self,
        spark: SparkSession,
        lease: ReadersLease,
        landing: Landing,
        *,
        max_runtime: timedelta | None,
        reopen_after: timedelta,
        publish_landing: str | None,
    ) -> None:
        self._spark, self._lease, self._landing = spark, lease, landing
        self._until = None if max_runtime is None else time.monotonic() + max_runtime.total_seconds()
        self._reopen_after, self._publish = reopen_after, publish_landing
        self._state: dict[str, Any] = dict(lease.progress_state or {_AFTER: None})
        self._after = landing.part.after
        self._iterator: str | None = None
        self._outcome: PartitionOutcome | None = None
        self._stopped = False
        self._landed: list[str] = []

    @property
    def outcome(self) -> PartitionOutcome:
        """What the partition function returns after the last batch.

        ``Complete()`` at the end of the shard; ``GiveUp`` where another worker has asked for it (``lease.wanted``),
        which goes on from what was saved; otherwise ``Close``, with the progress that is saved.

        :raises InvalidInputError: when the loop over the batches was left before its end: what was published of the
            last batch would be read again.
        """
        if self._outcome is None:
            problem = "is asked for before the loop over the batches has ended"
            raise InvalidInputError("outcome", None, problem, "Call stop() to end it early; do not leave it by break")
        return self._outcome

    def stop(self) -> None:
        """Let the loop end after the batch in hand is saved."""
        self._stopped = True

    def __iter__(self) -> Iterator[ShardBatch]:
        """Yield batches until the shard ends, ``max_runtime`` is over, :meth:`stop` was called or the lease is wanted.

        When the loop comes round, the batch's place and the blocks published meanwhile are saved in one step.

        :raises PartitionNotOwnedError: when the lease was lost.
        """
        while not self._over():
            batch = self._land()
            if batch is not None:
                yield batch
                self._save(batch)
            if batch is None or batch.count < self._landing.records:
                reader = self._look_ahead()
                if reader is None or reader.exhausted:
                    self._outcome = self._at_the_end(reader)
                    return
                if self._landing.to_the_tip and reader.caught_up:
                    break
                if batch is None and self._landing.seconds < _PAUSE:
                    time.sleep(_PAUSE)
        self._outcome = GiveUp(_WANTED) if self._lease.wanted else Close(self._reopen_after, state=self._state)

    def _over(self) -> bool:
        late = self._until is not None and time.monotonic() >= self._until
        return self._stopped or late or self._lease.wanted

    def _land(self) -> ShardBatch | None:
        """Let an executor read and write down the next records; ``None`` when there were none."""
        if self._publish is not None:
            return self._land_as_block(self._publish)
        path = self._lease.scratch(_LANDING)
        self._landed.append(path)
        return self._written(path)

    def _land_as_block(self, dataset: str) -> ShardBatch | None:
        try:
            with self._lease.publish(dataset) as block:
                batch = self._written(block.path)
                if batch is None:
                    raise _NothingError
        except _NothingError:
            return None
        return batch

    def _written(self, path: str) -> ShardBatch | None:
        """Land records below a path; what the files there say is the only truth about how far it went."""
        from pyspark.sql import functions as f

        landing, self._iterator = self._landing.after(self._after, self._iterator), None
        read = self._spark.range(0, 1, numPartitions=1).mapInArrow(landing, SCHEMA)
        try:
            read.write.parquet(path)
        except Exception as error:
            if self._gone(error):
                return None
            raise
        records = self._spark.read.schema(SCHEMA).parquet(path)
        sequence, sub = f.lpad("sequenceNumber", SEQUENCE_DIGITS, "0"), f.lpad("subSequenceNumber", SUB_DIGITS, "0")
        last = f.max(f.concat_ws(":", sequence, sub))
        arrived = f.unix_micros(f.max("approximateArrivalTimestamp"))
        [found] = records.agg(f.count("*").alias("count"), last.alias("last"), arrived.alias("arrived")).collect()
        if not found["count"]:
            return None
        return ShardBatch(records, found["count"], Checkpoint.from_padded(found["last"]), from_micros(found["arrived"]))

    def _gone(self, error: Exception) -> bool:
        """Return whether an executor could not read because the shard is gone; the driver finds out the same."""
        return "ResourceNotFoundException" in str(error) and is_gone(self._landing.part)

    def _save(self, batch: ShardBatch) -> None:
        self._after = batch.last
        self._state = {_AFTER: batch.last.to_json(), "at": batch.arrived.isoformat()}
        self._lease.save(self._state)
        self._tell_behind((datetime.now(UTC) - batch.arrived) // timedelta(milliseconds=1))

    def _look_ahead(self) -> ShardReader | None:
        """Read on to the next record, or to where nothing more is; ``None`` when there is no such shard any more.

        What it reads is left for the next batch, also where Kinesis tells of the end together with the last record.
        """
        part, limit = self._landing.after(self._after).part, 1
        try:
            reader = ShardReader(part)
            while not reader.read(limit) and not (reader.caught_up or self._over()):
                if reader.left_out:  # it may go on so for long: what was read, or belongs to other shards
                    limit *= 2
                time.sleep(_PAUSE)
                self._lease.alive()
                self._lease.check_held()
        except Exception as error:
            if type(error).__name__ == "ResourceNotFoundException" and is_gone(part):
                return None
            raise
        self._iterator = reader.came_from  # the next batch need not cross again what has no records
        self._tell_behind(reader.behind_ms)
        return reader

    def _tell_behind(self, milliseconds: int | None) -> None:
        if milliseconds is not None:
            self._lease.coordinator.counting.tell_behind(self._lease.partition.key, milliseconds)

    def _at_the_end(self, reader: ShardReader | None) -> PartitionOutcome:
        part = self._landing.part
        if reader is None:
            log.warning("Shard %s of %s is gone: it was trimmed", part.lease.shard, part.lease.stream.arn)
        else:
            create_children(self._lease, part.lease, reader.children)
        return Complete()

    def discard_landed(self) -> None:
        """Delete what was landed and published in another form; what cannot be deleted now is left to the collector."""
        for path in self._landed:
            try:
                delete(path)
            except CoordinationError as error:
                log.info("Left to the collector: %s", error)


class _NothingError(Exception):
    """Nothing was landed, so that there is no block."""


@contextmanager
def shard(
    spark: SparkSession,
    lease: ReadersLease,
    *,
    seconds: float = 60.0,
    records: int = 200_000,
    max_runtime: timedelta | None = timedelta(minutes=9),
    until_caught_up: bool = False,
    reopen_after: timedelta | None = None,
    publish_landing: str | None = None,
    client_options: Mapping[str, Any] | None = None,
) -> Iterator[ShardBatches]:
    """Read the shard of a lease of :class:`~airflow_coordination.sources.KinesisShards`, batch by batch.

    ::

        with shard(spark, lease, seconds=60) as batches:
            for batch in batches:
                with lease.publish("orders") as block:
                    parse(batch.records).write.parquet(block.path)
        return batches.outcome

    An executor reads the records and lands them as files in this tenure's own directory; how far it went, only those
    files say, so that neither a retried nor a speculative task counts twice. When the loop comes round, the place is
    saved together with the blocks that were published from the batch. At the end of the shard the children's leases
    are created, and they can start when this one completes: records with one partition key stay in their order.

    :param seconds: how long a batch is waited for.
    :param records: how many records it has at most.
    :param max_runtime: after it the last batch is saved and the partition closed, so that its output becomes visible;
        ``None`` reads to the end of the shard, and publishes nothing before it. (KCL workers never end.)
    :param until_caught_up: end, too, when everything was read that is there.
    :param reopen_after: when the next pass may begin: by default at once, and after a minute with ``until_caught_up``.
    :param publish_landing: publish the landed files themselves as this dataset, without a second copy.
    :param client_options: arguments for ``boto3.client``, on the driver and on executors: ``endpoint_url``,
        ``region_name`` and so on. By default the stream's region and boto3's own credentials.
    :raises InvalidInputError: when the partition is not one of a shard, when the stream of that name is another one
        here (of another account or region, or made anew), or when an argument cannot be used.
    :raises ProgressStateError: when the progress is no place in a shard.
    :raises SettingsError: with ``max_closed_count``, which would complete a shard that is not read to its end; without
        boto3.
    """
    if not (_is_number(records, int) and records >= 1):
        raise InvalidInputError("records", records, "is no number of records", "Give a whole number, 1 or more")
    if not (_is_number(seconds, int, float) and seconds > 0):
        raise InvalidInputError("seconds", seconds, "is no number above zero", "Give how long a batch is waited for")
    positive("max_runtime", max_runtime)
    pause = positive("reopen_after", reopen_after, zero=True)
    if pause is None:
        pause = _TIP_PAUSE if until_caught_up else timedelta(0)
    closes = lease.coordinator.settings.max_closed_count
    if closes is not None:
        problem = "would complete a shard that is not read to its end"
        lease.misconfigured = SettingsError("max_closed_count", closes, problem, "Leave it out for sources of shards")
        raise lease.misconfigured
    partition = lease.partition
    part = ShardPart(ShardLease.of(partition.key, partition.payload), _place(lease), dict(client_options or {}))
    kept = check_stream(part)
    if (read_to := newest_read(lease.progress_state)) is not None and datetime.now(UTC) - read_to > kept:
        log.warning(_TRIMMED, part.lease.shard, part.lease.stream.arn, read_to.isoformat(timespec="seconds"), kept)
    if context_of(spark) is None:  # the operator brings the archive to classic ones
        archive.bring(spark)
    batches = ShardBatches(
        spark,
        lease,
        Landing(part, seconds, records, until_caught_up),
        max_runtime=max_runtime,
        reopen_after=pause,
        publish_landing=publish_landing,
    )
    try:
        yield batches
    finally:
        lease.coordinator.counting.tell_behind(partition.key, None)
    batches.discard_landed()


def _is_number(given: object, *kinds: type) -> bool:
    return isinstance(given, kinds) and not isinstance(given, bool)


def _place(lease: ReadersLease) -> Checkpoint | None:
    """Return what was read last.

    :raises ProgressStateError: when the progress says something else.
    """
    progress = lease.progress_state
    if progress is None:
        return None
    remedy = "Close with batches.outcome, or reset the partition to read the shard again"
    if not isinstance(progress, Mapping) or _AFTER not in progress:
        raise ProgressStateError("progress", progress, "is no place in a shard", remedy)
    if progress[_AFTER] is None:
        return None
    try:
        return Checkpoint.from_json(progress[_AFTER])
    except InvalidInputError as error:
        raise ProgressStateError("progress", progress, "is no place in a shard", remedy) from error
