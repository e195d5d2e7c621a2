"""What every mapped task does: import, open the store, acquire what its hint says, complete it."""

import sys

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import PartitionStore, open_store


def one_lease(url: str, source: str, owner: str, hint: str) -> PartitionStore:
    """Acquire and complete one partition; return the store, still open."""
    store = open_store(url)
    coordinator = SourceCoordinator(store, source, owner)
    lease = coordinator.get_next_partition(hint=hint)
    assert lease is not None
    coordinator.complete(lease)
    return store


if __name__ == "__main__":
    opened = one_lease(*sys.argv[1:])
    print("done", flush=True)
    sys.stdin.readline()  # until what its server took has been read
    opened.close()
