"""A purger that stops itself before one of its calls, as a machine does that is paused: ``URL CALL``."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from airflow_coordination.duties.retention.purge import purge
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.planning.periods import Period
from airflow_coordination.stores import open_store
from tests.retention import SOURCE, margins


def main(url: str, call: str) -> None:
    """Purge without any buffer; stop before the first call of this name, until somebody lets the process go on."""
    store = open_store(url)
    before = getattr(store, call)

    def stopped(*args: Any, **told: Any) -> Any:
        setattr(store, call, before)
        os.kill(os.getpid(), signal.SIGSTOP)
        return before(*args, **told)

    setattr(store, call, stopped)
    print(purge(SourceCoordinator(store, SOURCE, "late"), margins(buffer=Period()), by="eve", why="late"))


if __name__ == "__main__":
    main(*sys.argv[1:])
