"""Where records go, as one Spark task sees it. Runs on executors: no pyspark, no Airflow, no store.

A sink loads its client library when it is made or opened, not here.
"""

from airflow_coordination.sinks.data_prepper import DataPrepperDeadLetters
from airflow_coordination.sinks.files import FileSink
from airflow_coordination.sinks.http import HttpSink
from airflow_coordination.sinks.opensearch import OpenSearchSink
from airflow_coordination.sinks.postgres import PostgresSink
from airflow_coordination.sinks.protocol import (
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
