"""All settings of a source's coordination, merged once into one frozen value; concurrency is one of them."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Final, Literal, get_args

from airflow_coordination.values.failing import MOST_COUNTED
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.times import positive

RENEWALS_PER_LEASE: Final = 10
FEWEST_RENEWALS: Final = 2
SWEEP_INTERVAL: Final = timedelta(seconds=30)
NEW_FIRST_PROBABILITY: Final = 1 / 8
CREATE_PAGE: Final = 5_000
_ABOVE_ZERO: Final = (
    "ownership_timeout",
    "max_retry_delay",
    "no_progress_timeout",
    "request_deadline",
    "acknowledgment_timeout",
)
OnNegative = Literal["fail", "give up"]
"""The ways out of a delivery that was not positive."""
WAYS_OUT: Final[tuple[str, ...]] = get_args(OnNegative)


def check_way_out(on_negative: object) -> None:
    """Refuse what is no way out of a negative delivery; a close is none, because the last one completes (decision 62).

    :raises SettingsError: saying what to give instead.
    """
    if on_negative == "close":
        problem = "would complete the partition at max_closed_count, although records of it did not arrive"
        remedy = "Give 'fail', which tries it again after retry_delay, or 'give up'"
        raise SettingsError("on_negative", on_negative, problem, remedy)
    if on_negative not in WAYS_OUT:
        raise SettingsError("on_negative", on_negative, "is no way to end a tenure", "Give 'fail' or 'give up'")


LEASE_FACT: Final = "lease_ms"
RENEWAL_FACT: Final = "renewal_ms"
"""Facts of a driver: how many milliseconds its leases last without renewal, and after how many it renews them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The timers and limits of ``protocol.md``; one page of the docs lists them all.

    :param ownership_timeout: how long a lease lasts without renewal; 10 minutes (the seed).
    :param reassign_grace: so much longer nobody but the next try of the same task gets the work of an owner that does
        not renew, while the owner may come back; 0 = at once others (Druid: the lifetime of a lost segment).
    :param max_closed_count: this many closes complete a partition; ``None`` = no limit (Data Prepper).
    :param max_failures: this many failures in a row park a partition; a completion or a close sets the count to 0.
    :param max_lost_leases: this many leases lost in a row, without an ending, park a partition; in force for the
        leases that are acquired with it, whoever finds them expired.
    :param retry_delay: wait after the first failure; doubles with each one, up to ``max_retry_delay``.
    :param max_retry_delay: see ``retry_delay``.
    :param no_progress_timeout: work that shows no progress for this long is cancelled; ``None`` = no watch.
    :param request_deadline: how long one call may take with all its repetitions.
    :param acknowledgment_timeout: how long one delivery (``lease.deliver``) may take; 2 hours (Data Prepper).
    :param renewals_per_lease: how often a lease is renewed while it lasts, at least twice; fewer cost less, and leave
        less room for one that is missed (KCL: a third of ``failoverTimeMillis``).
    :param brake_after: so many partitions that failed one after the other of one error, without a success between them,
        pause the source (the brake); 0 = never, at most 100.
    :param on_negative: what becomes of a partition of which not every record was delivered: ``"fail"``, which counts
        and parks at the maximum, or ``"give up"``, which counts nothing.
    """

    ownership_timeout: timedelta = timedelta(minutes=10)
    reassign_grace: timedelta = timedelta(0)
    max_closed_count: int | None = None
    max_failures: int = 5
    max_lost_leases: int = 5
    retry_delay: timedelta = timedelta(seconds=30)
    max_retry_delay: timedelta = timedelta(hours=1)
    no_progress_timeout: timedelta | None = timedelta(minutes=60)
    request_deadline: timedelta = timedelta(seconds=30)
    acknowledgment_timeout: timedelta = timedelta(hours=2)
    on_negative: str = "fail"
    renewals_per_lease: int = RENEWALS_PER_LEASE
    brake_after: int = 10

    def __post_init__(self) -> None:
        for name in _ABOVE_ZERO:
            positive(name, getattr(self, name))
        positive("retry_delay", self.retry_delay, zero=True)
        positive("reassign_grace", self.reassign_grace, zero=True)
        for name in ("max_failures", "max_lost_leases", "max_closed_count"):
            value = getattr(self, name)
            if name == "max_closed_count" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SettingsError(name, value, "is not a whole number above zero", "Give 1 or more")
        renewals: object = self.renewals_per_lease
        if isinstance(renewals, bool) or not isinstance(renewals, int) or renewals < FEWEST_RENEWALS:
            remedy = f"Give {FEWEST_RENEWALS} or more"
            raise SettingsError("renewals_per_lease", renewals, "is not a whole number above one", remedy)
        brake: object = self.brake_after
        if isinstance(brake, bool) or not isinstance(brake, int) or not 0 <= brake <= MOST_COUNTED:
            problem = f"is not a whole number from 0 to {MOST_COUNTED}"
            raise SettingsError("brake_after", brake, problem, "Give for example 10, or 0 for no brake")
        check_way_out(self.on_negative)

    @property
    def lease_time(self) -> timedelta:
        """How long others keep off what is not renewed: what writes send to the store."""
        return self.ownership_timeout + self.reassign_grace

    @property
    def renewal_interval(self) -> timedelta:
        """How often a lease is renewed, before jitter: by default a tenth of the ownership timeout."""
        return self.ownership_timeout / self.renewals_per_lease

    @property
    def renewing(self) -> dict[str, int]:
        """What a driver says of its leases beside its name: who looks tells from it when it gave a sign last."""
        lengths = {LEASE_FACT: self.lease_time, RENEWAL_FACT: self.renewal_interval}
        return {name: int(length.total_seconds() * 1000) for name, length in lengths.items()}

    def delay_after(self, failures: int) -> timedelta:
        """Return the wait after the ``failures``-th failure."""
        doublings = min(max(failures - 1, 0), 60)
        seconds = self.retry_delay.total_seconds() * 2**doublings
        return timedelta(seconds=min(seconds, self.max_retry_delay.total_seconds()))


DURATIONS: Final = frozenset(field.name for field in fields(Settings) if "timedelta" in str(field.type))
"""The settings that are durations; they travel, and are configured, in seconds."""


_LONGEST_NAME: Final = 100
"""Of an option that does not exist, as errors name its place."""


def check_known(given: Collection[str], known: Collection[str], where: str) -> None:
    """Refuse options that do not exist.

    :param given: the names somebody wrote.
    :param known: the names there are.
    :param where: how the error names the place, for example ``source_coordination.store.dynamodb``.
    :raises SettingsError: naming the first unknown one and its nearest known neighbour.
    """
    for name in given:
        if name in known:
            continue
        near: list[Any] = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(sorted(known))}."
        text = str(name)
        place = text if text.isprintable() and len(text) <= _LONGEST_NAME else "…"
        raise SettingsError(f"{where}.{place}", name, "is not an option here", hint)


MOST_CONCURRENT_LEASES: Final = 32
"""Each is a thread of the driver and two that renew; with more, another Spark application is the better place."""

MOST_TOGETHER: Final = 500
"""Leases of one call. Each is two threads that renew, once the work takes longer than a tenth of a lease's time."""

