"""Reading a shard, whatever Kinesis answers: what is given once, what is left out, and when it ends."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pyarrow
import pytest

from airflow_coordination.streams import TRIM_HORIZON, HashRange, Position
from airflow_coordination.systems.kinesis import landing as shard_reader
from airflow_coordination.systems.kinesis import shard_end
from airflow_coordination.systems.kinesis.checkpoint import Checkpoint
from airflow_coordination.systems.kinesis.landing import Landing, ShardPart, ShardReader
from airflow_coordination.systems.kinesis.shard_end import is_gone
from airflow_coordination.systems.kinesis.shards import ShardLease, Stream
from tests.kpl import aggregate

NOW = datetime(2026, 11, 1, tzinfo=UTC)
STREAM = Stream.of("arn:aws:kinesis:eu-central-1:123456789012:stream/orders", NOW)
WHOLE = HashRange(0, 2**128 - 1)
LEASE = ShardLease(STREAM, "shardId-000000000000", TRIM_HORIZON, WHOLE)


class ExpiredError(Exception):
    """The iterator is older than five minutes."""


class Client:
    """Answers what it is told to, one after the other, and notes what it is asked."""

    def __init__(self, *answers: Any) -> None:
        self._answers: Iterator[Any] = iter(answers)
        self.asked: list[dict[str, Any]] = []
        self.limits: list[int] = []
        self.exceptions = SimpleNamespace(ExpiredIteratorException=ExpiredError)

    def get_shard_iterator(self, **asked: Any) -> dict[str, Any]:
        self.asked.append({name: value for name, value in asked.items() if name not in ("StreamName", "ShardId")})
        return {"ShardIterator": f"iterator {len(self.asked)}"}

    def get_records(self, ShardIterator: str, Limit: int) -> dict[str, Any]:  # noqa: N803
        self.limits.append(Limit)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        found: dict[str, Any] = answer
        return found


def record(number: int, data: bytes = b"x", key: str = "a") -> dict[str, Any]:
    sequence = str(49_680_523 * 10**48 + number)
    return {"SequenceNumber": sequence, "Data": data, "PartitionKey": key, "ApproximateArrivalTimestamp": NOW}


def answer(*records: dict[str, Any], behind: int = 0, ends: bool = False) -> dict[str, Any]:
    following = {} if ends else {"NextShardIterator": "next"}
    return {"Records": list(records), "MillisBehindLatest": behind, **following}


def reader(monkeypatch: pytest.MonkeyPatch, client: Client, part: ShardPart) -> ShardReader:
    monkeypatch.setattr(shard_reader, "connect", lambda _: client)
    return ShardReader(part)


def place(number: int, sub: int = 0) -> Checkpoint:
    return Checkpoint(record(number)["SequenceNumber"], sub)


@pytest.mark.parametrize(
    ("position", "asked"),
    [
        (TRIM_HORIZON, {"ShardIteratorType": "TRIM_HORIZON"}),
        (Position.latest(NOW), {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": NOW}),
        (Position.at_timestamp(NOW), {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": NOW}),
    ],
)
def test_where_a_lease_begins(monkeypatch: pytest.MonkeyPatch, position: Position, asked: dict[str, Any]) -> None:
    client = Client(answer())
    reader(monkeypatch, client, ShardPart(ShardLease(STREAM, "s", position, None), None)).read()
    assert client.asked == [asked]


def test_it_goes_on_inside_of_an_aggregate(monkeypatch: pytest.MonkeyPatch) -> None:
    many = aggregate(("a", None, str(number).encode()) for number in range(5))
    client = Client(answer(record(1, many), record(2)))
    read = reader(monkeypatch, client, ShardPart(LEASE, place(1, 2))).read()
    assert client.asked == [
        {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": place(1).sequence},
    ]
    assert [one.place for one in read] == [place(1, 3), place(1, 4), place(2)]
    assert [one.data for one in read] == [b"3", b"4", b"x"]


def test_an_expired_iterator_is_asked_for_anew_behind_what_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(answer(record(1), record(2)), ExpiredError(), answer(record(2), record(3)))
    one = reader(monkeypatch, client, ShardPart(LEASE, None))
    assert [each.place for _ in range(3) for each in one.read()] == [place(1), place(2), place(3)]
    assert [asked["ShardIteratorType"] for asked in client.asked] == ["TRIM_HORIZON", "AT_SEQUENCE_NUMBER"]


def test_what_belongs_to_another_shard_is_left_out_of_aggregates_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its producer sends it again."""
    mine = int(hashlib.md5(b"mine", usedforsecurity=False).hexdigest(), 16)
    lease = ShardLease(STREAM, "s", TRIM_HORIZON, HashRange(mine, mine))
    inside = [("mine", None, b"0"), ("other", None, b"1"), ("other", str(mine), b"2"), ("mine", "7", b"3")]
    client = Client(answer(record(1, aggregate(inside)), record(2, b"plain", "other")))
    read = reader(monkeypatch, client, ShardPart(lease, None)).read()
    assert [(one.place, one.data) for one in read] == [(place(1), b"0"), (place(1, 2), b"2"), (place(2), b"plain")]


