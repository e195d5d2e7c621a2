"""Small objects in one partition: the bounds of a group, and that no object is ever in two."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_coordination.leases import InvalidInputError, PayloadError
from airflow_coordination.sources import SourceError, StoredObject
from airflow_coordination.values.documents import MAX_PAYLOAD_BYTES, encode_payload
from tests.unit.systems.storage import HOUR, START, Source, Storage

ALWAYS = timedelta(0)


def filled(sizes: list[int], name: str = "in/day=1/{:04}.json") -> Storage:
    storage = Storage()
    for number, size in enumerate(sizes):
        storage.put(name.format(number), size)
    storage.clock.advance(HOUR)
    return storage


def groups(source: Source) -> list[list[str]]:
    return [payload["names"] for payload in source.partitions.values()]


def test_a_group_names_its_objects_below_their_common_directory() -> None:
    source = Source(filled([5, 6, 7]), scan="once", max_objects=2)
    source.scan()
    first, second = source.partitions.items()
    assert first[1] == {"base": "s3a://bucket/in/day=1/", "names": ["0000.json", "0001.json"], "bytes": 11}
    assert second[1] == {"base": "s3a://bucket/in/day=1/", "names": ["0002.json"], "bytes": 7}
    assert first[0].startswith("bucket|in/day=1/0000.json|")


def test_bytes_bound_a_group_and_a_large_object_is_alone() -> None:
    source = Source(filled([4, 4, 4, 50, 1, 1]), scan="once", max_bytes=10)
    source.scan()
    assert [payload["bytes"] for payload in source.partitions.values()] == [8, 4, 50, 2]


@pytest.mark.parametrize(
    "name",
    ["in/{:04}.json", "{0:04}/dir/{0:04}.json", "in/ü😀\x01{:04}.json", "{0:04}-" + "x" * 800],
    ids=["short", "no common directory", "escaped", "long"],
)
def test_a_payload_of_4_kb_bounds_a_group_and_is_well_used(name: str) -> None:
    source = Source(filled([1] * 500, name), scan="once", max_objects=10_000)
    source.scan()
    sizes = [len(encode_payload(payload) or "") for payload in source.partitions.values()]
    assert max(sizes) <= MAX_PAYLOAD_BYTES
    longest = max(len(encode_payload({"": each}) or "") for each in source.names())
    assert all(size > MAX_PAYLOAD_BYTES - longest - 100 for size in sizes[:-1])
    assert source.names() == sorted(name.format(number) for number in range(500))


def test_the_same_listing_gives_the_same_groups() -> None:
    storage = filled([1] * 100)
    first, second = Source(storage, scan="once", max_objects=7), Source(storage, scan="once", max_objects=7)
    first.scan()
    second.scan()
    assert first.partitions == second.partitions


def test_killed_between_plan_and_partitions_the_plan_is_kept_though_the_listing_changed() -> None:
    storage = filled([1] * 100)
    source = Source(storage, scan="once", max_objects=7)
    assert source.scan(steps=1) == 1, "the plan"
    assert source.partitions == {}
    storage.put("in/day=1/0000-a.json")
    del storage.objects_by_key["in/day=1/0003.json"]
    source.scan()
    assert source.names() == [f"in/day=1/{number:04}.json" for number in range(100)]


def test_objects_wait_until_nothing_older_can_appear() -> None:
    storage = filled([1] * 3)
    source = Source(storage, scan=ALWAYS, max_objects=10)
    source.scan()
    storage.put("in/day=1/new.json")
    storage.clock.advance(timedelta(minutes=9))
    source.scan()
    assert len(source.names()) == 3
    storage.put("in/day=1/slow.json", modified=storage.now() - timedelta(minutes=8))
    storage.clock.advance(timedelta(minutes=10))
    source.scan()
    assert groups(source)[1:] == [["new.json", "slow.json"]]


def test_nothing_waits_in_a_single_scan() -> None:
    storage = Storage()
    storage.put("a")
    source = Source(storage, scan="once", max_objects=10)
    source.scan()
    assert source.names() == ["a"]


def test_an_object_written_again_is_in_a_later_group() -> None:
    storage = filled([1, 1])
    source = Source(storage, scan=ALWAYS, max_objects=10)
    source.scan()
    for number in range(2):
        key = f"in/day=1/{number:04}.json"
        storage.objects_by_key[key] = replace(storage.objects_by_key[key], modified=storage.now())
    storage.clock.advance(HOUR)
    source.scan()
    assert groups(source) == [["0000.json", "0001.json"]] * 2


def test_a_clock_that_went_back_waits() -> None:
    storage = filled([1])
    source = Source(storage, scan=ALWAYS, max_objects=10)
    source.scan()
    state = source.state
    assert source.scan() == 0, "nothing can have become old enough"
    storage.clock.advance(-60)
    assert source.scan() == 0
    assert source.state == state


def test_other_options_are_refused_because_an_object_must_not_be_in_two_groups() -> None:
    storage = filled([1, 1])
    grouped = Source(storage, scan="once", max_objects=10)
    grouped.scan()
    for options in ({"max_objects": 10, "exclude_suffix": ".csv"}, {}):
        other = Source(storage, scan="once", **options)
        other.state = grouped.state
        with pytest.raises(InvalidInputError, match=r"was scanned with other filters.*give the source a new name"):
            other.scan()
    larger = Source(storage, scan="once", max_objects=20)
    larger.state = grouped.state
    assert larger.scan() == 0, "the size of a group may change"


def test_without_times_there_are_groups_in_a_single_scan_only() -> None:
    storage = Storage()
    storage.objects_by_key["a"] = StoredObject("a", 1)
    once = Source(storage, scan="once", max_objects=2)
    once.scan()
    assert once.names() == ["a"]
    with pytest.raises(SourceError, match=r"does not say when 'a' was written. Use scan='once'"):
        Source(storage, scan=ALWAYS, max_objects=2).scan()


def test_a_name_too_long_for_a_payload_is_an_error_in_each_run_and_no_plan() -> None:
    storage = Storage()
    storage.put("\x01" * 1000)
    source = Source(storage, scan="once", max_objects=2)
    with pytest.raises(PayloadError, match="the limit is 4096"):
        source.scan()
    with pytest.raises(SourceError, match="was left out by an earlier scan and is still there"):
        source.scan()
    assert source.partitions == {}
    excluding = Source(storage, scan="once", max_objects=2, end_time=START)
    excluding.scan()
    assert excluding.names() == []
