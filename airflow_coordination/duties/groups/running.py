"""One run of a group under its lease: whoever has it leads, and each duty is reported, whatever the others do.

And runs of groups again and again without Airflow, each in a thread of its own, until somebody stops it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.duties.configuring import Configured
from airflow_coordination.duties.duty import ENDS_ALL
from airflow_coordination.duties.groups.round import Cluster, GroupDuty, Ran, Round, documents_of_all
from airflow_coordination.duties.groups.state import DONE, FAILED, GROUP, MOST_RUNS, PAUSED, GroupState, Result
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.lease import Lease
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.protocol.beside.documents import CONFIGURATION
from airflow_coordination.protocol.metrics import Metrics
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.documents import encode_progress
from airflow_coordination.values.input_errors import CoordinationError, ProgressStateError, SettingsError
from airflow_coordination.values.names import DUTIES, agreed_prefix
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Clock, SystemClock

log = logging.getLogger(__name__)
_NO_LIMIT: Final = 2**31 - 1
START_DELAY: Final = timedelta(minutes=5)
"""Before the first run of a group (Druid: ``druid.coordinator.startDelay``, PT300S)."""
_EARLY: Final = 10
"""A run may come by so small a part of its period too early: a schedule of the same period comes a little sooner or
later each time, and must not miss every other run."""
_EARLY_AT_MOST: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group of duties as it is run.

    :param name: Druid's, where Druid has it.
    :param period: from the beginning of one run to that of the next.
    :param duties: in the order in which they are run.
    :param arguments: of each duty by its name.
    """

    name: str
    period: timedelta
    duties: Sequence[GroupDuty]
    arguments: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRun:
    """What became of one call.

    :param group: its name.
    :param state: of the group after the run; as it was found where nothing was run.
    :param ran: whether duties were run.
    :param waits_until: when it is due, if it is not yet.
    :param rival: who leads it at this moment, if that is somebody else.
    :param rival_until: when that lease ends unless it is renewed.
    :param paused: whether nothing was done because ``pauseCoordination`` says so.
    """

    group: str
    state: GroupState
    ran: bool = False
    waits_until: datetime | None = None
    rival: str | None = None
    rival_until: datetime | None = None
    paused: bool = False


