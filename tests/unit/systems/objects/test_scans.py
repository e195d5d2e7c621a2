"""Scans of an object storage: when they run, what they see, and that no object is lost (Data Prepper: issue 4123)."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from airflow_coordination.leases import InvalidInputError, ProgressStateError
from airflow_coordination.sources import SourceError, StoredObject
from tests.unit.systems.storage import DAY, HOUR, START, Source, Storage

ALWAYS = timedelta(0)


@pytest.fixture
def storage() -> Storage:
    storage = Storage()
    for key in ("a/1.json", "a/2.json", "b/1.json"):
        storage.put(key)
    storage.clock.advance(60)
    return storage


def test_an_object_is_a_partition_with_data_prepper_s_key(storage: Storage) -> None:
    source = Source(storage, scan="once")
    source.scan()
    assert list(source.partitions) == ["bucket|a/1.json", "bucket|a/2.json", "bucket|b/1.json"]
    assert source.partitions["bucket|a/1.json"] == {
        "path": "s3a://bucket/a/1.json",
        "size": 1,
        "modified": "2026-01-01T00:00:00Z",
        "etag": "a/1.json-2026-01-01 00:00:00+00:00",
    }


def test_once_is_once_and_the_state_has_data_prepper_s_names(storage: Storage) -> None:
    source = Source(storage, scan="once")
    source.scan()
    assert source.state.pop("LISTING")
    assert source.state == {
        "SCAN_COUNT": 1,
        "SINGLE_SCAN_COMPLETE": True,
        "LAST_SCAN_TIME": 1767225660000,
        "bucket": "2026-01-01T00:01:00Z",
    }
    storage.put("late.json")
    assert source.scan() == 0
    assert storage.listings == 1


def test_a_state_of_data_prepper_is_taken_over(storage: Storage) -> None:
    source = Source(storage, scan=HOUR)
    source.state = {
        "SCAN_COUNT": 3,
        "SINGLE_SCAN_COMPLETE": False,
        "LAST_SCAN_TIME": 1767225660000,
        "bucket": "2026-01-01T00:00:30.123456789Z",
    }
    assert source.scan() == 0, "its interval is not over"
    storage.clock.advance(HOUR)
    source.scan()
    assert len(source.partitions) == 3
    assert source.state["SCAN_COUNT"] == 4


def test_an_interval_is_kept_between_the_starts_of_scans(storage: Storage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "airflow_coordination")
    source = Source(storage, scan=HOUR)
    source.scan()
    storage.put("late.json")
    storage.clock.advance(HOUR - timedelta(seconds=1))
    assert source.scan() == 0
    assert "the next scan is due at 2026-01-01T01:01:00+00:00" in caplog.text
    storage.clock.advance(1)
    source.scan()
    assert "bucket|late.json" in source.partitions


def test_a_count_ends_the_scans(storage: Storage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "airflow_coordination")
    source = Source(storage, scan=ALWAYS, count=2)
    assert [source.scan() > 0 for _ in range(3)] == [True, True, False]
    assert "all 2 scans are done" in caplog.text


def test_equal_times_are_not_lost(storage: Storage) -> None:
    """Written in the second in which the scan began, and listed later: Data Prepper lost it once."""
    source = Source(storage, scan=ALWAYS, lateness=ALWAYS)
    source.scan()
    storage.put("a/0.json")
    storage.put("a/00.json", modified=storage.now().replace(microsecond=0))
    source.scan()
    assert {"bucket|a/0.json", "bucket|a/00.json"} <= source.partitions.keys()


def test_an_upload_in_parts_is_found_though_its_time_is_that_of_its_beginning(storage: Storage) -> None:
    source = Source(storage, scan=ALWAYS)
    source.scan()
    began = storage.now()
    storage.clock.advance(23 * HOUR)
    source.scan()
    storage.put("big.parquet", modified=began - timedelta(seconds=5))
    source.scan()
    assert "bucket|big.parquet" in source.partitions


def test_what_is_older_than_the_lateness_is_not_offered_again(storage: Storage) -> None:
    source = Source(storage, scan=ALWAYS)
    first = source.scan()
    storage.clock.advance(2 * DAY)
    second, third = source.scan(), source.scan()
    assert (first, second, third) == (4, 4, 1), "three objects and the end; later the end only"


def test_options_that_change_lose_nothing(storage: Storage) -> None:
    narrow = Source(storage, scan="once", include_prefix="a/")
    narrow.scan()
    assert narrow.names() == ["a/1.json", "a/2.json"]
    wide = Source(storage, scan="once")
    wide.state, wide.partitions = narrow.state | {"own": 1}, narrow.partitions
    wide.scan()
    assert wide.names() == ["a/1.json", "a/2.json", "b/1.json"]
    assert wide.state["own"] == 1


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"include_prefix": "a/"}, ["a/1.json", "a/2.json"]),
        ({"include_prefix": ["b", "a/2", "a/2.json"]}, ["a/2.json", "b/1.json"]),
        ({"exclude_suffix": ["2.json", ".csv"]}, ["a/1.json", "b/1.json"]),
        ({"start_time": START + timedelta(seconds=1)}, []),
        ({"start_time": START}, ["a/1.json", "a/2.json", "b/1.json"]),
        ({"end_time": START}, []),
        ({"range": timedelta(seconds=59)}, []),
        ({"range": timedelta(seconds=60)}, ["a/1.json", "a/2.json", "b/1.json"]),
    ],
    ids=["prefix", "prefixes", "suffixes", "later", "start", "end", "range too short", "range"],
)
def test_filters(storage: Storage, options: dict, names: list[str]) -> None:
    storage.put("a/", modified=START)
    source = Source(storage, scan="once", **options)
    source.scan()
    assert source.names() == names


def test_a_range_counts_from_the_first_scan_only(storage: Storage) -> None:
    """Otherwise a scan that comes late would lose what was written meanwhile."""
    source = Source(storage, scan=ALWAYS, range=timedelta(seconds=30))
    source.scan()
    storage.put("new.json")
    storage.clock.advance(2 * DAY)
    source.scan()
    assert source.names() == ["new.json"]


def test_an_empty_listing_is_no_error_but_said(caplog: pytest.LogCaptureFixture) -> None:
    source = Source(Storage(), scan="once", include_prefix="nothing/")
    assert source.scan() == 1
    assert "s3a://bucket/ lists nothing. If you expected objects" in caplog.text


def test_a_listing_out_of_order_is_refused(storage: Storage) -> None:
    source = Source(storage, scan="once")
    storage.objects = lambda prefix, start_after: iter([StoredObject("b", 1), StoredObject("a", 1)])  # type: ignore
    with pytest.raises(SourceError, match=r"Cannot scan: s3a://bucket/ lists 'a' after 'b'. A scan needs a listing"):
        source.scan()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"SCAN_COUNT": "three"}, r"global_state.SCAN_COUNT='three': is not a count or a time"),
        ({"LAST_SCAN_TIME": 10**20}, r"global_state.LAST_SCAN_TIME=1000+: is not a count or a time"),
        ({"bucket": "yesterday"}, r"global_state.bucket='yesterday': is no ISO-8601 moment"),
        ({"bucket": "2026-01-01T00:00:00"}, r"global_state.bucket='2026-01-01T00:00:00': has no time zone"),
        ({"LISTING": []}, r"global_state.LISTING=\[\]: is not a JSON object"),
        ({"LISTING": {"started": "2026-01-01T00:00:00Z"}}, r"global_state.LISTING=.*: is no scan"),
    ],
)
def test_a_state_that_cannot_be_read_is_an_error_not_a_new_beginning(
    storage: Storage, state: dict, message: str
) -> None:
    source = Source(storage, scan=HOUR)
    source.state = state
    with pytest.raises(ProgressStateError, match=message):
        source.scan()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scan": "twice"}, r"scan='twice': is no scan mode. Give 'once', or the interval as a timedelta"),
        ({"scan": timedelta(seconds=-1)}, r"scan=.*: is negative"),
        ({"scan": "once", "count": 2}, r"count=2: makes no sense with scan='once'"),
        ({"scan": HOUR, "count": 0}, r"count=0: is not a number of scans"),
        ({"scan": "once", "max_objects": -1}, r"max_objects=-1: is not a whole number above zero"),
        ({"scan": "once", "max_bytes": 1.5}, r"max_bytes=1.5: is not a whole number above zero"),
        ({"scan": "once", "lateness": timedelta(-1)}, r"lateness=.*: is negative"),
        ({"scan": "once", "include_prefix": ""}, r"include_prefix='': is not a text or a list of texts"),
        ({"scan": "once", "exclude_suffix": 7}, r"exclude_suffix=7: is not a text or a list of texts"),
        ({"scan": "once", "start_time": "2026-01-01"}, r"start_time='2026-01-01': is str, not a datetime"),
        ({"scan": "once", "end_time": START.replace(tzinfo=None)}, r"end_time=.*: has no time zone"),
        ({"scan": "once", "start_time": START, "end_time": START}, r"end_time=.*: is not after start_time"),
        ({"scan": "once", "start_time": START, "range": HOUR}, r"range=.*: cannot be combined with start_time"),
        ({"scan": "once", "range": ALWAYS}, r"range=.*: is zero"),
        ({"scan": "once", "client": object()}, r"client='object': is for S3"),
    ],
)
def test_bad_options_are_refused_by_name(storage: Storage, options: dict, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Source(storage, **options)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (7, r"where=7: is int, which has no bucket, prefix, address, now, objects"),
        ("", r"where='': is no address"),
        ("s3://", r"where='s3://': names no bucket. Write s3://bucket/prefix"),
        ("ftp://ana:geheim@host/in", r"where='ftp://\\u2026': holds a password. It would be in every partition"),
        ("memory://LISTING", r"where='LISTING': is the name of something else in the global state"),
    ],
)
def test_a_place_that_is_none_is_refused(where: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        Source(where, scan="once")  # type: ignore[arg-type]
    assert "geheim" not in str(refused.value)


def test_a_name_that_no_store_can_hold_is_refused_by_name(storage: Storage) -> None:
    storage.put("b/\x00")
    with pytest.raises(InvalidInputError, match=r"'bucket\|b/\\x00': contains NUL"):
        Source(storage, scan="once").scan()
    with pytest.raises(InvalidInputError, match=r"object='b/\\x00': contains NUL"):
        Source(storage, scan="once", max_objects=2).scan()
