"""The de-aggregator beside Amazon's own library, and checkpoints beside integers."""

from __future__ import annotations

import sys
from base64 import b64decode
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_coordination.streams import Checkpoint, UserRecord, deaggregate
from tests.kpl import MAGIC, aggregate, sealed

_PATH = list(sys.path)
from aws_kinesis_agg.aggregator import RecordAggregator  # noqa: E402
from aws_kinesis_agg.deaggregator import iter_deaggregate_records  # noqa: E402
from aws_kinesis_agg.messages_pb2 import AggregatedRecord  # noqa: E402
from google.protobuf.message import DecodeError  # noqa: E402

sys.path[:] = _PATH  # its modules put their own directories first

HASH_KEYS = st.integers(0, 2**128 - 1).map(str)
RECORDS = st.lists(
    st.tuples(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
        st.none() | HASH_KEYS,
        st.binary(max_size=200),
    ),
    min_size=1,
    max_size=30,
)
PLACES = st.tuples(st.integers(0, 10**64 - 1), st.integers(0, 10**12 - 1))


def as_theirs(data: bytes) -> list[tuple[int, str, bytes, bool]]:
    """What the library makes of it. It tells a wrong hash key where there is none, so that is not compared."""
    record = {
        "SequenceNumber": "7",
        "PartitionKey": "outer",
        "ApproximateArrivalTimestamp": datetime.now(UTC),
        "Data": data,
    }
    return [each(one["kinesis"]) for one in iter_deaggregate_records([record], data_format="Boto3")]


def each(inside: dict[str, Any]) -> tuple[int, str, bytes, bool]:
    if "subSequenceNumber" not in inside:
        return 0, inside["partitionKey"], inside["data"], False
    return inside["subSequenceNumber"], inside["partitionKey"], b64decode(inside["data"]), True


def as_ours(data: bytes) -> list[tuple[int, str, bytes, bool]]:
    return [(one.sub, one.partition_key, one.data, one.aggregated) for one in deaggregate(data, "outer")]


@given(RECORDS)
def test_what_was_aggregated_comes_out_again(records):
    assert list(deaggregate(aggregate(records), "outer")) == [
        UserRecord(sub, *record, aggregated=True) for sub, record in enumerate(records)
    ]


@given(RECORDS)
def test_the_library_reads_what_the_tests_write(records):
    data = aggregate(records)
    assert as_theirs(data) == as_ours(data)


@given(RECORDS)
def test_what_the_library_writes_is_read(records):
    aggregator = RecordAggregator()
    for key, hash_key, data in records:
        assert aggregator.add_user_record(key, data, hash_key) is None
    _, _, data = aggregator.clear_and_get().get_contents()
    assert [(one.sub, one.partition_key, one.data) for one in deaggregate(data, "outer")] == [
        (sub, key, payload) for sub, (key, _, payload) in enumerate(records)
    ]


@given(RECORDS, st.data())
def test_the_library_agrees_on_every_damage(records, choose):
    data = bytearray(aggregate(records))
    at = choose.draw(st.integers(0, len(data) - 1))
    data[at] ^= choose.draw(st.integers(1, 255))
    assert as_ours(bytes(data)) == as_theirs(bytes(data)) == [(0, "outer", bytes(data), False)]


@given(RECORDS, st.data())
def test_the_library_agrees_on_every_cut(records, choose):
    whole = aggregate(records)
    data = whole[: choose.draw(st.integers(0, len(whole) - 1))]
    assert as_ours(data) == as_theirs(data) == [(0, "outer", data, False)]


def as_protobuf(message: bytes) -> list[tuple[int, str, bytes, bool]] | None:
    """What protobuf reads; ``None`` where it reads nothing, or a record names a key that is not there."""
    read = AggregatedRecord()
    try:
        read.ParseFromString(message)
        keys, hash_keys = list(read.partition_key_table), len(read.explicit_hash_key_table)
    except DecodeError:
        return None
    if not read.IsInitialized():  # protobuf in Python lets it pass, in Java it refuses it
        return None
    if any(
        one.HasField("explicit_hash_key_index") and one.explicit_hash_key_index >= hash_keys for one in read.records
    ):
        return None
    if any(one.partition_key_index >= len(keys) for one in read.records):
        return None
    names = [key.decode(errors="replace") if isinstance(key, bytes) else key for key in keys]
    return [(sub, names[one.partition_key_index], one.data, True) for sub, one in enumerate(read.records)]


@settings(max_examples=500)
@given(RECORDS, st.data())
def test_protobuf_agrees_on_every_damage_that_was_sealed(records, choose):
    message = bytearray(aggregate(records)[len(MAGIC) : -16])
    at = choose.draw(st.integers(0, len(message) - 1))
    message[at] ^= choose.draw(st.integers(1, 255))
    data = sealed(bytes(message))
    theirs = as_protobuf(bytes(message))
    assert as_ours(data) == ([(0, "outer", data, False)] if theirs is None else theirs)


@given(st.binary(max_size=300))
def test_any_message_is_read_or_passed_on_and_never_fails(message):
    """Whatever its producer sealed: the records, or it as it is."""
    found = list(deaggregate(sealed(message), "outer"))
    assert [one.sub for one in found] == list(range(len(found)))
    assert all(one.aggregated for one in found) or found == [UserRecord(0, "outer", None, sealed(message), False)]


@given(PLACES, PLACES)
def test_checkpoints_are_in_the_order_of_their_numbers(one, other):
    first, second = (Checkpoint(str(sequence), sub) for sequence, sub in (one, other))
    assert (first < second, first == second) == (one < other, one == other)
    assert (first.padded < second.padded, first.padded == second.padded) == (one < other, one == other)


@given(PLACES)
def test_a_checkpoint_survives_its_forms(place):
    checkpoint = Checkpoint(str(place[0]), place[1])
    assert Checkpoint.from_json(checkpoint.to_json()) == checkpoint
    assert Checkpoint.from_padded(checkpoint.padded) == checkpoint
