"""The lease as a partition function sees it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_coordination.delivery.dead_letters import DataPrepperDeadLetters
from airflow_coordination.delivery.deliveries import Deliveries, sink_task, way_out
from airflow_coordination.delivery.delivery import Acknowledgment, Delivery
from airflow_coordination.delivery.routing import DeadLetters, Publish, Routing
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.lease import Lease
from airflow_coordination.outputs.adding import (
    check_arguments,
    check_not_twice,
    check_one_mode,
    predecessor,
    schema_text,
)
from airflow_coordination.outputs.attempts import Attempt, Measure, OpenBlock, still_open
from airflow_coordination.outputs.copies.pieces import Copied
from airflow_coordination.outputs.formats import TextOptions, text_options
from airflow_coordination.outputs.manifests import Manifest
from airflow_coordination.outputs.origins import Merged
from airflow_coordination.outputs.schema_compatibility import SchemaCompatibility
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Created
from airflow_coordination.spark.reports import Report
from airflow_coordination.systems.objects.storage import usable_root
from airflow_coordination.systems.sink import Sink, SinkTask
from airflow_coordination.systems.spark.error_text import error_text
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.blocks import Block, Mode
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionNotOwnedError
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError
from airflow_coordination.values.settings import OnNegative

if TYPE_CHECKING:
    from airflow_coordination.protocol.follow_up import SourceAction, Then

log = logging.getLogger(__name__)


class OnParked:
    """The follow-up of a parking, as one tenure has said it last.

    It is stored with the partition, so that whoever parks it need not be this driver.

    :param coordinator: the source's coordinator.
    :param lease: the tenure.
    """

    def __init__(self, coordinator: SourceCoordinator, lease: Lease) -> None:
        self._coordinator, self._lease = coordinator, lease
        self._text: str | None = None
        self._actions: tuple[SourceAction, ...] = ()

    def say(self, then: Then) -> None:
        """Store what is to follow; see :meth:`PartitionLease.on_parked`."""
        from airflow_coordination.duties.follow_ups import pinned, text_of  # it needs a storage, and most need none

        actions = pinned(then, self._lease.chain.partition, "on_parked")
        text = text_of(actions)
        self._coordinator.on_parked(self._lease, text)
        self._text, self._actions = text, actions

    def follow(self) -> None:
        """Do it if this driver's failure has parked the partition; what is not done now is done later.

        What is done is what this driver's function has said, not what the store says of it.
        """
        if self._text is None:
            return
        from airflow_coordination.duties.follow_ups import follow_up

        key, token = self._lease.key, self._lease.fence.token
        try:
            for note in self._coordinator.follow_ups.follow_ups(key):
                if (note.token, note.text) == (token, self._text):
                    follow_up(self._coordinator, note, self._actions)
        except Exception as error:
            log.warning("Partition %r is parked, and what follows is left for later: %s", key, error_text(error))


class PartitionLease:
    """One tenure: read its partition, publish blocks, save progress. The runner renews and ends it.

    :param coordinator: the source's coordinator.
    :param lease: the tenure.
    :param heartbeat: keeps it alive.
    :param output_root: the directory of all blocks, normalised; ``None`` if this job publishes nothing.
    :param measure: reads files of formats that do not tell their rows.
    :param report: told about saved progress.
    :param compatibility: the driver's knowledge of the types in datasets; a new one by default.
    """

    def __init__(
        self,
        coordinator: SourceCoordinator,
        lease: Lease,
        heartbeat: Heartbeat,
        output_root: str | None,
        measure: Callable[[str, TextOptions, str | None], Measure] | None,
        report: Report,
        compatibility: SchemaCompatibility | None = None,
    ) -> None:
        self._coordinator, self._lease, self._heartbeat = coordinator, lease, heartbeat
        self._output_root, self._measure, self._report = output_root, measure, report
        self._compatibility = compatibility or SchemaCompatibility(coordinator.store)
        self._attempt: Attempt | None = None
        self._open: list[OpenBlock] = []
        self._finished: list[Block] = []
        self._lock = threading.RLock()
        self.deliveries = Deliveries(lease.key)
        """What became of the records that were delivered in this tenure."""
        self.parking = OnParked(coordinator, lease)
        self.refused: CoordinationError | None = None
        """The refusal that told this process that its tenure is over."""
        self.misconfigured: CoordinationError | None = None
        """The refusal that the function got for a reason that is not its own."""

    @property
    def coordinator(self) -> SourceCoordinator:
        """The source's coordinator, for looking at other partitions."""
        return self._coordinator

    @property
    def partition(self) -> Partition:
        """The partition: ``key``, ``payload``, ``closed_count`` and so on."""
        return self._lease.partition

    @property
    def progress_state(self) -> Any:
        """The progress saved last, by this tenure or one before; ``None`` when there is none."""
        return self._lease.chain.partition.progress_state

    @property
    def fence(self) -> Fence:
        """This tenure's fence."""
        return self._lease.fence

    @property
    def expires_at(self) -> datetime:
        """Until when the lease is held unless it is renewed, by the store's clock."""
        return self._lease.chain.expires_at

    @property
    def wanted(self) -> bool:
        """Whether another worker has asked for this lease: save, and return ``GiveUp(…)``; it goes on from there."""
        return self._lease.wanted

    @property
    def lost(self) -> CoordinationError | None:
        """Why the lease is over for this driver, ``None`` as long as it is held."""
        return self.refused or self._heartbeat.lost

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks finished since the last save, in their order."""
        return tuple(self._finished)

    @property
    def manifests(self) -> Sequence[Manifest]:
        """The manifests of the blocks that this driver has finished in this tenure, the newest last."""
        return self._attempt.finished if self._attempt else ()

    def alive(self) -> None:
        """Tell the no-progress watch that the work moves: for long steps outside Spark.

        :raises ForkedChildError: in a forked child, which the watch of its parent cannot hear.
        """
        self._lease.chain.check_process()
        self._heartbeat.alive()

    def attentive(self, seconds: float) -> AbstractContextManager[None]:
        """Return a context in which the lease is renewed so often that the work ends soon after somebody took it away.

        :param seconds: between two renewals.
        """
        return self._heartbeat.attentive(seconds)

    def on_parked(self, then: Then) -> None:
        """Say what is to follow at the source when this partition is parked, by whomever; best at the beginning.

        It holds, for later tenures too, until it is done, another is said, or the partition begins afresh.

        :param then: as for :class:`Complete`, 4 KiB of JSON at most; ``None`` takes back what was said.
        :raises InvalidInputError: when it is something else, or longer.
        :raises PartitionNotOwnedError: when the lease was lost: stop.
        """
        if then is not None and self.leaves_out_notes():
            return
        with self._lock, self._as_owner():
            self.parking.say(then)

    def leaves_out_notes(self) -> bool:
        """Return whether nothing follows its ending or parking, and tell the log: so it is while a branch is begun."""
        left = self._coordinator.branches.leaves_out_notes(self._lease.chain.partition)
        if left:
            log.info("What follows is left out: partition %r runs in a branch begun without --then", self._lease.key)
        return left

    def save(self, state: object) -> None:
        """Save progress together with the blocks finished since the last save; the next tenure finds both.

        :param state: any JSON value but ``None``: at most 256 KiB and 32 levels, string keys, no NaN.
        :raises ProgressStateError: when it is not; the last good state stays, and this tenure goes on.
        :raises OutputError: while a block is open.
        :raises NegativeAcknowledgmentError: after a delivery that was not positive: its records would be lost.
        :raises PartitionNotOwnedError: when the lease was lost: stop.
        :raises ForkedChildError: in a forked child.
        """
        self._lease.chain.check_process()
        with self._lock:
            self.check_no_open_block("save progress")
            self.check_held()
            counted = self.deliveries.checked()
            with self._as_owner():
                self._lease = self._coordinator.save_progress_state(self._lease, state, self.blocks, counted)
            saved, self._finished = len(self._finished), []
        self._report("saved", key=self.partition.key, fence=str(self.fence), blocks=saved, progress=ascii(state)[:200])

    def publish(
        self,
        dataset: str,
        mode: Mode = "replace",
        *,
        format: str = "parquet",
        options: Mapping[str, str] | None = None,
        allow_empty: bool = False,
        schema: Any = None,
        allow_lossy: bool = False,
    ) -> AbstractContextManager[OpenBlock]:
        """Give a directory to write one block into.

        ``with lease.publish("clean") as block: df.write.parquet(block.path)``. When the with-block is left, the
        files that are there then become the block. It is saved by the next :meth:`save` or the ending, and
        visible to readers from the ending on. An exception discards it.

        :param dataset: the dataset's name.
        :param mode: ``"replace"`` what this partition published before, unless progress was carried over from
            it; or ``"append"`` to it in any case. When the partition was deleted or purged, and created again,
            ``"append"`` is refused as long as the output from before is there: it would be there twice.
        :param format: the files' format: parquet, orc, json, csv, text or avro.
        :param options: options of Spark's reader for these files (``{"header": "true"}``).
        :param allow_empty: there may be nothing to write. Without it, a block without files is an error in formats of
            which Spark writes a file even for no rows, because then it was probably written somewhere else.
        :param schema: ``df.schema`` of what is written, partition columns included. Readers return these types then.
            Without it, partition columns and the columns of JSON and CSV have the types that their text looks like.
            With it, JSON and CSV give back what was written, by ``df.write.options(**block.options)``.
        :param allow_lossy: publish although columns have other types than in other partitions. Every reader of the
            dataset must say ``allow_lossy=True`` from then on, and may get changed values.
        :raises OutputError: when the block is left: for columns whose types do not fit other partitions, for names
            that readers need themselves.
        :raises InvalidInputError: for an unknown mode, format, option or schema, or two modes for one dataset; for
            ``"append"`` to what an earlier life of the partition published.
        :raises BranchError: when its branch was rolled back, or readers see another one than ``"append"`` adds to.
        :raises PartitionNotOwnedError: when the lease was lost: stop.
        :raises ForkedChildError: in a forked child.
        """
        check_arguments(mode, format, options)
        told: dict[str, Any] = {"options": options, "schema": schema, "allow_lossy": allow_lossy}
        return self.own_block(dataset, mode, format=format, allow_empty=allow_empty, **told)

    @contextmanager
    def own_block(
        self,
        dataset: str,
        mode: Mode,
        *,
        format: str,
        options: Mapping[str, str] | None = None,
        allow_empty: bool = True,
        schema: Any = None,
        allow_lossy: bool = False,
        only: Callable[[], set[str]] | None = None,
        merged: Merged | None = None,
        copied: Copied | None = None,
    ) -> Iterator[OpenBlock]:
        """Give a directory for one block, as :meth:`publish` does.

        :param only: says at the end which of the files there belong to the block; all by default.
        :param merged: what the block stands for, if it is an overlay: no other partition's types are asked for then.
        :param copied: what lies in blocks of :meth:`scratch` beside it, if it is a copy.
        """
        self._lease.chain.check_process()
        told = schema_text(schema)
        how = text_options(format, options or {}, told)
        attempt = self._own_attempt()
        with self._lock:
            self.check_held()
            check_one_mode(self._known(), dataset, mode)
            partition = self._lease.chain.partition
            if mode == "append" or partition.branch is not None:
                self._coordinator.branches.check_block(partition, dataset, mode)
            if mode == "append":
                check_not_twice(self._coordinator.store, partition, self._known(), dataset)
            block = attempt.open(dataset, how)
            self._open.append(block)
        try:
            yield block
            self._lease.chain.check_process()  # the block may have been opened before the fork
            with self._lock:
                self.check_held()
                partition = self._lease.chain.partition
                follows = predecessor(self._coordinator.store, partition, self._known(), block, mode)
                fits = partial(self._compatibility.check, branch=partition.branch)
                finished = attempt.finish(
                    block,
                    mode=mode,
                    follows=follows,
                    file_format=format,
                    options=how,
                    measure=self._measure(format, how, told) if self._measure else None,
                    allow_empty=allow_empty,
                    schema=told,
                    accept=None if allow_lossy or merged or copied else fits,
                    only=None if only is None else only(),
                    merged=merged,
                    copied=copied,
                )
                self._finished.append(finished)
        finally:
            if os.getpid() == self._lease.chain.process:  # a fork may have copied the lock while it was held
                with self._lock:
                    self._open.remove(block)

    def deliver(
        self,
        records: Any,
        key: str,
        sinks: Mapping[str, Publish | Sink],
        *,
        drop: Mapping[str, str] | None = None,
        dead_letters: DeadLetters | DataPrepperDeadLetters | None = None,
        absorbs: Any = None,
        check_keys: bool | None = None,
        acknowledgment_timeout: timedelta | None = None,
        on_negative: OnNegative | None = None,
    ) -> Acknowledgment:
        """Deliver every record to each sink whose condition holds for it, and account for all of them.

        One pass over the records for each block, in which Spark counts them, and one for all other sinks; where there
        are both, Spark keeps the records meanwhile (``persist``). A record for which no condition holds is *unrouted*,
        which is fine.
        Unless the result is positive, ``Complete`` and ``Close`` fail the partition, and :meth:`save` is refused; so it
        is when this raises, which takes its blocks back.

        :param records: a DataFrame. It must hold the same records each time it is read.
        :param key: the column that identifies a record, for sinks that take each record's own place.
        :param sinks: by name (plain ASCII of at most 32 characters), eight at most.
        :param drop: SQL conditions by reason: these records go to no sink, and count as done. The first that holds.
        :param dead_letters: where records go that a sink refuses (otherwise *failed*), and those of its ``where``.
        :param absorbs: the DataFrame of this partition's records that ``records`` were aggregated from: it is they that
            are counted, and that are done when every row has arrived.
        :param check_keys: look for null and double keys among what goes to sinks other than blocks. By default where
            the input has at most a million records: one count more.
        :param acknowledgment_timeout: when the jobs are cancelled, and the result is negative: *expired*; by default
            what the settings say, 2 hours.
        :param on_negative: what becomes of the partition then: ``"fail"``, which counts and parks at the maximum, or
            ``"give up"``, which counts nothing.
        :raises InvalidInputError: naming the argument, the value and the remedy.
        :raises OutputError: when a block or the dead letters cannot be written.
        :raises PartitionNotOwnedError: when the lease was lost: stop.
        """
        return self.deliver_as(
            sink_task(self.partition, self.fence, self._coordinator.store.store_id, key),
            records,
            sinks,
            drop=drop,
            dead_letters=dead_letters,
            absorbs=absorbs,
            check_keys=check_keys,
            acknowledgment_timeout=acknowledgment_timeout,
            on_negative=on_negative,
        )

    def deliver_as(
        self,
        task: SinkTask,
        records: Any,
        sinks: Mapping[str, Publish | Sink],
        *,
        drop: Mapping[str, str] | None = None,
        dead_letters: DeadLetters | DataPrepperDeadLetters | None = None,
        absorbs: Any = None,
        check_keys: bool | None = None,
        acknowledgment_timeout: timedelta | None = None,
        on_negative: OnNegative | None = None,
    ) -> Acknowledgment:
        """Deliver as :meth:`deliver` does, in the name of a tenure that sinks are told: this one's, mostly.

        What is counted and published is this tenure's all the same.

        :param task: whose name, and the column that identifies a record.
        """
        settings = self._coordinator.settings
        ending = way_out(settings.on_negative if on_negative is None else on_negative)
        timeout = settings.acknowledgment_timeout if acknowledgment_timeout is None else acknowledgment_timeout
        self.check_held()
        routing = Routing(records, task.key, sinks, drop or {}, dead_letters)
        delivery = Delivery(self, task, routing, timeout, check_keys, absorbs)
        return self.deliveries.made(delivery, ending, self._coordinator)

    def take_back(self, opened: Collection[OpenBlock]) -> None:
        """Let the ending not publish these blocks: their delivery came to no end."""
        if os.getpid() == self._lease.chain.process:  # as in own_block
            with self._lock:
                self._finished = [each for each in self._finished if not any(block.holds(each) for block in opened)]
                if self._attempt is not None:
                    self._attempt.forget(opened)

    @property
    def accounting(self) -> Accounting:
        """The counts of all deliveries of this tenure together."""
        return self.deliveries.accounting

    def create_partitions(self, partitions: Iterable[object]) -> Created:
        """Create partitions of this source, as :meth:`SourceCoordinator.create_partitions` does, while it is held."""
        self.check_held()
        return self._coordinator.create_partitions(partitions)

    def publish_below(self, output_root: str) -> None:
        """Publish below another root than the driver's, from the first block of this tenure on.

        :param output_root: normalised.
        """
        with self._lock:
            if self._attempt is not None:
                problem, remedy = "comes after the first block of this tenure", "Say it at the beginning"
                raise InvalidInputError("output_root", output_root, problem, remedy)
            self._output_root = output_root

    def scratch(self, name: str) -> str:
        """Return a new directory for what is never published; what is left there goes with the collector."""
        return self._own_attempt().open(name).path

    def check_no_open_block(self, action: str) -> None:
        """Refuse ``action`` while a block is open: its rows would be lost (promise S14).

        :raises OutputError: naming the block.
        """
        if self._open:
            raise still_open(action, self._coordinator.source, self.partition.key, self._open[0])

    def check_blocks(self) -> None:
        """Look once more at the blocks of this tenure before its ending publishes them.

        :raises OutputError: when files of one were changed or deleted after its with-block was left.
        """
        if self._attempt is not None:
            self._attempt.check()

    def check_held(self) -> None:
        """Refuse to go on without the lease.

        :raises PartitionNotOwnedError: when it was lost: stop.
        """
        if error := self.lost:
            raise error

    @contextmanager
    def _as_owner(self) -> Iterator[None]:
        """Write as the owner: not at all without the lease; once the store refuses, nothing renews it any more."""
        self.check_held()
        try:
            yield
        except (PartitionNotOwnedError, PartitionNotFoundError) as error:
            self.refused = error
            self._heartbeat.stop()
            raise

    def _known(self) -> list[Block]:
        return [*self._lease.chain.partition.staged, *self._finished]

    def _own_attempt(self) -> Attempt:
        with self._lock:
            if self._attempt is None:
                try:
                    root = usable_root(self._output_root)
                except CoordinationError as error:
                    self.misconfigured = error
                    raise
                partition, store_id = self.partition, self._coordinator.store.store_id
                self._attempt = Attempt(root, partition.source, partition.key, self.fence, store_id)
            return self._attempt
