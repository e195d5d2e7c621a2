"""Issue 31, done when 4, on PostgreSQL: a location lost, back in time, and back too late; and two leaders at once.

The same on other stores is in ``tests/unit/duties/copies``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_coordination.duties.copies.snapshot import read_source
from airflow_coordination.duties.copies.steps import Steps
from airflow_coordination.outputs.copies import making
from airflow_coordination.planning.copies.deciding import Drop
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import OutputError
from tests.copying import DAYS, Copying, Duties
from tests.upkeep import DATASET

pytestmark = pytest.mark.postgres
CHUNK = "2013-01-01/2013-01-02"


@pytest.fixture
def days(postgres_store_url: str, tmp_path: Path) -> Iterator[Copying]:
    store = open_store(postgres_store_url)
    days = Copying(store, tmp_path / "out")
    days.place(tmp_path / "hot-1", tmp_path / "hot-2", tier="hot", archive=[tmp_path / "cold"])
    days.publish(*DAYS)
    yield days
    store.close()


@pytest.fixture
def copied(monkeypatch) -> Counter[str]:
    """How many files were copied, and how many bytes."""
    found: Counter[str] = Counter()
    real = making.copied_file

    def counted(what: str, source: str, target: str, size: int, **more: object) -> str:
        found.update(files=1, bytes=size)
        return real(what, source, target, size, **more)

    monkeypatch.setattr(making, "copied_file", counted)
    return found


def test_a_location_is_lost_and_back_in_time_then_lost_and_back_too_late(days, tmp_path, copied) -> None:
    duties, published = Duties(days), days.rows()
    days.want(hot=1, archive=1)
    duties.settle()
    assert copied["files"] == 6
    copied.clear()
    before = days.copied()
    gone = before[-1][0]  # one of the hot ones
    away = tmp_path / "away"
    (tmp_path / gone).rename(away)
    duties.settle()
    duties.later(minutes=14)
    duties.settle()
    assert days.rows() == published
    with pytest.raises(OutputError, match="tier='archive' has all of it"):
        days.rows_in("hot")
    away.rename(tmp_path / gone)
    duties.settle()
    assert (days.copied(), copied.total()) == (before, 0)
    assert days.rows_in("hot") == days.rows() == published

    (tmp_path / gone).rename(away)
    duties.run()
    duties.later(minutes=16)
    duties.settle()
    lost = sum(location == gone for location, _ in before)
    assert copied["files"] == lost
    assert days.rows_in("hot") == days.rows() == published
    away.rename(tmp_path / gone)
    for _ in range(8):
        duties.run()
        days.work()
        assert days.rows_in("hot") == days.rows() == published
    assert len(days.copied()) == 6


def test_of_two_leaders_that_would_drop_what_the_other_keeps_one_is_refused(days) -> None:
    days.want(hot=2)
    Duties(days).settle()
    name = ("flights", DATASET, parse_interval("chunk", CHUNK))
    late, newer = (Steps([read_source(days.ingest(), (), whole=True)], by) for by in ("late", "newer"))
    newer.drop(Drop(name=name, location="hot-2", why="too much", relies_on=((name, "hot-1"),)))
    late.drop(Drop(name=name, location="hot-1", why="too much", relies_on=((name, "hot-2"),)))
    assert (len(newer.done.dropped), len(late.done.dropped), late.done.moved_on) == (1, 0, 1)
    assert [location for location, chunk in days.copied() if chunk == CHUNK] == ["hot-1"]
