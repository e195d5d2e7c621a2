"""The payload of a group, there and back."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.planning.compaction.configuration import CompactionConfig
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.values.input_errors import InvalidInputError, PayloadError
from tests.unit.planning.compaction.made import of

MONTH = of("2013-01/P1M")


def made(**more):
    config = CompactionConfig("clean", granularity="MONTH", target_file_size="256MiB", sort_by=["carrier"])
    return GroupWork(**{"config": config, "chunk": MONTH, "part": 2, "epoch": 3, "current_epoch": 4} | more)


def test_a_payload_says_all_that_its_worker_needs():
    payload = made(wanted="abc").to_payload()
    assert payload == {
        "dataset": "clean",
        "chunk": "2013-01-01/2013-02-01",
        "part": 2,
        "epoch": 3,
        "current_epoch": 4,
        "config": {"segmentGranularity": "MONTH", "targetFileSize": 268435456, "sortBy": ["carrier"]},
        "wanted": "abc",
    }
    stored = PartitionIdentifier("g", payload).payload_text
    assert GroupWork.from_payload(json.loads(stored)) == made(wanted="abc")


def test_a_part_takes_in_the_keys_of_its_plan():
    payload = made(keys=("b", "d")).to_payload()
    assert payload["keys"] == ["b", "d"]
    part = GroupWork.from_payload(json.loads(PartitionIdentifier("g", payload).payload_text))
    assert part == made(keys=("b", "d"))
    assert [key for key in ("a", "b", "c", "d", "d1") if part.takes(key)] == ["b", "c", "d"]
    assert made().takes("a")
    assert not made(keys=("", "")).takes("a")


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {},
        {"dataset": "clean", "config": 3, "chunk": "2013/2014", "part": 0, "epoch": 1, "current_epoch": 1},
        {"dataset": "clean", "config": {}, "chunk": "2013", "part": 0, "epoch": 1, "current_epoch": 1},
        {"dataset": "clean", "config": {}, "chunk": "2013/2014", "part": -1, "epoch": 1, "current_epoch": 1},
        {"dataset": "clean", "config": {}, "chunk": "2013/2014", "part": 0, "epoch": 0, "current_epoch": 1},
        {"dataset": "clean", "config": {}, "chunk": "2013/2014", "part": 0, "epoch": 2, "current_epoch": 1},
        made().to_payload() | {"keys": ["a"]},
        made().to_payload() | {"keys": ["a", 1]},
        {"dataset": "clean", "config": {"later": 1}, "chunk": "2013/2014", "part": 0, "epoch": 1, "current_epoch": 1},
    ],
)
def test_what_is_no_payload_of_a_group_is_refused(payload):
    with pytest.raises(InvalidInputError):
        GroupWork.from_payload(payload)


def test_a_payload_that_no_store_can_hold_names_what_makes_it_so():
    long = made(config=CompactionConfig("clean", sort_by=[f"column_{number}" for number in range(500)]))
    with pytest.raises(PayloadError, match=r"compaction\[clean\].sortBy=.*longer than 4096 bytes. Name fewer columns"):
        long.to_payload()


def test_the_newest_chunk_has_the_lowest_number_and_every_one_fits():
    ends = ["2013-02", "2013-03", "2030-01", "9998-01"]
    places = [made(chunk=of(f"2013-01/{end}")).priority for end in ends]
    assert places == sorted(places, reverse=True)
    assert all(abs(place) < 2**31 for place in places)


def test_a_group_of_an_earlier_epoch_is_to_be_given_up():
    assert made().is_given_up
    assert not made(epoch=4).is_given_up
