"""What the engines of Kinesis can do, as far as other tests rely on it, and where they differ from the service."""

from __future__ import annotations

from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from airflow_coordination.streams import Checkpoint, deaggregate, holes
from airflow_coordination.systems.kinesis.shards import listed_shard
from airflow_coordination.values.input_errors import SettingsError
from scripts.npm_packages import packages
from tests.engines import kinesis as engines
from tests.engines.orphans import ends_with_its_parent
from tests.integration.kinesis.stream import MIDDLE, LocalStream
from tests.kpl import aggregate

LOWER, UPPER, FIRST, SECOND, THIRD = (f"shardId-{number:012}" for number in range(5))
"""A stream begins with two shards; a change makes the next ones."""
QUARTER = MIDDLE // 2
BOTH = pytest.mark.parametrize("engine", [engines.kinesis_local, engines.kinesalite], ids=lambda one: one.__name__)
PARENT = """
import os, sys, time
from scripts.npm_packages import packages
from tests.engines import kinesis
with getattr(kinesis, sys.argv[1])(packages("kinesis")):
    print(open(f"/proc/self/task/{os.getpid()}/children").read().split()[0], flush=True)
    time.sleep(300)
"""


def sent(stream: LocalStream, *data: bytes) -> list[str]:
    return [stream.put(each) for each in data]


def above(shard: dict[str, Any]) -> list[str]:
    return [shard[name] for name in ("ParentShardId", "AdjacentParentShardId") if name in shard]


def test_a_shard_is_read_from_its_beginning_in_pages(stream):
    sent(stream, b"a", b"b", b"c")
    stream.put(b"elsewhere", MIDDLE)
    assert stream.read(LOWER).data == [b"a", b"b", b"c"]
    assert stream.read_on(stream.iterator(LOWER, "TRIM_HORIZON"), limit=1).data == [b"a", b"b", b"c"]
    assert stream.read(UPPER).data == [b"elsewhere"]
    assert not stream.read(LOWER).ended


def test_sequence_numbers_have_56_digits_and_grow(stream):
    numbers = sent(stream, *(b"%d" % number for number in range(20)))
    assert {len(number) for number in numbers} == {56}
    places = [Checkpoint(number) for number in numbers]
    assert sorted(places) == places
    assert [record["SequenceNumber"] for record in stream.read(LOWER).records] == numbers


def test_a_shard_is_read_from_and_after_a_record(stream):
    numbers = sent(stream, b"a", b"b", b"c")
    assert stream.read(LOWER, "AT_SEQUENCE_NUMBER", numbers[1]).data == [b"b", b"c"]
    assert stream.read(LOWER, "AFTER_SEQUENCE_NUMBER", numbers[1]).data == [b"c"]


def test_latest_is_what_comes_after_the_iterator(stream):
    sent(stream, b"before")
    iterator = stream.iterator(LOWER, "LATEST")
    sent(stream, b"after")
    assert stream.read_on(iterator).data == [b"after"]


def test_a_timestamp_is_the_first_records_arrival(stream):
    sent(stream, b"early")
    while len(arrivals := {one["ApproximateArrivalTimestamp"] for one in stream.read(LOWER).records}) == 1:
        sent(stream, b"late")
    found = stream.read(LOWER, "AT_TIMESTAMP", max(arrivals)).records
    everything = stream.read(LOWER).records
    assert found == [one for one in everything if one["ApproximateArrivalTimestamp"] >= max(arrivals)] != everything


def test_an_aggregate_arrives_as_it_was_sent(stream):
    data = aggregate([("a", None, b"\x00\xff"), ("b", "5", b"two")])
    stream.put(data, key="outer")
    [record] = stream.read(LOWER).records
    assert (record["Data"], record["PartitionKey"]) == (data, "outer")
    assert [one.data for one in deaggregate(record["Data"], record["PartitionKey"])] == [b"\x00\xff", b"two"]


def test_a_split_shard_ends_and_its_children_are_listed(stream):
    sent(stream, b"before")
    stream.split(LOWER, QUARTER)
    sent(stream, b"after")
    listed = stream.shards()
    assert {name: above(each) for name, each in listed.items()} == {
        LOWER: [],
        UPPER: [],
        FIRST: [LOWER],
        SECOND: [LOWER],
    }
    closed = {name for name, each in listed.items() if "EndingSequenceNumber" in each["SequenceNumberRange"]}
    assert closed == {LOWER}
    parent, child = stream.read_to_end(LOWER), stream.read(FIRST)
    assert (parent.data, parent.ended) == ([b"before"], True)
    assert (child.data, child.ended) == ([b"after"], False)