class GroupRunner:
    """Runs groups of duties on a store. Each run reads the dynamic configuration anew.

    :param store: the store.
    :param owner: who does it.
    :param prefix: keeps deployments that share a store apart; the store's own by default.
    :param start_delay: how long a group that nobody has run before waits.
    :param margins: what the purge leaves alone; ``None`` where it is off.
    :param output_root: where blocks are published; ``None`` where nobody has said so.
    :param only: the names of the sources that are served; ``None`` for all. One that the store does not know
        is logged; duties fail when it knows none of them.
    :param settings: of the group's lease; its timeout above all. Its grace is that of who works on the sources.
    :param metrics: where counts go: gauges ``coordination.<Druid's name>``, if it has any.
    :param clock: of this process, for how long things take.
    :raises SettingsError: when ``only`` is a text, which would be taken apart into letters.
    """

    def __init__(
        self,
        store: PartitionStore,
        owner: str,
        *,
        prefix: str | None = None,
        start_delay: timedelta = START_DELAY,
        margins: Margins | None = None,
        output_root: str | None = None,
        only: Collection[str] | None = None,
        settings: Settings | None = None,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
    ) -> None:
        settings = settings or Settings()
        if isinstance(only, str | bytes):
            raise SettingsError("sources", only, "is a text, not a list of names", "Give a list of names")
        self._grace = settings.reassign_grace  # of those who are watched: who leads a group is followed without one
        never_parked = replace(settings, max_failures=_NO_LIMIT, max_lost_leases=_NO_LIMIT, reassign_grace=timedelta(0))
        self.store, self._prefix, self._metrics = store, agreed_prefix(store.partition_prefix, prefix), metrics
        self.duties = SourceCoordinator(
            store, DUTIES, owner, prefix, settings=never_parked, metrics=metrics, clock=clock
        )
        self._clock = clock or SystemClock()
        self._start_delay = start_delay
        self._margins, self._output_root, self._only = margins, output_root, only

    def run(self, group: Group) -> GroupRun:
        """Run a group if it is due and nobody else does.

        :raises PartitionNotOwnedError: when its lease was lost meanwhile: what its duties did counts as far as it was
            conditioned on what they had read; the rest was refused.
        :raises CoordinationError: when the store cannot be used, or all duties of the group have failed.
        """
        lease = self._lead(group)
        if lease is None:
            return self._of_others(group)
        before = GroupState.of_partition(lease.partition)
        now = self.store.now()
        if lease.partition.progress_state is None and self._start_delay:
            self.duties.close(lease, self._start_delay, before.to_json())
            return GroupRun(group=group.name, state=before, waits_until=now + self._start_delay)
        return self._run_leased(group, lease, before, now)

    def look(self, group: Group) -> GroupRun:
        """Return what the duties of a group would do now, and change nothing; no lease is needed for that."""
        before = GroupState.of_partition(self.duties.partition(f"{GROUP}{group.name}"))
        cluster = self._cluster(group, before, self.store.now(), dry_run=True)
        results = dict(self._each(group, cluster, before, None))
        return GroupRun(group=group.name, state=replace(before, duties=results), ran=True)

    def states(self) -> dict[str, tuple[Partition, GroupState]]:
        """Return the groups that were run here, by name, with their partitions."""
        found = self.duties.looking.each()
        return {
            each.key.removeprefix(GROUP): (each, GroupState.of_partition(each))
            for each in found
            if each.key.startswith(GROUP)
        }

    def run_now(self, name: str, by: str, why: str) -> None:
        """Let a group that waits for its time be run by whoever comes next.

        :raises PartitionNotFoundError: when nobody has run it yet.
        :raises PartitionUpdateError: when it does not wait.
        """
        self.duties.people.reopen(f"{GROUP}{name}", by, why)

    def forget(self, name: str, by: str, why: str) -> None:
        """Take a group away that no properties name any more; run again, it begins as a new one.

        :raises PartitionNotFoundError: when nobody has run it.
        :raises PartitionUpdateError: while somebody leads it.
        """
        self.duties.people.delete(f"{GROUP}{name}", by, why)

    def _lead(self, group: Group) -> Lease | None:
        key = f"{GROUP}{group.name}"
        lease = self.duties.acquire_partition(key)
        if lease is None and self.duties.create_partitions([key]).created:
            lease = self.duties.acquire_partition(key)
        return lease

    def _of_others(self, group: Group) -> GroupRun:
        found = self.duties.partition(f"{GROUP}{group.name}")
        state = GroupState.of_partition(found)
        if found is not None and found.status is PartitionStatus.ASSIGNED:
            return GroupRun(group=group.name, state=state, rival=found.owner, rival_until=found.ownership_timeout)
        return GroupRun(group=group.name, state=state, waits_until=found.reopen_at if found else None)

    def _run_leased(self, group: Group, lease: Lease, before: GroupState, now: datetime) -> GroupRun:
        began = self._clock.monotonic()
        with self.duties.heartbeat(lease) as heartbeat:
            cluster = self._cluster(group, before, now)
            paused = cluster.config.pause_coordination
            after = replace(before, led_since=cluster.led_since, ran_at=now, period=group.period)
            if not paused:
                after = replace(after, duties=dict(self._each(group, cluster, before, heartbeat)))
        ended = PAUSED if paused else FAILED if after.failing else DONE
        after = replace(after, took=self._since(began), runs=(after.runs + ended)[-MOST_RUNS:])
        self._end(lease, after, group)
        self._count(group, after)
        return GroupRun(group=group.name, state=after, ran=not paused, paused=paused)

    def _cluster(self, group: Group, before: GroupState, now: datetime, *, dry_run: bool = False) -> Cluster:
        said = documents_of_all(self.duties)
        return Cluster(
            store=self.store,
            owner=self.duties.owner.text,
            now=now,
            led_since=before.led(now, group.period),
            period=group.period,
            config=Configured.said_by(said.get(CONFIGURATION)).config,
            said=said,
            prefix=self._prefix,
            margins=self._margins,
            output_root=self._output_root,
            only=self._only,
            metrics=self._metrics,
            dry_run=dry_run,
            grace=self._grace,
        )

    def _each(
        self, group: Group, cluster: Cluster, before: GroupState, heartbeat: Heartbeat | None
    ) -> Iterator[tuple[str, Result]]:
        """Yield the results of the duties, each run whatever became of those before it.

        :raises PartitionNotOwnedError: when the lease is lost: whoever has it now runs the rest.
        """
        silent: Exception | None = None
        for duty in group.duties:
            if heartbeat is not None and heartbeat.lost is not None:
                raise heartbeat.lost
            result = before.of(duty.name)
            if silent is not None:
                yield duty.name, result.failed(silent, timedelta(0))
                continue
            round = Round(
                cluster=cluster, by=duty.name, arguments=group.arguments.get(duty.name, {}), remembered=result.left
            )
            began = self._clock.monotonic()
            try:
                ran = duty.run(round)
            except Exception as error:
                log.warning("Duty %s of group %s failed: %s", duty.name, group.name, error, exc_info=_is_bug(error))
                silent = error if isinstance(error, ENDS_ALL) else None
                yield duty.name, result.failed(error, self._since(began))
            else:
                _tell(duty.name, ran)
                yield duty.name, result.after(ran, self._since(began))

    def _since(self, began: float) -> timedelta:
        return timedelta(seconds=self._clock.monotonic() - began)

    def _end(self, lease: Lease, after: GroupState, group: Group) -> None:
        """End the run: the next one is due when the period is over, however long this one took."""
        early = min(group.period / _EARLY, _EARLY_AT_MOST)
        wait = max(timedelta(0), group.period - early - after.took)
        state = _fitting(after)
        if after.failing and len(after.failing) == len(after.duties):
            self.duties.save_progress_state(lease, state)
            errors = "; ".join(f"{name}: {after.duties[name].error}" for name in after.failing)
            self.duties.fail(lease, errors, wait)
        else:
            self.duties.close(lease, wait, state)

    def _count(self, group: Group, after: GroupState) -> None:
        tell = getattr(self._metrics, "gauge", None)
        if tell is None:
            return
        for name, result in after.duties.items():
            for metric, number in result.counts.items():
                tell(f"coordination.{metric.replace('/', '.')}", number)
            tell(f"coordination.coordinator.time.{name}", result.took // timedelta(milliseconds=1))
            tell(f"coordination.coordinator.failed.{name}", result.fails)
        tell(f"coordination.coordinator.global.time.{group.name}", after.took // timedelta(milliseconds=1))


_LONGEST_WAIT: Final = timedelta(seconds=30)
"""So that a group that a person lets go on, or that somebody else gives up, does not wait for its whole period."""


def serve(
    runner: GroupRunner,
    groups: Sequence[Group],
    over: threading.Event,
    told: Callable[[GroupRun], object] = lambda run: None,
) -> None:
    """Run each group whenever it is due, until ``over`` is set; then each ends the run that it is in.

    A group that fails is tried again when its period is over: what went wrong is in the log and its status.

    :param runner: of all of them.
    :param told: is given what became of each call.
    """
    with ThreadPoolExecutor(len(groups), thread_name_prefix="duties") as threads:
        for found in [threads.submit(_serve_one, runner, group, over, told) for group in groups]:
            found.result()


def _serve_one(runner: GroupRunner, group: Group, over: threading.Event, told: Callable[[GroupRun], object]) -> None:
    while not over.is_set():
        try:
            run = runner.run(group)
            told(run)
            wait = _wait(runner.store, run)
        except CoordinationError as error:
            log.warning("Group %s: %s", group.name, error)
            wait = min(group.period, _LONGEST_WAIT)
        except BaseException:
            over.set()
            raise
        over.wait(wait.total_seconds())


def _wait(store: PartitionStore, run: GroupRun) -> timedelta:
    due = run.waits_until or run.state.next_at or run.rival_until
    left = _LONGEST_WAIT if due is None else due - store.now()
    return min(max(left, timedelta(seconds=1)), _LONGEST_WAIT)


def _fitting(after: GroupState) -> dict[str, object]:
    """Return the state as it is stored; where it is too large, duties look at everything again the next time."""
    said = after.to_json()
    try:
        encode_progress(said)
        return said
    except ProgressStateError as error:
        log.warning("What the duties of this group remember is forgotten, and looked at again: %s", error)
    forgetful = {name: replace(result, left=None) for name, result in after.duties.items()}
    return replace(after, duties=forgetful).to_json()


def _tell(name: str, ran: Ran) -> None:
    log.info("%s: %s", name, ran.said)
    for warning in ran.warnings:
        log.warning("%s: %s", name, warning)


def _is_bug(error: Exception) -> bool:
    return not isinstance(error, CoordinationError)
