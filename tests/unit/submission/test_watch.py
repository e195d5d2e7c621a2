"""The watch over a driver on this host."""

import pytest

from airflow_coordination.leases import (
    PartitionNotOwnedError,
)


def test_b3_a_renewal_after_the_drivers_own_ending_does_not_end_the_driver(case):
    """B3: the task may not have heard that the driver began, and renews beside it."""
    case.coordinator.complete(case.began)
    with pytest.raises(PartitionNotOwnedError) as refused:
        case.coordinator.renew(case.lease)
    case.watch._lost_by_renewal(refused.value)
    assert (case.ended, case.watch.lost) == ([], None)
