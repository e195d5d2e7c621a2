"""What a driver keeps of each partition that is over: of a million it is most of its memory."""

from __future__ import annotations

import gc

import pytest

from airflow_coordination import Complete, SourceCoordinator, open_store
from airflow_coordination.leases.lease import Lease
from airflow_coordination.spark import drain

PARTITIONS, AT_ONCE = 60, 4


def _leases() -> int:
    gc.collect()
    return sum(isinstance(each, Lease) for each in gc.get_objects())


@pytest.mark.parametrize("shape", [{}, {"concurrent_leases": AT_ONCE}, {"together": AT_ONCE}], ids=str)
def test_w10_a_driver_keeps_no_lease_of_a_partition_that_is_over(shape: dict) -> None:
    flights = SourceCoordinator(open_store("memory://"), "flights", "somebody")
    flights.create_partitions(f"{number:02}" for number in range(PARTITIONS))
    before, held = _leases(), []

    def main(spark: object, lease: object) -> Complete:
        held.append(_leases() - before)
        return Complete()

    done = drain(main, store=flights.store, source="flights", spark=None, max_leases=None, **shape)
    assert done.completed == len(done.keys) == PARTITIONS
    assert max(held) <= 3 * AT_ONCE
