"""The planner on streams that are resharded while they are read: no restart, none stuck, none left."""

from __future__ import annotations

import pytest

from tests.properties.streams import Run, Violation
from tests.share import SHARE


def broken(seeds: range) -> list[str]:
    """Return what went wrong, and under which seed."""
    found = []
    for seed in seeds:
        try:
            Run(seed).go()
        except Violation as violation:
            found.append(f"seed {seed}: {violation}")
    return found


def test_planner_on_1_000_hierarchies() -> None:
    """So many show each rule that is taken out: tests/mutants/broken/planning.py does."""
    assert broken(range(1_000)) == []


@pytest.mark.slow
@pytest.mark.parametrize("begin", range(1_000, 20_000, 4_750))
def test_planner_on_20_000_hierarchies(begin: int) -> None:
    """All of them in `make test-all`, a tenth in CI."""
    assert broken(range(begin, begin + round(4_750 * SHARE))) == []
