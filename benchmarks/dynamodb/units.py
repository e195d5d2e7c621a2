"""P9: write units, as DynamoDB Local reports them of every write: table and index together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from uuid import uuid4

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore
from benchmarks.dynamodb.fleet import REGION, make_client
from benchmarks.dynamodb.requests import Requests
from benchmarks.goals import Reading, Readings
from benchmarks.harness.run import Run

PARTITIONS = 20
FEW, MANY = (0,), (5, 6, 7, 8, 9, 12)
"""After how many endings a renewal is counted: a partition remembers its last ones."""
OWNER = "worker-7.example.org/flights/scheduled__2026-01-31T08:00:00+00:00/drain/12/1"


class _Counted:
    """One process at work on a table of its own.

    :param endpoint: the engine.
    """

    def __init__(self, endpoint: str) -> None:
        client = make_client(endpoint, 1)
        options = DynamoDBOptions(
            table_name=f"units-{uuid4().hex}", region=REGION, endpoint_url=endpoint, billing_mode="on_demand"
        )
        self.store = DynamoDBStore(options, client=lambda _: client)
        self.store.setup()
        self.source = SourceCoordinator(self.store, "flights", OWNER)
        self.source.supplying.register()
        self._requests = Requests(client, capacity=True)

    def units(self, action: Callable[[], object]) -> float:
        """Return the write units of an action."""
        with self._requests.counted() as tally:
            action()
        return sum(tally.written.values())

    def lease(self, key: str) -> Lease:
        """Acquire a partition by the sensor's hint."""
        [hint] = self.source.claimable(limit=1)
        lease = self.source.get_next_partition(hint=hint)
        assert lease is not None
        assert lease.key == key
        return lease

    def whole(self, keys: Sequence[str]) -> dict[str, float]:
        """Return the units a partition of creating, acquiring and completing."""
        taken = dict.fromkeys(("create", "acquire", "complete"), 0.0)
        for key in keys:
            held: list[Lease] = []
            taken["create"] += self.units(lambda key=key: self.source.create_partitions([key]))
            taken["acquire"] += self.units(lambda key=key, held=held: held.append(self.lease(key)))
            taken["complete"] += self.units(lambda held=held: self.source.complete(held[0]))
        return {step: units / len(keys) for step, units in taken.items()}

    def renewals(self, key: str, endings: int) -> list[float]:
        """Return the units of the first and of the fourth renewal after so many endings, which lie aside by then."""
        self.source.create_partitions([key])
        for _ in range(endings):
            self.source.give_up(self.lease(key))
        lease = self.lease(key)
        units = [self.units(lambda: self.source.renew(lease)) for _ in range(4)]
        self.source.complete(lease)
        return [units[0], units[3]]


def readings(run: Run, endpoint: str) -> Readings:
    """Count the units and print them."""
    counted = _Counted(endpoint)
    with closing(counted.store):
        whole = counted.whole([f"flights/2013/{number:02}" for number in range(PARTITIONS)])
        renewals = {endings: counted.renewals(f"flights/2014/{endings:02}", endings) for endings in (*FEW, *MANY)}
    table = run.table("Write units", "operation", "units")
    for step, units in whole.items():
        table.add_row(step, f"{units:.2f}")
    for endings, (first, fourth) in renewals.items():
        table.add_row(f"renew, after {endings} endings", f"{first:.2f}, the fourth time {fourth:.2f}")
    run.console.print(table)
    together = sum(whole.values())
    early, later = (max(renewals[endings][when] for endings in MANY) for when in (0, 1))
    many, said = ", ".join(map(str, MANY)), " + ".join(f"{units:.1f}" for units in whole.values())
    return {
        "P9 partition": Reading(together, f"{together:.2f}", said),
        "P9 renewal": Reading(renewals[0][0], f"{renewals[0][0]:.0f}", "after none"),
        "P9 fifth": Reading(later, f"{later:.0f}", f"after {many}; a tenure's first three: {early:.0f}"),
    }
