"""One system in a process of its own, which does what its parent writes to it, a line of JSON each.

``python -m benchmarks.compaction.child MODULE:CLASS OPTIONS``. It imports the standard library only: Iceberg runs in an
environment without anything of ours.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.compaction.race import Race, System

_TICK = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Do what is asked for; the real standard output is the parent's, whatever a library prints."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module, _, name = sys.argv[1].partition(":")
    system: System = getattr(importlib.import_module(module), name)(**json.loads(sys.argv[2]))
    print("{}", file=answers, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps(_obey(system, order.pop("do"), order)), file=answers, flush=True)
    system.close()


def _obey(system: System, what: str, order: dict[str, Any]) -> dict[str, Any]:
    if what == "race":
        return Race(system, **order).run()
    cpu, began = cpu_seconds(), time.perf_counter()
    answer = getattr(system, what)(**order)
    return {"wall": time.perf_counter() - began, "cpu": cpu_seconds() - cpu, "answer": answer}


def cpu_seconds() -> float:
    """Return the CPU that this process and all below it have taken: its JVM is one."""
    stats = [path.read_text().rpartition(")")[2].split() for path in _processes()]
    return sum(int(each[11]) + int(each[12]) for each in stats) / _TICK


def _processes() -> list[Path]:
    waiting, found = [os.getpid()], []
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        try:
            waiting += map(int, " ".join(path.read_text() for path in process.glob("task/*/children")).split())
            (process / "stat").read_text()
        except OSError:
            continue
        found.append(process / "stat")
    return found


if __name__ == "__main__":
    main()
