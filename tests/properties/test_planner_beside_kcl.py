"""Our plans beside those of the KCL's own rule: they differ only where a shard is passed; the KCL restarts those."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from airflow_coordination.streams import TRIM_HORIZON, Lineage, Position, plan
from airflow_coordination.testing.cases.kcl import kcl_plan
from tests.properties.streams import Stream

POSITIONS = (TRIM_HORIZON, Position.latest(datetime(2026, 1, 1, tzinfo=UTC)))


def plans(seed: int) -> tuple[dict[str, str], dict[str, str], set[str]]:
    """Return ours, the KCL's, and the passed shards, where any shards have a lease."""
    chance = random.Random(seed)
    listing = Stream(chance).listing()
    lineage, position = Lineage.of(listing), chance.choice(POSITIONS)
    leased = set(chance.sample(sorted(lineage.shards), chance.randint(0, len(listing))))
    ours = {new.shard: str(new.position.start) for new in plan(listing, dict.fromkeys(leased, False), position)}
    return ours, kcl_plan(lineage, leased, position.start, ()), lineage.ancestors(leased) - leased


def test_planner_differs_from_the_kcl_only_where_a_shard_is_passed() -> None:
    restarts = 0
    for seed in range(2_000):
        ours, theirs, passed = plans(seed)
        assert passed or ours == theirs, f"seed {seed}"
        assert not passed & ours.keys(), f"seed {seed}"
        restarts += bool(passed & theirs.keys())
    assert restarts > 100
