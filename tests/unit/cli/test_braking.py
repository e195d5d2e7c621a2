"""B4 from end to end on SQLite: a job that always fails pauses its source, people see why, mend it, and resume."""

from __future__ import annotations

import json
from datetime import timedelta

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store

DAY = timedelta(days=1)


def worked(worker, job):
    """Work until nothing is acquired, each partition once; return how many."""
    done = 0
    while (lease := worker.get_next_partition()) is not None:
        try:
            job(lease.partition.key)
        except LookupError as error:
            worker.fail(lease, f"LookupError: {error}", retry_after=DAY)
        else:
            worker.complete(lease)
        done += 1
    return done


def test_b4_a_source_of_300_whose_job_always_fails_pauses_itself_and_is_resumed(url, cli):
    store = open_store(url)
    store.setup()
    workers = [SourceCoordinator(store, "orders", f"worker-{number}") for number in range(2)]
    workers[0].create_partitions(f"{number:03}" for number in range(300))

    def without_a_table(key):
        raise LookupError(f"there is no table for {key}")

    assert worked(workers[0], without_a_table) == 10
    assert worked(workers[1], without_a_table) == 0
    counts = {str(status): number for status, number in store.counts("orders|PARTITION").items()}
    assert (counts["UNASSIGNED"], counts["CLOSED"]) == (300, 0), "nothing was parked for it"

    [row] = json.loads(cli("status", "orders", "-o", "json")[1])
    assert row["paused"]
    _, said, _ = cli("explain", "orders", "200", "-o", "json")
    reason = "10 partitions failed of one error, one after the other: LookupError: there is no table for #."
    assert reason in said
    assert "resume orders" in said
    metrics = cli("metrics", "orders")[1]
    assert 'coordination_source_braked{source="orders",partition_prefix=""} 1' in metrics

    code, _, err = cli("resume", "orders", "--why", "the table is there", "--yes")
    assert (code, "was resumed at" in err) == (0, True)
    assert worked(workers[0], lambda key: None) == 290
    metrics = cli("metrics", "orders")[1]
    assert 'coordination_source_braked{source="orders",partition_prefix=""} 0' in metrics
    assert worked(SourceCoordinator(store, "orders", "again"), without_a_table) == 0
    actions = [(each["action"], each["by"]) for each in workers[0].pausing.pauses()]
    assert actions[0] == ("pause", "the brake")
    assert [action for action, _ in actions] == ["pause", "resume"]
