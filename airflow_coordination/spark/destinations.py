"""Where ``lease.deliver`` sends records: blocks, dead letters, and the sinks that executors write to themselves."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_coordination.leases.blocks import Mode
from airflow_coordination.sinks.data_prepper import DataPrepperDeadLetters
from airflow_coordination.sinks.files import FileSink
from airflow_coordination.sinks.http import HttpSink
from airflow_coordination.sinks.opensearch import OpenSearchSink
from airflow_coordination.sinks.postgres import PostgresSink

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
    """

    dataset: str
    where: str | None = None
    mode: Mode = "replace"
    format: str = "parquet"


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
