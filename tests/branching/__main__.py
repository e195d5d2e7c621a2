"""Publishers, people who branch, hide and purge, a collector and readers.

``python -m tests.branching --store in_memory --operations 100000`` runs them in virtual time, on sqlite and dynamodb,
too; ``--store postgresql --seconds 60`` as real processes. ``--seed 17`` runs one seed; ``--without token``, or another
of the rules, leaves one out, and then something must be broken.
"""

from __future__ import annotations

import sys

from tests.branching.batch import run, tally
from tests.branching.broken import RULES
from tests.branching.real import run_processes
from tests.merging.command import Command

if __name__ == "__main__":
    sys.exit(Command("tests.branching", __doc__, RULES, tally, run, run_processes).main())
