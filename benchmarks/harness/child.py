"""One system in a process of its own, which does what its parent writes to it, a line of JSON each.

``python -m benchmarks.harness.child run MODULE:CLASS OPTIONS`` makes the system and waits for orders;
``… fill MODULE:CLASS OPTIONS`` makes its tables and rows. It imports the standard library only, because peers run in an
environment without ours.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from typing import Any, Protocol

_BATCH = 20
"""Cycles between two looks at the clock: an event loop's start and end must not weigh on each cycle."""


class System(Protocol):
    """Something that acquires and completes."""

    def cycles(self, count: int) -> None:
        """Take so many pieces of work, one after the other, and complete each; raise if there is none."""

    def close(self) -> None:
        """End its connections."""


def main() -> None:
    """Do what the arguments say; the real standard output is the parent's, whatever a library prints."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    what, made, options = sys.argv[1], _class(sys.argv[2]), json.loads(sys.argv[3])
    if what == "fill":
        made.fill(**options)
        return
    system = made(**options)
    _say(answers, {})
    for line in sys.stdin:
        _say(answers, _obey(system, json.loads(line)))
    system.close()


def _class(name: str) -> Any:
    module, _, made = name.partition(":")
    return getattr(importlib.import_module(module), made)


def _say(answers: Any, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _obey(system: Any, order: dict[str, Any]) -> dict[str, float]:
    """Run so many cycles, or for so many seconds, and say what they took of this process's CPU and of time."""
    if not order.keys() & {"cycles", "seconds"}:
        if "way" in order:
            system.take(order["way"])
        else:  # what is only acquired is completed where nobody measures
            system.settle()
        return dict.fromkeys(("cycles", "cpu", "wall", "longest"), 0.0)
    cpu, began = time.process_time(), time.perf_counter()
    if "cycles" in order:
        done = order["cycles"]
        system.cycles(done)
    else:
        done, until, batch = 0, began + order["seconds"], int(order.get("batch", _BATCH))
        while time.perf_counter() < until:
            system.cycles(batch)
            done += batch
    longest, system.longest = getattr(system, "longest", 0.0), 0.0
    return {"cycles": done, "cpu": time.process_time() - cpu, "wall": time.perf_counter() - began, "longest": longest}


if __name__ == "__main__":
    main()