@pytest.mark.parametrize("no_key", ["x", "-1", "1_0", "٣", "9" * 256])
def test_a_hash_key_that_is_no_number_leaves_its_record_where_it_is(
    monkeypatch: pytest.MonkeyPatch, no_key: str
) -> None:
    """No shard would have it, no producer sends it again, and it must not stop its shard."""
    client = Client(answer(record(1, aggregate([("a", no_key, b"0")]))))
    lease = ShardLease(STREAM, "s", TRIM_HORIZON, HashRange(0, 0))
    [read] = reader(monkeypatch, client, ShardPart(lease, None)).read()
    assert (read.data, read.explicit_hash_key) == (b"0", no_key)


def test_it_has_caught_up_when_nothing_came_and_nothing_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(answer(behind=10), answer(record(1)), answer(), answer(ends=True))
    one = reader(monkeypatch, client, ShardPart(LEASE, None))
    seen = []
    for _ in range(4):
        one.read()
        seen.append((one.caught_up, one.ended))
    assert seen == [(False, False), (False, False), (True, False), (True, True)]


def test_an_end_that_comes_with_records_leaves_them_to_be_landed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver that looks ahead has landed none of what it reads."""
    client = Client(answer(record(1), ends=True))
    one = reader(monkeypatch, client, ShardPart(LEASE, None))
    assert [each.place for each in one.read(limit=1)] == [place(1)]
    assert (one.ended, one.exhausted) == (True, False)
    client = Client(answer(record(1), ends=True))
    one = reader(monkeypatch, client, ShardPart(LEASE, place(1)))
    assert not one.read(limit=1)
    assert one.exhausted


def test_a_shard_on_a_later_page_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinesis refuses a stream beside a token."""
    told = {"StreamARN": STREAM.arn, "StreamCreationTimestamp": NOW}
    pages = {
        (("StreamName", "orders"),): {"Shards": [{"ShardId": "a"}], "NextToken": "t"},
        (("NextToken", "t"),): {"Shards": [{"ShardId": LEASE.shard}]},
    }
    client = SimpleNamespace(
        describe_stream_summary=lambda **_: {"StreamDescriptionSummary": told},
        list_shards=lambda **asked: pages[tuple(asked.items())],
    )
    monkeypatch.setattr(shard_end, "connect", lambda _: client)
    assert not is_gone(ShardPart(LEASE, None))
    assert is_gone(ShardPart(ShardLease(STREAM, "b", TRIM_HORIZON, WHOLE), None))


