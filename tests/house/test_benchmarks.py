"""The instrument that `make bench` measures with: its arithmetic, and that its page forgets no goal."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks import registry
from benchmarks.compaction import month
from benchmarks.compaction.race import TRIES, Race
from benchmarks.goals import AIMS, ROWS, Aim, Reading
from benchmarks.harness import page
from benchmarks.harness.figures import Turn, of_pairs, rate, ratio, typical

NUMBERS = [*(f"W{number}" for number in range(1, 10)), "P1", "P1a", "P2", "P4", "P6", *(f"P{n}" for n in range(8, 21))]
READINGS = {aim.name: Reading(aim.limit or 0.0, "1.00", "some", "other") for aim in AIMS.values()}


def turn(client: float, server: float = 0.0, cycles: int = 10) -> Turn:
    return Turn(cycles=cycles, client=client, server=server, wall=2.0, wal=1_000.0)


def test_a_turn_is_told_by_the_cycle():
    one = turn(client=0.001, server=0.003)
    assert (one.client_cpu, one.server_cpu, one.cpu) == pytest.approx((100, 300, 400))
    assert (one.rate, one.wal_bytes) == (5.0, 100.0)


def test_systems_are_compared_within_each_round():
    """A round in which the machine was twice as slow says the same."""
    ours, theirs = [turn(0.002), turn(0.004), turn(0.002)], [turn(0.001), turn(0.002), turn(0.001)]
    assert str(ratio(ours, theirs)) == "2.00 (2.00–2.00)"
    assert ratio(ours, theirs, rate).middle == 1.0
    assert typical(ours, lambda one: one.cpu) == pytest.approx(200)


def test_the_spread_leaves_out_a_tenth_at_either_end():
    found = of_pairs([float(number) for number in range(1, 22)])
    assert (found.low, found.middle, found.high) == (3.0, 11.0, 19.0)
    assert str(of_pairs([2.0])) == "2.00 (2.00–2.00)"


def test_nothing_measured_is_no_ratio():
    with pytest.raises(ValueError, match="no round"):
        of_pairs([])
    with pytest.raises(ValueError, match="longer"):
        ratio([turn(1)], [turn(1), turn(1)])


def test_every_row_of_the_goals_is_there_once():
    assert [row.number for row in ROWS] == NUMBERS
    assert all(row.aims for row in ROWS)
    assert sum(len(row.aims) for row in ROWS) == len(AIMS)
    assert all(name.split()[0] == row.number for row in ROWS for name in (aim.name for aim in row.aims))


def test_every_benchmark_that_a_row_names_is_there_and_no_other():
    assert {row.benchmark for row in ROWS if row.benchmark} == registry.MODULES.keys()


@pytest.mark.parametrize("name", registry.MODULES)
def test_a_benchmark_is_what_the_registry_says(name):
    """Each is imported alone: with none of its engines, and without the peers' packages."""
    assert callable(registry.load(name))


def test_limits_are_met_from_the_right_side():
    at_most, at_least = Aim("P", "", 1.3), Aim("P", "", 2.7, at_least=True)
    assert [at_most.is_met(value) for value in (1.2, 1.3, 1.4)] == [True, True, False]
    assert [at_least.is_met(value) for value in (2.6, 2.7, 2.8)] == [False, True, True]


def test_the_page_has_every_row_with_its_command_and_says_what_is_not_measured():
    lines = "".join(page.text(READINGS, [("machine", "one")])).splitlines()
    for row in ROWS:
        mine = [line for line in lines if line.startswith(f"| {row.number} |")]
        assert len(mine) == len(row.aims)
        assert all(row.command in line and " yes " in line for line in mine)
    bare = "".join(page.text({}, []))
    assert bare.count(page.NOT_MEASURED) == len(AIMS)


def test_the_page_that_is_there_has_the_rows_of_today():
    """Whoever changes a goal measures again, or says that it is not measured yet."""
    start = "| {} | {}: {} | {} |"
    lines = page.PAGE.read_text().splitlines()
    wanted = [start.format(row.number, row.subject, aim.what, aim.goal) for row in ROWS for aim in row.aims]
    assert [line[: len(begun)] for begun, line in zip(wanted, lines[-len(wanted) :], strict=True)] == wanted


def test_the_month_is_the_same_for_all_and_each_time(tmp_path: Path) -> None:
    totals = [month.write(tmp_path / name) for name in ("one", "two")]
    one, two = (sorted((tmp_path / name).rglob("*.parquet")) for name in ("one", "two"))
    assert totals == [27_004, 27_004] == [sum(month.rows(path) for path in (tmp_path / "one").iterdir())] * 2
    assert len({path.parent for path in one}) == month.PARTITIONS
    assert len(one) == month.FILES
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    assert len({path.parent for path in one if "gained" in pq.read_schema(path).names}) == 38


class Conflicting:
    """A table whose compaction fails each time, and one of whose keys can never be written."""

    def __init__(self) -> None:
        self.written: list[tuple[str, int]] = []
        self.begun = threading.Event()

    def compact(self, table: str) -> None:
        self.begun.set()
        raise TimeoutError(f"{table} was changed")

    def write(self, table: str, key: str, edition: int) -> None:
        assert self.begun.wait(60)
        if key == "never":
            raise KeyError(key)
        self.written.append((key, edition))


def test_what_fails_beside_a_compaction_is_counted_by_who_and_by_class() -> None:
    system = Conflicting()
    race = Race(system, "t", [("a", 1), ("b", 2), ("never", 1)]).run()  # type: ignore[arg-type]
    assert sorted(system.written) == [("a", 1), ("b", 2)]
    assert race["compactions"] == 1
    assert race["failed"] == {
        "compaction: TimeoutError": 1,
        "overwrite: KeyError": TRIES,
        "overwrite: given up": 1,
    }