def test_an_iterator_from_before_a_split_ends_with_the_shard(stream):
    sent(stream, b"before")
    iterator = stream.iterator(LOWER, "TRIM_HORIZON")
    stream.split(LOWER, QUARTER)
    read = stream.read_on(iterator, to_end=True)
    assert (read.data, read.ended) == ([b"before"], True)


def test_merged_shards_end_and_their_child_names_both(stream):
    sent(stream, b"before")
    stream.merge(LOWER, UPPER)
    stream.put(b"after", MIDDLE)
    assert {name: above(each) for name, each in stream.shards().items()} == {
        LOWER: [],
        UPPER: [],
        FIRST: [LOWER, UPPER],
    }
    assert [stream.read_to_end(shard).data for shard in (LOWER, UPPER)] == [[b"before"], []]
    child = stream.read(FIRST)
    assert (child.data, child.ended) == ([b"after"], False)


def test_a_listing_may_begin_after_a_shard(stream):
    assert list(stream.shards(ExclusiveStartShardId=LOWER)) == [UPPER]


def test_a_listing_says_when_it_was_answered(stream):
    """LATEST is pinned to it."""
    said = stream.client.list_shards(StreamName=stream.name)["ResponseMetadata"]["HTTPHeaders"]["date"]
    assert parsedate_to_datetime(said).utcoffset() is not None


def test_a_stream_made_anew_is_empty_and_has_another_creation_time(kinesis):
    with LocalStream.new(kinesis) as stream:
        sent(stream, b"old")
        before = stream.summary()["StreamCreationTimestamp"]
        while True:
            stream.drop()
            stream.create(1)
            if stream.summary()["StreamCreationTimestamp"] > before:  # kinesalite's has whole seconds
                break
        assert list(stream.shards()) == [LOWER]
        assert stream.read(LOWER).data == []


def test_what_is_not_there_is_not_found(kinesis):
    with pytest.raises(kinesis.exceptions.ResourceNotFoundException):
        kinesis.list_shards(StreamName="no-such-stream")
    with LocalStream.new(kinesis) as stream, pytest.raises(kinesis.exceptions.ResourceNotFoundException):
        stream.read("shardId-000000000077")


def test_kinesis_local_names_the_children_at_a_shards_end(main_engine):
    with LocalStream.new(main_engine) as stream:
        stream.split(LOWER, QUARTER)
        assert stream.read_to_end(LOWER).children == {FIRST: [LOWER], SECOND: [LOWER]}
        assert stream.read(FIRST).children == {}
        stream.merge(SECOND, UPPER)
        assert [stream.read_to_end(shard).children for shard in (SECOND, UPPER)] == [{THIRD: [UPPER, SECOND]}] * 2


def test_kinesalite_names_no_children(second_engine):
    """So it shows the way by the listing."""
    with LocalStream.new(second_engine) as stream:
        stream.split(LOWER, QUARTER)
        assert stream.read_to_end(LOWER).children == {}


def test_shards_cover_every_hash_key(stream):
    """Where two shards meet is not the same on both engines."""
    stream.split(LOWER, QUARTER)
    stream.merge(SECOND, UPPER)
    listed = list(map(listed_shard, stream.client.list_shards(StreamName=stream.name)["Shards"]))
    assert holes(one.hashes for one in listed if one.is_open) == ()
    assert {one.id for one in listed if one.is_open} == {FIRST, THIRD}


def test_kinesis_local_tells_no_last_sequence_number(main_engine):
    """A closed shard has one that is less than its first; the service's is its last record's or later."""
    with LocalStream.new(main_engine) as stream:
        stream.split(LOWER, QUARTER)
        numbers = stream.shards()[LOWER]["SequenceNumberRange"]
        assert int(numbers["EndingSequenceNumber"]) == 2**63 - 1 < int(numbers["StartingSequenceNumber"])


