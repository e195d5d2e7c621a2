"""Many seeds, on all cores: what they did, and what they broke."""

from __future__ import annotations

from functools import partial

from tests.branching.virtual import simulate
from tests.merging import batch

tally = partial(batch.tally, simulate=simulate)
run = partial(batch.run, simulate=simulate)
