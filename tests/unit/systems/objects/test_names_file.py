"""Names of a large group in a file: written once, before anything names it; read only as what was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_coordination.follow_ups import DeleteObjects
from airflow_coordination.leases import Checkpoint, InvalidInputError, Partition, SourceCoordinator
from airflow_coordination.sources import object_listing, object_paths, spark_paths
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects import deletion, grouping, names_file
from airflow_coordination.systems.objects.scan import LISTING
from airflow_coordination.systems.objects.storage import OutputError
from tests.unit.systems.storage import DAY, HOUR, START, Storage

MANY = 3_000
ALWAYS = timedelta(0)


class Killed(Exception):
    """Ends a supplier where it is."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def storage() -> Storage:
    storage = Storage()
    for number in range(MANY):
        storage.put(f"in/day=1/{number:05}.json")
    storage.clock.advance(HOUR)
    return storage


@pytest.fixture
def one() -> SourceCoordinator:
    return SourceCoordinator(open_store("memory://"), "s", "me")


@pytest.fixture
def listing(storage: Storage, root: Path) -> Callable[..., Any]:
    def listing(**options: Any) -> Any:
        given = {"scan": "once", "max_objects": 10_000, "output_root": root, **options}
        supplier = object_listing(storage, **given)
        object.__setattr__(supplier, "clock", storage.clock)
        return supplier

    return listing


