"""Where ``lease.deliver`` sends records: blocks, dead letters, and the sinks that executors write to themselves."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_coordination.sinks.data_prepper import DataPrepperDeadLetters
from airflow_coordination.sinks.files import FileSink
from airflow_coordination.sinks.http import HttpSink
from airflow_coordination.sinks.opensearch import OpenSearchSink
from airflow_coordination.sinks.postgres import PostgresSink
from airflow_coordination.sinks.protocol import check_chosen
from airflow_coordination.values.blocks import MAX_DATASET_BYTES, Mode
from airflow_coordination.values.names import check_key

__all__ = [
    "DataPrepperDeadLetters",
    "DeadLetters",
    "FileSink",
    "HttpSink",
    "OpenSearchSink",
    "PostgresSink",
    "Publish",
]


@dataclass(frozen=True, slots=True)
class Publish:
    """A sink of ``lease.deliver``: a block, which the lease's ending publishes (see ``lease.publish``).

    Exactly once for readers of the dataset, whatever happens to drivers and executors.

    :param dataset: the dataset's name.
    :param where: an SQL condition; ``None`` for all records.
    :param mode: ``"replace"`` or ``"append"``, as in ``lease.publish``.
    :param format: parquet, orc, json, csv or avro.
    :param columns: the columns that are published; ``None`` for all. Conditions see the others all the same.
    :raises InvalidInputError: for ``columns`` that are no list of names.
    """

    dataset: str
    where: str | None = None
    mode: Mode = "replace"
    format: str = "parquet"
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Look at the dataset's name and the columns."""
        check_key(self.dataset, "dataset", MAX_DATASET_BYTES)
        object.__setattr__(self, "columns", check_chosen(self.columns))


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Where records go that a sink refuses for good: a dataset, published with the lease's ending.

    Its columns are text: key, sink, reason, record (as JSON), source, partition, fence, at. A record that two sinks
    refuse is there twice.

    :param dataset: the dataset's name.
    :param mode: ``"replace"`` or ``"append"``, as in ``lease.publish``.
    :param where: an SQL condition for what is known to be malformed: after ``drop``, these records go here and to no
        sink; where it is null, it does not hold. Their column ``sink`` is ``dead_letters``, their ``reason`` the
        condition.
    """

    dataset: str
    mode: Mode = "replace"
    where: str | None = None
