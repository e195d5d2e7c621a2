"""A worker of schema 1."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.integration.upgrade.processes import environment

_OLD = """
import json, sys
from datetime import timedelta
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store
store = open_store(sys.argv[1])
what = sys.argv[2]
if what == "setup":
    store.setup()
lease_of = {"ownership_timeout": timedelta(hours=1), "max_lost_leases": 7}
one = SourceCoordinator(store, "flights", "old/dag/run/task/0/1", **lease_of)
if what == "create":
    one.create_partitions(["k"])
if what == "reset":
    one.reset(sys.argv[3] if len(sys.argv) > 3 else "k", "ana", "again")
if what == "drain":
    done = []
    while (lease := one.get_next_partition()) is not None:
        one.complete(lease)
        done.append(lease.key)
    print(json.dumps(done))
if what == "retake":
    lease = SourceCoordinator(store, "flights", sys.argv[3], **lease_of).retake("k")
    print(json.dumps(str(lease.fence)))
if what == "acquire":
    lease = one.renew(one.get_next_partition())
    print(json.dumps(str(lease.fence)))
"""


class Old:
    """Calls of a worker of schema 1, each in a process of its own."""

    def __init__(self, package: Path, url: str) -> None:
        self._package, self._url = package, url

    def does(self, *what: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", _OLD, self._url, *what],
            env=environment(self._package), cwd=self._package, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout else None
