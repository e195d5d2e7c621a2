"""A leader of ``killUnused`` that stops itself before one of its calls, as a paused machine does: ``URL CALL NO``."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from airflow_coordination.duties.groups.deleting import KillUnused
from airflow_coordination.duties.groups.running import Group, GroupRunner
from airflow_coordination.planning.periods import Period
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.values.errors import PartitionNotOwnedError

AT_ONCE = Margins(duration_to_retain=Period(), buffer=Period(), i_know=True)


def lead(store: PartitionStore, owner: str) -> str:
    """Run the group once, and return what its duty says."""
    group = Group(name="G", period=Period().rest, duties=[KillUnused()], arguments={"killUnused": {"period": "PT0S"}})
    found = GroupRunner(store, owner, start_delay=Period().rest, margins=AT_ONCE).run(group)
    return found.state.of("killUnused").said


def main(url: str, call: str, number: str) -> None:
    """Lead; stop before one of the calls of this name, the first is 1, until somebody lets the process go on."""
    store = open_store(url)
    before, left = getattr(store, call), int(number)

    def stopped(*args: Any, **told: Any) -> Any:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGSTOP)
        return before(*args, **told)

    setattr(store, call, stopped)
    try:
        print(lead(store, "late"))
    except PartitionNotOwnedError as error:
        print(f"refused: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
