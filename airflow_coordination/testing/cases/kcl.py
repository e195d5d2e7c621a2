"""What the KCL itself would do, after its source, so that a difference can be explained by its rule.

In our own words, from the published source of amazon-kinesis-client 3.5.1 (Apache-2.0), ``HierarchicalShardSyncer`` and
``PeriodicShardSyncManager``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from airflow_coordination.planning.shards.lineage import Lineage
from airflow_coordination.planning.shards.position import Start
from airflow_coordination.planning.shards.shard import MAX_HASH_KEY, HashRange


def kcl_plan(lineage: Lineage, leased: Collection[str], start: Start, left_out: Collection[str]) -> dict[str, str]:
    """Return the leases the KCL creates in a table that has some, with their checkpoints."""
    wanted = [name for name, one in lineage.shards.items() if one.is_open and name not in (*leased, *left_out)]
    model = _Kcl(lineage, frozenset(leased), start)
    reached = model.reach(wanted)
    for name in lineage.shards:  # parents come before children
        if name in reached:
            model.look_at(name)
    for name in wanted:
        if name not in model.descendants:
            model.new[name] = str(start)
    return model.new


class _Kcl:
    """Its memoization: who is a descendant of a lease, and who should get one if a child asks for it."""

    def __init__(self, lineage: Lineage, leased: frozenset[str], start: Start) -> None:
        self._lineage, self._leased, self._start = lineage, leased, start
        self.descendants, self._starts = set(leased), set[str]()
        self.new = dict[str, str]()

    def reach(self, names: Sequence[str]) -> set[str]:
        found, todo = set[str](), list(names)
        while todo:
            if (name := todo.pop()) not in found and name not in self._leased:
                found.add(name)
                todo += self._lineage.parents[name]
        return found

    def look_at(self, name: str) -> None:
        parents = self._lineage.parents[name]
        leading = {parent for parent in parents if parent in self.descendants or parent in self._starts}
        if not leading:
            if self._start is not Start.LATEST:
                self._starts.add(name)
            return
        self.descendants.add(name)
        for parent in parents:
            if parent not in self._leased and (parent in self._starts or parent not in leading):
                self.new[parent] = str(self._start)
            if parent in self.new:
                at_horizon = parent in leading and self._start is not Start.AT_TIMESTAMP
                self.new[parent] = str(Start.TRIM_HORIZON if at_horizon else self._start)


def kcl_sees_a_hole(ranges: Sequence[HashRange]) -> bool:
    """Tell whether the KCL finds a hole: it merges neighbours, and compares the end of the range that sorts last."""
    row = sorted(ranges)
    if not row or row[0].first != 0 or row[-1].last != MAX_HASH_KEY:
        return True
    reached = row[0].last
    for one in row[1:]:
        if one.first > reached + 1:
            return True
        reached = max(reached, one.last)
    return False