AT_ONE_TIME: Final = 4
"""For how many leases of others a worker asks at a time (KCL: ``maxLeasesToStealAtOneTime``, there 1, so that a late
worker waits long)."""

BALANCE_INTERVAL: Final = timedelta(seconds=10)
"""Between two looks at the other workers (KCL 2.x: the lease taker's interval, twice the failover time)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balancing:
    """The balancing of leases: how a worker gets its share of those that others hold.

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


def check_together(value: object, max_leases: int | None, concurrent_leases: int, *, balance: bool) -> int | None:
    """Return for how many leases a function is called once, ``None`` for one at a time.

    :param value: what was given.
    :param max_leases: how many leases there may be in all, ``None`` for all there are.
    :param concurrent_leases: how many calls there are at a time.
    :param balance: whether the source is shared evenly with other workers.
    :raises SettingsError: for what is no whole number from 1 to 500, or more than ``max_leases``, or beside one of the
        others.
    """
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_TOGETHER:
        problem = f"is not a whole number from 1 to {MOST_TOGETHER}"
        raise SettingsError("together", value, problem, "Give for how many partitions one Spark job is to be, or None")
    if max_leases is not None and value > max_leases:
        problem = f"is more than max_leases={max_leases}, the number of partitions in all"
        raise SettingsError("together", value, problem, "Give max_leases=None, or as many or more")
    other = "balance=True" if balance else f"concurrent_leases={concurrent_leases}" if concurrent_leases > 1 else None
    if other is not None:
        problem = f"cannot be had with {other}: one call has all the leases that there are"
        raise SettingsError("together", value, problem, "Leave one of the two out")
    return value