def test_a_landing_ends_with_the_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(answer(record(1), behind=5), answer(), answer(record(2), ends=True))
    assert landed(monkeypatch, client, Landing(ShardPart(LEASE, None), 60, 100)) == [place(1), place(2)]


def test_a_landing_holds_no_more_than_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is cut inside of an aggregate where need be; Kinesis counts that as one."""
    many = aggregate(("a", None, b"") for _ in range(5))
    client = Client(answer(record(1)), answer(record(2, many)))
    assert landed(monkeypatch, client, Landing(ShardPart(LEASE, None), 60, 4)) == [
        place(1),
        *(place(2, sub) for sub in range(3)),
    ]
    assert client.limits == [4, 3]


def test_a_landing_that_is_to_reach_the_tip_stops_there(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(answer(record(1), behind=5), answer())
    assert landed(monkeypatch, client, Landing(ShardPart(LEASE, None), 60, 100, to_the_tip=True)) == [place(1)]


def test_a_landing_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(answer(record(1)))
    assert landed(monkeypatch, client, Landing(ShardPart(LEASE, None), 0.1, 100)) == [place(1)]


def test_the_columns_of_what_is_landed(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(answer(record(1, aggregate([("a", "7", b"data")])), ends=True))
    monkeypatch.setattr(shard_reader, "connect", lambda _: client)
    [batch] = Landing(ShardPart(LEASE, None), 60, 100)(iter(()))
    assert batch.to_pylist() == [
        {
            "data": b"data",
            "streamName": "orders",
            "shardId": "shardId-000000000000",
            "partitionKey": "a",
            "explicitHashKey": "7",
            "sequenceNumber": place(1).sequence,
            "subSequenceNumber": 0,
            "approximateArrivalTimestamp": NOW,
        }
    ]
    assert shard_reader.SCHEMA.split(", ")[0] == "data binary"


def landed(monkeypatch: pytest.MonkeyPatch, client: Client, landing: Landing) -> list[Checkpoint]:
    """Return the places of all records, in their order."""
    monkeypatch.setattr(shard_reader, "connect", lambda _: client)
    monkeypatch.setattr(shard_reader.time, "sleep", lambda _: None)
    rows = pyarrow.Table.from_batches(list(landing(iter(())))).to_pylist()
    return [Checkpoint(row["sequenceNumber"], row["subSequenceNumber"]) for row in rows]


def test_a_stretch_without_records_is_crossed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has crossed it says from where on there is something, and its own read is left for the next."""
    client = Client(answer(behind=9), answer(record(1)))
    ahead = reader(monkeypatch, client, ShardPart(LEASE, None))
    assert not ahead.read(limit=1)
    assert ahead.read(limit=1)
    assert ahead.came_from == "next"
    client = Client(ExpiredError(), answer(record(1)))
    part = Landing(ShardPart(LEASE, None), 60, 1).after(None, ahead.came_from).part
    one = reader(monkeypatch, client, part)
    assert (one.read(), client.asked) == ([], [])
    assert [each.place for each in one.read()] == [place(1)]
    assert [asked["ShardIteratorType"] for asked in client.asked] == ["TRIM_HORIZON"]


def test_source_s6_batches_are_bounded_by_bytes_and_lose_nothing(monkeypatch):
    monkeypatch.setattr(shard_reader, "_BATCH_BYTES", 10_000)
    given = answer(
        record(1, aggregate([("k" * 256, None, b"%d" % each) for each in range(100)])),
        record(2, b"x" * 20_000),
        record(3, b"y"),
        ends=True,
    )
    client = Client(given)
    monkeypatch.setattr(shard_reader, "connect", lambda _: client)
    batches = list(Landing(ShardPart(LEASE, None), seconds=1, records=1_000)(iter(())))
    assert max(batch.num_rows for batch in batches) <= 8
    data = [each for batch in batches for each in batch.column("data").to_pylist()]
    assert data == [b"%d" % each for each in range(100)] + [b"x" * 20_000, b"y"]
