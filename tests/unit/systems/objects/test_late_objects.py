"""Objects that appear with an old time of writing: said, or read by a full scan, and never twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.sources import object_listing, object_paths
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.scan import LOOK_EVERY
from tests.unit.systems.storage import DAY, START, Storage

ALWAYS = timedelta(0)
SHAPES = pytest.mark.parametrize("shape", [{}, {"max_objects": 2}], ids=["alone", "groups"])


@pytest.fixture
def storage() -> Storage:
    storage = Storage()
    for name in ("a/1", "b/2", "b/3", "z"):
        storage.put(name)
    storage.clock.advance(DAY)
    return storage


@pytest.fixture
def scans(storage: Storage) -> Callable[..., SourceCoordinator]:
    def scans(times: int, source: str = "s", **options: object) -> SourceCoordinator:
        one = SourceCoordinator(stores.setdefault("one", open_store("memory://")), source, "me")
        supplier = object_listing(storage, scan=ALWAYS, **options)
        object.__setattr__(supplier, "clock", storage.clock)
        for _ in range(times):
            one.run_supplier(supplier)
        return one

    stores: dict = {}
    return scans


def names(one: SourceCoordinator) -> list[str]:
    paths = [path for each in one.partitions() for path in object_paths(each.payload)]
    return sorted(path.removeprefix("s3a://bucket/") for path in paths)


@SHAPES
def test_e4_what_comes_late_by_its_stamp_is_counted_and_named(
    storage: Storage, scans: Callable, shape: dict, caplog: pytest.LogCaptureFixture
) -> None:
    scans(1, **shape)
    storage.clock.advance(3 * DAY)
    scans(1, **shape)
    for number in range(12):
        storage.put(f"late/{number:02}", modified=START)
    storage.clock.advance(LOOK_EVERY)
    assert "in no partition" not in caplog.text
    one = scans(3, **shape)
    assert names(one) == ["a/1", "b/2", "b/3", "z"]
    [said] = [each.getMessage() for each in caplog.records if "in no partition" in each.getMessage()]
    assert said.startswith("s3a://bucket/: 12 objects are older than what this scan looks at"), "once an hour at most"
    assert "'late/00'" in said
    assert said.endswith("'late/09' and 2 more.")
    storage.clock.advance(LOOK_EVERY)
    scans(1, **shape)
    assert caplog.text.count("12 objects are older") == 2


@SHAPES
def test_e4_a_full_scan_reads_them_once(storage: Storage, scans: Callable, shape: dict) -> None:
    options = {**shape, "full_scan_every": 2 * DAY}
    scans(1, **options)
    storage.clock.advance(3 * DAY)
    scans(2, **options)
    storage.put("a/0", modified=START)
    storage.put("late", modified=START)
    one = scans(1, **options)
    assert names(one) == ["a/1", "b/2", "b/3", "z"], "the next full scan is due in two days"
    storage.clock.advance(2 * DAY)
    one = scans(3, **options)
    assert names(one) == ["a/0", "a/1", "b/2", "b/3", "late", "z"]
    storage.clock.advance(2 * DAY)
    assert names(scans(3, **options)) == ["a/0", "a/1", "b/2", "b/3", "late", "z"]


def test_e4_what_nobody_asks_for_is_not_late(
    storage: Storage, scans: Callable, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"start_time": START + DAY, "exclude_suffix": ".tmp"}
    scans(1, **options)
    storage.clock.advance(3 * DAY)
    storage.put("before", modified=START)
    storage.put("late.tmp", modified=START + DAY)
    storage.put("_late", modified=START + DAY)
    scans(1, **options)
    assert "in no partition" not in caplog.text
    storage.put("late", modified=START + DAY)
    scans(1, **options)
    assert "1 objects are older" in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scan": "once", "full_scan_every": DAY}, r"full_scan_every=.*: makes no sense with scan='once'"),
        ({"scan": DAY, "full_scan_every": -DAY}, r"full_scan_every=.*: is negative"),
        ({"scan": DAY, "full_scan_every": 5}, r"full_scan_every=5: is int, not a timedelta"),
    ],
)
def test_e4_intervals_that_cannot_be_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        object_listing(Storage(), **options)
