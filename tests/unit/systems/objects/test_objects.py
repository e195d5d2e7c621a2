"""Deleting the objects that a partition was made of: each only if it is still the version that is meant (S27)."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.follow_ups import Carried, DeleteObjects
from airflow_coordination.leases import InvalidInputError, Partition, PartitionStatus
from airflow_coordination.sources import object_listing, object_paths
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.documents import encode_payload


def partition(payload: object = None) -> Partition:
    return Partition(
        source="s|PARTITION", key="k", status=PartitionStatus.ASSIGNED, payload_text=encode_payload(payload)
    )


def noted(action: DeleteObjects, of: Partition | None = None) -> DeleteObjects:
    """Return the action as the store gives it back."""
    return DeleteObjects.from_json(json.loads(json.dumps(action.pinned(of or partition()).to_json())))


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    made = [tmp_path / name for name in ("a.json", "b 1.json", "é[x]*.json")]
    for file in made:
        file.write_text("first")
    return made


def written_again(file: Path, text: str = "other") -> None:
    """Write as many bytes, later."""
    before = file.stat().st_mtime
    file.write_text(text)
    os.utime(file, (before + 10, before + 10))


def test_what_is_there_at_the_end_is_deleted(files) -> None:
    action = noted(DeleteObjects([str(file) for file in files]))
    assert action.carry_out() == Carried(3)
    assert not any(file.exists() for file in files)


def test_doing_it_twice_is_as_doing_it_once(files) -> None:
    action = noted(DeleteObjects(str(files[0])))
    assert [action.carry_out(), action.carry_out()] == [Carried(1), Carried(1)]
    assert files[1].exists()


def test_what_was_written_again_is_left_alone_and_named(files) -> None:
    action = noted(DeleteObjects([str(file) for file in files]))
    written_again(files[1])
    assert action.carry_out() == Carried(2, (f"{files[1]} was written again",))
    assert [file.exists() for file in files] == [False, True, False]


def test_another_size_is_another_version(files) -> None:
    action = noted(DeleteObjects(str(files[0])))
    times = files[0].stat()
    files[0].write_text("longer than before")
    os.utime(files[0], ns=(times.st_atime_ns, times.st_mtime_ns))
    assert action.carry_out().left_alone
    assert files[0].exists()


def test_a_version_can_be_pinned_before_it_is_read(files) -> None:
    action = DeleteObjects.as_now([str(files[0])])
    written_again(files[0])
    assert noted(action).carry_out().left_alone
    assert files[0].exists()


@pytest.mark.parametrize("shape", [{}, {"max_objects": 3}], ids=["alone", "group"])
def test_e8_a_file_that_was_written_again_before_it_was_read_goes_by_the_version_that_was_read(files, shape) -> None:
    supplier = object_listing(files[0].parent, scan="once", **shape)
    found = next(each for each in supplier({}) if hasattr(each, "key"))
    mine = replace(partition(found.payload), key=found.key)
    listed = [Path(path) for path in object_paths(found.payload)]
    written_again(listed[0])
    read = DeleteObjects.as_now(mine)
    assert noted(DeleteObjects.of(mine), mine).carry_out().left_alone, "nobody can tell which version was read"
    assert noted(read, mine).carry_out() == Carried(len(listed))
    assert not any(path.exists() for path in listed)


def test_e8_what_was_written_again_after_it_was_read_stays(files) -> None:
    found = next(each for each in object_listing(files[0].parent, scan="once")({}) if hasattr(each, "key"))
    read = DeleteObjects.as_now(partition(found.payload))
    [path] = map(Path, object_paths(found.payload))
    written_again(path)
    assert noted(read, partition(found.payload)).carry_out().left_alone
    assert path.exists()


def test_a_listing_says_which_version_is_meant(files) -> None:
    listed = [each.payload for each in object_listing(files[0].parent, scan="once")({}) if hasattr(each, "key")]
    payload, other_payload = (next(each for each in listed if each["path"] == str(file)) for file in files[:2])
    mine = partition(payload)
    written_again(files[0])
    assert noted(DeleteObjects(payload["path"]), mine).carry_out().left_alone
    assert noted(DeleteObjects.of(mine), mine).carry_out().left_alone
    other = partition(other_payload)
    assert noted(DeleteObjects.of(other), other).carry_out() == Carried(1)
    assert [file.exists() for file in files] == [True, False, True]


def test_a_group_of_a_listing_is_deleted_as_a_whole(files) -> None:
    listing = object_listing(files[0].parent, scan="once", max_objects=9, lateness=timedelta(0))
    [group] = [each for each in listing({}) if hasattr(each, "key")]
    mine = partition(group.payload)
    assert noted(DeleteObjects.of(mine), mine).carry_out() == Carried(3)
    assert not any(file.exists() for file in files)


@pytest.fixture
def group(files) -> Partition:
    listing = object_listing(files[0].parent, scan="once", max_objects=9, lateness=timedelta(0))
    [found] = [each for each in listing({}) if hasattr(each, "key")]
    return replace(partition(found.payload), key=found.key)


def test_f2_a_group_of_which_one_was_written_again_after_it_was_listed_is_left_and_said(files, group) -> None:
    written_again(files[1])
    done = noted(DeleteObjects.of(group), group).carry_out()
    assert all(file.exists() for file in files)
    [said] = done.left_alone
    assert "one of them is not what it was when it was listed" in said


def test_f2_a_group_of_which_one_is_gone_is_left(files, group) -> None:
    files[1].unlink()
    assert noted(DeleteObjects.of(group), group).carry_out().left_alone
    assert files[0].exists()


def test_f2_a_group_as_it_was_listed_is_deleted_but_what_was_written_again_since(files, group) -> None:
    action = noted(DeleteObjects.of(group), group)
    written_again(files[1])
    assert action.carry_out() == Carried(2, (f"{files[1]} was written again",))
    assert [file.exists() for file in files] == [False, True, False]


def test_f2_some_objects_of_a_group_are_looked_at_with_the_others(files, group) -> None:
    written_again(files[1])
    other = files[0].parent.parent / "other.json"
    other.write_text("x")
    done = noted(DeleteObjects([str(files[0]), str(other)]), group).carry_out()
    assert (done.done, len(done.left_alone), files[0].exists(), other.exists()) == (1, 1, True, False)


def test_f2_a_group_whose_first_name_is_long_or_holds_what_keys_escape(tmp_path) -> None:
    for name in ("x" * 120 + "/" + "%7C|" + "y" * 120, "x" * 120 + "/z"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    listing = object_listing(tmp_path, scan="once", max_objects=9, lateness=timedelta(0))
    [found] = [each for each in listing({}) if hasattr(each, "key")]
    mine = replace(partition(found.payload), key=found.key)
    assert noted(DeleteObjects.of(mine), mine).carry_out() == Carried(2)


def test_what_was_not_there_at_the_end_is_no_business_of_ours(files, tmp_path) -> None:
    later = tmp_path / "later.json"
    action = noted(DeleteObjects([str(files[0]), str(later)]))
    later.write_text("new")
    assert action.carry_out() == Carried(1)
    assert later.exists()


def test_a_directory_of_another_machine_is_not_gone(tmp_path) -> None:
    file = tmp_path / "mine/a.json"
    file.parent.mkdir()
    file.write_text("x")
    action = noted(DeleteObjects(str(file)))
    file.unlink()
    file.parent.rmdir()
    with pytest.raises(OutputError, match=r"is in a directory that this machine has not. Do it where the directory is"):
        action.carry_out()


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        ([], "paths=[]: names no objects. Give the addresses of one or more objects"),
        ("", "paths='': names no objects. Give the addresses of one or more objects"),
        (["a", 1], "paths=['a', 1]: names no objects. Give the addresses of one or more objects"),
        (None, "paths=None: names no objects. Give the addresses of one or more objects"),
        ("s3://b", "paths='s3://b': names no objects. Give the addresses of one or more objects"),
        (["s3a://b/"], "paths=['s3a://b/']: names no objects. Give the addresses of one or more objects"),
        (["x"] * 100_001, "paths=['x']: names 100,001 objects, and 100,000 are the limit. Make smaller partitions"),
    ],
)
def test_what_is_no_list_of_objects_is_refused(paths, said) -> None:
    with pytest.raises(InvalidInputError) as raised:
        DeleteObjects(paths)
    assert str(raised.value) == said


def test_a_payload_without_objects_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="names no object: it has neither path, nor base and names"):
        DeleteObjects.of(partition({"month": 1}))


def test_a_url_is_taken_literally_and_a_path_in_full(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["s3a://bucket/a//b/../c", "file:///x/y", "here.json"]
    assert DeleteObjects(given).paths == ("s3a://bucket/a//b/../c", "/x/y", f"{tmp_path}/here.json")


@pytest.mark.parametrize("versions", [(1,), ("a",), (None, None), [None], None])
def test_small_x7_what_are_no_versions_is_refused(versions) -> None:
    """They were taken, and the ending failed with an AttributeError."""
    with pytest.raises(InvalidInputError, match=r"^versions=.*: is not a version of each object. Leave it out"):
        DeleteObjects(["s3://b/x"], versions)


@pytest.mark.parametrize("made", [lambda path: DeleteObjects(path).pinned(partition()), DeleteObjects.as_now])
def test_small_x7_a_directory_is_refused_before_the_ending(tmp_path, made) -> None:
    """Its note could never be done, and a partition with a note is not begun anew."""
    with pytest.raises(OutputError, match=r"is a directory. Name the files in it"):
        made(str(tmp_path))
