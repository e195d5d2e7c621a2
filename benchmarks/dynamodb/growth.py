"""P14 on DynamoDB: requests and write units of each operation among few and among many partitions.

They are counted, so few cycles are enough. DynamoDB Local creates some thousand partitions a second: the many are fewer
than on the other stores.
"""

from __future__ import annotations

from uuid import uuid4

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore
from benchmarks.dynamodb.fleet import REGION, make_client
from benchmarks.dynamodb.requests import Requests
from benchmarks.goals import Reading, Readings
from benchmarks.harness.run import Run
from benchmarks.ours import OWNER, SOURCE, Ours
from scripts.java_packages import jars
from tests.engines.dynamodb_local import dynamodb_local

FEW, MANY = 1_000, 20_000
CYCLES = 40
WAYS = ("queued", "hinted", "fused", "renewed", "closed", "created")
Costs = dict[str, float]
"""Requests and write units a cycle, by operation."""


def readings(run: Run) -> Readings:
    """Count and print."""
    sizes = (run.scaled(FEW, 200), run.scaled(MANY, 400))
    with dynamodb_local(jars("dynamodb-local")) as endpoint:
        few, many = (_costs(endpoint, size) for size in sizes)
    table = run.table(
        "DynamoDB: requests and write units each", "operation", *(f"{size:,} partitions" for size in sizes)
    )
    for way in WAYS:
        table.add_row(way, f"{few[way]:.2f}", f"{many[way]:.2f}")
    run.console.print(table)
    worst = max(WAYS, key=lambda way: many[way] / few[way])
    ratio = many[worst] / few[worst]
    return {"P14 dynamodb": Reading(ratio, f"{ratio:.2f}", f"{worst}: {many[worst]:.2f}", f"{few[worst]:.2f}")}


def _costs(endpoint: str, partitions: int) -> Costs:
    client = make_client(endpoint, 1)
    options = DynamoDBOptions(
        table_name=f"growth-{uuid4().hex}", region=REGION, endpoint_url=endpoint, billing_mode="on_demand"
    )
    store = DynamoDBStore(options, client=lambda _: client)
    store.setup()
    SourceCoordinator(store, SOURCE, OWNER).create_partitions(f"p{number:09}" for number in range(1, partitions + 1))
    requests, ours, costs = Requests(client, capacity=True), Ours(store, "queued"), {}
    for way in WAYS:
        ours.take(way)
        ours.cycles(1)
        with requests.counted() as tally:
            ours.cycles(CYCLES)
        costs[way] = (tally.total + sum(tally.written.values())) / CYCLES
    ours.close()
    return costs
