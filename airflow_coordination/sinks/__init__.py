"""Where records go, as one Spark task sees it. Runs on executors: no pyspark, no Airflow, no store."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_coordination.sinks.files import FileSink
    from airflow_coordination.sinks.http import HttpSink
    from airflow_coordination.sinks.postgres import PostgresSink
    from airflow_coordination.sinks.protocol import (
        DELIVERED,
        Answer,
        Guarantee,
        Record,
        Sink,
        SinkTask,
        SinkWriter,
        failed,
        refused,
    )

_HOMES = {
    "DELIVERED": "protocol",
    "Answer": "protocol",
    "FileSink": "files",
    "Guarantee": "protocol",
    "HttpSink": "http",
    "PostgresSink": "postgres",
    "Record": "protocol",
    "Sink": "protocol",
    "SinkTask": "protocol",
    "SinkWriter": "protocol",
    "failed": "protocol",
    "refused": "protocol",
}

__all__ = [
    "DELIVERED",
    "Answer",
    "FileSink",
    "Guarantee",
    "HttpSink",
    "PostgresSink",
    "Record",
    "Sink",
    "SinkTask",
    "SinkWriter",
    "failed",
    "refused",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
