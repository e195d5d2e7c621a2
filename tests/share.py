"""How much is done of what could go on for any length."""

from __future__ import annotations

import os
from typing import Final

SHARE: Final = float(os.environ.get("COORDINATION_TEST_SHARE", "1"))
"""Of the simulated calls and of the drained partitions: 1 in `make test-all`, less in `make test`."""


def seconds_under_faults(default: float) -> float:
    """Return for how long processes work under faults: ``default`` in `make test-all`, less in `make test`."""
    return float(os.environ.get("COORDINATION_FAULT_SECONDS") or default)


LARGE, SMALL = (50_000, 50_000) if SHARE == 1 else (12_000, 100)
"""How many partitions each source has that the board's large store is looked at through, and each of the others.

12,000 are more than any view shows at once.
"""
