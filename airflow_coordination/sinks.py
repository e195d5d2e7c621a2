"""Sinks: where records go, as one Spark task sees it. Runs on executors: no pyspark, no Airflow, no store.

A sink loads its client library when it is made or opened, not here.
"""

from airflow_coordination.delivery.dead_letters import DataPrepperDeadLetters
from airflow_coordination.systems.http.sink import HttpSink
from airflow_coordination.systems.objects.sink import FileSink
from airflow_coordination.systems.opensearch.sink import OpenSearchSink
from airflow_coordination.systems.sink import (
    DELIVERED,
    Answer,
    Guarantee,
    Record,
    Sink,
    SinkNotReadyError,
    SinkTask,
    SinkWriter,
    failed,
    refused,
)
from airflow_coordination.systems.sql.postgres_sink import PostgresSink

__all__ = [
    "DELIVERED",
    "Answer",
    "DataPrepperDeadLetters",
    "FileSink",
    "Guarantee",
    "HttpSink",
    "OpenSearchSink",
    "PostgresSink",
    "Record",
    "Sink",
    "SinkNotReadyError",
    "SinkTask",
    "SinkWriter",
    "failed",
    "refused",
]
