"""P7: full cycles through the coordinator, and steps of the store alone, in one process's memory.

There is no peer and nothing to wait for, so it is told by the CPU second: a busy neighbour takes time, not CPU.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from datetime import timedelta
from statistics import median

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import KEEP, AcquireNext, End, Tenancy
from airflow_coordination.stores import open_store
from airflow_coordination.values.fence import Fence, Owner
from airflow_coordination.values.status import Outcome, PartitionStatus
from benchmarks.goals import Reading, Readings
from benchmarks.harness.run import Run
from benchmarks.ours import OWNER, SOURCE, Ours

ROWS, ROUNDS, CYCLES, WARM = 200_000, 15, 5_000, 1_000
_STORED = f"{SOURCE}|PARTITION"


class Steps:
    """Acquires and completes at the store itself: two steps a cycle, with requests that are made beforehand.

    :param url: a store that :meth:`Ours.fill` has filled.
    """

    def __init__(self, url: str) -> None:
        self._store = open_store(url)
        self._prefix = secrets.token_hex(6)
        self._made = 0
        self._timeout, self._owner = timedelta(minutes=10), Owner(OWNER)

    def cycles(self, count: int) -> None:
        """Acquire and complete."""
        for _ in range(count):
            held = self._store.acquire_next(AcquireNext(source=_STORED, tenancy=self._tenancy()))
            assert held is not None
            assert self._store.write(self._ending(held)).applied

    def _tenancy(self) -> Tenancy:
        return Tenancy(op=self._op(), owner=self._owner, timeout=self._timeout, max_lost_leases=5)

    def _op(self) -> str:
        self._made += 1
        return f"{self._prefix}{self._made:012x}"

    def _ending(self, held: Partition) -> End:
        return End(
            source=_STORED,
            key=held.key,
            fence=Fence(held.token, held.nonce),
            op=self._op(),
            prev=held.last_op,
            outcome=Outcome.COMPLETED,
            status=PartitionStatus.COMPLETED,
            closed_count=held.closed_count,
            failures=held.failures,
            lost_leases=held.lost_leases,
            last_error=None,
            delay=None,
            progress=KEEP,
            generation=held.generation,
            clear_staged=True,
        )


def benchmark(run: Run) -> Readings:
    """Measure; there is nothing to count here."""
    if run.quick:
        return run.nothing_to_count()
    rows, rounds = run.scaled(ROWS, 20_000), run.scaled(ROUNDS, 3)
    cycles = min(CYCLES, (rows - WARM) // rounds)
    Ours.fill("memory://cycles", rows)
    Ours.fill("memory://steps", rows)
    whole = _rates(Ours("memory://cycles", "queued").cycles, rounds, cycles)
    steps = [2 * each for each in _rates(Steps("memory://steps").cycles, rounds, cycles)]
    table = run.table(f"In memory: {rounds} × {cycles:,}, {rows:,} rows", "what", "a CPU second", "µs each")
    table.add_row("cycles through the coordinator", f"{median(whole):,.0f}", f"{1e6 / median(whole):.1f}")
    table.add_row("steps of the store", f"{median(steps):,.0f}", f"{1e6 / median(steps):.1f}")
    run.console.print(table)
    return {"P7 cycles": _reading(whole), "P7 steps": _reading(steps)}


def _rates(work: Callable[[int], None], rounds: int, cycles: int) -> list[float]:
    work(WARM)
    found = []
    for _ in range(rounds):
        began = time.process_time()
        work(cycles)
        found.append(cycles / (time.process_time() - began))
    return sorted(found)


def _reading(rates: list[float]) -> Reading:
    middle, tenth = median(rates), (len(rates) - 1) // 10
    spread = f"{middle:,.0f} ({rates[tenth]:,.0f}–{rates[-1 - tenth]:,.0f})"
    return Reading(middle, spread, f"{1e6 / middle:,.1f} µs")
