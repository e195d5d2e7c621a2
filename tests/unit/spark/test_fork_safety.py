"""What a process that a partition function forks can do to its parent's lease: nothing (E5). Real processes, signals.

Only Spark has a stand-in here, the four calls of Spark Connect; ``tests/integration/spark`` does it with a real one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent / "forking.py"


def run(tmp_path: Path, mode: str) -> dict[str, Any]:
    """Return what the parent saw, once it is over; a child that goes on as if it were the parent says so in a file."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, str(PROGRAM), mode, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "unwound").read_text().split() == [(tmp_path / "parent").read_text()], "who came back"
    return {"errors": done.stderr, **json.loads((tmp_path / "seen").read_text())}


ENDS = {
    "terminated": {-15},
    "interrupted": {1},
    "exits": {7},
    "closes and exits": {0},
    "raises": {1},
    "returns": {1},
    "pool": {0, -15},
}
SAID = {"raises": "RuntimeError: in the child", "returns": "End a forked child with os._exit()"}


@pytest.mark.parametrize("mode", ENDS)
def test_e5_no_end_of_a_forked_child_touches_the_lease_of_its_parent(tmp_path: Path, mode: str) -> None:
    """E5: a terminated child cancelled all jobs and failed the partition; one that called ``sys.exit(0)`` likewise."""
    seen = run(tmp_path, mode)
    assert (seen["status"], seen["failures"], seen["outcome"]) == ("COMPLETED", 0, "completed")
    assert seen["cancelled"] == []
    assert set(seen["codes"]) <= ENDS[mode], "a child ends as it would without us"
    assert SAID.get(mode, "") in seen["errors"]


def test_e5_every_write_of_the_lease_is_refused_in_a_forked_child(tmp_path: Path) -> None:
    """E5: the chain of a tenure has one writer, the process that holds it."""
    seen = run(tmp_path, "writes")
    assert (seen["status"], seen["outcome"], seen["codes"]) == ("COMPLETED", "completed", [0])
    parent = (tmp_path / "parent").read_text()
    refused = [json.loads(line) for line in (tmp_path / "refused").read_text().splitlines()]
    assert [name for name, _, _ in refused] == [
        *("leave an open block", "save", "alive", "publish", "renew", "complete", "fail", "give up", "complete on")
    ]
    for name, child, error in refused:
        assert error == (
            f"ForkedChildError: Partition 'p' is held by process {parent}; process {child} was forked from it and "
            f"holds nothing. Return the child's result to process {parent}, and save or publish it there."
        ), name
