"""What people are told of groups of duties: who leads each, what became of each duty, what went wrong, what is next.

The command line and the board say the same, from one request for at most twenty partitions and one for their history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from airflow_coordination.duties.configuring import read_config
from airflow_coordination.duties.groups.state import GROUP, PAUSED, GroupState, Result
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.input_errors import InvalidInputError, ProgressStateError
from airflow_coordination.values.status import PartitionStatus

MOST_GROUPS: Final = 20
"""Groups that one look reads."""
MOST_TENURES: Final = 100
"""Their newest runs, among which is looked for who has led each last."""
NOTHING_LOST: Final = "If no duty ever runs, nothing is lost; files and hidden intervals only stay longer."
NEVER_RUN: Final = (
    "No group of duties was ever run in this store: nothing is hidden, merged, copied or deleted by itself."
)
HOW_TO_RUN: Final = "A DAG file runs them in Airflow: globals().update(duty_dags()). Without Airflow it is a command:"
_AGAIN: Final = "It is tried again in the next run of its group; the other duties have run."
_TAKEN: Final = "Whoever runs groups next takes it: a DAG of duty_dags(), or `duties run`."
_UNREAD: Final = "Its next run fails, too, until somebody resets its partition in ~duties."
_A_MOMENT: Final = timedelta(minutes=1)
"""For which a group of a short period may be late before somebody is told."""


class Standing(StrEnum):
    """How a group stands: what is wrong with it, before what it does."""

    UNREADABLE = "unreadable"
    SILENT = "silent"
    FAILED = "failed"
    OVERDUE = "overdue"
    RUNNING = "running"
    PAUSED = "paused"
    WAITING = "waiting"
    DONE = "done"


class Outcome(StrEnum):
    """What became of a duty in the last run of its group."""

    FAILED = "failed"
    DONE = "done"
    IDLE = "nothing to do"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldDuty:
    """One duty, as its last run has left it.

    :param fails: how often it has failed in a row.
    :param said: what it did; why it failed, if it has.
    """

    name: str
    outcome: Outcome
    fails: int
    said: str
    counts: Mapping[str, float]
    took: timedelta
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class Trouble:
    """What somebody should look at.

    :param sentence: what it is, and of which group.
    :param then: what happens next by itself.
    :param at: when that is, where it is known.
    :param person: whether it goes on only when a person does something.
    """

    sentence: str
    then: str
    at: datetime | None = None
    person: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldGroup:
    """One group.

    :param key: of its partition in the source ``~duties``.
    :param period: from one run to the next; ``None`` before its first run.
    :param leader: who runs it at this moment.
    :param leader_until: when that lease ends unless it is renewed.
    :param last_leader: who has run it last; ``None`` where the store does not know any more.
    :param term: how often somebody has acquired it: a larger one is a later leader's.
    :param led_since: since when it is led without a longer break.
    :param ran_at: when its last run began.
    :param took: how long that was.
    :param due: when it is run next; ``None`` while it runs, and where whoever comes next runs it.
    :param overdue: whether a whole period has passed since it was due.
    :param runs: how its last runs ended, the newest last: ``d`` done, ``f`` a duty failed, ``p`` paused.
    :param problem: why what it remembers cannot be read.
    """

    name: str
    key: str
    standing: Standing
    period: timedelta | None
    leader: str | None
    leader_until: datetime | None
    last_leader: str | None
    term: int
    led_since: datetime | None
    ran_at: datetime | None
    took: timedelta
    due: datetime | None
    overdue: bool
    runs: str
    duties: Sequence[ToldDuty]
    problem: str | None

    @property
    def may_run_now(self) -> bool:
        """Whether it waits for a time that a person can bring forward."""
        return self.due is not None

    @property
    def troubled(self) -> bool:
        """Whether somebody should look at it."""
        return bool(self.troubles)

    @property
    def troubles(self) -> list[Trouble]:
        """What somebody should look at, what only a person can move first."""
        found = []
        if self.problem is not None:
            said = f"What the group {self.name} remembers cannot be read: {self.problem}"
            found.append(Trouble(said, _UNREAD, person=True))
        if self.overdue:
            said = f"Nobody has run {self.name} since it was due."
            found.append(Trouble(said, f"{_TAKEN} {NOTHING_LOST}", person=True))
        if self.standing is Standing.SILENT:
            found.append(Trouble(f"{self.leader} leads {self.name}, and its lease has ended.", _TAKEN))
        for duty in self.duties:
            if duty.outcome is Outcome.FAILED:
                often = f" {duty.fails} times in a row" if duty.fails > 1 else ""
                said = f"{duty.name} of {self.name} failed{often}: {duty.said}"
                found.append(Trouble(said, f"{_AGAIN} {NOTHING_LOST}", self.due))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What happens by itself in a store.

    :param groups: those that somebody should look at first, otherwise by name.
    :param more: whether there are more than were read.
    :param troubles: what somebody should look at.
    :param config: what the next runs read; the default where it cannot be read, which is among ``troubles`` then.
    """

    groups: Sequence[ToldGroup]
    more: bool
    troubles: Sequence[Trouble]
    config: DynamicConfig


