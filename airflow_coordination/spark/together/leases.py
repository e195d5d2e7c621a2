"""Many leases as the one call of a partition function sees them, and whose a row is by the file it was read from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from airflow_coordination.leases.outcomes import GiveUp, PartitionOutcome
from airflow_coordination.outputs.adding import check_arguments
from airflow_coordination.outputs.attempts import OpenBlock
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.spark.lease import PartitionLease
from airflow_coordination.spark.together.writing import Written, written
from airflow_coordination.systems.objects.listing import is_group, object_paths, spark_paths
from airflow_coordination.systems.objects.storage import OutputError, move_directory, side_by_side
from airflow_coordination.values.blocks import MAX_DATASET_BYTES, Mode
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError
from airflow_coordination.values.names import check_users_name, partition_label

_SCRATCH: Final = "together"
"""What the directory is called that one job writes into, below the attempt of one of its leases."""


class PartitionLeases(Mapping[str, Partition]):
    """The partitions that one call of a function works on, by their keys, in the order in which they were acquired.

    Each has a lease of its own, which is renewed and ended on its own: as the function's outcome says for all of them,
    or one for each key, or :meth:`fail` and :meth:`end` for one of them.

    :param held: what the function would see of each lease if it were alone.
    """

    def __init__(self, held: Mapping[str, PartitionLease]) -> None:
        self._held = held
        self._said: dict[str, object] = {}
        self._blocks: list[tuple[PartitionLease, OpenBlock]] = []

    def __getitem__(self, key: str) -> Partition:
        return self._held[key].partition

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    @property
    def paths(self) -> list[str]:
        """The files of all payloads that ``object_listing`` made, for Spark's readers.

        :raises InvalidInputError: when a payload is another's.
        """
        return [path for partition in self.values() for path in spark_paths(_of_files(partition))]

    def with_keys(self, rows: Any, column: str = "key") -> Any:
        """Return rows that were just read from :attr:`paths`, with a column more: the key of each one's partition.

        Spark says of which file a row is as long as the rows are not yet shuffled, or made others by Python.

        :param rows: a DataFrame.
        :param column: its name.
        :raises InvalidInputError: when a payload names no files, or the rows have such a column.
        """
        files = [(path, key) for key, partition in self.items() for path in object_paths(_of_files(partition))]
        return beside_keys(rows, column, files)

    def publish(
        self, dataset: str, rows: Any, by: Any, mode: Mode = "replace", *, allow_lossy: bool = False
    ) -> dict[str, int]:
        """Write the rows of all these partitions by one Spark job, each one's into a block of its own, as Parquet.

        A partition of which there is no row gets a block without any. What has been lost or has failed by the time
        that the job is done gets none. What only one block is refused for fails its partition alone.

        :param dataset: the dataset's name.
        :param rows: a DataFrame; all of its columns are published. It must hold the same records each time it is read.
        :param by: a column of it, by its name or as an expression, that says whose a row is: the partition's key.
        :param mode: as for :meth:`PartitionLease.publish`; so is ``allow_lossy``.
        :return: how many rows each one's block has, by key.
        :raises InvalidInputError: for an argument that cannot be, or a row of none of these partitions, naming its
            value of ``by``: nothing is published then.
        :raises OutputError: when there is no place for it.
        """
        check_arguments(mode, "parquet")
        check_users_name(dataset, "dataset", MAX_DATASET_BYTES)
        if not (open_ones := self._open_ones()):
            return {}
        place = next(iter(open_ones.values())).scratch(_SCRATCH)
        with written(rows, by, list(self), place) as job:
            taken = {key: lease for key, lease in self._open_ones().items() if key in open_ones}

            def publish(key: str) -> int | None:
                return self._publish(job, key, taken[key], (dataset, mode, allow_lossy))

            counts = zip(taken, side_by_side(publish, list(taken)), strict=True)
            rows_of = {key: count for key, count in counts if count is not None}
            for key, were in job.counted_otherwise(rows_of).items():
                self._refuse(key, dataset, rows_of.pop(key), were)
        return rows_of

    def _publish(self, job: Written, key: str, lease: PartitionLease, how: tuple[str, Mode, bool]) -> int | None:
        """Make a block of one partition's files, and return its rows; ``None`` where it was refused or lost."""
        dataset, mode, lossy = how
        try:
            with lease.own_block(dataset, mode, format="parquet", allow_lossy=lossy) as block:
                self._blocks.append((lease, block))
                if (directory := job.directory(key)) is not None:
                    move_directory(directory, block.path)
        except CoordinationError as error:
            if error is lease.misconfigured:
                raise
            self._said.setdefault(key, error)
            return None
        return next(each.rows for each in lease.blocks if block.holds(each))

    def _refuse(self, key: str, dataset: str, written_rows: int, read: int) -> None:
        lease = self._held[key]
        lease.take_back([block for owner, block in self._blocks if owner is lease and block.dataset == dataset])
        what = f"publish {dataset!r} of {partition_label(lease.partition.source, key)}"
        problem = f"has files of {written_rows} row(s), and {read} were read"
        remedy = "If the input is not the same each time it is read, persist() it before"
        self._said[key] = OutputError(what, f"its block of {dataset!r}", problem, remedy)

    def fail(self, key: str, error: str | Exception) -> None:
        """Let one of the partitions fail, alone: nothing of it is published, and the others go on.

        :param key: the partition.
        :param error: why, for people; kept as its last error.
        :raises InvalidInputError: when the key is none of these, or nothing is said.
        """
        reason: object = error
        if not isinstance(reason, Exception | str) or reason == "":
            raise InvalidInputError("error", error, "is no reason", "Give a text, or an exception")
        self._said[self._known(key)] = RuntimeError(reason) if isinstance(reason, str) else reason

    def end(self, key: str, outcome: PartitionOutcome) -> None:
        """Let one of the partitions end otherwise than the function's outcome says for all.

        :param key: the partition.
        :param outcome: ``Complete(…)``, ``Close(…)`` or ``GiveUp(…)``.
        :raises InvalidInputError: when the key is none of these.
        """
        self._said[self._known(key)] = outcome

    def alive(self) -> None:
        """Tell the no-progress watch of all these leases that the work moves: for long steps outside Spark."""
        for lease in self._held.values():
            lease.alive()

    def outcomes(self, result: object) -> dict[str, object]:
        """Return what becomes of each partition, by key.

        :param result: what the function returned: an outcome for all, or a mapping with one for each key.
        :raises InvalidInputError: when it names another key.
        """
        given = result if isinstance(result, Mapping) else dict.fromkeys(self, result)
        for key in given:
            self._known(key)
        return {key: self._said.get(key, given.get(key)) for key in self}

    def take_back(self) -> None:
        """Let no ending publish what this call has published: it has failed, and is made again."""
        for lease in self._held.values():
            lease.take_back([block for owner, block in self._blocks if owner is lease])

    def _open_ones(self) -> dict[str, PartitionLease]:
        """Return what can still be published: neither failed here, nor given up, nor lost."""
        said = {key for key, outcome in self._said.items() if not _publishes(outcome)}
        return {key: lease for key, lease in self._held.items() if key not in said and lease.lost is None}

    def _known(self, key: str) -> str:
        if key not in self._held:
            known = ", ".join(map(repr, list(self)[:3]))
            raise InvalidInputError("key", key, "is none of these partitions", f"Give one of {len(self)}, as {known}")
        return key


