"""Odd objects among good ones: what Spark hides, what is archived, what can be no partition, what is too young."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from airflow_coordination.leases import InvalidInputError, InvalidKeyError, SourceCoordinator
from airflow_coordination.sources import SourceError, StoredObject, object_listing, object_paths
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.listing import hidden_from_spark
from tests.unit.systems.storage import DAY, HOUR, START, Source, Storage

ALWAYS = timedelta(0)
SHAPES = pytest.mark.parametrize("shape", [{}, {"max_objects": 2, "lateness": ALWAYS}], ids=["alone", "groups"])
NO_UTF8 = "caf\udce9.csv"


@pytest.fixture
def storage() -> Storage:
    storage = Storage()
    for key in ("a/1.csv", "a/2.csv", "z.csv"):
        storage.put(key)
    storage.clock.advance(60)
    return storage


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("a/_x.csv", True),
        ("a/.x", True),
        ("_SUCCESS", True),
        ("_metadata", True),
        ("x.csv._COPYING_", True),
        (".a=1", True),
        ("_a=1.csv", False),
        ("_d/x.csv", False),
        (".d/x.csv", False),
        ("a_.csv", False),
    ],
)
def test_d11_what_spark_hides_is_said_of_the_last_part_of_a_name(name: str, hidden: bool) -> None:
    """Tried with Spark 4.2 on files of these names: tests/integration/spark/test_hidden_files.py."""
    assert hidden_from_spark(f"s3a://bucket/{name}") is hidden


@SHAPES
def test_d11_what_spark_hides_is_no_work_counted_and_named(
    storage: Storage, shape: dict, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(12):
        storage.put(f"a/_{number:02}", modified=START)
    caplog.set_level(logging.INFO)
    source = Source(storage, scan=ALWAYS, **shape)
    source.scan()
    assert source.names() == ["a/1.csv", "a/2.csv", "z.csv"]
    [said] = [each.getMessage() for each in caplog.records if "Spark" in each.getMessage()]
    assert said.startswith("s3a://bucket/: 12 objects have names that Spark reads no row of")
    assert "'a/_00'" in said
    assert said.endswith("'a/_09' and 2 more.")
    taken = Source(storage, scan=ALWAYS, include_hidden=True, **shape)
    taken.scan()
    assert len(taken.names()) == 15


@SHAPES
@pytest.mark.parametrize(("names", "level"), [(["_SUCCESS"], "WARNING"), (["_SUCCESS", "a.csv"], "INFO")])
def test_d11_hidden_files_alone_are_a_warning(
    shape: dict, names: list[str], level: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    storage = Storage()
    for name in names:
        storage.put(name)
    storage.clock.advance(60)
    Source(storage, scan=ALWAYS, **shape).scan()
    assert [each.levelname for each in caplog.records if "'_SUCCESS'" in each.getMessage()] == [level]


@SHAPES
def test_source_s2_a_name_that_is_no_utf_8_stops_nobody_and_fails_the_run(storage: Storage, shape: dict) -> None:
    storage.put(NO_UTF8, modified=START)
    source = Source(storage, scan=ALWAYS, **shape)
    for _ in range(2):
        with pytest.raises((InvalidKeyError, SourceError), match=r"caf\\udce9"):
            source.scan()
        assert source.names() == ["a/1.csv", "a/2.csv", "z.csv"]
        storage.clock.advance(2 * DAY)
    del storage.objects_by_key[NO_UTF8]
    source.scan()
    assert "left_out" not in source.state["LISTING"]


@SHAPES
def test_source_s2_a_single_scan_is_not_green_at_its_second_try(storage: Storage, shape: dict) -> None:
    storage.put(NO_UTF8)
    source = Source(storage, scan="once", **shape)
    for _ in range(3):
        with pytest.raises((InvalidKeyError, SourceError), match=r"caf\\udce9"):
            source.scan()
    del storage.objects_by_key[NO_UTF8]
    source.scan()
    assert source.names() == ["a/1.csv", "a/2.csv", "z.csv"]


def test_source_s2_several_odd_names_are_counted_and_ten_named(storage: Storage) -> None:
    for number in range(25):
        storage.put(f"b/{number:02}\x00")
    with pytest.raises(
        SourceError, match=r"s3a://bucket/ has 25 objects that were left out: 'b/00\\x00'.* and 15 more"
    ):
        Source(storage, scan="once").scan()


def test_source_s2_a_directory_that_may_not_be_read_is_named_and_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec

    for name in ("a/1.csv", "b/2.csv", "c/3.csv"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("v")
    local = fsspec.filesystem("file")
    ls, shut = local.ls, {"b"}

    def sometimes(path: str, **more: object) -> list:
        if path.rpartition("/")[2] in shut:
            raise PermissionError(13, "Permission denied", path)
        return ls(path, **more)

    monkeypatch.setattr(local, "ls", sometimes)
    one = SourceCoordinator(open_store("memory://"), "s", "me")
    supplier = object_listing(tmp_path, scan=ALWAYS, lateness=ALWAYS, filesystem=local)
    with pytest.raises(SourceError, match=r"Cannot list: .*/b/ cannot be read: .*Permission denied"):
        one.run_supplier(supplier)
    assert [each.key.rpartition("/")[2] for each in one.partitions()] == ["1.csv", "3.csv"]
    shut.clear()
    one.run_supplier(supplier)
    assert [each.key.rpartition("/")[2] for each in one.partitions()] == ["1.csv", "2.csv", "3.csv"]
    shut.add("b")
    with pytest.raises(SourceError, match=r"b/ cannot be read"):
        SourceCoordinator(open_store("memory://"), "g", "me").run_supplier(
            object_listing(tmp_path, scan="once", max_objects=2, filesystem=local)
        )


@SHAPES
def test_source_s4_archived_objects_are_no_work_and_said(
    storage: Storage, shape: dict, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    storage.objects_by_key["cold.csv"] = StoredObject("cold.csv", 1, START, "e", "GLACIER")
    source = Source(storage, scan=ALWAYS, **shape)
    source.scan()
    assert source.names() == ["a/1.csv", "a/2.csv", "z.csv"]
    assert "1 objects are in an archive and are no work before they are restored: 'cold.csv'." in caplog.text


def test_source_s5_how_many_objects_wait_is_said(storage: Storage, caplog: pytest.LogCaptureFixture) -> None:
    source = Source(storage, scan=ALWAYS, max_objects=50)
    source.scan()
    assert "s3a://bucket/: 3 objects are younger than 0:10:00 (lateness) and wait for a later scan." in caplog.text
    storage.clock.advance(HOUR)
    source.scan()
    assert source.names() == ["a/1.csv", "a/2.csv", "z.csv"]


def test_d13_a_second_listing_in_one_source_is_refused(storage: Storage) -> None:
    first = Source(storage, scan=ALWAYS)
    first.scan()
    elsewhere = Storage()
    elsewhere.prefix = "elsewhere/"  # type: ignore[misc]
    second = Source(elsewhere, scan=ALWAYS)
    second.state = first.state
    with pytest.raises(InvalidInputError, match=r"two listings would mix their work.*give the source a new name"):
        second.scan()


def test_e11_instants_are_compared_where_a_clock_is_put_back() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    first = datetime(2026, 10, 25, 2, 50, tzinfo=berlin)
    second = datetime(2026, 10, 25, 2, 10, tzinfo=berlin, fold=1)
    Source(Storage(), scan="once", start_time=first, end_time=second)
    with pytest.raises(InvalidInputError, match="is not after start_time"):
        Source(Storage(), scan="once", start_time=second, end_time=first)


@SHAPES
@pytest.mark.parametrize("odd", ["link", "time"])
def test_source_s2_a_file_that_cannot_be_looked_at_is_named_and_the_others_go_on(
    tmp_path: Path, shape: dict, odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec

    for name in ("a.csv", "odd.csv", "z.csv"):
        (tmp_path / name).write_text("v")
    local = fsspec.filesystem("file")
    info, ls = local.info, local.ls

    def told(path: str, **more: object) -> dict:
        if str(path).endswith("odd.csv") and odd == "link":
            raise OSError(40, "Too many levels of symbolic links", path)
        return info(path, **more)

    def entries(path: str, **more: object) -> list:
        changed = {"islink": True} if odd == "link" else {"mtime": 1e300, "created": 1e300}
        return [{**each, **(changed if each["name"].endswith("odd.csv") else {})} for each in ls(path, **more)]

    monkeypatch.setattr(local, "info", told)
    monkeypatch.setattr(local, "ls", entries)
    one = SourceCoordinator(open_store("memory://"), "s", "me")
    supplier = object_listing(tmp_path, scan="once", filesystem=local, **shape)
    for _ in range(2):
        with pytest.raises(SourceError, match=r"odd.csv (cannot be looked at|was left out by an earlier scan)"):
            one.run_supplier(supplier)
    found = [name.rpartition("/")[2] for each in one.partitions() for name in object_paths(each.payload)]
    assert found == ["a.csv", "z.csv"]
