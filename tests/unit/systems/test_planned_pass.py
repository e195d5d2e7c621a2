"""The planned pass under both suppliers: saved, then created; killed anywhere, it goes on with the same partitions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import Checkpoint, PartitionIdentifier
from airflow_coordination.sources import StoredObject, object_listing, sql_ranges
from airflow_coordination.systems.objects import scan
from airflow_coordination.systems.sql import supplier as ranges
from airflow_coordination.systems.suppliers import fingerprint, planned_pass, remembered
from airflow_coordination.values.input_errors import InvalidInputError, ProgressStateError

SCAN_OF_BEFORE = """{"LISTING": {"of": "d7b447bf888c6529", "groups": true, "started": "2026-01-02T00:00:00Z",
 "after": "n3", "plan": [
  {"key": "b|n0|7817095c2936ed367b9174b0", "payload": {"base": "mem://b/", "names": ["n0", "n1"], "bytes": 20}},
  {"key": "b|n2|63eb3e3c3f5718d465f66dc5", "payload": {"base": "mem://b/", "names": ["n2", "n3"], "bytes": 20}}]}}"""
RANGES_OF_BEFORE = """{"SQL_RANGES": {"of": "917818e1e3a332f1", "type": "integer", "walk": {
 "kind": "integer", "rows": 2, "first": false, "after": 3, "top": null, "end": false, "plan": [
  {"table": "t", "column": "id", "type": "integer", "lower": null, "upper": 1, "nulls": true},
  {"table": "t", "column": "id", "type": "integer", "lower": 1, "upper": 3, "nulls": false}]}}}"""
"""Written by version 0.1.0 before the two suppliers had their pass in common, in the middle of one."""


@dataclass(frozen=True)
class Tens:
    """A step that counts from ``after``."""

    after: int = 0
    plan: tuple[Mapping[str, Any], ...] = ()

    def document(self) -> dict[str, Any]:
        return {"after": self.after, "plan": list(self.plan)}


class Place:
    """Something to pass over that is different at each look."""

    def __init__(self) -> None:
        self.looks = 0

    def steps(self, last: Tens) -> Iterator[Tens]:
        for after in range(last.after, 3):
            self.looks += 1
            yield Tens(after + 1, tuple({"key": f"{after}-{number}-look-{self.looks}"} for number in range(2)))

    def run(self, state: Mapping[str, Any]) -> Iterator[object]:
        found = remembered(state, "TENS")
        last = Tens(found.get("after", 0), tuple(found.get("plan", ())))
        return planned_pass(
            last, self.steps(last), lambda each: PartitionIdentifier(each["key"]), lambda s: Checkpoint(stored(s))
        )


def stored(step: Tens) -> dict[str, Any]:
    return json.loads(json.dumps({"TENS": step.document()}))


@pytest.mark.parametrize("killed_after", range(9))
def test_killed_anywhere_it_makes_each_partition_once(killed_after: int) -> None:
    place, state, created = Place(), {}, set()
    for given, item in enumerate(place.run(state)):
        if given == killed_after:
            break
        if isinstance(item, Checkpoint):
            state = item.state
        else:
            created.add(item.key)
    for item in place.run(state):
        if not isinstance(item, Checkpoint):
            created.add(item.key)
    assert sorted(key[:3] for key in created) == ["0-0", "0-1", "1-0", "1-1", "2-0", "2-1"]


def test_a_step_is_looked_for_when_the_one_before_is_created() -> None:
    place = Place()
    items = place.run({})
    assert isinstance(next(items), Checkpoint)
    assert [next(items).key, next(items).key] == ["0-0-look-1", "0-1-look-1"]
    assert place.looks == 1


def test_a_step_that_no_store_can_hold_is_not_saved() -> None:
    items = planned_pass(
        Tens(), [Tens(1, ({"key": "k"}, {"key": ""}))], lambda each: PartitionIdentifier(each["key"]), stored
    )
    with pytest.raises(InvalidInputError, match="key"):
        next(items)


def test_what_the_state_keeps_must_be_an_object() -> None:
    with pytest.raises(ProgressStateError, match=r"global_state.TENS=7: is not a JSON object. Repair it in the store"):
        remembered({"TENS": 7}, "TENS")


def test_what_is_asked_for_changes_the_fingerprint() -> None:
    assert fingerprint(["a", None]) != fingerprint(["a", "None"])
    assert fingerprint(["\ud800"]) == fingerprint(["\ud800"])  # a name of a file that is no text


class TenObjects:
    """A listing of ``n0`` to ``n9``."""

    bucket, prefix = "b", ""

    def address(self, key: str) -> str:
        return f"mem://b/{key}"

    def now(self) -> datetime:
        return datetime(2026, 1, 2, tzinfo=UTC)

    def objects(self, prefix: str, start_after: str) -> Iterator[StoredObject]:
        written = datetime(2026, 1, 1, tzinfo=UTC)
        names = [f"n{number}" for number in range(10)]
        yield from (StoredObject(name, 10, written, name.replace("n", "e")) for name in names if name > start_after)


def keys(supplied: Iterator[object]) -> list[str]:
    return [item.key for item in supplied if isinstance(item, PartitionIdentifier)]


def test_a_scan_of_the_version_before_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "GROUPS_PER_CHECKPOINT", 2)
    supplier = object_listing(TenObjects(), scan="once", max_objects=2)
    assert keys(supplier(json.loads(SCAN_OF_BEFORE))) == [
        "b|n0|7817095c2936ed367b9174b0",
        "b|n2|63eb3e3c3f5718d465f66dc5",
        "b|n4|36777c96f67962bc749a4e62",
        "b|n6|62e2f72424a6dc3563e16232",
        "b|n8|76493c143f32fb0db2924c1a",
    ]
    assert next(item.state for item in supplier({}) if isinstance(item, Checkpoint)) == json.loads(SCAN_OF_BEFORE)


def test_a_division_of_the_version_before_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ranges, "RANGES_PER_PLAN", 2)
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        database.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(10)])
    supplier = sql_ranges(f"sqlite:///{tmp_path}/t.db", "t", "id", rows=2)
    assert keys(supplier(json.loads(RANGES_OF_BEFORE))) == [
        "t|id|null|1",
        "t|id|1|3",
        "t|id|3|5",
        "t|id|5|7",
        "t|id|7|null",
    ]
    assert next(item.state for item in supplier({}) if isinstance(item, Checkpoint)) == json.loads(RANGES_OF_BEFORE)
