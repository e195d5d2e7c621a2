"""X7: whatever an argument of a public name is given, it is taken or refused in our own words, never by a raw error."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.sources import KinesisShards, kafka_ranges, object_listing, sql_ranges, sqs_notifications
from airflow_coordination.spark import (
    CallUrl,
    Close,
    CommitOffsets,
    Complete,
    DeadLetters,
    DeleteMessages,
    DeleteObjects,
    FileSink,
    GiveUp,
    HttpSink,
    OpenSearchSink,
    PostgresSink,
    Publish,
)
from airflow_coordination.systems.rights import FollowUpRights
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError

QUEUE = "https://sqs.eu-west-1.amazonaws.com/1/q"
GOOD: dict[Callable[..., object], dict[str, Any]] = {
    Accounting: {},
    CallUrl: {"url": "http://h/"},
    Close: {"reopen_after": timedelta(0)},
    CommitOffsets: {"servers": "s", "group": "g", "offsets": {"t:0": 1}},
    Complete: {},
    DeadLetters: {"dataset": "d"},
    DeleteMessages: {"queue_url": QUEUE, "receipts": "r"},
    DeleteObjects: {"paths": "s3://b/x"},
    FileSink: {"directory": "/tmp/x"},
    FollowUpRights: {},
    GiveUp: {"reason": "r"},
    HttpSink: {"url": "http://h/"},
    KinesisShards: {"streams": ["o"]},
    OpenSearchSink: {"url": "http://h", "index": "i"},
    PostgresSink: {"url": "postgresql://h/d", "table": "t"},
    Publish: {"dataset": "d"},
    kafka_ranges: {"servers": "s", "topic": "t"},
    object_listing: {"where": "in", "scan": "once"},
    sql_ranges: {"database": "sqlite://", "table": "t", "column": "c", "rows": 5},
    sqs_notifications: {"queue_url": QUEUE},
}
BAD = (None, 5, 1.5, True, "x\0y", [1], {1: 2}, object(), b"x", timedelta(-1), timedelta.max, float("nan"), 10**400, ())


@pytest.mark.parametrize("made", GOOD, ids=lambda each: each.__name__)
def test_small_x7_no_argument_raises_a_raw_error(made: Callable[..., object]) -> None:
    made(**GOOD[made])
    for name in inspect.signature(made).parameters:
        for bad in BAD:
            try:
                made(**{**GOOD[made], name: bad})
            except CoordinationError:
                continue
            except Exception as error:
                pytest.fail(f"{made.__name__}({name}={bad!r:.50}) raises {error!r}")


@pytest.mark.parametrize(
    ("made", "field", "bad", "said"),
    [
        (sqs_notifications, "visibility", None, "visibility=None: is no duration. Give a timedelta, or leave it out"),
        (KinesisShards, "full_sync_interval", None, "full_sync_interval=None: is no duration. "),
        (KinesisShards, "deferred_stream_deletion", None, "deferred_stream_deletion=None: is no duration. "),
        (
            kafka_ranges,
            "options",
            [1],
            "options='(not shown)': is list, no mapping of names. Give librdkafka's options",
        ),
        (kafka_ranges, "options", {1: 2}, "options='(not shown)': is dict, no mapping of names. "),
        (FileSink, "format", [1], "format=[1]: is no format of this sink. Give 'json' or 'parquet'"),
    ],
)
def test_small_x7_what_is_refused_is_told_by_its_field(
    made: Callable[..., object], field: str, bad: object, said: str
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        made(**{**GOOD[made], field: bad})
    assert str(refused.value).startswith(said)
