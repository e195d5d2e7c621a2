"""Promise S16 for schema 2: workers of schema 1 go on beside it, and what their leases are judged by."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.leases import Owner, Place, SchemaVersionError, SourceCoordinator
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.accounting import Accounting
from tests.integration.upgrade.conftest import Starts
from tests.integration.upgrade.old_worker import OldCodeRefused

pytestmark = pytest.mark.slow

LEASE = timedelta(hours=1)


def new(url: str, limit: int, clock: FakeClock | None = None) -> SourceCoordinator:
    """Return a worker of today on the store."""
    by = "new/dag/run/other/0/1"
    return SourceCoordinator(
        open_store(url, clock=clock), "flights", by, ownership_timeout=LEASE, max_lost_leases=limit
    )


def now(url: str) -> Partition:
    found = new(url, 1).partition("k")
    assert found is not None
    return found


def later(url: str, limit: int = 1) -> SourceCoordinator:
    """Return a worker of today, with a limit of its own, at a time when every lease has ended."""
    return new(url, limit, FakeClock(open_store(url).now() + 3 * LEASE))


def test_e11_code_of_schema_1_works_beside_schema_2(url: str, first: Starts) -> None:
    """E11: a store is migrated under workers of schema 1; a lease of theirs has no limit, so the judge's own counts."""
    old = first(url)
    old.does("setup")
    old.does("create", "k")
    if not url.startswith("dynamodb"):  # a table needs no change for it
        with pytest.raises(SchemaVersionError, match="schema 1 is too old"):
            now(url)
    open_store(url).setup()
    first(url).does("acquire")
    assert now(url).max_lost_leases is None
    assert later(url).sweep().parked == 1


def test_e11_a_limit_of_a_lease_before_stays_when_older_code_acquires(migrated_url: str, first: Starts) -> None:
    """E11: it does not know the limit that a lease of newer code has left; the next newer one writes its own."""
    one = new(migrated_url, 3)
    one.create_partitions(["k"])
    lease = one.get_next_partition()
    assert lease is not None
    one.give_up(lease)
    first(migrated_url).does("acquire")
    assert now(migrated_url).max_lost_leases == 3
    assert later(migrated_url).sweep().reclaimed == 1
    assert later(migrated_url, 4).get_next_partition() is not None
    assert now(migrated_url).max_lost_leases == 4


def test_e6_a_task_goes_on_over_an_upgrade_whichever_code_runs_its_tries(migrated_url: str, first: Starts) -> None:
    """E6: older code names no Airflow; its lease is its task's, in any Airflow, and it finds what this code holds."""
    old, store = first(migrated_url), open_store(migrated_url)
    old.does("create", "k")
    old.does("acquire")  # try 1 of old/dag/run/task/0
    tries = {
        number: SourceCoordinator(
            store, "flights", Owner.of_task("new", "dag", "run", "task", 0, number, Place("production")).text
        )
        for number in (2, 4)
    }
    second = tries[2].tries.retake("k")
    assert second is not None
    assert second.fence.token == 2
    other = Owner.of_task("new", "dag", "run", "task", 0, 3, Place("staging")).text
    assert SourceCoordinator(store, "flights", other).tries.retake("k") is None
    assert old.does("retake", "k", "old/dag/run/task/0/3").startswith("3-")
    third = tries[4].tries.retake("k")
    assert third is not None
    tries[4].complete(third)


def test_s26_code_of_schema_1_loses_no_counts_and_resets_them(migrated_url: str, first: Starts) -> None:
    """E11: older code holds a partition in between, and a reset of its counts from zero as any other."""
    old = first(migrated_url)
    one = new(migrated_url, 9)
    one.create_partitions(["k"])
    lease = one.get_next_partition()
    assert lease is not None
    one.give_up(one.save_progress_state(lease, 1, counted=Accounting(read=3, unrouted=3)))
    old.does("acquire")
    assert now(migrated_url).accounting == Accounting(read=3, unrouted=3)
    again = later(migrated_url, 9)
    lease = again.get_next_partition()
    assert lease is not None
    again.complete(lease, counted=Accounting(read=2, unrouted=2))
    assert now(migrated_url).accounting == Accounting(read=5, unrouted=5)
    old.does("reset", "k")
    assert now(migrated_url).accounting is None


def test_s16_code_of_schema_1_refuses_a_table_that_newer_code_has_made(dynamodb_url: str, first: Starts) -> None:
    """Its index lacks what that code ends expired leases by; on a table of its own it goes on."""
    open_store(dynamodb_url).setup()
    with pytest.raises(OldCodeRefused, match=r"its schema \d+ is too new for this code"):
        first(dynamodb_url).does("create", "k")
