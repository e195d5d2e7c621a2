"""How many leases at a time can be asked for."""

import pytest

from airflow_coordination.leases import SettingsError
from airflow_coordination.values.settings import check_concurrent_leases


@pytest.mark.parametrize(("value", "most"), [(1, 1), (1, None), (32, None), (3, 3), (2, 5)])
def test_what_can_be_is_returned(value, most):
    assert check_concurrent_leases(value, most) == value


@pytest.mark.parametrize("value", [0, -1, 33, 2.0, "2", True, None])
def test_what_is_no_number_of_leases_is_refused(value):
    with pytest.raises(SettingsError) as refused:
        check_concurrent_leases(value, None)
    assert str(refused.value) == (
        f"concurrent_leases={value!r}: is not a whole number from 1 to 32. "
        "Give 1, or how many partitions to work on at a time"
    )


def test_more_at_a_time_than_in_all_is_refused():
    with pytest.raises(SettingsError) as refused:
        check_concurrent_leases(3, 1)
    assert str(refused.value) == (
        "concurrent_leases=3: is more than max_leases=1, the number of partitions in all. Give max_leases=None, or as "
        "many or more"
    )
