"""Listing directories of file systems that fsspec knows."""

from __future__ import annotations

import os
import time
import uuid
from datetime import UTC, datetime, timedelta

import fsspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_coordination.sources import FileListing, SourceError, object_listing

TREE = ["a.txt", "a/1.json", "a/b/c.json", "a!/x", "ab/2.json", "b"]


@pytest.fixture
def local(tmp_path):
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"123")
    return tmp_path


@pytest.fixture
def memory():
    root = f"/listing-{uuid.uuid4().hex}"
    filesystem = fsspec.filesystem("memory")
    yield filesystem, root
    filesystem.rm(root, recursive=True)


def keys(listing, prefix="", start_after=""):
    return [found.key for found in listing.objects(prefix, start_after)]


def test_the_order_is_that_of_whole_names(local):
    assert keys(FileListing(local)) == sorted(TREE)


@pytest.mark.parametrize("start_after", ["", "a", "a!/x", "a.txt", "a/", "a/0", "a/1.json", "a/b/zz", "ab/2.json", "c"])
@pytest.mark.parametrize("prefix", ["", "a", "a/", "a/b/c", "b", "none/"])
def test_any_prefix_and_any_start(local, prefix, start_after):
    wanted = [name for name in sorted(TREE) if name.startswith(prefix) and name > start_after]
    assert keys(FileListing(local), prefix, start_after) == wanted


@settings(max_examples=60, deadline=None)
@given(
    names=st.sets(st.from_regex(r"([ab!.]{1,2}/){0,2}[ab!.]{1,2}", fullmatch=True)),
    prefix=st.text("ab!/.", max_size=3),
    start_after=st.text("ab!/.", max_size=4),
)
def test_any_tree_is_listed_as_an_object_storage_lists_it(names, prefix, start_after):
    names = {name for name in names if not any(other.startswith(f"{name}/") for other in names)}
    root = f"/listing-{uuid.uuid4().hex}"
    filesystem = fsspec.filesystem("memory")
    for name in names:
        filesystem.pipe(f"{root}/{name}", b"")
    wanted = [name for name in sorted(names) if name.startswith(prefix) and name > start_after]
    assert keys(FileListing(f"memory:/{root}"), prefix, start_after) == wanted
    filesystem.store.clear()
    filesystem.pseudo_dirs[:] = [""]


def test_only_directories_that_can_match_are_read(local, monkeypatch):
    read = []
    original = type(fsspec.filesystem("file")).ls

    def reading(self, path, **more):
        read.append(os.path.relpath(path, local))
        return original(self, path, **more)

    monkeypatch.setattr(type(fsspec.filesystem("file")), "ls", reading)
    assert keys(FileListing(local), "a/", "a/1.json") == ["a/b/c.json"]
    assert read == [".", "a", "a/b"]


def test_local_files_have_paths_for_addresses(local, supplied):
    _, partitions = supplied(object_listing(local, scan="once", include_prefix="a/b"))
    assert partitions[f"{local}|a/b/c.json"]["path"] == f"{local}/a/b/c.json"
    assert partitions[f"{local}|a/b/c.json"]["size"] == 3


@pytest.mark.parametrize("form", ["file://{}", "file:{}", "{}/"])
def test_all_spellings_of_a_local_directory_are_one(local, form):
    listing = FileListing(form.format(local))
    assert (listing.bucket, listing.address("b")) == (str(local), f"{local}/b")
    assert keys(listing) == sorted(TREE)


def test_a_url_stays_a_url(memory, supplied):
    filesystem, root = memory
    filesystem.pipe(f"{root}/x/1.json", b"12")
    _, partitions = supplied(object_listing(f"memory:/{root}", scan="once"))
    [(key, payload)] = partitions.items()
    assert key == f"{root[1:]}|x/1.json"
    assert (payload["path"], payload["size"]) == (f"memory:/{root}/x/1.json", 2)
    assert datetime.fromisoformat(payload["modified"]) > datetime.now(UTC) - timedelta(minutes=1)


@pytest.mark.parametrize("lazily", [False, True], ids=["filesystem", "function"])
def test_an_open_file_system_is_used(memory, supplied, lazily):
    filesystem, root = memory
    filesystem.pipe(f"{root}/1", b"")
    given = (lambda: filesystem) if lazily else filesystem
    _, partitions = supplied(object_listing(f"memory:/{root}", scan="once", filesystem=given))
    assert list(partitions) == [f"{root[1:]}|1"]


def test_a_file_that_was_moved_here_is_new_though_its_time_is_old(local, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "old.json"
    elsewhere.write_bytes(b"")
    os.utime(elsewhere, (0, 0))
    before = datetime.fromtimestamp(time.time() - 5, UTC)
    elsewhere.rename(local / "old.json")
    [found] = FileListing(local).objects("old", "")
    assert found.modified > before


def test_links_to_files_count_and_links_to_directories_do_not(local):
    (local / "loop").symlink_to(local)
    (local / "broken").symlink_to(local / "nowhere")
    (local / "link").symlink_to(local / "b")
    found = {each.key: each.size for each in FileListing(local).objects("", "")}
    assert sorted(found) == sorted([*TREE, "link"])
    assert found["link"] == 3


def test_a_file_that_appears_is_seen_by_the_next_scan(local, supplied):
    supplier = object_listing(local, scan=timedelta(0))
    supplied(supplier)
    (local / "a" / "0.json").write_bytes(b"")
    run, partitions = supplied(supplier)
    assert run.created.created == 1
    assert len(partitions) == len(TREE) + 1


def test_a_directory_that_is_not_there_lists_nothing(tmp_path, supplied, caplog):
    run, _ = supplied(object_listing(tmp_path / "none", scan="once"))
    assert run.created.created == 0
    assert "lists nothing" in caplog.text


def test_a_file_is_no_directory(local):
    with pytest.raises(SourceError, match=r"Cannot list a directory: .*a.txt is a file. Give the directory it is in"):
        keys(FileListing(local / "a.txt"))


def test_a_directory_that_may_not_be_read_is_named(local, monkeypatch):
    def forbidden(self, path, **more):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(type(fsspec.filesystem("file")), "ls", forbidden)
    with pytest.raises(SourceError, match=r"answers PermissionError: .*Check its name, and that this process may read"):
        keys(FileListing(local))


def test_a_storage_without_its_library_says_so():
    with pytest.raises(SourceError, match=r"gs://bucket needs a library that is not here .*Install it where"):
        keys(FileListing("gs://bucket"))


def test_a_worker_that_has_nothing_left_to_do_lists(tmp_path, coordinator):
    supplier = object_listing(tmp_path, scan=timedelta(0))
    assert coordinator.get_next_partition(supplier=supplier) is None
    (tmp_path / "1.json").write_text("{}")
    lease = coordinator.get_next_partition(supplier=supplier)
    assert lease.partition.payload["path"] == str(tmp_path / "1.json")
