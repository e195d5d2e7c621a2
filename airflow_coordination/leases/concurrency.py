"""How many leases one Spark application may work under at the same time."""

from __future__ import annotations

from typing import Final

from airflow_coordination.leases.errors import SettingsError

MOST_CONCURRENT_LEASES: Final = 32
"""Each is a thread of the driver and two that renew; with more, another Spark application is the better place."""


def check_concurrent_leases(value: object, max_leases: int | None) -> int:
    """Return how many leases are held at a time, if it can be so.

    :param value: what was given.
    :param max_leases: how many leases there may be in all, ``None`` for all there are.
    :raises SettingsError: for what is no whole number from 1 to 32, or more than ``max_leases``.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_CONCURRENT_LEASES:
        problem = f"is not a whole number from 1 to {MOST_CONCURRENT_LEASES}"
        raise SettingsError("concurrent_leases", value, problem, "Give 1, or how many partitions to work on at a time")
    if max_leases is not None and value > max_leases:
        problem = f"is more than max_leases={max_leases}, the number of partitions in all"
        raise SettingsError("concurrent_leases", value, problem, "Give max_leases=None, or as many or more")
    return value


def check_balance(value: object, max_leases: int | None) -> bool:
    """Return whether a worker shares its source evenly with others, if it can.

    :param value: what was given.
    :param max_leases: how many leases it works under in all; a worker with a share has no such number.
    :raises SettingsError: for what is not true or false, or together with ``max_leases``.
    """
    if not isinstance(value, bool):
        raise SettingsError("balance", value, "is not true or false", "Give True, or leave it out")
    if value and max_leases is not None:
        problem = f"cannot be had with max_leases={max_leases}: who stops after so many holds no share"
        raise SettingsError("balance", value, problem, "Give max_leases=None, or leave balance out")
    return value
