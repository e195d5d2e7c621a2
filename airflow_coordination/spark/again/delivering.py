"""``deliver_again``: a set of dead letters to the sinks that have refused them, under the same keys and fences."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from airflow_coordination.delivery.again.letters import AgainWork, Letters, Rounds
from airflow_coordination.delivery.delivery import Acknowledgment
from airflow_coordination.delivery.routing import DeadLetters, Publish, holds
from airflow_coordination.delivery.task_pass import BY_CONDITION
from airflow_coordination.spark.again.letters import Group, set_aside
from airflow_coordination.spark.lease import PartitionLease
from airflow_coordination.systems.sink import Sink, SinkTask
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import compose_source
from airflow_coordination.values.settings import OnNegative

log = logging.getLogger(__name__)
Mend = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredAgain:
    """What became of a set of dead letters.

    :param positive: whether each of them was delivered, dropped, unrouted, or set aside once more.
    :param accounting: their counts.
    :param problems: why it is not positive, one sentence each.
    :param void: why nothing was delivered, ``None`` where it was: the original has been done anew, say.
    """

    positive: bool = True
    accounting: Accounting = field(default_factory=Accounting)
    problems: tuple[str, ...] = ()
    void: str | None = None


def deliver_again(
    spark: Any,
    lease: PartitionLease,
    schema: Any,
    key: str,
    sinks: Mapping[str, Publish | Sink],
    *,
    mend: Mend | None = None,
    drop: Mapping[str, str] | None = None,
    dead_letters: DeadLetters | None = None,
    check_keys: bool | None = None,
    acknowledgment_timeout: timedelta | None = None,
    on_negative: OnNegative | None = None,
) -> DeliveredAgain:
    """Deliver the dead letters of one partition again, each to the sinks that have refused it.

    What was a dead letter by its condition goes to every sink whose own condition holds. A record has the key that it
    had, and sinks are told the original's partition and fence: so it takes its own place, and what the original has
    written since, having been done anew, is never overwritten where the sink is fenced.

    Where the original's dead letters are others by now, this set is void: nothing is delivered, and nothing counts.

    :param spark: the session, classic or Connect.
    :param lease: of a partition that :func:`~airflow_coordination.sources.dead_letters_again` has supplied.
    :param schema: the columns of the records, as ``spark.read.schema`` takes them. A record that does not fit is an
        error: give text, and cast it in ``mend``.
    :param key: as for ``lease.deliver``; so are the others.
    :param sinks: by the names that they had; all that have refused one of the records.
    :param mend: what makes a record fit: a function from a DataFrame of records to one of as many.
    :param dead_letters: of the same dataset, for what is refused once more (otherwise *failed*).
    :raises InvalidInputError: when the partition's payload is other work; when a sink that refused records is not among
        ``sinks``; when a column of ``schema`` could not be read in one of the records that ``drop`` leaves (text that
        is no UTF-8, say); when ``dead_letters`` is of another dataset; when ``mend`` returns more or fewer records.
    :raises OutputError: when a file of the dead letters is missing or was changed.
    :raises PartitionNotOwnedError: when the lease was lost: stop.
    """
    work = AgainWork.needed(lease.partition.payload)
    _check_dataset(dead_letters, work)
    letters = _standing(lease, work)
    if letters is None:
        void = f"what partition {work.partition!a} of source {work.source!a} has set aside is not this any more"
        log.warning("Nothing is delivered again: %s, so round %d of it is void", void, work.round)
        return DeliveredAgain(void=void)
    told: dict[str, Any] = {"drop": drop, "dead_letters": dead_letters, "check_keys": check_keys}
    told |= {"acknowledgment_timeout": acknowledgment_timeout, "on_negative": on_negative}
    with set_aside(spark, lease.coordinator.store, letters) as found:
        groups = found.groups()
        chosen = [_chosen(group, sinks) for group in groups]
        going = partial(_not_dropped, mend, drop or {})
        read = [found.records(group, schema, going) for group in groups]  # all are looked at before one is delivered
        done = [
            _delivered(lease, work, key, group, _mended(records, group, mend), those, told)
            for group, records, those in zip(groups, read, chosen, strict=True)
        ]
    return _together(done)


def _check_dataset(dead_letters: DeadLetters | None, work: AgainWork) -> None:
    given: object = dead_letters
    if given is not None and not (isinstance(given, DeadLetters) and given.dataset == work.dataset):
        remedy = f"Give DeadLetters({work.dataset!r}), or None"
        problem = "is not the dataset that they come from, so that nobody would find what is set aside once more"
        raise InvalidInputError("dead_letters", given, problem, remedy)


def _standing(lease: PartitionLease, work: AgainWork) -> Letters | None:
    """Return the set that this partition delivers again, ``None`` where it does not stand any more."""
    store, prefix = lease.coordinator.store, lease.coordinator.partition_prefix
    rounds = Rounds(store, prefix, work.source, work.dataset)
    if rounds.identifier != lease.partition.source:
        problem = f"is not where the dead letters of source {work.source!a} are delivered again"
        raise InvalidInputError("source", lease.coordinator.source, problem, "Supply it with dead_letters_again(…)")
    return next((each for each in rounds.of(work.partition) if each.work == work), None)


def _chosen(group: Group, sinks: Mapping[str, Publish | Sink]) -> dict[str, Publish | Sink]:
    """Return the sinks of a group: those that have refused it; all where none was asked.

    :raises InvalidInputError: when one of them is not there: its records would be left lying.
    """
    missing = [name for name in group.sinks if name not in sinks]
    if missing == [BY_CONDITION]:
        return dict(sinks)
    if missing:
        remedy = "Give it, or, if it is to get nothing, let drop say so of its records"
        raise InvalidInputError("sinks", missing[0], "has refused records, and is not among the sinks", remedy)
    return {name: sinks[name] for name in group.sinks}


def _mended(records: Any, group: Group, mend: Mend | None) -> Any:
    if mend is None:
        return records
    mended = mend(records)
    number = mended.count()
    if number != group.number:
        problem = f"returned {number} records of {group.number}"
        raise InvalidInputError("mend", mend, problem, "Return each once; what is to go nowhere is said by drop")
    return mended


def _not_dropped(mend: Mend | None, drop: Mapping[str, str], records: Any) -> Any:
    mended = records if mend is None else mend(records)
    for condition in drop.values():
        mended = mended.where(~holds(condition))
    return mended


def _delivered(
    lease: PartitionLease,
    work: AgainWork,
    key: str,
    group: Group,
    records: Any,
    sinks: Mapping[str, Publish | Sink],
    told: Mapping[str, Any],
) -> Acknowledgment:
    return lease.deliver_as(_in_the_name_of(lease, work, key, group), records, sinks, **told)


def _in_the_name_of(lease: PartitionLease, work: AgainWork, key: str, group: Group) -> SinkTask:
    """Return what sinks are told: the partition and the fence under which the records were set aside."""
    coordinator = lease.coordinator
    source = compose_source(work.source, coordinator.partition_prefix, "PARTITION")
    return SinkTask(
        key=key,
        source=source,
        partition=work.partition,
        partition_id=f"{coordinator.store.store_id}/{source}/{work.partition}",
        token=Fence.parse(group.fence).token,
        fence=group.fence,
    )


def _together(done: Sequence[Acknowledgment]) -> DeliveredAgain:
    return DeliveredAgain(
        positive=all(each.positive for each in done),
        accounting=sum((each.accounting for each in done), Accounting()),
        problems=tuple(problem for each in done for problem in each.problems),
    )
