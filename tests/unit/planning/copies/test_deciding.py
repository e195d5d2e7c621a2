"""What is dropped of copies that may have a whole dataset, and what for: the new are there before the old go."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_coordination.planning.copies.deciding import Chunk, Look, There, drops
from airflow_coordination.planning.copies.location import Location
from airflow_coordination.planning.intervals import ETERNITY, parse_interval
from airflow_coordination.planning.rules.reading import read_rules

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RULES = read_rules("rules", [{"type": "loadForever", "tieredReplicants": {"hot": 1}}])
ALL = ("flights", "clean", ETERNITY)
DAY = ("flights", "clean", parse_interval("day", "2025-01-01/P1D"))


def chunk(name, *, timed=True) -> Chunk:
    return Chunk(name=name, bytes=1, rules=RULES, timed=timed)


def copy(name, location, *, fresh=True, timed=True) -> There:
    return There(name=name, location=location, bytes=1, published=True, fresh=fresh, timed=timed)


def dropped(chunks, copies) -> dict:
    locations = [Location("hot-1", "hot", 100), Location("hot-2", "hot", 100)]
    look = Look(chunks=chunks, copies=copies, locations=locations, now=NOW, sources={"flights"})
    return {(drop.name, drop.location): drop.relies_on for drop in drops(look)}


@pytest.mark.parametrize("timed", [True, False])
def test_a_day_waits_for_the_chunk_of_all_times_that_it_lies_in_and_for_no_other(timed) -> None:
    old = copy(DAY, "hot-1", fresh=False)
    assert dropped([chunk(ALL, timed=timed)], [old]) == ({} if timed else {(DAY, "hot-1"): ()})
    relied = ((ALL, "hot-2"),) if timed else ()
    assert dropped([chunk(ALL, timed=timed)], [old, copy(ALL, "hot-2")]) == {(DAY, "hot-1"): relied}


@pytest.mark.parametrize("timed", [True, False])
def test_a_copy_of_all_times_waits_for_days_if_it_has_something_of_them(timed) -> None:
    old = copy(ALL, "hot-1", fresh=False, timed=timed)
    assert dropped([chunk(DAY)], [old]) == ({} if timed else {(ALL, "hot-1"): ()})
    relied = ((DAY, "hot-2"),) if timed else ()
    assert dropped([chunk(DAY)], [old, copy(DAY, "hot-2")]) == {(ALL, "hot-1"): relied}


@pytest.mark.parametrize("timed", [True, False])
def test_so_it_does_where_its_chunk_is_of_what_has_no_interval_now(timed) -> None:
    chunks, old = [chunk(ALL, timed=False), chunk(DAY)], copy(ALL, "hot-1", fresh=False, timed=timed)
    other = copy(ALL, "hot-2", timed=False)
    assert dropped(chunks, [old, other]) == ({} if timed else {(ALL, "hot-1"): ((ALL, "hot-2"),)})
    relied = ((ALL, "hot-2"), (DAY, "hot-2")) if timed else ((ALL, "hot-2"),)
    assert dropped(chunks, [old, other, copy(DAY, "hot-2")]) == {(ALL, "hot-1"): relied}