_PATH: Final = "__lease_path"
_SPELT: Final = ((r"^file:/+", "/"), (r"^s3[an]?://", "s3://"))
"""One place is spelt in several ways: by the payload, and by Spark."""


def beside_keys(rows: Any, column: str, files: Sequence[tuple[str, str]]) -> Any:
    """Return rows with a column more: the key of the partition whose file each was read from, null for another file.

    :param rows: a DataFrame, just read.
    :param column: its name.
    :param files: addresses and keys.
    :raises InvalidInputError: when the rows have such a column.
    """
    from pyspark.sql import functions as fn

    if column.lower() in map(str.lower, rows.columns):
        raise InvalidInputError("column", column, "is a column of these rows already", "Give another name")
    known = [(_spelt(path), key) for path, key in files]
    table = rows.sparkSession.createDataFrame(known, f"{_PATH} string, `{column.replace('`', '``')}` string")
    # Spark writes the path as in a URL, in which a plus stands for itself.
    path = fn.expr("url_decode(replace(_metadata.file_path, '+', '%2B'))")
    for pattern, spelling in _SPELT:
        path = fn.regexp_replace(path, pattern, spelling)
    return rows.withColumn(_PATH, path).join(fn.broadcast(table), _PATH, "left").drop(_PATH)


def _spelt(path: str) -> str:
    for pattern, spelling in _SPELT:
        path = re.sub(pattern, spelling, path)
    return path


def _publishes(outcome: object) -> bool:
    return not isinstance(outcome, GiveUp | BaseException)


def _of_files(partition: Partition) -> Mapping[str, Any]:
    payload: object = partition.payload
    if not isinstance(payload, Mapping) or not ("path" in payload or is_group(payload)):
        remedy = "Make the partitions by object_listing, or say by= which of your own columns has the keys"
        raise InvalidInputError("payload", payload, f"of partition {partition.key!r} names no files", remedy)
    return payload
