"""Heads to search among, by few words."""

from __future__ import annotations

from airflow_coordination.planning.compaction.chunks import Head
from airflow_coordination.planning.compaction.configuration import CompactionConfig
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.planning.periods import parse_period

NO_OFFSET = parse_period("offset", "P0D")


def of(text):
    return parse_interval("interval", text)


def head(name, interval, size=10, merged_with=None, **more):
    return Head(name, of(interval), size, merged_with, **more)


def config(dataset="clean", **settings):
    return CompactionConfig(**{"dataset": dataset, "skip_offset_from_latest": NO_OFFSET} | settings)
