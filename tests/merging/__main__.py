"""Publishers, compactors, a collector and readers: ``python -m tests.merging --store in_memory --operations 100000``.

In virtual time on in_memory, sqlite or dynamodb; as real processes with ``--store postgresql --seconds 60``.
``--seed 17`` runs one seed; ``--without walk`` (or filter, stop) leaves out a rule, and then something must be broken.
"""

from __future__ import annotations

import sys

from tests.merging.batch import run, tally
from tests.merging.broken import RULES
from tests.merging.command import Command
from tests.merging.real import run_processes

if __name__ == "__main__":
    sys.exit(Command("tests.merging", __doc__, RULES, tally, run, run_processes).main())