def kept(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def names(one: SourceCoordinator) -> list[str]:
    found = [path for each in one.partitions() for path in object_paths(each.payload)]
    return sorted(path.removeprefix("s3a://bucket/") for path in found)


def only(one: SourceCoordinator) -> Partition:
    [partition] = one.partitions()
    return partition


def steps(one: SourceCoordinator, supplier: Any) -> Iterator[object]:
    """Return the steps of a run from the beginning, of which nothing is saved."""
    view = SimpleNamespace(store=one.store, identifier="s|PARTITION", partitions=one.partitions)
    return supplier.supply({}, view)  # type: ignore[no-any-return]


def cut(supplier: Any, after: int) -> Any:
    """Return a supplier that is killed after so many of its steps, when the last one was taken."""

    class Cut:
        def supply(self, state: dict[str, Any], view: Any) -> Iterator[object]:
            yield from islice(supplier.supply(state, view), after)
            raise Killed

    return Cut()


def test_a_group_holds_thousands_of_names(one: SourceCoordinator, listing: Callable, root: Path) -> None:
    one.run_supplier(listing())
    payload = only(one).payload
    [file] = kept(root)
    content = file.read_bytes()
    said = {"address": str(file), "count": MANY, "sha256": hashlib.sha256(content).hexdigest()}
    assert payload == {"base": "s3a://bucket/in/day=1/", "bytes": MANY, "names_file": said}
    assert json.loads(content) == [f"{number:05}.json" for number in range(MANY)]
    assert object_paths(payload) == [f"s3a://bucket/in/day=1/{number:05}.json" for number in range(MANY)]
    assert file.stem == said["sha256"]


def test_names_that_fit_stay_in_the_payload(one: SourceCoordinator, listing: Callable, root: Path) -> None:
    one.run_supplier(listing(max_objects=100))
    assert all(len(each.payload["names"]) == 100 for each in one.partitions())
    assert len(names(one)) == MANY
    assert kept(root) == []


def test_without_an_output_root_a_group_ends_with_its_payload(one: SourceCoordinator, listing: Callable) -> None:
    one.run_supplier(listing(output_root=None))
    assert all("names" in each.payload for each in one.partitions())
    assert len(one.partitions()) > 5
    assert len(names(one)) == MANY


def test_the_bounds_that_were_asked_for_hold(one: SourceCoordinator, listing: Callable, storage: Storage) -> None:
    storage.put("in/day=1/00007-large.json", 5_000)
    one.run_supplier(listing(max_objects=1_000, max_bytes=4_000))
    sizes = [len(object_paths(each.payload)) for each in one.partitions()]
    assert sorted(sizes) == [1, 7, 993, 1_000, 1_000]
    assert len(names(one)) == MANY + 1


def test_a_file_has_a_limit_too(one: SourceCoordinator, listing: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "MAX_NAMES", 2_000)
    one.run_supplier(listing(max_objects=None, max_bytes=10**9))
    assert sorted(len(object_paths(each.payload)) for each in one.partitions()) == [1_000, 2_000]


def test_a_file_has_a_limit_of_bytes(
    one: SourceCoordinator, listing: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "MAX_BYTES", 10_000)
    one.run_supplier(listing())
    said = [names_file.NamesFile.of(each.payload) for each in one.partitions()]
    sizes = [Path(each.address).stat().st_size for each in said if each]
    assert max(sizes) <= 10_000
    assert min(sorted(sizes)[1:]) > 9_900
    assert len(names(one)) == MANY


def test_a_directory_too_long_beside_an_address_leaves_names_in_payloads(
    one: SourceCoordinator, listing: Callable, storage: Storage, root: Path
) -> None:
    """What a payload says of a file of names is in it beside the directory: both have to fit."""
    storage.objects_by_key.clear()
    for number in range(2_000):
        storage.put("ü" * 400 + f"/{number}")
    storage.clock.advance(HOUR)
    one.run_supplier(listing())
    assert kept(root) == []
    assert len(names(one)) == 2_000


def test_as_many_names_as_one_ending_deletes() -> None:
    assert names_file.MAX_NAMES == deletion.MAX_OBJECTS


def test_killed_between_file_and_plan_the_next_run_writes_nothing_new(
    one: SourceCoordinator, listing: Callable, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    next(steps(one, listing()))  # a plan that nobody saves
    [file] = kept(root)

    def written(*_: object) -> None:
        raise AssertionError("written again")

    monkeypatch.setattr(names_file, "write_bytes", written)
    one.run_supplier(listing())
    assert only(one).payload["names_file"]["address"] == str(file)
    assert kept(root) == [file]
    assert len(names(one)) == MANY


def test_killed_between_plan_and_partition_the_next_run_goes_on_with_the_plan(
    one: SourceCoordinator, listing: Callable, storage: Storage
) -> None:
    with pytest.raises(Killed):
        one.run_supplier(cut(listing(), 1))
    assert one.partitions() == []
    storage.put("in/day=1/00000-new.json")
    one.run_supplier(listing())
    assert names(one) == [f"in/day=1/{number:05}.json" for number in range(MANY)]


def test_what_a_killed_supplier_left_half_written_is_written_whole(
    one: SourceCoordinator, listing: Callable, root: Path
) -> None:
    next(steps(one, listing()))
    [file] = kept(root)
    content = file.read_bytes()
    file.write_bytes(content[:100])
    next(steps(one, listing()))
    assert file.read_bytes() == content


def test_the_file_is_there_before_the_plan_and_the_plan_before_the_partition(
    one: SourceCoordinator, listing: Callable, root: Path
) -> None:
    seen: list[str] = []
    for item in steps(one, listing()):
        [file] = kept(root)
        if isinstance(item, Checkpoint):
            seen.append("plan" if file.stem in json.dumps(item.state) else "no plan")
        else:
            seen.append("partition")
    assert seen == ["plan", "partition", "no plan"]


def test_what_is_deleted_before_the_plan_is_saved_is_written_again(
    one: SourceCoordinator, listing: Callable, root: Path
) -> None:
    """A collector may have judged a file of before. When its plan is saved none does, so it is looked for then."""
    items = steps(one, listing())
    assert isinstance(next(items), Checkpoint)
    [file] = kept(root)
    content = file.read_bytes()
    file.unlink()
    assert not isinstance(next(items), Checkpoint)
    assert file.read_bytes() == content


def test_nothing_is_created_of_names_that_cannot_be_written(
    one: SourceCoordinator, listing: Callable, root: Path
) -> None:
    root.write_text("a file")
    with pytest.raises(OutputError, match="Cannot"):
        one.run_supplier(listing())
    assert one.partitions() == []
    root.unlink()
    one.run_supplier(listing())
    assert len(names(one)) == MANY


@pytest.mark.parametrize("read", [object_paths, spark_paths])
def test_a_missing_file_names_field_value_and_remedy(
    one: SourceCoordinator, listing: Callable, root: Path, read: Callable
) -> None:
    one.run_supplier(listing())
    [file] = kept(root)
    file.unlink()
    with pytest.raises(InvalidInputError) as error:
        read(only(one).payload)
    said = str(error.value)
    assert error.value.field == "payload.names_file.address"
    assert error.value.value == str(file)
    assert f"{file} is missing. Put that file back as it was, and reset the partition" in said


@pytest.mark.parametrize("change", [b"[]", b'["00000.json"]', b"", b"no JSON"])
def test_a_file_that_differs_is_never_read(
    one: SourceCoordinator, listing: Callable, root: Path, change: bytes
) -> None:
    one.run_supplier(listing())
    [file] = kept(root)
    file.write_bytes(change)
    with pytest.raises(
        InvalidInputError, match=r"payload.names_file.sha256=.*is not the digest of .*Put that file back"
    ):
        object_paths(only(one).payload)
    with pytest.raises(InvalidInputError, match="somebody has changed the group's names"):
        DeleteObjects.of(only(one))


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ([], ""),
        ({}, ""),
        ({"address": "x", "count": True, "sha256": "y"}, ""),
        ({"address": 1, "count": 1, "sha256": "y"}, ""),
        ({"count": 7}, ".count"),
    ],
)
def test_a_payload_that_says_something_else_is_refused(
    one: SourceCoordinator, listing: Callable, said: Any, field: str
) -> None:
    one.run_supplier(listing())
    payload = only(one).payload
    whole = {**payload["names_file"], **said} if field else said
    with pytest.raises(InvalidInputError) as error:
        object_paths({**payload, "names_file": whole})
    assert error.value.field == f"payload.names_file{field}"


