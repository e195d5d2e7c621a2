"""A store that answers, and cancels what takes too long."""

import pytest

from airflow_coordination.leases import StoreSlowError, StoreUnavailableError
from airflow_coordination.leases.confirm import Attempts
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.times import Randomness


def test_a10_what_the_store_has_cancelled_is_no_outage():
    """A10: the error of the last attempt says what it was; it is an outage to whoever retries."""
    clock = FakeClock()
    attempts = Attempts("sweep", clock.monotonic() + 5, clock, Randomness())

    def cancelled():
        raise StoreSlowError("sweep", "canceling statement due to statement timeout")

    with pytest.raises(
        StoreSlowError, match=r"The store was too slow to sweep: canceling .* raise statement_timeout"
    ) as told:
        attempts.hear(cancelled)
    assert isinstance(told.value, StoreUnavailableError)
