"""A million partitions through a real Airflow, from their supplier to the last: goal W10, told in memory and in rates.

``COORDINATION_TEST_SHARE=0.02`` tries twenty thousand. Nothing here depends on how fast it goes: rates are printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from tests.share import SHARE
from tests.system.harness import HOME_VARIABLE, Airflow, marked, wait_for
from tests.system.jobs.nothing import EVERY

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.postgres, pytest.mark.long, pytest.mark.timeout(14_400)]

PARTITIONS, SLOTS, TENTHS = int(1_000_000 * SHARE), 8, 10
_WITHIN = 10_000.0
_KINDS = {"SparkSubmit": "JVM of a driver", "nothing.py": "driver", "scheduler": "scheduler", "triggerer": "triggerer"}


class Peaks:
    """The most memory that each process of an Airflow ever had, by what it is."""

    def __init__(self, airflow: Airflow) -> None:
        self._home = str(airflow.home)
        self._seen: dict[tuple[str, int], int] = {}

    def look(self) -> None:
        """Look at those that live; the kernel keeps the peak of each."""
        for process in marked(HOME_VARIABLE, self._home):
            status = Path(f"/proc/{process.pid}/status")
            try:
                lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
            except OSError:  # it has ended
                continue
            if peak := lines.get("VmHWM"):
                self._seen[_kind(process), process.pid] = int(peak.split()[0]) // 1024

    def __iter__(self) -> Iterator[str]:
        """Yield a line for each kind: how many there were, and the most that one of them had, in MiB."""
        most: dict[str, list[int]] = {}
        for (kind, _), peak in self._seen.items():
            most.setdefault(kind, []).append(peak)
        yield from (f"{kind}: {len(peaks)}, at most {max(peaks):,} MiB" for kind, peaks in sorted(most.items()))


def _kind(process: psutil.Process) -> str:
    arguments = " ".join(process.info["cmdline"] or ())
    return next((kind for word, kind in _KINDS.items() if word in arguments), "other processes of Airflow")


@pytest.fixture(scope="module")
def peaks(airflow: Airflow) -> Peaks:
    return Peaks(airflow)


@pytest.fixture(scope="module")
def run(airflow: Airflow, peaks: Peaks) -> str:
    """A run that is over."""
    run = airflow.trigger("million")

    def over() -> str:
        peaks.look()
        return airflow.is_over("million", run)

    wait_for(over, _WITHIN, "the run is over")
    return run


def test_w10_all_are_completed_once_and_none_is_lost(airflow: Airflow, store: PartitionStore, run: str) -> None:
    assert airflow.is_over("million", run) == "success"
    counts = SourceCoordinator(store, "million", "test").counts()
    assert counts == {**dict.fromkeys(PartitionStatus, 0), PartitionStatus.COMPLETED: PARTITIONS}
    told = [airflow.xcom("million", run, "process", index) for index in range(SLOTS)]
    assert sum(each["completed"] for each in told if each) == PARTITIONS
    assert sorted(task["try_number"] for task in airflow.mapped("million", run, "process")) == [1] * SLOTS


def test_w10_the_rate_by_tenths_and_the_memory_are_told(airflow: Airflow, run: str, peaks: Peaks) -> None:
    files = [_read(file) for file in airflow.home.glob("million-*.times")]
    times = sorted(when for file in files for when, _ in file)
    assert len(times) * EVERY >= PARTITIONS
    rates = list(_rates(times))
    assert len(rates) == TENTHS
    print(f"\n{PARTITIONS:,} partitions by {SLOTS} tasks in {times[-1] - times[0]:,.0f} s")
    print(f"a second, by tenths: {_told(rates)}; last to first {rates[-1] / rates[0]:.2f}")
    costs = list(_costs(files))
    print(f"µs of a driver's CPU a partition, by tenths: {_told(costs)}; last to first {costs[-1] / costs[0]:.2f}")
    print("\n".join(peaks))


def _rates(times: list[float]) -> Iterator[float]:
    """Yield partitions a second, tenth by tenth of what was done."""
    for tenth in range(TENTHS):
        first, last = (round((len(times) - 1) * part / TENTHS) for part in (tenth, tenth + 1))
        yield (last - first) * EVERY / (times[last] - times[first])


def _costs(files: list[list[tuple[float, float]]]) -> Iterator[float]:
    """Yield a partition's CPU in its driver, in µs, by tenths: what else the machine does meanwhile is not in it."""
    steps = sorted((when, cpu - before) for file in files for (_, before), (when, cpu) in pairwise(file))
    for tenth in range(TENTHS):
        first, last = (round(len(steps) * part / TENTHS) for part in (tenth, tenth + 1))
        yield sum(cpu for _, cpu in steps[first:last]) * 1e6 / (last - first) / EVERY


def _read(file: Path) -> list[tuple[float, float]]:
    """Return when a driver began each hundredth partition, and what CPU it had used by then."""
    lines = [line.split() for line in file.read_text().splitlines()]
    return [(float(when), float(cpu)) for when, cpu in lines]


def _told(numbers: list[float]) -> str:
    return ", ".join(f"{number:,.0f}" for number in numbers)