def test_a_list_that_is_none_is_refused_though_its_digest_is_right(tmp_path: Path) -> None:
    for content in (b"no JSON", b'{"a": 1}', b"[1]", b'[["a"]]'):
        file = tmp_path / "x.json"
        file.write_bytes(content)
        said = {"address": str(file), "count": 1, "sha256": hashlib.sha256(content).hexdigest()}
        with pytest.raises(InvalidInputError, match="is not how many names"):
            object_paths({"base": "/in/", "names_file": said})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"max_objects": None}, "Give max_objects or max_bytes, or leave it out"),
        ({"output_root": ""}, "Give a directory or a URL"),
        ({"output_root": 7}, "Give a directory or a URL"),
        ({"output_root": "x" * 1_100}, "is too long for a payload"),
        ({"output_root": "ftp://ana:geheim@host/out"}, "holds a password"),
        ({"output_root": "a://b::c://d"}, "with which fsspec chains storages"),
    ],
)
def test_bad_options_name_field_and_remedy(listing: Callable, given: dict, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem) as error:
        listing(**given)
    assert error.value.field == "output_root"
    assert "geheim" not in str(error.value)


def test_a_supplier_that_does_not_see_its_source_has_no_place_for_names(listing: Callable, root: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"output_root=.*Give the listing itself to run_supplier"):
        next(iter(listing()({})))
    assert kept(root) == []


def test_a_full_scan_knows_the_names_in_files(one: SourceCoordinator, listing: Callable, storage: Storage) -> None:
    supplier = listing(scan=ALWAYS, full_scan_every=DAY)
    one.run_supplier(supplier)
    for _ in range(2):
        storage.clock.advance(2 * DAY)
        one.run_supplier(supplier)
    assert len(names(one)) == MANY
    storage.put("in/late", modified=START)
    storage.clock.advance(2 * DAY)
    one.run_supplier(supplier)
    assert names(one).count("in/late") == 1
    assert len(names(one)) == MANY + 1


def test_a_source_of_groups_may_begin_with_it_and_keeps_it_from_then_on(
    one: SourceCoordinator, listing: Callable, storage: Storage
) -> None:
    """The mark of its options is another one from then on, by which older code refuses the source."""
    marks = []
    for number, given in enumerate((None, "out", None)):
        root = {"output_root": None} if given is None else {}
        one.run_supplier(listing(scan=ALWAYS, **root))
        marks.append(one.run_supplier(listing(scan=ALWAYS, **root)).state[LISTING]["of"])  # type: ignore[index]
        storage.put(f"new-{number}")
        storage.clock.advance(HOUR)
    assert marks[0] != marks[1] == marks[2]
    with pytest.raises(InvalidInputError, match="was scanned with other filters"):
        one.run_supplier(listing(scan=ALWAYS, exclude_suffix=".csv"))


def test_a_large_group_is_deleted_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    files = [folder / f"{number:03}{'x' * 40}.json" for number in range(150)]
    for file in files:
        file.write_text("1")
    one = SourceCoordinator(open_store("memory://"), "s", "me")
    one.run_supplier(object_listing(folder, scan="once", max_objects=200, output_root=tmp_path / "out"))
    mine = only(one)
    assert "names_file" in mine.payload
    noted = DeleteObjects.from_json(json.loads(json.dumps(DeleteObjects.of(mine).pinned(mine).to_json())))
    files[7].write_text("written again")
    left = DeleteObjects.of(mine).pinned(mine)
    assert left.left_alone
    assert noted.carry_out().done == len(files) - 1
    assert files[7].exists()


def test_a_payload_of_a_group_without_its_names_is_none(one: SourceCoordinator, listing: Callable) -> None:
    one.run_supplier(listing())
    bare = replace(only(one), payload_text='{"base": "s3a://bucket/in/"}')
    with pytest.raises(InvalidInputError, match="names no object"):
        DeleteObjects.of(bare)
