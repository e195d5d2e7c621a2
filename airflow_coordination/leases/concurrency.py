"""How many leases one Spark application may work under at the same time, and how it shares a source with others."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Final

from airflow_coordination.leases.durations import positive
from airflow_coordination.leases.errors import SettingsError

MOST_CONCURRENT_LEASES: Final = 32
"""Each is a thread of the driver and two that renew; with more, another Spark application is the better place."""

AT_ONE_TIME: Final = 4
"""For how many leases of others a worker asks at a time (KCL: ``maxLeasesToStealAtOneTime``, there 1, so that a late
worker waits long)."""

BALANCE_INTERVAL: Final = timedelta(seconds=10)
"""Between two looks at the other workers (KCL 2.x: the lease taker's interval, twice the failover time)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balancing:
    """How a worker gets its share of leases that others hold.

    :param max_leases_to_steal_at_one_time: for so many it asks at a time.
    :param hand_over_timeout: so long their owners may finish what they are at; ``None`` = the ownership timeout (KCL:
        ``gracefulLeaseHandoffTimeoutMillis``).
    :param steal: whether it takes after that time what was not handed over; what their owners have done since their
        last save is done again then. A worker that does not steal asks for the same tenure three times, and waits so
        long each time.
    :param balance_interval: so often it looks at the others, jittered. Each look reads who holds which leases.
    :raises SettingsError: for a number below 1, a time that is not above zero, or what is not true or false.
    """

    max_leases_to_steal_at_one_time: int = AT_ONE_TIME
    hand_over_timeout: timedelta | None = None
    steal: bool = True
    balance_interval: timedelta = BALANCE_INTERVAL

    def __post_init__(self) -> None:
        number: object = self.max_leases_to_steal_at_one_time
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            problem = "is not a whole number above zero"
            raise SettingsError("max_leases_to_steal_at_one_time", number, problem, "Give 1 or more")
        positive("hand_over_timeout", self.hand_over_timeout)
        positive("balance_interval", self.balance_interval)
        steal: object = self.steal
        if not isinstance(steal, bool):
            raise SettingsError("steal", self.steal, "is not true or false", "Give True or False")


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


def balancing(balance: object, max_leases: int | None, **options: Any) -> Balancing | None:
    """Return how a worker shares its source with others, ``None`` when it does not.

    :param balance: whether it does.
    :param max_leases: how many leases it works under in all; a worker with a share has no such number.
    :param options: of :class:`Balancing`.
    :raises SettingsError: for what is not true or false, together with ``max_leases``, or for options that make no
        sense, or change nothing.
    """
    if not isinstance(balance, bool):
        raise SettingsError("balance", balance, "is not true or false", "Give True, or leave it out")
    if balance and max_leases is not None:
        problem = f"cannot be had with max_leases={max_leases}: who stops after so many holds no share"
        raise SettingsError("balance", balance, problem, "Give max_leases=None, or leave balance out")
    given = Balancing(**options)
    for option in fields(given):
        value = getattr(given, option.name)
        if not balance and value != option.default:
            raise SettingsError(option.name, value, "changes nothing without balance=True", "Give balance=True, too")
    return given if balance else None