def look(coordinator: SourceCoordinator, now: datetime) -> Told:
    """Return what people are told of the groups of a store; three requests, at most 122 rows.

    :param coordinator: of the source ``~duties``.
    :param now: the store's clock.
    """
    page = coordinator.looking.partitions(after=GROUP, limit=MOST_GROUPS + 1)
    found = [each for each in page if each.key.startswith(GROUP)]
    past = coordinator.looking.past_tenures(MOST_TENURES) if found else ()
    leaders = {each.key: each.owner for each in reversed(past)}
    groups = [told(each, now, leaders.get(each.key)) for each in found[:MOST_GROUPS]]
    groups.sort(key=lambda each: (not each.troubled, each.name))
    config, held_back = _held_back(coordinator)
    troubles = [*held_back, *(trouble for each in groups for trouble in each.troubles)]
    return Told(groups=groups, more=len(found) > MOST_GROUPS, troubles=troubles, config=config)


def told(partition: Partition, now: datetime, last_leader: str | None = None) -> ToldGroup:
    """Return what people are told of one group.

    :param partition: of the group, from the source ``~duties``.
    :param now: the store's clock.
    :param last_leader: who has run it last, where that is known.
    """
    state, duties, problem = _remembered(partition)
    held = partition.status is PartitionStatus.ASSIGNED
    due = _due(partition, state, now)
    overdue = not held and _is_overdue(state, due, now)
    return ToldGroup(
        name=partition.key.removeprefix(GROUP),
        key=partition.key,
        standing=Standing.UNREADABLE if problem is not None else _standing(partition, state, now, overdue=overdue),
        period=state.period or None,
        leader=partition.owner if held else None,
        leader_until=partition.ownership_timeout if held else None,
        last_leader=last_leader,
        term=partition.token,
        led_since=state.led_since,
        ran_at=state.ran_at,
        took=state.took,
        due=due,
        overdue=overdue,
        runs=state.runs,
        duties=duties,
        problem=problem,
    )


def _remembered(partition: Partition) -> tuple[GroupState, Sequence[ToldDuty], str | None]:
    """Return what a group remembers, and why that cannot be read: one that is corrupt hides no other."""
    try:
        state = GroupState.of_partition(partition)
        return state, [told_duty(name, result) for name, result in state.duties.items()], None
    except ProgressStateError as error:
        return GroupState(), (), str(error)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        return GroupState(), (), f"it is no state of a group ({error})"


def _due(partition: Partition, state: GroupState, now: datetime) -> datetime | None:
    """Return when a group is run next: a little later than it may be taken, as its schedule comes then."""
    if partition.status is PartitionStatus.CLOSED:
        waits = partition.reopen_at
    else:
        waits = partition.available_at if partition.status is PartitionStatus.UNASSIGNED else None
        if waits is None or waits <= now:
            return None
    return max((moment for moment in (waits, state.next_at) if moment is not None), default=None)


def _is_overdue(state: GroupState, due: datetime | None, now: datetime) -> bool:
    expected = due or state.next_at
    return expected is not None and now - expected > max(state.period, _A_MOMENT)


def _standing(partition: Partition, state: GroupState, now: datetime, *, overdue: bool) -> Standing:
    if partition.status is PartitionStatus.ASSIGNED:
        until = partition.ownership_timeout
        return Standing.SILENT if until is not None and until <= now else Standing.RUNNING
    if state.failing:
        return Standing.FAILED
    if overdue:
        return Standing.OVERDUE
    if state.runs.endswith(PAUSED):
        return Standing.PAUSED
    return Standing.WAITING if state.ran_at is None else Standing.DONE


def told_duty(name: str, result: Result) -> ToldDuty:
    """Return what people are told of one duty."""
    failed = result.error is not None
    counts: Mapping[str, object] = result.counts
    return ToldDuty(
        name=name,
        outcome=Outcome.FAILED if failed else Outcome.IDLE if result.idle else Outcome.DONE,
        fails=result.fails,
        said=str(result.error if failed else result.said),
        counts={each: number for each, number in counts.items() if isinstance(number, int | float)},
        took=result.took,
        warnings=[str(each) for each in result.warnings],
    )


def _held_back(coordinator: SourceCoordinator) -> tuple[DynamicConfig, list[Trouble]]:
    """Return the configuration, and how it holds back all that happens by itself."""
    try:
        configured = read_config(coordinator)
    except InvalidInputError as error:
        said = f"No duty does anything: the configuration cannot be read. {error}"
        return DynamicConfig(), [Trouble(said, "Nothing, until its document is written anew.", person=True)]
    if not configured.config.pause_coordination:
        return configured.config, []
    said = f"No duty does anything: {configured.author} has set pauseCoordination ({configured.comment})."
    return configured.config, [Trouble(said, "Nothing, until somebody sets pauseCoordination to false.", person=True)]
