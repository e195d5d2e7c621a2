"""``python -m tests.processes --store postgresql --seconds 90 --seed 1``: real processes under real faults."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.processes.run import STORES, run


def main() -> int:
    """Run once; return 1 if anything is broken, 2 if the run does not count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=sorted(STORES), required=True)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--directory", type=Path, help="keep the histories here")
    parser.add_argument("--json", type=Path, help="append the report to this file as one line of JSON")
    given = parser.parse_args()
    report = run(given.store, given.seconds, given.seed, given.workers, given.directory)
    print(report)
    if given.json:
        with given.json.open("a") as file:
            file.write(f"{report.line()}\n")
    return 1 if report.violations else 2 if report.lacking else 0


if __name__ == "__main__":
    sys.exit(main())