def test_kinesis_local_filters_a_listing(main_engine):
    with LocalStream.new(main_engine) as stream:
        born = stream.summary()["StreamCreationTimestamp"]
        before = stream.put_later(born)
        stream.split(LOWER, QUARTER)
        after = stream.put_later(before)
        everything, now_open = [LOWER, UPPER, FIRST, SECOND], [UPPER, FIRST, SECOND]
        assert stream.filtered("AT_LATEST") == now_open
        assert stream.filtered("AT_TIMESTAMP", Timestamp=born + timedelta(seconds=1)) == [LOWER, UPPER]
        assert stream.filtered("AT_TIMESTAMP", Timestamp=after) == now_open
        assert stream.filtered("FROM_TIMESTAMP", Timestamp=born) == everything
        assert stream.filtered("FROM_TIMESTAMP", Timestamp=after) == now_open
        assert stream.filtered("FROM_TRIM_HORIZON") == everything
        assert stream.filtered("AFTER_SHARD_ID", ShardId=UPPER) == [FIRST, SECOND]


def test_kinesis_local_lists_too_much_at_the_trim_horizon(main_engine):
    """The service lists what was open there, so not the children: planning must bear both."""
    with LocalStream.new(main_engine) as stream:
        stream.split(LOWER, QUARTER)
        assert stream.filtered("AT_TRIM_HORIZON") == [LOWER, UPPER, FIRST, SECOND]


def test_kinesalite_ignores_filters(second_engine):
    with LocalStream.new(second_engine) as stream:
        stream.split(LOWER, QUARTER)
        assert stream.filtered("AT_LATEST") == [LOWER, UPPER, FIRST, SECOND]


def test_kinesis_local_lists_in_pages_and_by_arn(main_engine):
    with LocalStream.new(main_engine, shards=5) as stream:
        page = main_engine.list_shards(StreamName=stream.name, MaxResults=2)
        rest = main_engine.list_shards(NextToken=page["NextToken"])
        assert [each["ShardId"] for each in page["Shards"] + rest["Shards"]] == [LOWER, UPPER, FIRST, SECOND, THIRD]
        assert len(page["Shards"]) == 2
        assert len(main_engine.list_shards(StreamARN=stream.summary()["StreamARN"])["Shards"]) == 5


def test_kinesalite_has_neither_pages_nor_arns(second_engine):
    with LocalStream.new(second_engine, shards=5) as stream:
        page = second_engine.list_shards(StreamName=stream.name, MaxResults=2)
        assert (len(page["Shards"]), "NextToken" in page) == (5, False)
        with pytest.raises(ClientError, match="StreamName should be provided"):
            second_engine.list_shards(StreamARN=stream.summary()["StreamARN"])


@BOTH
def test_it_ends_with_its_block(engine):
    with engine(packages("kinesis")) as endpoint:
        pass
    with engines.connected(endpoint) as client, pytest.raises(EndpointConnectionError):
        client.list_streams()


@BOTH
def test_it_ends_with_its_parent(engine):
    ended = ends_with_its_parent(PARENT, engine.__name__, seconds=120)
    assert ended, "the engine outlived its parent by two minutes"


@BOTH
def test_it_listens_on_this_host_only(engine):
    """Nobody else on the network is meant to read a test's streams."""
    with engine(packages("kinesis")) as endpoint:
        elsewhere = endpoint.replace("127.0.0.1", "127.0.0.2")
        with engines.connected(elsewhere) as client, pytest.raises(EndpointConnectionError):
            client.list_streams()


@pytest.mark.parametrize(("engine", "name"), [("kinesis_local", "kinesis-local"), ("kinesalite", "kinesalite")])
def test_no_packages_are_an_error_with_the_command(tmp_path: Path, engine: str, name: str):
    with pytest.raises(SettingsError) as error, getattr(engines, engine)(tmp_path):
        pass
    assert str(error.value) == (
        f"packages='{tmp_path}': has no {name}. "
        "Download it first; in a checkout: python scripts/npm_packages.py kinesis"
    )


@BOTH
def test_an_engine_that_cannot_start_says_why(engine, tmp_path: Path):
    for name in ("kinesis-local", "kinesalite"):
        (tmp_path / name).mkdir()
    with pytest.raises(RuntimeError, match=r"(?s)kines.* did not start.*Cannot find module"), engine(tmp_path):
        pass
