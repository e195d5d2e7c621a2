"""What became of a run, in figures."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Final

PER_THOUSAND_OPERATIONS: Final = {"lost_races": 3.0, "later_tenures": 20.0}
PER_HUNDRED_FAULTS: Final = {"refused": 5.0, "unknown": 2.0}
"""With less contention a run would find nothing, so it does not count.

Each is measured against what brings it about, so that a machine's speed does not decide: workers meet each other at
their operations; a lease is lost, and an answer, where somebody is harmed.
"""


@dataclass
class Report:
    """What became of a run.

    :param store: the engine and its version.
    :param seconds: how long there were faults.
    :param operations: calls in the history while there were, and those that brought everything to an end.
    :param final_reads: calls that only read what is left in the end.
    :param faults: how often each really happened.
    :param refused: calls that were told that their lease is over.
    :param unknown: calls whose outcome their caller never learnt.
    :param lost_races: acquisitions of one partition by its key that came too late.
    :param later_tenures: leases on partitions that somebody had held before.
    :param violations: what the history breaks.
    :param directory: where the history is kept if it breaks anything.
    """

    store: str
    seed: int
    workers: int
    seconds: float = 0.0
    operations: int = 0
    final_reads: int = 0
    partitions: int = 0
    refused: int = 0
    unknown: int = 0
    lost_races: int = 0
    tenures: int = 0
    later_tenures: int = 0
    check_seconds: float = 0.0
    faults: dict[str, int] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    directory: str = ""

    @property
    def per_thousand(self) -> dict[str, float]:
        """How much contention there was, per 1,000 operations."""
        return {
            name: round(1000 * getattr(self, name) / max(1, self.operations), 1) for name in PER_THOUSAND_OPERATIONS
        }

    @property
    def per_hundred(self) -> dict[str, float]:
        """What the faults did, per 100 of them."""
        faults = max(1, sum(self.faults.values()))
        return {name: round(100 * getattr(self, name) / faults, 1) for name in PER_HUNDRED_FAULTS}

    @property
    def fault_rate(self) -> float:
        """Faults per second."""
        return sum(self.faults.values()) / max(1.0, self.seconds)

    @property
    def lacking(self) -> list[str]:
        """Why the run does not count: too little contention."""
        measured = (
            ("1,000 operations", self.per_thousand, PER_THOUSAND_OPERATIONS),
            ("100 faults", self.per_hundred, PER_HUNDRED_FAULTS),
        )
        return [
            f"{name}: {found[name]} per {of}, {floor} are needed"
            for of, found, floors in measured
            for name, floor in floors.items()
            if found[name] < floor
        ]

    def line(self) -> str:
        """Return all of it as one line of JSON."""
        contention = {"per_thousand": self.per_thousand, "per_hundred": self.per_hundred}
        return json.dumps({**asdict(self), **contention, "lacking": self.lacking})

    def __str__(self) -> str:
        rate = self.operations / max(1.0, self.seconds)
        head = (
            f"{self.store}, seed {self.seed}, {self.workers} workers: {self.operations:,} operations in "
            f"{self.seconds:.0f} s ({rate:,.0f}/s) on {self.partitions:,} partitions, then {self.final_reads:,} reads; "
            f"{sum(self.faults.values()):,} faults ({self.fault_rate:.1f}/s), {len(self.violations)} violations "
            f"(checked in {self.check_seconds:.0f} s)"
        )
        faults = [f"  {count:>8,} {fault}" for fault, count in sorted(self.faults.items())]
        contention = (
            f"  per 1,000 operations: {_listed(self.per_thousand)}; per 100 faults: {_listed(self.per_hundred)}"
        )
        wrong = [*self.violations, *(f"does not count: {reason}" for reason in self.lacking)]
        kept = [f"  the histories are in {self.directory}"] if self.directory else []
        return "\n".join([head, *faults, contention, *kept, *wrong])


def _listed(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {figure}" for name, figure in figures.items())
