"""The lease as a partition function sees it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, get_args

from airflow_coordination.leases.blocks import Block, Mode
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.errors import (
    CoordinationError,
    InvalidInputError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    SettingsError,
)
from airflow_coordination.leases.fence import Fence
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.partition import Partition
from airflow_coordination.leases.publication import adds, may_add, of_an_earlier_life
from airflow_coordination.leases.remedies import about
from airflow_coordination.outputs.attempts import Attempt, Measure, OpenBlock
from airflow_coordination.outputs.errors import OutputError, partition_label
from airflow_coordination.outputs.manifests import Reference, may_follow
from airflow_coordination.outputs.schema_compatibility import SchemaCompatibility
from airflow_coordination.spark.reports import Report

MeasureIn = Callable[[str, Mapping[str, str]], Measure]
FORMATS = ("parquet", "orc", "json", "csv", "text", "avro")


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
        measure: MeasureIn | None,
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
        self.refused: CoordinationError | None = None
        """The refusal that told this process that its tenure is over."""
        self.misconfigured: SettingsError | None = None
        """The refusal that the function got for a reason that is not its own."""

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
    def blocks(self) -> tuple[Block, ...]:
        """The blocks finished since the last save, in their order."""
        return tuple(self._finished)

    def alive(self) -> None:
        """Tell the no-progress watch that the work moves: for long steps outside Spark.

        :raises ForkedChildError: in a forked child, which the watch of its parent cannot hear.
        """
        self._lease.chain.check_process()
        self._heartbeat.alive()

    def save(self, state: object) -> None:
        """Save progress together with the blocks finished since the last save; the next tenure finds both.

        :param state: any JSON value but ``None``: at most 256 KiB and 32 levels, string keys, no NaN.
        :raises ProgressStateError: when it is not; the last good state stays, and this tenure goes on.
        :raises OutputError: while a block is open.
        :raises PartitionNotOwnedError: when the lease was lost: stop.
        :raises ForkedChildError: in a forked child.
        """
        self._lease.chain.check_process()
        with self._lock:
            self.check_no_open_block("save progress")
            self._check_held()
            try:
                self._lease = self._coordinator.save_progress_state(self._lease, state, self.blocks)
            except (PartitionNotOwnedError, PartitionNotFoundError) as error:
                self._refuse(error)
                raise
            saved, self._finished = len(self._finished), []
        self._report("saved", key=self.partition.key, fence=str(self.fence), blocks=saved, progress=_summary(state))

    @contextmanager
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
    ) -> Iterator[OpenBlock]:
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
        :param allow_lossy: publish although columns have other types than in other partitions. Every reader of the
            dataset must say ``allow_lossy=True`` from then on, and may get changed values.
        :raises OutputError: when the block is left: for columns whose types do not fit other partitions, for names
            that readers need themselves.
        :raises InvalidInputError: for an unknown mode, format or schema, or two modes for one dataset; for
            ``"append"`` to what an earlier life of the partition published.
        :raises PartitionNotOwnedError: when the lease was lost: stop.
        :raises ForkedChildError: in a forked child.
        """
        self._lease.chain.check_process()
        self._check_arguments(mode, format)
        told = _told(schema)
        attempt = self._own_attempt()
        with self._lock:
            self._check_held()
            self._check_mode(dataset, mode)
            self._check_not_twice(dataset, mode)
            block = attempt.open(dataset)
            self._open.append(block)
        try:
            yield block
            self._lease.chain.check_process()  # the block may have been opened before the fork
            with self._lock:
                self._check_held()
                follows = self._predecessor(block, mode)
                measure = self._measure(format, options or {}) if self._measure and format != "parquet" else None
                finished = attempt.finish(
                    block,
                    mode=mode,
                    follows=follows,
                    file_format=format,
                    options=options,
                    measure=measure,
                    allow_empty=allow_empty,
                    schema=told,
                    accept=None if allow_lossy else self._compatibility.check,
                )
                self._finished.append(finished)
        finally:
            if os.getpid() == self._lease.chain.process:  # a fork may have copied the lock while it was held
                with self._lock:
                    self._open.remove(block)

    def check_no_open_block(self, action: str) -> None:
        """Refuse ``action`` while a block is open: its rows would be lost (promise S14).

        :raises OutputError: naming the block.
        """
        if self._open:
            label = partition_label(self._coordinator.source, self.partition.key)
            raise OutputError(
                f"{action} of {label}",
                self._open[0].path,
                f"is a block of {self._open[0].dataset!r} that is still open",
                "Leave its with-block first",
            )

    def check_blocks(self) -> None:
        """Look once more at the blocks of this tenure before its ending publishes them.

        :raises OutputError: when files of one were changed or deleted after its with-block was left.
        """
        if self._attempt is not None:
            self._attempt.check()

    def _check_held(self) -> None:
        error = self.refused or self._heartbeat.lost
        if error is not None:
            raise error

    def _refuse(self, error: CoordinationError) -> None:
        self.refused = error
        self._heartbeat.stop()

    def _check_arguments(self, mode: object, file_format: object) -> None:
        if mode not in get_args(Mode):
            raise InvalidInputError("mode", mode, "is not a mode", "Give 'replace' or 'append'")
        if file_format not in FORMATS:
            raise InvalidInputError(
                "format", file_format, "is not a format readers know", f"Give one of {', '.join(FORMATS)}"
            )

    def _check_mode(self, dataset: str, mode: Mode) -> None:
        known = [block for block in self._known() if block.dataset == dataset and block.mode != mode]
        if known:
            raise InvalidInputError(
                "mode",
                mode,
                f"differs from {known[0].mode!r}, which {dataset!r} has in this tenure",
                "Use one mode per dataset",
            )

    def _check_not_twice(self, dataset: str, mode: Mode) -> None:
        """Refuse to add to the output of an earlier life, before the work for it is done."""
        partition = self._lease.chain.partition
        if mode != "append" or any(block.dataset == dataset for block in self._known()):
            return
        if partition.generation != partition.create_op:
            return
        for head in self._coordinator.store.heads(partition.source, dataset=dataset, key=partition.key):
            if of_an_earlier_life(partition, head):
                label = partition_label(partition.source, partition.key)
                problem = (
                    f"would add to {dataset!r} of {label} what may be in it already, from before it was created again"
                )
                remedy = (
                    "Publish with mode='replace' to take the place of what is there, or take it back by "
                    f"`{about('retract', partition.source, partition.key)}`; to add to it all the same, run "
                    f"`{about('reset', partition.source, partition.key)}`"
                )
                raise InvalidInputError("mode", mode, problem, remedy)

    def _known(self) -> list[Block]:
        return [*self._lease.chain.partition.staged, *self._finished]

    def _own_attempt(self) -> Attempt:
        if self._output_root is None:
            problem = "is not set, so there is no place for blocks"
            self.misconfigured = SettingsError("output_root", None, problem, "Set output_root")
            raise self.misconfigured
        with self._lock:
            if self._attempt is None:
                partition = self.partition
                store_id = self._coordinator.store.store_id
                self._attempt = Attempt(self._output_root, partition.source, partition.key, self.fence, store_id)
            return self._attempt

    def _predecessor(self, block: OpenBlock, mode: Mode) -> Reference | None:
        """Return the newest block that this one adds to, so that the store keeps one block however many there are.

        It begins a chain of its own beside one that readers would not follow: on another kind of storage.
        """
        known = [each for each in self._known() if each.dataset == block.dataset]
        newest = next(reversed(known or self._published(block.dataset, mode)), None)
        partition = self.partition
        if newest is None or not may_follow(block.path, newest.address, partition.source, partition.key):
            return None
        return Reference(newest.address, newest.digest)

    def _published(self, dataset: str, mode: Mode) -> list[Block]:
        """Return the published blocks, if this tenure adds to them. Only a tenure of this partition can change that."""
        partition = self._lease.chain.partition
        probe = Block(dataset, "-", "-", mode=mode)
        if not may_add(partition, [probe]):
            return []
        heads = self._coordinator.store.heads(partition.source, dataset=dataset, key=partition.key)
        return [block for head in heads if adds(partition, [probe], head) for block in head.blocks]


def _told(schema: Any) -> str | None:
    """Return the schema that a publisher gave, as JSON text."""
    if schema is None:
        return None
    text = schema.json() if callable(getattr(schema, "json", None)) else ""
    if not text.startswith('{"fields":'):
        raise InvalidInputError("schema", schema, "is no schema of a DataFrame", "Give df.schema of what is written")
    return str(text)


def _summary(state: object) -> str:
    return ascii(state)[:200]
