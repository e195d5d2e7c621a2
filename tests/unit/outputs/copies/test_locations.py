"""Locations as people say them: parsed strictly, marked when they are new, and lost without their marker."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.copies.locations import (
    MARKER,
    locations_document,
    missing,
    parsed_locations,
    set_locations,
    sites_of,
)
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError
from tests.unit.cli.on_a_store import cli_on

GOOD = {"name": "hot-1", "root": "/disks/1", "tier": "hot", "capacity": "10GB"}


@pytest.fixture(params=["memory", "sqlite"])
def flights(request, tmp_path) -> SourceCoordinator:
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    return SourceCoordinator(store, "flights", "owner")


def text(*roots: Path, **more: Any) -> str:
    return json.dumps([{"name": root.name, "root": str(root), "capacity": 1_000, **more} for root in roots])


def test_a_location_is_what_people_say_of_it() -> None:
    [site] = parsed_locations(json.dumps([GOOD]))
    assert (site.name, site.root, site.tier, site.capacity) == ("hot-1", "/disks/1", "hot", 10**10)
    [site] = parsed_locations(json.dumps([{"name": "a", "root": "s3a://hot//copies/", "capacity": 5}]))
    assert (site.root, site.tier, site.capacity) == ("s3a://hot/copies", "_default_tier", 5)


@pytest.mark.parametrize(
    ("said", "field", "told"),
    [
        ("{", "locations", "is no JSON"),
        ("{}", "locations", "is no list"),
        ("[1]", "locations[0]", "is no object"),
        ([{**GOOD, "Capacity": 1}], "locations[0].Capacity", "Did you mean capacity?"),
        ([{"name": "a", "capacity": 1}], "locations[0].root", "is missing"),
        ([{**GOOD, "name": "a|b"}], "locations[0].name", "is no name of a location"),
        ([{**GOOD, "name": ""}], "locations[0].name", "is no name of a location"),
        ([{**GOOD, "tier": 1}], "locations[0].tier", "is no name of a tier"),
        ([{**GOOD, "tier": "hot "}], "locations[0].tier", "is no name of a tier"),
        ([{**GOOD, "tier": "\u202etoh"}], "locations[0].tier", "is no name of a tier"),
        ([{**GOOD, "tier": "a\nb"}], "locations[0].tier", "is no name of a tier"),
        ([{**GOOD, "root": "/disks/\0"}], "locations[0].root", "cannot be printed"),
        ([{**GOOD, "root": "s3a://key:secret@b/x"}], "locations[0].root", "holds a name or a password"),
        ([{**GOOD, "capacity": 0}], "locations[0].capacity", "is no whole number above zero"),
        ([{**GOOD, "capacity": "much"}], "locations[0].capacity", "is no size"),
        ([{**GOOD, "root": "disks/1"}], "locations[0].root", "is no absolute path"),
        ([{**GOOD, "root": 1}], "locations[0].root", "is no address"),
        ([{**GOOD, "root": "/out/_attempts/x"}], "locations[0].root", "lies inside an output root"),
        ([GOOD, {**GOOD, "root": "/disks/2"}], "locations[1].name", "is there twice"),
        ([GOOD, {**GOOD, "name": "b", "root": "/disks/1/inside"}], "locations[1].root", "lies inside the root of"),
        ([{**GOOD, "root": "s3://b/x"}, {**GOOD, "name": "b", "root": "s3a://b/x"}], "locations[0].root", "inside"),
    ],
)
def test_what_is_no_location_is_refused_by_field(said, field, told) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parsed_locations(said if isinstance(said, str) else json.dumps(said))
    assert refused.value.field == field
    assert told in str(refused.value)
    assert refused.value.remedy


def test_roots_that_only_begin_alike_lie_apart() -> None:
    assert len(parsed_locations(json.dumps([GOOD, {**GOOD, "name": "b", "root": "/disks/10"}]))) == 2


def test_a_new_location_is_marked_and_the_marker_says_whose_it_is(flights, tmp_path) -> None:
    root = tmp_path / "hot"
    set_locations(flights, text(root), "ana", "a disk")
    said = json.loads((root / MARKER).read_text())
    assert said == {"location": "hot", "store": flights.store.store_id, "partition_prefix": None}
    sites = sites_of(locations_document(flights.store, None))
    assert missing(sites, flights.store.store_id, None) == {}


def test_a_location_without_its_marker_is_missing_and_nobody_marks_it_again(flights, tmp_path) -> None:
    hot, cold = tmp_path / "hot", tmp_path / "cold"
    set_locations(flights, text(hot, cold), "ana", "disks")
    shutil.rmtree(hot)
    hot.mkdir()  # as where a disk was mounted before
    set_locations(flights, text(hot, cold, capacity=2_000), "ana", "more room")
    sites = sites_of(locations_document(flights.store, None))
    assert {site.capacity for site in sites} == {2_000}
    found = missing(sites, flights.store.store_id, None)
    assert list(found) == ["hot"]
    assert "is missing" in found["hot"]


def test_another_stores_location_is_missing_here_and_refused(flights, tmp_path) -> None:
    root = tmp_path / "hot"
    set_locations(flights, text(root), "ana", "a disk")
    sites = sites_of(locations_document(flights.store, None))
    assert "another one" in missing(sites, "another-store", None)["hot"]
    other = SourceCoordinator(open_store("memory://"), "flights", "owner")
    other.store.setup()
    with pytest.raises(InvalidInputError, match="is marked as another one"):
        set_locations(other, text(root), "ana", "the same disk")
    assert locations_document(other.store, None) is None


def test_an_unreadable_marker_is_told(flights, tmp_path) -> None:
    root = tmp_path / "hot"
    set_locations(flights, text(root), "ana", "a disk")
    (root / MARKER).write_text("{")
    sites = sites_of(locations_document(flights.store, None))
    assert "is no marker" in missing(sites, flights.store.store_id, None)["hot"]


def test_the_output_root_of_a_source_is_no_location(flights, tmp_path) -> None:
    (tmp_path / "out" / "_attempts").mkdir(parents=True)
    with pytest.raises(InvalidInputError, match="is the output root of a source"):
        set_locations(flights, text(tmp_path / "out"), "ana", "a disk")


def test_a_location_keeps_its_root(flights, tmp_path) -> None:
    set_locations(flights, text(tmp_path / "hot"), "ana", "a disk")
    moved = json.dumps([{"name": "hot", "root": str(tmp_path / "new"), "capacity": 1}])
    with pytest.raises(InvalidInputError, match="is another one than before"):
        set_locations(flights, moved, "ana", "another disk")
    assert not (tmp_path / "new").exists()


def test_a_name_that_was_left_out_keeps_its_root_too(flights, tmp_path) -> None:
    set_locations(flights, text(tmp_path / "hot"), "ana", "a disk")
    set_locations(flights, text(tmp_path / "cold"), "ana", "another one")
    again = json.dumps([{"name": "hot", "root": str(tmp_path / "new"), "capacity": 1}])
    with pytest.raises(InvalidInputError, match="is another one than before"):
        set_locations(flights, again, "ana", "a disk of that name")
    assert not (tmp_path / "new").exists()
    set_locations(flights, text(tmp_path / "hot"), "ana", "the disk of before")


def test_of_two_people_at_once_the_second_is_told_what_the_first_has_set(flights, tmp_path) -> None:
    seen = set_locations(flights, text(tmp_path / "hot"), "ana", "a disk").version
    set_locations(flights, text(tmp_path / "hot", tmp_path / "cold"), "ana", "a large one", seen)
    with pytest.raises(PartitionUpdateError, match=r"ana at .* has set others, version 2: a large one"):
        set_locations(flights, text(tmp_path / "hot", tmp_path / "warm"), "bob", "a third", seen)
    assert [site.name for site in sites_of(locations_document(flights.store, None))] == ["cold", "hot"]
    assert not (tmp_path / "warm").exists()


def test_who_is_slower_by_a_moment_is_told_too(flights, tmp_path, monkeypatch) -> None:
    real = flights.documents.change

    def slower(*args):
        monkeypatch.undo()
        set_locations(flights, text(tmp_path / "cold"), "ana", "faster")
        return real(*args)

    monkeypatch.setattr(flights.documents, "change", slower)
    with pytest.raises(PartitionUpdateError, match=r"ana at .* has set others"):
        set_locations(flights, text(tmp_path / "hot"), "bob", "slower")


def test_a_root_that_cannot_be_written_changes_nothing(flights, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        set_locations(flights, text(tmp_path / "file" / "hot"), "ana", "a disk")
    assert locations_document(flights.store, None) is None


def test_people_set_and_see_locations_on_the_command_line(flights, tmp_path, capsys) -> None:
    typed, hot = cli_on(flights.store, capsys), tmp_path / "hot"
    file = tmp_path / "locations.json"
    file.write_text(text(hot, tier="hot"))
    code, _, err = typed("locations", "set", str(file), "--why", "a disk", "--dry-run")
    assert code == 0
    assert "New: hot, tier hot" in err
    assert not hot.exists()
    code, _, err = typed("locations", "set", str(file), "--why", "a disk", "--by", "ana", "-y")
    assert (code, "version 1" in err) == (0, True)
    code, out, _ = typed("locations", "get")
    assert [each["name"] for each in json.loads(out)] == ["hot"]
    code, out, _ = typed("locations", "history", "-o", "json")
    assert [(each["author"], each["comment"]) for each in json.loads(out)] == [("ana", "a disk")]
    assert typed("locations", "status", "-o", "json")[0] == 0
    (hot / MARKER).unlink()
    code, out, err = typed("locations", "status", "-o", "json")
    assert (code, json.loads(out)[0]["readable"]) == (1, False)
    assert "location hot cannot be read from here" in err
    file.write_text("[]")
    _, _, err = typed("locations", "set", str(file), "--why", "no disk", "-y")
    assert "Left out: hot" in err


def test_nobody_has_said_a_location(flights, capsys) -> None:
    code, out, err = cli_on(flights.store, capsys)("locations", "get")
    assert (code, json.loads(out)) == (0, [])
    assert "nothing is copied" in err
