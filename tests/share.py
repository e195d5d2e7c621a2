"""How much is done of what could go on for any length."""

from __future__ import annotations

import os
from typing import Final

SHARE: Final = float(os.environ.get("COORDINATION_TEST_SHARE", "1"))
"""Of the simulated calls and of the drained partitions: 1 in `make test-all`, less in `make test`."""


def seconds_under_faults(default: float) -> float:
    """Return for how long processes work under faults: ``default`` in `make test-all`, less in `make test`."""
    return float(os.environ.get("COORDINATION_FAULT_SECONDS") or default)


LARGE: Final = max(int(1_000_000 * SHARE), 240_000)
"""How many partitions the board is looked at with: twenty sources of 12,000 are more than any view shows at once."""
